"""Adaptive schedules of other crawlers: the interval of a page shrinks when a read finds a change and grows otherwise.

    Nutch           x 0.8 changed, x 1.2 not; from 60 seconds to 365 days, at first 30 days; of the due pages, the
                    highest score first    (the defaults of AdaptiveFetchSchedule)
    StormCrawler    x 0.5 changed, x 1.5 not; from 1 hour to 14 days, at first 1 day; the page that is due longest
                    first    (the documented defaults of AdaptiveScheduler)

A read moves a page's due time to now + interval. Neither crawler has a budget. Here, as in a crawl that keeps its
fetchers busy, the part of the budget that the due pages do not use reads the pages that are due next, and pages for
which the budget does not suffice stay due.
"""

import math
from dataclasses import dataclass

import numpy as np

from centime.refresh.learning.verdict import Verdict
from centime.simulate.change_history import ChangeHistory, Numbers, Times
from centime.simulate.scanning import first_by
from centime.simulate.simulation import Verdicts

HOUR, DAY = 3600.0, 86_400.0


@dataclass(frozen=True, slots=True)
class Steps:
    """How an interval changes: factors, bounds in seconds, and whether due pages are read by importance."""

    changed: float
    quiet: float
    least: float
    most: float
    first: float
    by_importance: bool


NUTCH = Steps(changed=0.8, quiet=1.2, least=60.0, most=365 * DAY, first=30 * DAY, by_importance=True)
STORM = Steps(changed=0.5, quiet=1.5, least=HOUR, most=14 * DAY, first=DAY, by_importance=False)


class Stepping:
    """A schedule that adapts each page's interval in steps."""

    def __init__(self, history: ChangeHistory, steps: Steps) -> None:
        self._steps = steps
        self._importance = history.importance
        self.intervals = np.full(history.pages, steps.first)
        self._due = np.full(history.pages, math.inf)

    def choose(self, now: float, count: int) -> Numbers:
        """The due pages, then those that are due next."""
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

    def drop(self, pages: Numbers) -> None:
        """Forgets these pages."""
        self._due[pages] = math.inf

    def _soonest(self, count: int) -> Numbers:
        known = np.flatnonzero(np.isfinite(self._due))
        if count >= len(known):
            return known
        return known[np.argpartition(self._due[known], count)[:count]]
