"""Our policy: the crawler's own refresh book, with a pool of due pages instead of the frontier.

The book returns due pages with their worth, and returns a page that was not read again at 1.25 times its age. The pool
keeps the last worth of each page and returns the best pages first, as the frontier does. If the due pages do not use
the whole budget, more pages become due, as in a crawl (`refresh/spending.py`).
"""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from centime.refresh.book import RefreshBook
from centime.refresh.mortality import Mortality
from centime.refresh.settings import RefreshSettings
from centime.refresh.spending import Spending
from centime.refresh.verdict import Verdict
from centime.simulate.change_history import ChangeHistory, Numbers, Times
from centime.simulate.forecast import Beliefs
from centime.simulate.scanning import first_by
from centime.simulate.simulation import Verdicts

INSPECTED_PER_READ = 16


class Ours:
    """The refresh book as a policy."""

    def __init__(self, history: ChangeHistory, settings: RefreshSettings) -> None:
        self._history = history
        self._worth: Times = np.zeros(history.pages)  # 0: not in the pool
        self._stood: Times = np.full(history.pages, np.nan)
        self._every = np.arange(history.pages)
        self._settings = settings
        self._spending = Spending()
        self._now = history.begin
        self.mortality = Mortality()
        self._unit = float(history.costs.mean()) if settings.by_bytes else 1.0
        self.book = RefreshBook(history.begin, settings, lambda pages: history.hosts[pages])

    def choose(self, now: float, count: int) -> Numbers:
        """The due pages of the largest worth."""
        self._now = now
        due, worth = self.book.inspect(now, self._importance, count * INSPECTED_PER_READ)
        self._worth[due] = worth
        chosen = first_by(self._worth, count)
        if self._spending.observe(now, len(chosen) * self._unit, self._settings.budget, self._unit):
            self.book.configure(replace(self._settings, budget=self._settings.budget * self._spending.factor))
        return chosen

    def record(self, pages: Numbers, now: float, verdicts: Verdicts, since: Times) -> None:
        """Records the reads in the book."""
        history = self._history
        self.mortality.lived(float(np.nansum(now - self.book.read_times(pages))))
        self._worth[pages] = 0.0
        first = verdicts == Verdict.FIRST
        self._stood[pages[first]] = since[first]
        since = np.where(first, 0.0, since)
        self.book.record(
            pages,
            history.hosts[pages],
            now,
            verdicts,
            since,
            history.costs[pages],
            history.importance[pages],
            self._stood[pages],
        )

    def drop(self, pages: Numbers) -> None:
        """Forgets them."""
        self._worth[pages] = 0.0
        self.mortality.died(float((self._now - self.book.read_times(pages)).sum()), len(pages))
        self.book.forget(pages)

    def beliefs(self, now: float) -> Beliefs:
        """The book's beliefs about all pages that were read."""
        history = self._history
        pages = self._every[self.book.contains(self._every)]
        return beliefs_of(self.book, pages, history.importance[pages], history.costs[pages], now, self.mortality)

    def _importance(self, pages: Numbers) -> Times:
        return self._history.importance[pages]


def beliefs_of(
    book: RefreshBook,
    pages: npt.NDArray[np.int64],
    importance: Times,
    cost: Times,
    now: float,
    mortality: Mortality,
) -> Beliefs:
    """A book's beliefs about pages that it contains, at a time."""
    shape, scale = book.beliefs(pages)
    settings = book.settings
    return Beliefs(
        shape=shape,
        scale=scale,
        importance=importance,
        cost=cost if settings.by_bytes else np.ones(len(pages)),
        age=np.maximum(0.0, now - book.read_times(pages)),
        alpha=settings.alpha,
        beta=settings.beta,
        least_interval=settings.least_interval,
        drawn=book.drawn_factors(pages),
        probe_share=book.probe_share,
        death_rate=mortality.rate,
    )
