"""The benchmarks of refreshing: prints each figure with its promise, and exits with code 1 if a promise is not kept.

    python -m bench.refresh [PART ...] [--json]

`policies` runs six policies over one simulated web (20 000 pages on 200 hosts) in one process: the same changes, the
same budget, the same warm-up, which begins with one read of every page. The warm-up is longer for a small budget, so
that every policy has seen about as much: ten reads per page, and at least sixty days."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from bench.figure import Figure
from bench.refresh_book import refresh_book
from bench.refresh_bounds import bounds
from bench.refresh_crawl import crawl_fresh
from bench.refresh_flood import flood
from bench.refresh_processes import processes
from bench.report import Benchmarks, run_parts
from centime.lab.refreshing import webbox_history
from centime.lab.webbox.box import WebBox
from centime.refresh.settings import RefreshSettings
from centime.simulate.change_history import ChangeHistory
from centime.simulate.forecast import expected_coming, intervals_at, threshold_for
from centime.simulate.named import POLICIES, policy_named
from centime.simulate.ours import Ours
from centime.simulate.simulation import DAY, Realised, Run

PAGES, HOSTS, SEED = 20_000, 200, 5
WARM_UPS = {0.02: 500, 0.1: 100, 0.3: 60}  # budget (reads per page and day): days
MEASURED_DAYS = 100
TICKS = {0.02: 3600.0, 0.1: 1800.0, 0.3: 900.0}


@dataclass(frozen=True)
class Measured:
    """The results of the policies under one budget, and the forecast of ours."""

    budget: float
    realised: dict[str, Realised]
    forecast: float

    def over(self, other: str) -> float:
        """Our freshness divided by that of another policy."""
        return float(self.realised["optimal"].freshness / self.realised[other].freshness)


def measured(history: ChangeHistory, budget: float) -> Measured:
    """All policies under one budget."""
    warm, end = history.begin + WARM_UPS[budget] * DAY, history.begin + (WARM_UPS[budget] + MEASURED_DAYS) * DAY
    each_second = budget * history.pages / DAY
    settings = RefreshSettings(budget=each_second)
    realised = {}
    forecast = 0.0
    for name in POLICIES:
        policy = policy_named(name, history, settings)
        run = Run(history, policy, each_second, warm=warm, tick=TICKS[budget])
        run.advance(warm)
        if isinstance(policy, Ours):
            beliefs = policy.beliefs(run.now)
            intervals = intervals_at(beliefs, threshold_for(beliefs, each_second))
            forecast = expected_coming(beliefs, intervals, MEASURED_DAYS * DAY).freshness
        run.advance(end)
        realised[name] = run.result()
    return Measured(budget, realised, forecast)


def table_of(found: list[Measured]) -> Table:
    """Freshness, and in brackets the age in days, of all policies."""
    table = Table(title="importance-weighted freshness (age in days, budget spent)", title_justify="left", box=None)
    for column in ("policy", *(f"{each.budget:g}" for each in found)):
        table.add_column(column, justify="left" if column == "policy" else "right")
    for name in POLICIES:
        cells = [each.realised[name] for each in found]
        table.add_row(name, *(f"{cell.freshness:.3f} ({cell.age_days:.3g}, {cell.spent:.0%})" for cell in cells))
    table.add_row("forecast of ours", *(f"{each.forecast:.3f}" for each in found))
    return table


def policies() -> Iterator[Figure]:
    """Six policies on one simulated web."""
    box = WebBox(hosts=HOSTS, pages=PAGES, seed=SEED, traps=False, feeds=False)
    history = webbox_history(box, max(WARM_UPS.values()) + MEASURED_DAYS)
    found = [measured(history, budget) for budget in WARM_UPS]
    Console(stderr=True).print(table_of(found))
    for each in found:
        what = f"{each.budget:g} reads per page and day"
        ours = each.realised["optimal"]
        yield Figure(f"{what}: freshness of ours", ours.freshness, "")
        yield Figure(f"{what}: over the oracle's", each.over("oracle"), "", "at least", 0.95)
        best = max(("uniform", "paper", "nutch", "storm"), key=lambda name: each.realised[name].freshness)
        yield Figure(f"{what}: over the best of the others ({best})", each.over(best), "", "at least", 1.0)
        if each.budget == 0.02:
            yield Figure(f"{what}: over the paper's rule", each.over("paper"), "", "at least", 1.10)
            yield Figure(f"{what}: over uniform", each.over("uniform"), "", "at least", 1.5)
        yield Figure(
            f"{what}: forecast minus realised", 100 * abs(each.forecast - ours.freshness), "points", "at most", 2.0
        )
        yield Figure(f"{what}: budget spent", 100 * ours.spent, "%")


PARTS: Benchmarks = {
    "policies": policies,
    "processes": processes,
    "bounds": bounds,
    "crawl": crawl_fresh,
    "book": refresh_book,
    "flood": flood,
}
ABOUT = {
    "policies": "six policies on one simulated web",
    "processes": "change processes that nobody tuned for, beside Bayesian policies",
    "bounds": "whether the 90 % bounds of rates hold on these processes",
    "crawl": "the real crawler over HTTP on such a web",
    "book": "what 10 million pages cost in time and memory",
    "flood": "a million pages published at once",
}


if __name__ == "__main__":
    sys.exit(run_parts("bench.refresh", "The benchmarks of refreshing", PARTS, ABOUT))
