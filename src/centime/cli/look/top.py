"""`centime top`: the top pages or hosts of a crawl."""

import time
from typing import Annotated

import typer

from centime.cli.look.folder import Folder
from centime.cli.output import Csv, Json, show
from centime.cli.progress import progress


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("top")(_top)


def _top(
    folder: Folder,
    count: Annotated[int, typer.Option("--count", "-n", metavar="N", help="Number of rows to show.")] = 20,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="ORDER", help="Sort by importance, site-importance, rising, interest, worth, change or errors."
        ),
    ] = None,
    since: Annotated[
        str, typer.Option(metavar="TIME", help="With --by rising: compare with the importance this long ago.")
    ] = "1d",
    site: Annotated[
        bool, typer.Option("--site", help="Show sites instead of pages. Default: by site-importance.")
    ] = False,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Shows the most important pages of a crawl.

    --by importance shows the certified error of all pages together and the largest possible error of one page. --site
    alone, or --by site-importance, ranks sites by the links between them, as centime rank --by site does, with its own
    certified error; --site --by importance adds up the importance of their pages. --by rising shows the pages or hosts
    whose importance grew most, with the growth per day and its certified error. --by interest shows the pages that lead
    best to what the crawl wants (--want), with the certified error of interest. --by worth shows which pages the crawl
    visits next, and why. --by change shows the pages that changed most often. --by errors shows the pages that the
    crawl could not read, most important first.

    Examples:

    \b
      centime top museum
      centime top museum -n 50 --by worth
      centime top museum --site --json
      centime top feeds --by interest
      centime top museum --site --by importance
      centime top museum --by rising --since 7d
    """
    from centime.cluster.report.parts import parts_of
    from centime.settings.units import seconds

    by = by or ("site-importance" if site else "importance")
    with progress(1.0, f"opening {folder.name}", quiet=as_json):
        report = parts_of(folder).top(count, by, site=site, now=time.time(), since=seconds(since))
    show(report, as_json=as_json, as_csv=as_csv, table="top")
