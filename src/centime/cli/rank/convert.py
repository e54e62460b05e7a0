"""`centime convert`: a graph file turned into one of another format."""

from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from centime.cli.output import Json, show
from centime.cli.progress import progress

FORMATS = "edges, parquet, npz, mtx or webgraph"


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("convert")(_convert)


def _convert(
    source: Annotated[Path, typer.Argument(metavar="A", help="The graph file to read.")],
    target: Annotated[
        Path, typer.Argument(metavar="B", help="The graph file to write; an older one is replaced at the end.")
    ],
    from_: Annotated[
        str | None,
        typer.Option("--from", metavar="FORMAT", help=f"The format of A, if its name does not tell: {FORMATS}."),
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", metavar="FORMAT", help="The format of B, if its name does not tell.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Turns a graph file into one of another format, without holding the graph in memory where the formats allow it.

    The names of the files tell the formats: .txt .tsv .csv .dat .edges (one link per line), .parquet, .npz (SciPy),
    .mtx (Matrix Market), .graph (WebGraph); text also with .gz or .zst after it. Names of pages that B cannot hold go
    into a file beside it, B.names. A WebGraph has every link once: repeated links are merged, and their number is told.

    Examples:

    \b
      centime convert links.csv.gz links.parquet
      centime convert cnr-2000.graph cnr-2000.npz
      centime convert crawl.parquet crawl.graph --json
      centime convert dump links.txt.zst --from edges
    """
    from centime.graphs.convert import convert

    started = perf_counter()
    with progress(1.0, f"converting {source.name}", quiet=as_json) as step:
        done = convert(source, target, from_, to, step)
    facts = {
        "pages": done.pages,
        "links": done.links,
        "merged_links": done.merged_links,
        "weighted": done.weighted,
        "named": done.named,
    }
    facts["numbered_from"] = done.numbered_from
    show({**facts, "time_seconds": round(perf_counter() - started, 3), "files": list(done.files)}, as_json=as_json)
