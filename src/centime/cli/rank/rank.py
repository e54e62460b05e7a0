"""`centime rank`: scores the pages of a graph file, with a certified error."""

import math
import re
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from centime.cli.analyse.scored import check_figure
from centime.cli.output import Csv, Json, is_standard_output, show
from centime.cli.progress import Step, progress
from centime.cli.rank.divided import check_divided, rank_on_cluster
from centime.cli.rank.source import graph_file, is_crawl_folder, read_graph
from centime.cli.visible import say
from centime.model.errors import BadInput, BadSetting, CentimeError, NotReached

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
READING = 0.3  # the share of reading in the progress of ranking beyond memory


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("rank")(_rank)


def _rank(
    graph: Annotated[
        Path,
        typer.Argument(
            metavar="GRAPH",
            help="A graph file, whose name gives the format as in centime convert; - for standard input; or the folder "
            "of a crawl.",
        ),
    ],
    from_: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="FORMAT", help="The format of GRAPH. Default: by its name; tsv for standard input."
        ),
    ] = None,
    only_mentioned: Annotated[
        bool, typer.Option("--only-mentioned", help="Leave out pages without any link to or from them.")
    ] = False,
    damping: Annotated[
        float, typer.Option(help="The share of a page's score that its links pass on, at least 0 and below 1.")
    ] = 0.85,
    error: Annotated[
        float, typer.Option(help="The error to certify: the sum of all errors divided by the sum of all scores.")
    ] = 1e-8,
    method: Annotated[
        str,
        typer.Option(
            metavar="METHOD", help="auto, push, sliced, jacobi or gauss-seidel; with --cluster bsp (auto) or chaotic."
        ),
    ] = "auto",
    vector: Annotated[
        str,
        typer.Option(
            metavar="VECTOR",
            help="importance, interest, interest-by-importance, hubs, authorities, all-ones or undirected.",
        ),
    ] = "importance",
    bias: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A list of pages, each with an optional tab and weight: to personalise importance, or for interest.",
        ),
    ] = None,
    by: Annotated[
        str, typer.Option(metavar="KIND", help="What to rank: page, site (host) or domain (registrable).")
    ] = "page",
    link_weight: Annotated[
        str | None,
        typer.Option(
            metavar="KIND=X,...",
            help="Weigh links by kind: internal, external, template; of crawls nofollow; with --by site dynamic.",
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE", help="Rank beyond memory: use at most SIZE, such as 400MB, on top of the program itself."
        ),
    ] = None,
    work: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The folder for intermediate files of --memory. Default: one next to GRAPH, removed at the end.",
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="local:N|ADDRESS:PORT",
            help="Divide the graph among N processes, or the nodes of this head; they exchange only boundary values.",
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --cluster ADDRESS:PORT: the secret that all nodes share."),
    ] = None,
    normalise: Annotated[
        str, typer.Option(metavar="SCALE", help="mean (mean 1), sum (sum 1) or plain (Eq. 2 of the paper).")
    ] = "mean",
    stop_change: Annotated[
        float | None, typer.Option(metavar="X", help="Stop when the mean change falls below X, instead of by error.")
    ] = None,
    change_norm: Annotated[
        str, typer.Option(metavar="NORM", help="The norm of --stop-change: l1, or l2 (root mean square).")
    ] = "l1",
    stable_top: Annotated[
        int | None, typer.Option(metavar="K", help="Stop when the order of the best K no longer changes.")
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="The number of threads. Default: 1, or one per core (at most 8) from 10 million links on."
        ),
    ] = None,
    top: Annotated[int, typer.Option(metavar="N", help="The number of best pages to show.")] = 20,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write all scores to a .parquet or .csv file.")
    ] = None,
    figure: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Draw the distribution of the scores.")
    ] = None,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Ranks a graph: PageRank with a certified error, and more.

    Other vectors are interest (how well a page leads to a set of pages), hubs and authorities (HITS), and the
    eigenvectors of two more link matrices.

    Examples:

    \b
      centime rank links.csv.gz
      centime rank cnr-2000.graph --error 1e-10 --json
      centime rank crawl.parquet --by site --top 50 -o sites.csv
      centime rank crawl.parquet --by site --link-weight internal=0.3,dynamic=0.5
      centime rank crawl.parquet --vector interest --bias xml-pages.txt
      centime rank links.csv.gz --figure spread.png
      centime rank huge.graph --memory 400MB -o scores.parquet
      zcat links.tsv.gz | grep -v login | centime rank - --from tsv
      centime rank my-crawl --vector interest --bias xml-pages.txt
      centime rank cnr-2000.graph --cluster local:4 --method chaotic
    """
    if top < 0:
        raise BadSetting(f"--top must be 0 or more, not {top}")
    if output is not None:
        from centime.rank.table import check_table

        if is_standard_output(output):
            raise BadInput("the report goes to standard output, so the scores cannot; name a file")
        check_table(output)
        if output.exists() and graph.exists() and output.samefile(graph):
            raise BadInput(f"{output}: the scores would replace the graph")
    if figure is not None and memory is not None:
        raise BadSetting("--figure does not work with --memory")
    check_figure(figure)
    options: dict[str, Any] = {"method": method, "vector": vector, "bias": bias, "by": by, "normalise": normalise}
    options["link_weight"] = link_weight
    options |= {"stop_change": stop_change, "stable_top": stable_top, "change_norm": change_norm}
    common: dict[str, Any] = {"damping": damping, "error": error, "threads": threads}
    if only_mentioned and (memory is not None or cluster is not None):
        raise BadSetting("--only-mentioned works with neither --memory nor --cluster")
    graph = graph_file(graph, from_)
    if memory is not None and is_crawl_folder(graph):
        raise BadInput(
            f"{graph}: a crawl is ranked in memory; for --memory, rank the output of centime export --format edges"
        )
    if memory is None and work is not None:
        raise BadSetting("--work needs --memory")
    if cluster is not None:
        check_divided({**options, "memory": memory, "figure": figure, "threads": threads}, cluster)
    with progress(1.0, f"ranking {graph.name}", quiet=as_json) as step:
        if cluster is not None:
            facts = rank_on_cluster(graph, cluster, token_file, method, common, top, output, _nearer(step, error))
        elif memory is None:
            facts = _in_memory(graph, only_mentioned, {**options, **common}, top, output, figure, _nearer(step, error))
        else:
            _check_capped(options)
            common |= {"vector": vector, "bias": bias, "normalisation": normalise}
            facts = _beyond_memory(graph, _bytes(memory), work, common, top, output, step)
    reached = (
        facts["certified_error"] is None
        or facts["certified_error"] <= error
        or stop_change is not None
        or stable_top is not None
    )
    facts["reached"] = reached
    show(facts if as_json or as_csv else _for_people(facts), as_json=as_json, as_csv=as_csv, table="top")
    if not reached:
        raise NotReached(
            f"rounding does not allow an error of {error:g} to be certified; {facts['certified_error']:.2g} was reached"
        )


def _in_memory(
    graph: Path,
    only_mentioned: bool,
    options: dict[str, Any],
    top: int,
    output: Path | None,
    figure: Path | None,
    progress: Callable[[float], None],
) -> dict[str, Any]:
    from centime.rank.ranking import pagerank

    began = time.perf_counter()
    links = read_graph(graph, weighed=options["link_weight"] is None)
    silent = links.never_mentioned
    if silent and only_mentioned:
        links = links.mentioned()
    elif silent and links.names is None:
        say(f"centime: no link mentions {silent} of {links.graph.pages} pages; --only-mentioned leaves them out")
    opening = time.perf_counter() - began
    ranking = pagerank(links, progress=progress, **options)
    ranking = replace(ranking, seconds=ranking.seconds._replace(read=ranking.seconds.read + opening))
    if figure is not None:
        from centime.analyse.distribution import draw_distribution

        print_ = f"{ranking.pages} pages, {ranking.links} links, damping {options['damping']}"
        figure.write_bytes(draw_distribution(ranking.scores, f"{ranking.vector.capitalize()} of {graph.name}", print_))
    if output is not None:
        from centime.rank.table import write_table

        write_table(
            output, ranking.pages, lambda first, end: ranking.scores[first:end], ranking.names, ranking.named.first
        )
    return ranking.facts(top) | ({"never_mentioned": silent} if silent else {})


def _beyond_memory(
    graph: Path, memory: int, work: Path | None, options: dict[str, Any], top: int, output: Path | None, step: Step
) -> dict[str, Any]:
    from centime.rank.peak import peak_memory_bytes
    from centime.rank.sliced.out_of_core import rank_out_of_core

    nearer = _nearer(step, options["error"], 1 - READING)

    def notice(what: str, share: float, error: float = 0.0) -> None:
        if what.startswith("reading"):
            step(READING * share, what)
        else:
            nearer(error, what)

    folder = work or graph.parent / f"{graph.name}.slices"
    is_new = not folder.exists()
    try:
        found = rank_out_of_core(graph, folder, memory, step=notice, **options)
    except CentimeError:
        if is_new:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    except KeyboardInterrupt:
        say(f"centime: the work so far is kept in {folder}; the same command resumes it")
        raise
    if output is not None:
        from centime.rank.table import write_table

        write_table(output, found.pages, found.part, found.names, found.first)
    best = (
        [
            {"page": page + found.first if found.names is None else found.names[page], "score": score}
            for page, score in found.top(top)
        ]
        if top
        else []
    )
    if work is None:
        shutil.rmtree(folder)
    return {
        "pages": found.pages,
        "links": found.links,
        "dangling": found.dangling,
        "vector": options["vector"],
        "method": "sliced",
        "iterations": found.iterations,
        "seconds": {"read": found.read_seconds, "build": 0.0, "solve": found.solve_seconds},
        "certified_error": found.certified_error,
        "peak_memory_bytes": peak_memory_bytes(),
        "top": best,
    }


def _check_capped(options: dict[str, Any]) -> None:
    """Raises BadSetting for options that do not work under a memory cap."""
    taken: dict[str, tuple[object, ...]] = {
        "method": ("auto", "sliced"),
        "vector": ("importance", "interest"),
        "by": ("page",),
    }
    taken |= {"link_weight": (None,), "stop_change": (None,), "stable_top": (None,), "change_norm": ("l1",)}
    for name, values in taken.items():
        if options[name] not in values:
            option = f"--{name.replace('_', '-')} {options[name]}"
            raise BadSetting(f"{option} does not work with --memory, which ranks importance or interest by page")
    if options["vector"] == "interest" and options["bias"] is None:
        raise BadSetting("interest needs a bias: the pages that it leads to")


def _nearer(step: Step, aim: float, whole: float = 1.0) -> Callable[..., None]:
    """A callback for each error reached: the bar shows the share of the required digits that are reached."""
    first, done = 0.0, 0.0

    def notice(error: float, what: str = "ranking") -> None:
        nonlocal first, done
        if not 0 < error < math.inf:
            return step(0.0, what)
        first = first or error
        way = math.log(first / error) / math.log(first / aim) if first > aim > 0 else 1.0
        more = max(0.0, min(1.0, way) - done)
        done += more
        return step(whole * more, f"{what}, error {error:.1e}")

    return notice


def _bytes(size: str) -> int:
    """The number of bytes of a size such as 400MB."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)b?", size.strip().lower())
    if found is None:
        raise BadSetting(f"--memory needs a size like 400MB or 2GB, not {size!r}")
    return int(float(found[1]) * UNITS[found[2]])


def _for_people(facts: dict[str, Any]) -> dict[str, Any]:
    seconds = ", ".join(f"{value:.3g} {name}" for name, value in facts["seconds"].items())
    megabytes = f"{facts['peak_memory_bytes'] / 1e6:.0f} MB"
    shown = {**facts, "seconds": seconds, "peak_memory_bytes": megabytes}
    names = {"peak_memory_bytes": "peak memory"}
    return {names.get(name, name): value for name, value in shown.items() if value is not None and value != []}
