"""`centime plan`: what a budget would keep fresh."""

import time
from typing import Annotated

import typer

from centime.cli.look.folder import Folder
from centime.cli.output import Json, show
from centime.cli.progress import progress


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("plan")(_plan)


def _plan(
    folder: Folder,
    budget: Annotated[str | None, typer.Option(metavar="RATE", help="Another budget of pages: 50000/d, 2/s.")] = None,
    bandwidth: Annotated[str | None, typer.Option(metavar="AMOUNT", help="Another budget of bytes: 2GB/day.")] = None,
    days: Annotated[float, typer.Option(metavar="DAYS", help="How far the coming days reach.")] = 7.0,
    alpha: Annotated[float | None, typer.Option(metavar="A", help="Another weight of the age of copies.")] = None,
    beta: Annotated[float | None, typer.Option(metavar="B", help="Another weight of their staleness.")] = None,
    count: Annotated[int, typer.Option("--count", "-n", metavar="N", help="How many of the next pages to show.")] = 20,
    as_json: Json = False,
) -> None:
    """Shows what the budget of the crawl in DIR keeps fresh, and what another one would: freshness and age, and what is
    read next and why.

    Nothing is read from the network: all follows from how often pages were seen to change, and from their importance.

    Examples:

    \b
      centime plan museum
      centime plan museum --budget 50000/d --days 30
      centime plan museum --bandwidth 2GB/day -n 50 --json
    """
    from centime.crawl.report.opening import look_at
    from centime.crawl.report.plan import plan
    from centime.settings.crawl import bytes_per_second, per_second

    rate = None if budget is None else per_second(budget)
    octets = None if bandwidth is None else bytes_per_second(bandwidth)
    with progress(1.0, f"opening {folder.name}", quiet=as_json):
        opened = look_at(folder)
        report = plan(
            opened, now=time.time(), rate=rate, bandwidth=octets, days=days, alpha=alpha, beta=beta, count=count
        )
    show(report, as_json=as_json)
