"""`centime replay`: refresh policies compared on the changes that a crawl recorded."""

from typing import Annotated

import typer

from centime.cli.look.folder import Folder
from centime.cli.output import Csv, Json, show
from centime.cli.progress import progress


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("replay")(_replay)


def _replay(
    folder: Folder,
    policy: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="uniform, paper, nutch, storm, optimal, oracle or all; repeatable."),
    ] = None,
    rate: Annotated[
        str | None, typer.Option(metavar="RATE", help="Budget of pages: 50000/d, 2/s. Default: that of the crawl.")
    ] = None,
    bandwidth: Annotated[str | None, typer.Option(metavar="AMOUNT", help="Budget of bytes: 2GB/day.")] = None,
    days: Annotated[
        float | None, typer.Option(metavar="DAYS", help="Measure the last days. Default: the second half.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random numbers that place changes without a date.")] = 0,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Compares refresh policies on the changes of a crawl.

    Replays the recorded changes under each policy, without the network, and shows how fresh each policy keeps the copy.
    The default budget is that of the crawl, or the rate at which the crawl itself revisited pages.

    Examples:

    \b
      centime replay museum
      centime replay museum --policy optimal --policy paper --rate 20000/d
      centime replay museum --bandwidth 2GB/day --days 30 --json
    """
    from centime.crawl.report.opening import look_at
    from centime.crawl.report.planning.replay import replay
    from centime.settings.units import bytes_per_second, per_second

    pages = None if rate is None else per_second(rate)
    octets = None if bandwidth is None else bytes_per_second(bandwidth)
    with progress(1.0, f"replaying {folder.name}", quiet=as_json):
        report = replay(look_at(folder), policy or ["all"], rate=pages, bandwidth=octets, days=days, seed=seed)
    show(report, as_json=as_json, as_csv=as_csv, table="policies")
