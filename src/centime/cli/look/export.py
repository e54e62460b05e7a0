"""`centime export`: a crawl as a table, a link graph, a corpus of texts or an archive, for other tools."""

import sys
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from centime.cli.look.folder import Folder
from centime.cli.output import Json, is_standard_output, show
from centime.cli.progress import progress
from centime.files.replacement import STANDARD_OUTPUT
from centime.model.errors import BadInput


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("export")(_export)


def _export(
    folder: Folder,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="parquet, csv, edges, webgraph-text; of stored pages jsonl, markdown, git, warc, wacz.",
        ),
    ] = "parquet",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File to write, - for standard output. Default: the name of the crawl, with the suffix of the format.",
        ),
    ] = None,
    text: Annotated[
        bool, typer.Option("--text", help="With parquet: the texts of stored pages instead of all known pages.")
    ] = False,
    sites: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Only stored pages of the sites in a file: a host name or *.domain in each line."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Writes the pages, links or texts of a crawl to a file.

    The formats parquet and csv hold one row for each page. The formats edges and webgraph-text hold the link graph,
    with pages as numbers and their URLs in a second file, FILE.names; centime rank reads both. The format jsonl, and
    parquet with --text, hold the text of every stored page; markdown is a folder of files; git is a stream for git
    fast-import of all versions; warc and wacz are the archive in one file. A file replaces an older one when it is
    complete. With -o - the file is all that is written to standard output.

    Examples:

    \b
      centime export museum -o pages.parquet
      centime export museum --format csv -o pages.csv
      centime export museum --format csv -o - | gzip > pages.csv.gz
      centime export museum --format edges -o museum.txt.gz && centime rank museum.txt.gz
      centime export museum --format jsonl -o - | head -1
      centime export museum --format wacz --sites keep.txt -o keep.wacz
      centime export museum --format git -o - | git -C museum.git fast-import
    """
    from centime.cluster.opening import check_any_folder
    from centime.cluster.report.parts import parts_of
    from centime.crawl.report.export import export_path

    started = perf_counter()
    check_any_folder(folder)
    path = export_path(folder, form, STANDARD_OUTPUT if is_standard_output(output) else output)
    if path == STANDARD_OUTPUT and as_json:
        raise BadInput("--json and --output - would both write to standard output; leave out one of them")
    if path == STANDARD_OUTPUT and form in ("parquet", "git", "warc", "wacz") and sys.stdout.isatty():
        raise BadInput(f"a terminal cannot show {form.capitalize()}; give --format csv or jsonl, or a file")
    with progress(1.0, f"opening {folder.name}", quiet=as_json) as step:
        parts = parts_of(folder)
        facts = parts.export(form, path, lambda done: step(done, f"writing {path.name}"), text=text, sites=sites)
    if path != STANDARD_OUTPUT:
        show({**facts, "time_seconds": round(perf_counter() - started, 3)}, as_json=as_json)
