"""Our policy: the crawler's own refresh book, with a pool of due pages instead of the frontier.

The book returns due pages with their worth, and returns a page that was not read again at 1.05 times its age. The pool
keeps the last worth of each page and returns the best pages first, as the frontier does. If the due pages do not use
the whole budget, more pages become due, as in a crawl (`refresh/spending.py`). Rhythms are found and used as there
(`refresh/beats.py`).
"""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from centime.frontier.timers import Timers
from centime.model.ids import PageId, page_ids
from centime.refresh.beats import ENOUGH, Beats, Commonness, due_beats, update_beat, without_beat
from centime.refresh.book import RefreshBook
from centime.refresh.learning.mortality import Mortality
from centime.refresh.learning.rhythm import next_moment
from centime.refresh.learning.verdict import Verdict
from centime.refresh.settings import RefreshSettings
from centime.refresh.spending import Spending
from centime.simulate.change_history import ChangeHistory, Flags, Numbers, Times
from centime.simulate.forecast import Beliefs, Rhythms
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
        self.beats: Beats = {}
        self.commonness = Commonness()
        self._moments = Timers()
        self._reads: dict[PageId, list[tuple[float, bool]]] = defaultdict(list)
        self._changes = np.zeros(history.pages, dtype=np.int64)
        self._ones = np.ones(history.pages)
        self._unit = float(history.costs.mean()) if settings.by_bytes else 1.0
        self.book = RefreshBook(history.begin, settings, lambda pages: history.hosts[pages])

    def choose(self, now: float, count: int) -> Numbers:
        """The due pages of the largest worth."""
        self._now = now
        due, worth = self.book.inspect(now, self._importance, count * INSPECTED_PER_READ)
        others = without_beat(self.beats, due)
        self._worth[due[others]] = worth[others]
        self._choose_beats(now)
        chosen = first_by(self._worth, count)
        spent = float(self._history.costs[chosen].sum()) if self._settings.by_bytes else float(len(chosen))
        if self._spending.observe(now, spent, self._settings.budget, self._unit):
            self.book.configure(replace(self._settings, budget=self._settings.budget * self._spending.factor))
        return chosen

    def _choose_beats(self, now: float) -> None:
        """Puts the pages with a rhythm whose moment has come, and which are worth a read, into the pool."""
        due = self._moments.due(now)
        if len(due):
            settings, costs = self._settings, self._history.costs if self._settings.by_bytes else self._ones
            worth = np.array(
                [
                    self.beats[page].worth(float(self._history.importance[page]), settings.beta, float(costs[page]))
                    for page in page_ids(due)
                ]
            )
            least = np.full(len(due), settings.least_interval)
            kept = due_beats(self.beats, self._moments, due, worth, self.book.threshold, least, now)
            self._worth[due[kept]] = worth[kept]

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
        if self._settings.policy == "optimal" and self._settings.beta:
            for page, verdict in zip(page_ids(pages), verdicts.tolist(), strict=True):
                self._update_beat(page, now, Verdict(verdict))

    def _update_beat(self, page: PageId, now: float, verdict: Verdict) -> None:
        changed = verdict in (Verdict.CHANGED, Verdict.DATED)
        if verdict is not Verdict.FAILED:
            self._reads[page].append((now, changed))
        self._changes[page] += changed
        update_beat(
            self.beats,
            self._moments,
            page,
            now,
            verdict,
            int(self._changes[page]),
            lambda: self._last_reads(page),
            self.commonness,
        )

    def _last_reads(self, page: PageId) -> tuple[Times, Flags]:
        """The reads of a page back to the change number ENOUGH."""
        times, changed = map(np.array, zip(*self._reads[page], strict=True))
        places = np.flatnonzero(changed)
        first = places[-ENOUGH] if len(places) > ENOUGH else 0
        return times[first:].astype(np.float64), changed[first:].astype(np.bool_)

    def drop(self, pages: Numbers) -> None:
        """Forgets these pages."""
        self._worth[pages] = 0.0
        for page in page_ids(pages):
            self.beats.pop(page, None)
            self._moments.remove(page)
        self.mortality.died(float((self._now - self.book.read_times(pages)).sum()), len(pages))
        self.book.expect_deaths(self.mortality.rate)
        self.book.forget(pages)

    def beliefs(self, now: float) -> Beliefs:
        """The book's beliefs about all pages that were read."""
        history = self._history
        pages = self._every[self.book.contains(self._every)]
        importance, costs = history.importance[pages], history.costs[pages]
        return beliefs_of(self.book, pages, importance, costs, now, self.mortality, self.beats)

    def _importance(self, pages: Numbers) -> Times:
        return self._history.importance[pages]


def beliefs_of(
    book: RefreshBook,
    pages: npt.NDArray[np.int64],
    importance: Times,
    cost: Times,
    now: float,
    mortality: Mortality,
    beats: Beats,
) -> Beliefs:
    """A book's beliefs about pages that it contains, at a time."""
    shape, scale = book.beliefs(pages, importance)
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
        probe_share=book.probe_share,
        death_rate=mortality.rate,
        rhythms=_rhythms(pages, beats, now) if beats else None,
    )


def _rhythms(pages: npt.NDArray[np.int64], beats: Beats, now: float) -> Rhythms:
    """The rhythms of pages, which are in ascending order."""
    period, caught, fresh = np.zeros((3, len(pages)))
    for place, page in zip(np.searchsorted(pages, np.array(list(beats))).tolist(), beats, strict=True):
        if place < len(pages) and pages[place] == page:
            rhythm = beats[page].rhythm
            period[place] = rhythm.period
            caught[place] = 1.0 - (rhythm.phase_high - rhythm.phase_low) / 2.0 / rhythm.period
            fresh[place] = next_moment(rhythm, beats[page].read) > now
    return Rhythms(period=period, caught=caught, fresh=fresh)
