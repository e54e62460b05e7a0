"""`centime convert`: converts a graph file to another format."""

from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from centime.cli.output import Json, is_standard_output, show
from centime.cli.progress import progress
from centime.model.errors import BadInput

FORMATS = "edges, parquet, npz, mtx, webgraph, graphml, pajek, gml or dot"


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("convert")(_convert)


def _convert(
    source: Annotated[Path, typer.Argument(metavar="A", help="The graph file to read; - for standard input.")],
    target: Annotated[
        Path, typer.Argument(metavar="B", help="The graph file to write; it replaces an older file when complete.")
    ],
    from_: Annotated[
        str | None,
        typer.Option("--from", metavar="FORMAT", help=f"The format of A: {FORMATS}. Default: by its name."),
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", metavar="FORMAT", help="The format of B. Default: by its name.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Converts a graph file to another format.

    The file names give the formats: .txt .tsv .csv .dat .edges (one link per line), .parquet, .npz (SciPy), .mtx
    (Matrix Market), .graph (WebGraph), and .graphml, .net (Pajek), .gml and .dot, which can only be read. Text files
    may also end in .gz or .zst. If B cannot hold the names of pages, they are written to B.names. A WebGraph holds each
    link once: repeated links are merged, and their number is reported. The graph is held in memory only if the formats
    require it.

    Examples:

    \b
      centime convert links.csv.gz links.parquet
      centime convert cnr-2000.graph cnr-2000.npz
      centime convert crawl.parquet crawl.graph --json
      centime convert dump links.txt.zst --from edges
      zcat links.gz | centime convert - links.parquet --from csv
    """
    from centime.cli.rank.source import graph_file
    from centime.graphs.convert import convert

    if is_standard_output(target):
        raise BadInput("the report goes to standard output, so the graph cannot; name a file")
    started = perf_counter()
    with progress(1.0, f"converting {source.name}", quiet=as_json) as step:
        done = convert(graph_file(source, from_), target, None, to, step)
    facts = {
        "pages": done.pages,
        "links": done.links,
        "merged_links": done.merged_links,
        "weighted": done.weighted,
        "named": done.named,
    }
    facts["numbered_from"] = done.numbered_from
    show({**facts, "time_seconds": round(perf_counter() - started, 3), "files": list(done.files)}, as_json=as_json)
