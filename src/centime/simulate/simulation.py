"""A policy run over a history of changes under a budget, and what it realised.

Time goes in ticks. In each the policy is given what the budget allows, fractions carried over, and names the pages that
it reads now; it learns of each of them what a crawler would: unchanged, changed, or changed at a date. Between two
reads nothing is sampled:

    fresh    from the read to the first change behind it                         share of time, weighted by importance x
    age      (t - first change not yet seen)^+, integrated                       mean over time, weighted by importance x

Both count from the end of the warm-up only, and for a page not before its first read, which is free for every policy. A
budget that a policy leaves unspent is carried over, a day's worth at most: nobody may save up.
"""

import math
import time
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from centime.model.errors import BadSetting
from centime.model.kernel import kernel
from centime.refresh.verdict import Verdict
from centime.simulate.change_history import ChangeHistory, Flags, Numbers, Times

DAY = 86_400.0
_QUIET, _CHANGED, _DATED = int(Verdict.QUIET), int(Verdict.CHANGED), int(Verdict.DATED)

Verdicts = npt.NDArray[np.uint8]


class Policy(Protocol):
    """What decides which pages are read. Time never runs backwards."""

    def choose(self, now: float, count: int) -> Numbers:
        """Up to so many different pages to be read now, of those that were recorded once."""
        ...

    def record(self, pages: Numbers, now: float, verdicts: Verdicts, since: Times) -> None:
        """Takes in what the reads said; `since` is how long before the read a page changed last, where the verdict is
        DATED.

        The same for FIRST; nan where that is not dated.
        """
        ...


@dataclass(frozen=True, slots=True)
class Realised:
    """What came of a policy."""

    freshness: float  # share of the time, by importance
    age_days: float  # by importance
    reads: int  # after the warm-up
    spent: float  # of the budget after the warm-up
    seconds: float  # that the run took


class Run:
    """One policy over one history; `budget` is a second's, in the unit of the history's costs."""

    def __init__(
        self, history: ChangeHistory, policy: Policy, budget: float, *, warm: float, tick: float = 3600.0
    ) -> None:
        if not budget > 0 or not tick > 0:
            raise BadSetting(f"a budget and a tick are above 0, not {budget:g} and {tick:g}")
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
        self._next = history.offsets[:-1].copy()
        self._sums = np.zeros(2)
        self._spare = 0.0
        self._mean_cost = float(history.costs.mean())
        self._reads = 0
        self._spent = 0.0

    def advance(self, until: float) -> None:
        """Goes on, tick by tick, until that time, or the end of the history."""
        until = min(until, self.history.end)
        self._welcome()
        while self.now + self._tick <= until:
            self.now += self._tick
            self._welcome()
            self._spare += self._budget * self._tick
            count = int(self._spare / self._mean_cost)
            if count > 0:
                self._read(self.policy.choose(self.now, min(count, self._read_count)))
            self._spare = min(self._spare, max(self._budget * DAY, self._mean_cost))

    def result(self, seconds: float = 0.0) -> Realised:
        """What was realised from the end of the warm-up until now."""
        history = self.history
        pages = np.flatnonzero(self._last < math.inf)
        sums = self._sums.copy()
        _look(
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
        lived = np.maximum(0.0, self.now - np.maximum(self._warm, history.born[pages]))
        whole = float((history.importance[pages] * lived).sum())
        if not whole > 0:
            raise BadSetting("nothing of importance was there to be kept fresh after the warm-up")
        length = self.now - self._warm
        spent = self._spent / (self._budget * length)
        return Realised(float(sums[0]) / whole, float(sums[1]) / whole / DAY, self._reads, spent, seconds)

    def _welcome(self) -> None:
        """The first reads, which are free."""
        until = int(np.searchsorted(self._unread_born, self.now, side="right"))
        pages = np.sort(self._unread[self._read_count : until])
        self._read_count = until
        if len(pages):
            self._last[pages] = self.now
            self._next[pages] = _behind(self.history.offsets, self.history.times, pages, self.now)
            self.policy.record(
                pages, self.now, np.full(len(pages), Verdict.FIRST, dtype=np.uint8), self.history.stood[pages]
            )

    def _read(self, pages: Numbers) -> None:
        history = self.history
        if not len(pages):
            return
        verdicts, since = np.empty(len(pages), dtype=np.uint8), np.empty(len(pages))
        _look(
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
        self.policy.record(pages, self.now, verdicts, since)


def simulate(
    history: ChangeHistory, policy: Policy, budget: float, *, warm: float, tick: float = 3600.0, until: float = math.inf
) -> Realised:
    """What the policy realises after the warm-up under a budget of so much a second."""
    started = time.perf_counter()
    run = Run(history, policy, budget, warm=warm, tick=tick)
    run.advance(until)
    return run.result(time.perf_counter() - started)


@kernel
def _behind(offsets: Numbers, times: Times, pages: Numbers, now: float) -> Numbers:
    """Where the first change of each page behind a time lies."""
    places = np.empty(len(pages), dtype=np.int64)
    for n in range(len(pages)):
        place = offsets[pages[n]]
        while place < offsets[pages[n] + 1] and times[place] <= now:
            place += 1
        places[n] = place
    return places


@kernel
def _look(
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
    """Reads pages: adds the time fresh and the age since the last read to the sums, and says what the read shows."""
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
