"""`centime plan`: how fresh a budget keeps a crawl."""

import time
from typing import Annotated, Any

import typer

from centime.cli.look.folder import Folder
from centime.cli.output import Csv, Json, show
from centime.cli.progress import progress

SHARES = ("fresh_now", "gain_of_10_percent_more", "fresh_in_the_coming_days", "fresh_in_the_long_run", "probably_fresh")
COMING = "age_in_the_coming_days"  # whose last word is no unit
AGES = ("age_now_days", "age_days", "age_in_the_long_run_of_what_is_read", COMING)


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("plan")(_plan)


def _plan(
    folder: Folder,
    budget: Annotated[
        str | None, typer.Option(metavar="RATE", help="Compare with this budget of pages: 50000/d, 2/s.")
    ] = None,
    bandwidth: Annotated[
        str | None, typer.Option(metavar="AMOUNT", help="Compare with this budget of bytes: 2GB/day.")
    ] = None,
    days: Annotated[float, typer.Option(metavar="DAYS", help="Number of days to predict.")] = 7.0,
    alpha: Annotated[
        float | None, typer.Option(metavar="A", help="Weight of each missed change. Default: that of the crawl.")
    ] = None,
    beta: Annotated[
        float | None, typer.Option(metavar="B", help="Weight of a stale copy. Default: that of the crawl.")
    ] = None,
    count: Annotated[int, typer.Option("--count", "-n", metavar="N", help="Number of next pages to show.")] = 20,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Predicts how fresh a budget keeps a crawl.

    Shows freshness and age for the budget of the crawl and for another one, and which pages are visited next and why.
    Uses no network: the prediction follows from the importance of pages and from the changes seen so far.

    Examples:

    \b
      centime plan museum
      centime plan museum --budget 50000/d --days 30
      centime plan museum --bandwidth 2GB/day -n 50 --json
    """
    from centime.cluster.report.parts import parts_of
    from centime.settings.units import bytes_per_second, per_second

    rate = None if budget is None else per_second(budget)
    octets = None if bandwidth is None else bytes_per_second(bandwidth)
    with progress(1.0, f"opening {folder.name}", quiet=as_json):
        wanted = {"rate": rate, "bandwidth": octets, "days": days, "alpha": alpha, "beta": beta, "count": count}
        report = parts_of(folder).plan(time.time(), **wanted)
    show(report if as_json or as_csv else _for_people(report), as_json=as_json, as_csv=as_csv, table="next")


def _for_people(report: dict[str, Any]) -> dict[str, Any]:
    """The report with shares as percent and ages as times in a fitting unit."""
    tables = {name: [_measured(row) for row in report[name]] for name in ("budgets", "next") if name in report}
    return _measured(report) | tables


def _measured(facts: dict[str, Any]) -> dict[str, Any]:
    return dict(_with_unit(name, value) for name, value in facts.items())


def _with_unit(name: str, value: Any) -> tuple[str, Any]:
    if isinstance(value, float) and name in SHARES:
        return f"{name}_percent", round(100.0 * value, 2)
    if isinstance(value, float) and name in AGES:
        return f"{name.removesuffix('_days') if name != COMING else name}_seconds", value * 86_400.0
    return name, value
