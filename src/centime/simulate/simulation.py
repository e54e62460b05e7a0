"""Runs a policy over a history of changes under a budget, and measures the freshness and age that it realises.

Time advances in ticks. In each tick the policy chooses the pages to read, as many as the budget allows, with fractions
carried over. It learns the same about each page as a crawler would: unchanged, changed, or changed at a date. Between
two reads freshness and age are integrated exactly, not sampled:

    fresh    from the read to the first change after it          share of time, weighted by importance x
    age      (t - first change not yet seen)^+, integrated       mean over time, weighted by importance x

Both count only from the end of the warm-up, and for a page only from its first read, which is free for every policy,
until a read finds that it is gone. At most a day's worth of unspent budget is carried over, so that no policy can save
up.
"""

import math
import time
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from centime.model.errors import BadSetting
from centime.model.kernel import kernel
from centime.refresh.learning.verdict import Verdict
from centime.simulate.change_history import ChangeHistory, Flags, Numbers, Times

DAY = 86_400.0
MOST_ROUNDS = 16
_QUIET, _CHANGED, _DATED = int(Verdict.QUIET), int(Verdict.CHANGED), int(Verdict.DATED)

Verdicts = npt.NDArray[np.uint8]


class Policy(Protocol):
    """Chooses the pages to read. Time never runs backwards."""

    def choose(self, now: float, count: int) -> Numbers:
        """Up to `count` different pages to read now, of those that were recorded before."""
        ...

    def record(self, pages: Numbers, now: float, verdicts: Verdicts, since: Times) -> None:
        """Records the verdicts of reads. `since` is the time from the last change to the read, for DATED and for FIRST;
        NaN for a FIRST without a date.
        """
        ...

    def drop(self, pages: Numbers) -> None:
        """Forgets pages that reads found gone: they are never chosen again."""
        ...


@dataclass(frozen=True, slots=True)
class Realised:
    """The results of a policy."""

    freshness: float  # share of the time, weighted by importance
    age_days: float  # mean, weighted by importance
    reads: int  # after the warm-up
    spent: float  # share of the budget after the warm-up
    seconds: float  # duration of the run


class Run:
    """One policy over one history; `budget` is per second, in the unit of the history's costs."""

    def __init__(
        self, history: ChangeHistory, policy: Policy, budget: float, *, warm: float, tick: float = 3600.0
    ) -> None:
        if not budget > 0 or not tick > 0:
            raise BadSetting(f"the budget is {budget:g} and the tick {tick:g}; both must be above 0")
        if not history.begin <= warm < history.end:
            raise BadSetting("the warm-up must end within the history")
        self.history = history
        self.policy = policy
        self.now = history.begin
        self._budget = budget
        self._warm = warm
        self._tick = tick
        self._unread = np.argsort(history.born, kind="stable")
        self._unread_born = history.born[self._unread]
        self._read_count = 0
        self._last = np.full(history.pages, math.inf)
        self._dropped = np.full(history.pages, math.inf)
        self._next = history.offsets[:-1].copy()
        self._sums = np.zeros(2)
        self._spare = 0.0
        self._mean_cost = float(history.costs.mean())
        self._reads = 0
        self._spent = 0.0

    def advance(self, until: float) -> None:
        """Advances tick by tick until a time, or until the end of the history."""
        until = min(until, self.history.end)
        self._read_first()
        while self.now + self._tick <= until:
            self.now += self._tick
            self._read_first()
            self._spare += self._budget * self._tick
            self._spend()
            self._spare = min(self._spare, max(self._budget * DAY, self._mean_cost))

    def _spend(self) -> None:
        """Reads pages until the budget is spent. Where pages differ in cost, a policy that prefers cheap ones has some
        left after as many as it would pay for on average.
        """
        for _ in range(MOST_ROUNDS):
            count = min(int(self._spare / self._mean_cost), self._read_count)
            if count <= 0:
                return
            pages = self.policy.choose(self.now, count)
            self._read(pages)
            if len(pages) < count or count == self._read_count:
                return

    def result(self, seconds: float = 0.0) -> Realised:
        """The results from the end of the warm-up until now."""
        history = self.history
        pages = np.flatnonzero((self._last < math.inf) & (self._dropped == math.inf))
        sums = self._sums.copy()
        _read_pages(
            history.offsets,
            history.times,
            history.importance,
            history.dated,
            pages,
            self.now,
            self._warm,
            self._next.copy(),
            self._last.copy(),
            np.empty(len(pages), dtype=np.uint8),
            np.empty(len(pages)),
            sums,
        )
        known = history.born <= self.now
        lived = np.maximum(0.0, np.minimum(self.now, self._dropped) - np.maximum(self._warm, history.born))[known]
        whole = float((history.importance[known] * lived).sum())
        if not whole > 0:
            raise BadSetting("there are no pages of importance above 0 after the warm-up")
        length = self.now - self._warm
        spent = self._spent / (self._budget * length)
        return Realised(float(sums[0]) / whole, float(sums[1]) / whole / DAY, self._reads, spent, seconds)

    def _read_first(self) -> None:
        """Makes the first reads, which are free."""
        until = int(np.searchsorted(self._unread_born, self.now, side="right"))
        pages = np.sort(self._unread[self._read_count : until])
        self._read_count = until
        if len(pages):
            self._last[pages] = self.now
            self._next[pages] = _first_after(self.history.offsets, self.history.times, pages, self.now)
            self.policy.record(
                pages, self.now, np.full(len(pages), Verdict.FIRST, dtype=np.uint8), self.history.stood[pages]
            )

    def _read(self, pages: Numbers) -> None:
        history = self.history
        if not len(pages):
            return
        verdicts, since = np.empty(len(pages), dtype=np.uint8), np.empty(len(pages))
        _read_pages(
            history.offsets,
            history.times,
            history.importance,
            history.dated,
            pages,
            self.now,
            self._warm,
            self._next,
            self._last,
            verdicts,
            since,
            self._sums,
        )
        cost = float(history.costs[pages].sum())
        self._spare -= cost
        if self.now > self._warm:
            self._reads += len(pages)
            self._spent += cost
        if len(history.died):
            gone = history.died[pages] <= self.now
            self._dropped[pages[gone]] = self.now
            self.policy.drop(pages[gone])
            pages, verdicts, since = pages[~gone], verdicts[~gone], since[~gone]
        self.policy.record(pages, self.now, verdicts, since)


def simulate(
    history: ChangeHistory, policy: Policy, budget: float, *, warm: float, tick: float = 3600.0, until: float = math.inf
) -> Realised:
    """Runs a policy and returns its results after the warm-up; `budget` is per second."""
    started = time.perf_counter()
    run = Run(history, policy, budget, warm=warm, tick=tick)
    run.advance(until)
    return run.result(time.perf_counter() - started)


@kernel
def _first_after(offsets: Numbers, times: Times, pages: Numbers, now: float) -> Numbers:
    """The place of the first change of each page after a time."""
    places = np.empty(len(pages), dtype=np.int64)
    for n in range(len(pages)):
        place = offsets[pages[n]]
        while place < offsets[pages[n] + 1] and times[place] <= now:
            place += 1
        places[n] = place
    return places


@kernel
def _read_pages(
    offsets: Numbers,
    times: Times,
    importance: Times,
    dated: Flags,
    pages: Numbers,
    now: float,
    warm: float,
    next_change: Numbers,
    last_read: Times,
    verdicts: Verdicts,
    since: Times,
    sums: Times,
) -> None:
    """Reads pages: adds the fresh time and the age since the last read to the sums, and writes the verdicts."""
    for n in range(len(pages)):
        page = pages[n]
        place, end = next_change[page], offsets[page + 1]
        first = times[place] if place < end else np.inf
        begin = max(last_read[page], warm)
        if now > begin:
            sums[0] += importance[page] * max(0.0, min(first, now) - begin)
            if first < now:
                stale_before = max(0.0, begin - first)
                sums[1] += importance[page] * ((now - first) ** 2 - stale_before**2) / 2.0
        verdicts[n] = _QUIET
        since[n] = 0.0
        if first <= now:
            while place < end and times[place] <= now:
                place += 1
            verdicts[n] = _DATED if dated[page] else _CHANGED
            since[n] = now - times[place - 1]
        next_change[page] = place
        last_read[page] = now
