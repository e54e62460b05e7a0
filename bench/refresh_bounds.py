"""How often the mean rate of a page lies within the 90 % bounds that `centime page` shows, on the change processes of
`refresh_processes.py`, and of how many pages it says that they are irregular, or that it cannot tell.

Reads are those of our policy, so most pages are read seldom: figures count pages, not reads."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from bench.figure import Figure
from bench.refresh_processes import BUDGETS, MEASURED_DAYS, PAGES, SEEDS, TICKS, WARM_DAYS
from centime.crawl.report.planning.freshness import CRAWL_SAMPLE, IRREGULAR, POOLED_READS
from centime.model.ids import page_ids
from centime.refresh.learning.regularity import Pattern, allowed, dispersion, pattern_of, pooled
from centime.refresh.learning.verdict import Verdict
from centime.refresh.settings import RefreshSettings
from centime.shard.refreshing import HISTORY
from centime.simulate.change_history import ChangeHistory, Numbers, Times, poisson_history
from centime.simulate.ours import Ours
from centime.simulate.processes import world_named
from centime.simulate.simulation import DAY, Run, Verdicts

SMALL_CRAWLS, MOST_PAGES, EVERY = 100, 6, 30.0
SLOWEST, FASTEST = 0.1 / DAY, 5_000.0 / DAY
WATCHED = (600.0, 3_600.0)  # seconds
PROCESSES = ("pareto", "correlated", "bursts", "hawkes", "rhythms", "switching")


class Remembered(Ours):
    """Our policy, and the reads of each page."""

    def __init__(self, history: ChangeHistory, settings: RefreshSettings) -> None:
        super().__init__(history, settings)
        self.reads: list[list[tuple[float, bool]]] = [[] for _ in range(history.pages)]

    def record(self, pages: Numbers, now: float, verdicts: Verdicts, since: Times) -> None:
        """Records the reads, also in the lists."""
        super().record(pages, now, verdicts, since)
        for page, verdict in zip(pages.tolist(), verdicts.tolist(), strict=True):
            self.reads[page].append((now, verdict in (Verdict.CHANGED, Verdict.DATED)))


class Shares(NamedTuple):
    """Of the pages of one world."""

    covered: float  # within the bounds, or called irregular
    claimed: float  # said to change by chance
    within_claimed: float  # and within the bounds
    unknown: float
    within_unknown: float


def bounds(
    names: tuple[str, ...] = PROCESSES, seeds: tuple[int, ...] = SEEDS, budgets: tuple[float, ...] = BUDGETS
) -> Iterator[Figure]:
    """The shares of pages in small crawls, and by process and budget, the mean of the seeds."""
    yield from small_crawls()
    for process in names:
        for budget in budgets:
            found = [_shares(process, budget, seed) for seed in seeds]
            shares = Shares(*(float(np.mean(column)) for column in zip(*found, strict=True)))
            what = f"{process}, {budget:g}"
            yield Figure(f"{what}: within the bounds, or called irregular", shares.covered, "", "at least", 0.85)
            yield Figure(f"{what}: said to change by chance", shares.claimed, "")
            yield Figure(f"{what}: of those, within the bounds", shares.within_claimed / max(shares.claimed, 1e-9), "")
            yield Figure(f"{what}: pattern unknown", shares.unknown, "")
            yield Figure(f"{what}: of those, within the bounds", shares.within_unknown / max(shares.unknown, 1e-9), "")


def small_crawls() -> Iterator[Figure]:
    """The shares of pages whose rate lies within the bounds in crawls of one to six pages, which may have any rate."""
    chance = np.random.default_rng(1)
    covered: dict[float, list[bool]] = {after: [] for after in WATCHED}
    for seed in range(SMALL_CRAWLS):
        rates = np.exp(chance.uniform(np.log(SLOWEST), np.log(FASTEST), chance.integers(1, MOST_PAGES + 1)))
        history = poisson_history(rates, np.ones(len(rates)), WATCHED[-1] / DAY, seed=seed)
        policy = Ours(history, RefreshSettings(budget=1.0, least_interval=EVERY))
        run = Run(history, policy, 1.0, warm=0.0, tick=EVERY / 3)
        for after, found in covered.items():
            run.advance(after)
            low, high = policy.book.bounds(np.arange(len(rates)))
            found += ((low <= rates) & (rates <= high)).tolist()
    for after, found in covered.items():
        yield Figure(
            f"crawls of 1 to 6 pages, {after:g} s: within the bounds", float(np.mean(found)), "", "at least", 0.85
        )


def _shares(process: str, budget: float, seed: int) -> Shares:
    """The shares of one world."""
    history = world_named(process, PAGES, WARM_DAYS[budget] + MEASURED_DAYS[budget], seed).history
    each_second = budget * PAGES / DAY
    policy = Remembered(history, RefreshSettings(budget=each_second))
    Run(history, policy, each_second, warm=WARM_DAYS[budget] * DAY, tick=TICKS[budget]).advance(history.end)
    low, high = policy.book.bounds(np.arange(PAGES))
    reads = [(np.array([when for when, _ in each]), np.array([seen for _, seen in each])) for each in policy.reads]
    own = [dispersion(times[-HISTORY:], changed[-HISTORY:]) for times, changed in reads]
    last = [dispersion(times[-POOLED_READS:], changed[-POOLED_READS:]) for times, changed in reads]
    hosts = {
        host: pooled(last[page] for page in np.flatnonzero(history.hosts == host))
        for host in set(history.hosts.tolist())
    }
    known = [each for each in last if each is not None]
    crawl = pooled(known[:: 1 + len(known) // CRAWL_SAMPLE])
    patterns = [
        Pattern.RHYTHM
        if page in policy.beats
        else pattern_of(own[page], hosts[host], lambda: crawl, rhythmic=policy.commonness.are_common)
        for page, host in zip(page_ids(np.arange(PAGES)), history.hosts.tolist(), strict=True)
    ]
    unknown = np.array([pattern is Pattern.UNKNOWN for pattern in patterns])
    for page in np.flatnonzero(unknown):
        low[page], high[page] = allowed(low[page], high[page], *reads[page])
    within = (low <= history.rates) & (history.rates <= high)
    claimed = np.array([IRREGULAR.get(pattern, True) is False for pattern in patterns])
    irregular = ~claimed & ~unknown
    return Shares(
        covered=float((within | irregular).mean()),
        claimed=float(claimed.mean()),
        within_claimed=float((within & claimed).mean()),
        unknown=float(unknown.mean()),
        within_unknown=float((within & unknown).mean()),
    )
