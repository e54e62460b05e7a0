"""Other crawlers' adaptive schedules: every page has an interval that shrinks when it was found changed and grows when
not.

    Nutch           x 0.8 changed, x 1.2 not; from 60 seconds to 365 days, at first 30 days      (AdaptiveFetchSchedule's own defaults)
                    of the pages that are due the best scored first
    StormCrawler    x 0.5 changed, x 1.5 not; from 1 hour to 14 days, at first 1 day             (AdaptiveScheduler's documented defaults)
                    the one that is due longest first

A read moves a page's due time to now + interval. Neither knows a budget. Here, as in a crawl that keeps its fetchers
busy, a budget that the due pages do not use up reads those that are due next, and what it does not suffice for stays
due.
"""

import math
from dataclasses import dataclass

import numpy as np

from centime.refresh.verdict import Verdict
from centime.simulate.change_history import ChangeHistory, Numbers, Times
from centime.simulate.scanning import first_by
from centime.simulate.simulation import Verdicts

HOUR, DAY = 3600.0, 86_400.0


@dataclass(frozen=True, slots=True)
class Steps:
    """How an interval moves, in seconds, and in what order due pages are read."""

    changed: float
    quiet: float
    least: float
    most: float
    first: float
    by_importance: bool


NUTCH = Steps(changed=0.8, quiet=1.2, least=60.0, most=365 * DAY, first=30 * DAY, by_importance=True)
STORM = Steps(changed=0.5, quiet=1.5, least=HOUR, most=14 * DAY, first=DAY, by_importance=False)


class Stepping:
    """An adaptive schedule by steps."""

    def __init__(self, history: ChangeHistory, steps: Steps) -> None:
        self._steps = steps
        self._importance = history.importance
        self.intervals = np.full(history.pages, steps.first)
        self._due = np.full(history.pages, math.inf)

    def choose(self, now: float, count: int) -> Numbers:
        """The due pages in their order, then those that are due next."""
        due = np.flatnonzero(self._due <= now)
        if len(due) > count:
            return (
                due[first_by(self._importance[due] + 1e-300, count)]
                if self._steps.by_importance
                else self._soonest(count)
            )
        return due if len(due) == count else self._soonest(count)

    def record(self, pages: Numbers, now: float, verdicts: Verdicts, since: Times) -> None:
        """Shortens or lengthens their intervals."""
        steps = self._steps
        moved = self.intervals[pages] * np.where(verdicts == Verdict.QUIET, steps.quiet, steps.changed)
        moved = np.clip(moved, steps.least, steps.most)
        self.intervals[pages] = np.where(
            (verdicts == Verdict.FIRST) | (verdicts == Verdict.FAILED), self.intervals[pages], moved
        )
        self._due[pages] = now + self.intervals[pages]

    def _soonest(self, count: int) -> Numbers:
        known = np.flatnonzero(np.isfinite(self._due))
        if count >= len(known):
            return known
        return known[np.argpartition(self._due[known], count)[:count]]
