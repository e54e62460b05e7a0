"""The refresh book of ten million pages: the cost of a recorded read, of an inspection and of a page, and how soon a
new budget takes effect.

Pages are synthetic: lognormal change rates, Pareto importance, 200 000 hosts, a tenth of a read per page and day.
Importance and hosts come from arrays in memory. Times are CPU times of this process. `python -m bench.refresh_book
[PAGES]`
"""

import sys
import time
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from bench.figure import Figure
from bench.report import report
from centime.refresh.book import RefreshBook
from centime.refresh.observation import CHANGED, FIRST, QUIET
from centime.refresh.settings import RefreshSettings
from centime.refresh.sweep import PAGES_PER_OBSERVATION

PAGES, HOSTS, BATCH, MOST, DAY = 10_000_000, 200_000, 64, 256, 86400.0
Array = npt.NDArray[np.int64]


class Web:
    """Pages that change by themselves, and a book of them."""

    def __init__(self, pages: int) -> None:
        self.random = np.random.default_rng(5)
        self.pages = pages
        self.hosts = self.random.integers(0, max(pages * HOSTS // PAGES, 1), pages)
        importance = self.random.pareto(1.5, pages) + 0.1
        self.importance = importance / importance.mean()
        self.rates = np.exp(self.random.normal(np.log(1 / (20 * DAY)), 1.5, pages))
        self.read = np.zeros(pages)
        self.now = 0.0
        self.slowest = 0.0
        self.book = RefreshBook(0.0, RefreshSettings(budget=0.1 * pages / DAY), lambda pages: self.hosts[pages])

    def record(self, pages: Array, verdicts: npt.NDArray[np.int64], batch: int) -> float:
        """Records reads at this time; returns the seconds that this took."""
        spent = 0.0
        for first in range(0, len(pages), batch):
            part = pages[first : first + batch]
            none = np.zeros(len(part))
            values = (
                self.hosts[part],
                self.now,
                verdicts[first : first + batch],
                none,
                none + 20_000.0,
                self.importance[part],
            )
            started = time.process_time()
            self.book.record(part, *values)
            spent += self._spent(started)
        self.read[pages] = self.now
        return spent

    def inspect(self, most: int) -> tuple[Array, float]:
        """One inspection, and the seconds that it took."""
        started = time.process_time()
        pages, _ = self.book.inspect(self.now, lambda pages: self.importance[pages], most)
        return pages, self._spent(started)

    def changed(self, pages: Array) -> npt.NDArray[np.int64]:
        """The verdict of a read of each page now."""
        changed = self.random.random(len(pages)) < -np.expm1(-self.rates[pages] * (self.now - self.read[pages]))
        return np.where(changed, CHANGED, QUIET)

    def settle(self) -> None:
        """Inspects, taking no page, until no pass is running."""
        while self.book.sweeping:
            self.inspect(0)

    def _spent(self, started: float) -> float:
        spent = time.process_time() - started
        self.slowest = max(self.slowest, spent)
        return spent


def refresh_book(pages: int = PAGES) -> Iterator[Figure]:
    """The figures of a book of `pages` pages."""
    Web(2000).inspect(1)
    warm = Web(2000)
    warm.record(np.arange(2000), np.full(2000, FIRST), BATCH)
    warm.now = 1e9
    warm.record(warm.inspect(MOST)[0], np.full(MOST, CHANGED), BATCH)

    web = Web(pages)
    for first in range(0, pages, 1 << 16):
        web.now = first / pages * 20 * DAY
        part = np.arange(first, min(first + (1 << 16), pages))
        web.record(part, np.full(len(part), FIRST), 1 << 16)
    web.settle()
    web.slowest = 0.0
    recorded = inspected = 0.0
    count = 0
    while count < 400_000:
        web.now += 60.0
        due, spent = web.inspect(MOST)
        inspected += spent
        recorded += web.record(due, web.changed(due), BATCH)
        count += len(due)
    slowest = web.slowest
    statistics = web.book.statistics()

    before = web.book.threshold
    web.slowest = 0.0
    started = time.process_time()
    web.book.configure(RefreshSettings(budget=(budget := 0.3 * pages / DAY)))
    due, _ = web.inspect(MOST)
    at_first = time.process_time() - started
    found = len(due)
    while time.process_time() - started < 1.0 and web.book.sweeping:
        found += len(web.inspect(MOST)[0])
    web.settle()
    whole = time.process_time() - started

    yield Figure(f"a record, of {pages:,} pages", recorded / count * 1e6, "µs", "at most", 20.0)
    yield Figure("a due page found", inspected / count * 1e6, "µs", "at most", 20.0)
    yield Figure(
        "the share of the passes that a record pays for",
        whole / (pages / PAGES_PER_OBSERVATION) * 1e6,
        "µs",
        "at most",
        20.0,
    )
    yield Figure("memory, with 12 bytes per host", statistics["bytes"] / pages, "bytes/page", "at most", 17.0)
    yield Figure("the slowest call without a new budget", slowest * 1e3, "ms", "at most", 50.0)
    yield Figure("the slowest call of a pass", web.slowest * 1e3, "ms", "at most", 50.0)
    yield Figure("another budget: first pages by the new threshold", at_first, "s", "at most", 1.0)
    yield Figure(
        "another budget: due pages found within a second", found / budget, "s of the new budget", "at least", 1.0
    )
    yield Figure("another budget: every page filed anew", whole, "s")
    yield Figure("another budget: threshold after three times as much", web.book.threshold / before, "of that before")


if __name__ == "__main__":
    sys.exit(
        report(
            {"refresh-book": lambda: refresh_book(int(sys.argv[1]) if len(sys.argv) > 1 else PAGES)},
            ["refresh-book"],
            as_json=False,
        )
    )
