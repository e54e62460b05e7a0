"""Policies on change processes that nobody tuned for (`centime.simulate.processes`): ours beside Bayesian baselines and
an oracle, on webs of 2 000 pages, three seeds each.

    python -m bench.refresh_processes [PROCESS ...] [--seeds 4,5,6] [--budgets 0.02,0.1]

The oracle knows the rates at every moment (for bursts and Hawkes processes their means), and of rhythms the phase.
Figures are importance-weighted freshness over the oracle's, the mean of the seeds.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.figure import Figure
from bench.report import report
from centime.refresh.settings import RefreshSettings
from centime.simulate.bayesian import MEMORY, GridBayes, Likeliest
from centime.simulate.forecast import expected_coming, intervals_at, threshold_for
from centime.simulate.informed import Informed
from centime.simulate.ours import Ours
from centime.simulate.processes import WORLDS, World, world_named
from centime.simulate.simulation import DAY, Policy, Run

PAGES, SEEDS = 2_000, (1, 2, 3)
BUDGETS = (0.02, 0.1, 0.3)
WARM_DAYS = {0.02: 200, 0.1: 100, 0.3: 60}
MEASURED_DAYS = {0.02: 200, 0.1: 100, 0.3: 60}
TICKS = {0.02: DAY / 4, 0.1: DAY / 8, 0.3: DAY / 24}
BASELINES = ("likeliest", "empirical", "fading", "thompson")

MAKERS: dict[str, Callable[[World, float], Policy]] = {
    "ours": lambda world, budget: Ours(world.history, RefreshSettings(budget=budget)),
    "likeliest": lambda world, budget: Likeliest(world.history),
    "empirical": lambda world, budget: GridBayes(world.history),
    "fading": lambda world, budget: GridBayes(world.history, memory=MEMORY),
    "thompson": lambda world, budget: GridBayes(world.history, sampled=True),
    "known law": lambda world, budget: GridBayes(world.history, world.law),
    "oracle": Informed,
}


@dataclass(frozen=True)
class Outcome:
    """The means over the seeds for one process and budget."""

    process: str
    budget: float
    over_oracle: dict[str, float]  # by policy
    spent: float
    forecast_error: float  # of ours, in points, the largest of the seeds

    @property
    def best(self) -> str:
        """The best baseline."""
        return max(BASELINES, key=lambda name: self.over_oracle[name])


def outcome(process: str, budget: float, seeds: tuple[int, ...] = SEEDS) -> Outcome:
    """All policies on one process under one budget."""
    names = tuple(MAKERS)
    found: dict[str, list[float]] = {name: [] for name in names}
    spent, errors = [], []
    for seed in seeds:
        warm = WARM_DAYS[budget] * DAY
        world = world_named(process, PAGES, WARM_DAYS[budget] + MEASURED_DAYS[budget], seed)
        alive = float(np.mean(np.minimum(world.history.died, world.history.end) > world.history.born + 0.0))
        each_second = budget * PAGES / DAY * (alive if process != "births" else 0.4)
        for name in names:
            if name == "known law" and world.law is None:
                continue
            policy = MAKERS[name](world, each_second)
            run = Run(world.history, policy, each_second, warm=warm, tick=TICKS[budget])
            run.advance(warm)
            forecast = 0.0
            if isinstance(policy, Ours):
                beliefs = policy.beliefs(run.now)
                intervals = intervals_at(beliefs, threshold_for(beliefs, each_second))
                forecast = expected_coming(beliefs, intervals, MEASURED_DAYS[budget] * DAY).freshness
            run.advance(world.history.end)
            realised = run.result()
            found[name].append(realised.freshness)
            if isinstance(policy, Ours):
                spent.append(realised.spent)
                errors.append(100 * (forecast - realised.freshness))
    oracle = np.array(found["oracle"])
    ratios = {name: float((np.array(values) / oracle).mean()) for name, values in found.items() if values}
    return Outcome(process, budget, ratios, float(np.mean(spent)), max(errors, key=abs))


def table_of(found: list[Outcome]) -> Table:
    """All ratios, the budget that ours spent, and the error of its forecast."""
    table = Table(title="freshness over the oracle's", title_justify="left", box=None)
    for column in ("process", "budget", *(name for name in MAKERS if name != "oracle"), "spent", "forecast"):
        table.add_column(column, justify="left" if column == "process" else "right")
    for each in found:
        cells = [f"{each.over_oracle[name]:.3f}" if name in each.over_oracle else "" for name in MAKERS]
        table.add_row(each.process, f"{each.budget:g}", *cells[:-1], f"{each.spent:.1%}", f"{each.forecast_error:+.1f}")
    return table


def processes(
    names: tuple[str, ...] = tuple(WORLDS), seeds: tuple[int, ...] = SEEDS, budgets: tuple[float, ...] = BUDGETS
) -> Iterator[Figure]:
    """Ours beside the baselines on every process."""
    found = []
    for process in names:
        for budget in budgets:
            found.append(outcome(process, budget, seeds))
            Console(stderr=True, width=160).print(table_of(found[-1:]))
    for each in found:
        what, ours = f"{each.process}, {each.budget:g}", each.over_oracle["ours"]
        best = each.over_oracle[each.best]
        yield Figure(f"{what}: over the best baseline ({each.best})", ours / best, "", "at least", 1.0)
        if "known law" in each.over_oracle:
            yield Figure(f"{what}: below the known law", each.over_oracle["known law"] - ours, "", "at most", 0.02)
        if each.process == "rhythms":
            yield Figure(f"{what}: over the oracle", ours, "", "at least", 0.85)
        yield Figure(f"{what}: budget spent", 100 * each.spent, "%", "at least", 98.0)
        yield Figure(f"{what}: forecast minus realised", abs(each.forecast_error), "points", "at most", 2.0)


def _process(name: str) -> str:
    if name not in WORLDS:
        raise argparse.ArgumentTypeError(f"{name!r} is not one of {', '.join(WORLDS)}")
    return name


def chosen(arguments: list[str] | None = None) -> tuple[tuple[str, ...], tuple[int, ...], tuple[float, ...]]:
    """What the command line asks for: processes, seeds and budgets."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.refresh_processes", description="Policies on change processes that nobody tuned for"
    )
    parser.add_argument("process", nargs="*", type=_process, default=list(WORLDS), metavar="PROCESS")
    parser.epilog = f"PROCESS is one of {', '.join(WORLDS)}"
    parser.add_argument("--seeds", default=",".join(map(str, SEEDS)), help="webs other than those used in development")
    parser.add_argument("--budgets", default=",".join(map(str, BUDGETS)), help="reads per page and day")
    given = parser.parse_args(arguments)
    return (
        tuple(given.process),
        tuple(int(each) for each in given.seeds.split(",")),
        tuple(float(each) for each in given.budgets.split(",")),
    )


if __name__ == "__main__":
    sys.exit(report({"processes": lambda: processes(*chosen())}, ["processes"], as_json=False))
