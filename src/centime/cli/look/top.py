"""`centime top`: the first pages or sites of a crawl."""

import time
from typing import Annotated

import typer

from centime.cli.look.folder import Folder
from centime.cli.output import Json, show
from centime.cli.progress import progress


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("top")(_top)


def _top(
    folder: Folder,
    count: Annotated[int, typer.Option("--count", "-n", metavar="N", help="How many to show.")] = 20,
    by: Annotated[str, typer.Option(metavar="ORDER", help="importance, worth, change or errors.")] = "importance",
    site: Annotated[bool, typer.Option("--site", help="Sum up by host.")] = False,
    as_json: Json = False,
) -> None:
    """Shows the first pages of the crawl in DIR.

    By importance, with the certified error of all and the largest error that any page can have; by worth: what is read
    next and why; by change: what was found changed most often; by errors: what could not be read, the most important
    first.

    Examples:

    \b
      centime top museum
      centime top museum -n 50 --by worth
      centime top museum --site --json
    """
    from centime.crawl.report.opening import look_at
    from centime.crawl.report.top import standing

    with progress(1.0, f"opening {folder.name}", quiet=as_json):
        opened = look_at(folder)
        report = standing(opened, count, by, site=site, now=time.time())
    show(report, as_json=as_json)
