"""`centime replay`: a recorded crawl's changes under other policies or another budget."""

from typing import Annotated

import typer

from centime.cli.look.folder import Folder
from centime.cli.output import Json, show
from centime.cli.progress import progress


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("replay")(_replay)


def _replay(
    folder: Folder,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="uniform, paper, nutch, storm, optimal, oracle or all; may be given several times."
        ),
    ] = None,
    rate: Annotated[str | None, typer.Option(metavar="RATE", help="The budget in pages: 50000/d, 2/s.")] = None,
    bandwidth: Annotated[str | None, typer.Option(metavar="AMOUNT", help="The budget in bytes: 2GB/day.")] = None,
    days: Annotated[
        float | None, typer.Option(metavar="DAYS", help="How many of the last days count; half of all without it.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Where chance starts: it places the changes that no date tells.")] = 0,
    as_json: Json = False,
) -> None:
    """Runs the changes that the crawl in DIR has seen under reading policies, without the network, and compares what
    each keeps fresh.

    Without a budget it is that of the crawl, or else the pace at which the crawl itself read pages again.

    Examples:

    \b
      centime replay museum
      centime replay museum --policy optimal --policy paper --rate 20000/d
      centime replay museum --bandwidth 2GB/day --days 30 --json
    """
    from centime.crawl.report.opening import look_at
    from centime.crawl.report.replay import replay
    from centime.settings.crawl import bytes_per_second, per_second

    pages = None if rate is None else per_second(rate)
    octets = None if bandwidth is None else bytes_per_second(bandwidth)
    with progress(1.0, f"replaying {folder.name}", quiet=as_json):
        report = replay(look_at(folder), policy or ["all"], rate=pages, bandwidth=octets, days=days, seed=seed)
    show(report, as_json=as_json)
