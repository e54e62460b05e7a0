"""How often the mean rate of a page lies within the 90 % bounds that `centime page` shows, on the change processes of
`refresh_processes.py`, and of how many pages it says that they are irregular, or that it cannot tell.

Reads are those of our policy, so most pages are read seldom: figures count pages, not reads."""

from collections.abc import Iterator

import numpy as np

from bench.figure import Figure
from bench.refresh_processes import BUDGETS, MEASURED_DAYS, PAGES, SEEDS, TICKS, WARM_DAYS
from centime.crawl.report.planning.freshness import CRAWL_SAMPLE, IRREGULAR
from centime.model.ids import page_ids
from centime.refresh.learning.regularity import Pattern, dispersion, pattern_of, pooled
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


def bounds() -> Iterator[Figure]:
    """The shares of pages in small crawls, and by process and budget, the mean of the seeds."""
    yield from small_crawls()
    for process in PROCESSES:
        for budget in BUDGETS:
            within, irregular, unknown = np.mean([_shares(process, budget, seed) for seed in SEEDS], axis=0)
            what = f"{process}, {budget:g}"
            yield Figure(f"{what}: within the bounds", within, "")
            yield Figure(f"{what}: within the bounds, or called irregular", irregular, "", "at least", 0.85)
            yield Figure(f"{what}: the same, or called unknown", unknown, "")


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


def _shares(process: str, budget: float, seed: int) -> tuple[float, float, float]:
    """The shares of one world that are within the bounds, or irregular, or unknown, each with those before it."""
    history = world_named(process, PAGES, WARM_DAYS[budget] + MEASURED_DAYS[budget], seed).history
    each_second = budget * PAGES / DAY
    policy = Remembered(history, RefreshSettings(budget=each_second))
    Run(history, policy, each_second, warm=WARM_DAYS[budget] * DAY, tick=TICKS[budget]).advance(history.end)
    low, high = policy.book.bounds(np.arange(PAGES))
    within = (low <= history.rates) & (history.rates <= high)
    own = []
    for reads in policy.reads:
        times, changed = map(np.array, zip(*reads[-HISTORY:], strict=True))
        own.append(dispersion(times, changed))
    hosts = {
        host: pooled(own[page] for page in np.flatnonzero(history.hosts == host))
        for host in set(history.hosts.tolist())
    }
    crawl = pooled(own[:: PAGES // CRAWL_SAMPLE])
    patterns = [
        Pattern.RHYTHM if page in policy.beats else pattern_of(own[page], hosts[host], lambda: crawl)
        for page, host in zip(page_ids(np.arange(PAGES)), history.hosts.tolist(), strict=True)
    ]
    irregular = np.array([IRREGULAR.get(pattern, True) is True for pattern in patterns])
    unknown = np.array([pattern is Pattern.UNKNOWN for pattern in patterns])
    return float(within.mean()), float((within | irregular).mean()), float((within | irregular | unknown).mean())
