"""`centime hosts`: the hosts of a crawl."""

import time
from typing import Annotated

import typer

from centime.cli.look.folder import Folder
from centime.cli.output import Csv, Json, show
from centime.cli.progress import progress


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("hosts")(_hosts)


def _hosts(
    folder: Folder,
    count: Annotated[int, typer.Option("--count", "-n", metavar="N", help="Number of hosts to show.")] = 50,
    by: Annotated[str, typer.Option(metavar="ORDER", help="Sort by known, read, failures or bytes.")] = "known",
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Shows the hosts of a crawl: pages, failures, delays.

    Each row has the numbers of known, waiting and fetched pages, the last failure, and the time of the next possible
    fetch.

    Examples:

    \b
      centime hosts museum
      centime hosts museum --by failures -n 10
      centime hosts museum --json
    """
    from centime.cluster.report.parts import parts_of

    with progress(1.0, f"opening {folder.name}", quiet=as_json):
        report = parts_of(folder).hosts(count, by, now=time.time())
    show(report, as_json=as_json, as_csv=as_csv, table="top")
