"""The refresh book: for every page that was read, how often it changes, what another read is worth, and when it is due.

    evidence.py    the evidence of a page's reads
    posterior.py   evidence to a distribution of the change rate
    pooling.py     the prior, learned from all pages
    worth.py       the index I(a) of a copy of age a, and its inverse
    demand.py      the threshold μ at which the budget is spent
    calendar.py    pages by the time of their next inspection
    sweep.py       the pass over all pages, which corrects due times and sums

A page is due when its least interval is over and I(age) ≥ μ. `inspect` returns due pages with their worth, and returns
a page that was not read in the meantime again at 1.05 times its age. Each call does a bounded amount of work: if many
pages are due at once, several calls return them.

The book is deterministic: its state depends only on the calls, their order, and the results of `hosts_of` and
`importance`. Time is an argument and may even run backwards. Memory: 16 bytes per page, 12 per host.

Traps: the book asks for importance and hosts at each call and never stores them; the host of a page must not change.
`claim` and `forget` change the sums only with the next pass. An argument that only our own code can get wrong (a time
that is NaN, arrays of different lengths) raises ScheduleBroken.

Over 400 lines because it is one class: all methods that keep the sums correct are together; kernels are in the modules
above.
"""

import math
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from centime.model.errors import ScheduleBroken
from centime.model.ids import PageId
from centime.refresh import observation, sweep, verifier
from centime.refresh.book_state import copy_tables, restore_tables
from centime.refresh.calendar import Calendar, advance, earliest_opening, empty_calendar, set_clocks, take
from centime.refresh.curves import curves_for
from centime.refresh.demand import demand_at, solve_threshold
from centime.refresh.learning import pooling
from centime.refresh.learning.bounds import CONFIDENCE, bounds_by
from centime.refresh.learning.doubt import learn_doubt
from centime.refresh.settings import POLICIES, RefreshSettings
from centime.refresh.tables import (
    ALPHA,
    BETA,
    BY_BYTES,
    CLOCK,
    COST_STEPS,
    COSTS,
    CURSOR,
    EXACT,
    HIGHEST_THRESHOLD,
    HOST_LIMIT,
    INSIDE,
    LEAST_INTERVAL,
    LIMIT,
    MEAN,
    MOVED,
    NEXT_DEATHS,
    NO_PASS,
    OBSERVATIONS,
    PAGE_COUNT,
    PASSES,
    ROOTS,
    RULE,
    SOUND,
    STALE,
    THRESHOLD,
    TICKS,
    URGENT,
    RefreshTables,
    empty_refresh_tables,
    make_room_for_hosts,
    make_room_for_records,
)

Pages = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
OfPages = Callable[[Pages], npt.NDArray[Any]]

LARGEST_PAGE = 2**31 - 2
_INSPECTED = 4  # pages at most, for each page requested
_SAMPLE = 8192
_LAST_TICK = 2**32 - 1


class RefreshBook:
    """All pages that are kept fresh. `hosts_of` returns the hosts of pages; `began` is the time from which the book
    counts its seconds.
    """

    def __init__(self, began: float, settings: RefreshSettings, hosts_of: OfPages) -> None:
        self.began = float(began)
        self._hosts_of = hosts_of
        self._settings = settings
        self._t: RefreshTables = pooling.with_prior(empty_refresh_tables(), settings.first_rate)
        self._calendar: Calendar = empty_calendar()
        facts = self._t.facts
        facts[EXACT] = 1.0
        learn_doubt(self._t)
        self._draw()
        self._retune()

    @property
    def settings(self) -> RefreshSettings:
        """The settings in force."""
        return self._settings

    def configure(self, settings: RefreshSettings) -> None:
        """Applies new settings: to pages that are inspected at once, to pages in the calendar as the next pass reaches
        them.
        """
        before, self._settings = self._settings, settings
        if not settings.same_rule(before):
            self._draw()
            self._t.facts[EXACT] = 1.0
            self._t.counts[[STALE, URGENT]] = self._t.counts[LIMIT] > 0
            self._t.counts[SOUND] = 0
        else:
            self._retune()
            # a higher threshold needs no pass: pages are inspected too early, and filed again
            if self._t.facts[THRESHOLD] < self._t.facts[HIGHEST_THRESHOLD]:
                self._t.counts[URGENT] = 1

    def _draw(self) -> None:
        facts, settings = self._t.facts, self._settings
        facts[RULE] = POLICIES.index(settings.policy)
        facts[ALPHA], facts[BETA] = settings.alpha, settings.beta
        facts[LEAST_INTERVAL], facts[BY_BYTES] = settings.least_interval, settings.by_bytes
        self._t = self._t._replace(curves=curves_for(float(facts[RULE]), settings.alpha, settings.beta))

    def _retune(self) -> None:
        facts = self._t.facts
        facts[THRESHOLD] = self.threshold_for((1.0 - self.probe_share) * self._settings.budget)
        facts[HIGHEST_THRESHOLD] = max(facts[HIGHEST_THRESHOLD], facts[THRESHOLD])

    def record(
        self,
        pages: npt.NDArray[Any],
        hosts: npt.NDArray[Any],
        now: npt.NDArray[Any] | float,
        verdict: npt.NDArray[Any],
        since: npt.NDArray[Any],
        cost: npt.NDArray[Any],
        importance: npt.NDArray[Any],
        stood: npt.NDArray[Any] | float = math.nan,
    ) -> None:
        """Records reads with their verdicts (`learning/verdict.py`).

        `since` counts for DATED only: the seconds from the last change to the read. `stood` is the age that the content
        had at the previous read, by its date; NaN if unknown.
        """
        pages = _checked_pages(pages)
        hosts, verdict = np.asarray(hosts, dtype=np.int64), np.asarray(verdict, dtype=np.uint8)
        times, stood = (np.array(np.broadcast_to(values, pages.shape), dtype=np.float64) for values in (now, stood))
        times -= self.began
        since, cost, importance = (np.asarray(values, dtype=np.float64) for values in (since, cost, importance))
        if not len(pages) == len(hosts) == len(verdict) == len(since) == len(cost) == len(importance):
            raise ScheduleBroken(
                f"{len(pages)} reads were recorded with {len(hosts)} hosts, {len(verdict)} verdicts, {len(since)} "
                f"times since, {len(cost)} costs and {len(importance)} importances; each read needs one of each"
            )
        if not len(pages):
            return
        if hosts.min() < 0 or verdict.max() >= observation.VERDICTS:
            raise ScheduleBroken("a read has no host, or a verdict that does not exist")
        if not (np.isfinite(times).all() and np.isfinite(importance).all()):
            raise ScheduleBroken("the time or the importance of a read is not a finite number")
        if np.isnan(since).any() or np.isnan(cost).any():
            raise ScheduleBroken("the time since the change of a read, or its cost, is NaN")
        self._make_room(pages, hosts)
        observation.record_reads(self._t, self._calendar, pages, hosts, times, verdict, since, stood, cost, importance)
        self._retune()

    def claim(self, pages: npt.NDArray[Any], period: npt.NDArray[Any], weight: npt.NDArray[Any]) -> None:
        """Adds published periods, in seconds, to the evidence of pages, also of unread ones; `weight` is the number of
        observations that each counts for.
        """
        pages = _checked_pages(pages)
        period, weight = np.asarray(period, dtype=np.float64), np.asarray(weight, dtype=np.float64)
        if (
            not len(pages) == len(period) == len(weight)
            or not ((period >= 0) & (weight >= 0) & np.isfinite(period * weight)).all()
        ):
            raise ScheduleBroken("a published period or its weight is missing, below 0 or not a finite number")
        if len(pages):
            self._make_room(pages, np.zeros(0, dtype=np.int64))
            observation.claim_periods(self._t, pages, np.asarray(self._hosts_of(pages), dtype=np.int64), period, weight)

    def forget(self, pages: npt.NDArray[Any]) -> None:
        """Stops refreshing pages and drops their evidence; ignores those that are not inside."""
        observation.forget_pages(self._t, np.asarray(pages, dtype=np.int64))

    def expect_deaths(self, rate: float) -> None:
        """Sets how often a page goes away, per second, for decisions from the next pass on."""
        self._t.facts[NEXT_DEATHS] = rate

    def _make_room(self, pages: Pages, hosts: Pages) -> None:
        make_room_for_records(self._t, int(pages.max()) + 1)
        if len(hosts):
            make_room_for_hosts(self._t, int(hosts.max()) + 1)

    def contains(self, pages: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """For each page, whether it is refreshed."""
        pages = np.asarray(pages, dtype=np.int64)
        known = (pages >= 0) & (pages < self._t.counts[LIMIT])
        inside = np.zeros(len(pages), dtype=np.bool_)
        inside[known] = self._t.records["flags"][pages[known]] & INSIDE
        return inside

    def is_unclaimed(self, pages: Pages) -> npt.NDArray[np.bool_]:
        """For each page, whether it is inside and there is no evidence of its changes."""
        unclaimed = self.contains(pages)
        records = self._t.records[pages[unclaimed]]
        unclaimed[unclaimed] = (records["b"] == 0.0) & (records["s"] == 0)
        return unclaimed

    def cost(self, page: PageId) -> float:
        """The expected cost of reading a page, in bytes."""
        return float(math.exp2(self._t.records["cost"][page] / COST_STEPS))

    def read_times(self, pages: Pages) -> Floats:
        """Time at which each page was last read; NaN if it is not inside."""
        times = np.full(len(pages), np.nan)
        inside = self.contains(pages)
        times[inside] = self.began + self._t.records["read"][pages[inside]] / TICKS
        return times

    def __len__(self) -> int:
        """Number of pages that are refreshed."""
        return int(self._t.counts[PAGE_COUNT])

    def inspect(self, now: float, importance: OfPages, most: int) -> tuple[Pages, Floats]:
        """Returns up to `most` pages that are due, and their worth; also takes a step of the running pass."""
        if math.isnan(now) or most < 0:
            raise ScheduleBroken(f"the book was inspected at the time {now} for {most} pages")
        time = float(now) - self.began
        self._t.facts[CLOCK] = max(time, self._t.facts[CLOCK])
        self._sweep(time, importance)
        advance(self._calendar, self._t.records, time)
        due, worths = np.empty(most, dtype=np.int64), np.empty(most)
        got, left = 0, _INSPECTED * most
        while got < most and left > 0:
            pages = np.empty(most - got, dtype=np.int64)
            pages = pages[: take(self._calendar, self._t.records, pages)]
            if not len(pages):
                break
            left -= len(pages)
            hosts, weights = self._facts_of(pages, importance)
            got += sweep.judge_pages(self._t, self._calendar, pages, hosts, weights, time, due[got:], worths[got:])
        return due[:got], worths[:got]

    def _facts_of(self, pages: Pages, importance: OfPages) -> tuple[Pages, Floats]:
        return np.asarray(self._hosts_of(pages), dtype=np.int64), np.asarray(importance(pages), dtype=np.float64)

    def _sweep(self, time: float, importance: OfPages) -> None:
        """Takes a step of the running pass, or starts one if one is due."""
        t = self._t
        if t.counts[STALE]:
            self._estimate(importance)
        self._retune()
        if t.counts[CURSOR] == NO_PASS:
            if not sweep.is_wanted(t):
                return
            sweep.begin_pass(t, self._calendar, self._settings.budget)
        first, last = sweep.next_stretch(t)
        pages = self._inside(first, last, 1)
        hosts, weights = self._facts_of(pages, importance)
        sweep.sweep_pages(t, self._calendar, pages, hosts, weights, time)
        t.counts[CURSOR] = last
        if last == t.counts[LIMIT]:
            sweep.end_pass(t)
            if t.counts[MOVED]:
                some = self._inside(0, last, 1 + last // pooling.SAMPLE)
                pooling.settle(t, some, self._hosts_of_any(some))
            self._retune()

    def _inside(self, first: int, last: int, step: int) -> Pages:
        pages = np.empty(-(-(last - first) // step), dtype=np.int64)
        return pages[: sweep.pages_inside(self._t, first, last, step, pages)]

    def _estimate(self, importance: OfPages) -> None:
        """Estimates the sums from a sample of pages, until a pass has computed them."""
        t = self._t
        limit = int(t.counts[LIMIT])
        pages = self._inside(0, limit, max(2, limit // _SAMPLE))
        t.demand[0], t.sums[0] = 0.0, 0.0
        if len(pages):
            hosts, weights = self._facts_of(pages, importance)
            sweep.tally_pages(t, 0, pages, hosts, weights)
            t.demand[0] *= len(self) / len(pages)
            t.sums[0] *= len(self) / len(pages)
        t.counts[STALE] = 0

    def refile(self, now: float, importance: OfPages) -> None:
        """Runs a whole pass at once. It takes long: for tests and for opening a crawl, never while fetchers wait."""
        self._t.counts[URGENT] = 1
        passes = self._t.counts[PASSES] + (2 if self._t.counts[CURSOR] != NO_PASS else 1)
        while self._t.counts[PASSES] < passes:
            self._sweep(float(now) - self.began, importance)

    def set_back(self, now: float, importance: OfPages) -> None:
        """Sets the clock of the book back to `now`, if it is later: pages were read at `now` at the latest, and all of
        them are filed again. Takes time proportional to the number of pages.
        """
        t = self._t
        time = max(0.0, now - self.began)
        limit = int(t.counts[LIMIT])
        reads = t.records["read"][:limit]
        if now >= self.began and t.facts[CLOCK] <= time and not (reads > time * TICKS).any():
            return
        self.began = min(self.began, now)
        np.minimum(reads, np.uint32(time * TICKS), out=reads)
        t.facts[CLOCK] = time
        set_clocks(self._calendar, time)
        if limit:
            self.refile(now, importance)

    def reach_back(self, began: float, now: float, importance: OfPages) -> None:
        """Counts seconds from `began` on, if that is earlier, so that older reads are evidence too; all pages are filed
        again. Takes time proportional to the number of pages.
        """
        t = self._t
        ticks = math.floor((self.began - began) * TICKS)
        if ticks <= 0:
            return
        limit = int(t.counts[LIMIT])
        reads = t.records["read"][:limit]
        reads[:] = np.minimum(reads.astype(np.int64) + ticks, _LAST_TICK).astype(np.uint32)
        self.began -= ticks / TICKS
        t.facts[CLOCK] += ticks / TICKS
        set_clocks(self._calendar, float(t.facts[CLOCK]))
        if limit:
            self.refile(now, importance)

    def worth(self, pages: npt.NDArray[Any], now: float, importance: npt.NDArray[Any]) -> Floats:
        """The worth of reading each page now; NaN for pages that are not refreshed."""
        pages = np.asarray(pages, dtype=np.int64)
        worths = np.empty(len(pages))
        weights = np.asarray(importance, dtype=np.float64)
        sweep.worth_of_pages(self._t, pages, self._hosts_inside(pages), weights, float(now) - self.began, worths)
        return worths

    def due_times(
        self,
        pages: npt.NDArray[Any],
        importance: npt.NDArray[Any],
        threshold: float | None = None,
        *,
        probed: bool = True,
    ) -> Floats:
        """Time at which each page is due, under the current threshold or another one; infinity for never. Without
        `probed`, the time at which its worth reaches the threshold.
        """
        pages, weights = np.asarray(pages, dtype=np.int64), np.asarray(importance, dtype=np.float64)
        times = np.empty(len(pages))
        level = self.threshold if threshold is None else float(threshold)
        sweep.due_times_of_pages(self._t, pages, self._hosts_inside(pages), weights, level, probed, times)
        return times + self.began

    def rates(self, pages: npt.NDArray[Any]) -> tuple[Floats, Floats, Floats]:
        """The estimated change rate of each page (per second): the mean, and the bounds of 90 % of the belief; those
        of the prior for pages that were never read. People are shown `bounds`.
        """
        pages = np.asarray(pages, dtype=np.int64)
        means, low, high = np.empty((3, len(pages)))
        edge = (1.0 - CONFIDENCE) / 2
        sweep.rates_of_pages(self._t, pages, self._hosts_of_any(pages), edge, means, low, high)
        return means, low, high

    def bounds(self, pages: npt.NDArray[Any]) -> tuple[Floats, Floats]:
        """The rates (per second) between which 90 % lie by the reads of each page, and by other pages as far as there
        are enough: 0 and infinity where nothing is known. Takes time proportional to the number of all pages.
        """
        pages = np.asarray(pages, dtype=np.int64)
        hosts = self._hosts_of_any(pages)

        def quantiles(t: RefreshTables, share: float) -> Floats:
            unused, below, above = np.empty((3, len(pages)))
            sweep.rates_of_pages(t, pages, hosts, share, unused, below, above)
            return below

        return bounds_by(self._t, pages, quantiles)

    def beliefs(self, pages: npt.NDArray[Any], importance: npt.NDArray[Any]) -> tuple[Floats, Floats]:
        """S and B of each page's belief Gamma(S, B), which is exact near the age at which the page is due; the prior
        for pages that were never read.
        """
        pages, weights = np.asarray(pages, dtype=np.int64), np.asarray(importance, dtype=np.float64)
        shapes, rates = np.empty((2, len(pages)))
        sweep.beliefs_of_pages(self._t, pages, self._hosts_of_any(pages), weights, shapes, rates)
        return shapes, rates

    def _hosts_of_any(self, pages: Pages) -> Pages:
        return np.asarray(self._hosts_of(pages), dtype=np.int64)

    def _means(self, hosts: Pages) -> Floats:
        known = (hosts >= 0) & (hosts < self._t.counts[HOST_LIMIT])
        means = np.full(len(hosts), self._t.facts[MEAN])
        pooled = self._t.means[hosts[known]].astype(np.float64)
        means[known] = np.where(pooled > 0, pooled, self._t.facts[MEAN])
        return means

    def _hosts_inside(self, pages: Pages) -> Pages:
        """The hosts of pages; 0 for pages that are not inside."""
        hosts = np.zeros(len(pages), dtype=np.int64)
        inside = self.contains(pages)
        hosts[inside] = self._hosts_of(pages[inside])
        return hosts

    def discovery_worth(self, hosts: npt.NDArray[Any]) -> Floats:
        """The worth of the first read of a page of importance 1 on each host: that of an infinitely old copy, at the
        pooled rate.
        """
        settings = self._settings
        weight = settings.alpha + settings.beta if settings.policy == "optimal" else 1.0
        return weight / (self._means(np.asarray(hosts, dtype=np.int64)) * self.mean_cost)

    @property
    def mean_cost(self) -> float:
        """The mean cost of a read over all pages: bytes, or 1 if the budget counts pages."""
        if not self._settings.by_bytes or not len(self):
            return 1.0
        return max(float(self._t.sums[0, COSTS]) / len(self), 1.0)

    def earliest(self) -> float:
        """Time at which `inspect` has work again: the time of the last inspection if it has work now, infinity if the
        calendar is empty.
        """
        began, clock = self.began, float(self._t.facts[CLOCK])
        if self.sweeping:
            return began + clock
        return began + max(earliest_opening(self._calendar), clock)

    @property
    def sweeping(self) -> bool:
        """Whether a pass is running or wanted; if so, every `inspect` takes a step of it, at any time."""
        return bool(self._t.counts[CURSOR] != NO_PASS or self._t.counts[STALE] or sweep.is_wanted(self._t))

    @property
    def threshold(self) -> float:
        """μ: a page is due when its worth reaches this."""
        return float(self._t.facts[THRESHOLD])

    def demand(self, threshold: float) -> float:
        """The demand at a threshold: pages, or bytes, per second."""
        return float(self._t.facts[EXACT] * demand_at(self._t.demand[0], float(threshold)))

    def threshold_for(self, budget: float) -> float:
        """The threshold at which the demand equals a budget."""
        return float(solve_threshold(self._t.demand[0], float(budget) / self._t.facts[EXACT]))

    @property
    def probe_share(self) -> float:
        """The share of the budget that reads pages which are not worth it yet, to learn about them."""
        return sweep.probe_share(self._t) if self._settings.policy == "optimal" else 0.0

    def statistics(self) -> dict[str, Any]:
        """Counts and estimates for reports."""
        t = self._t
        return {
            "pages": len(self),
            "hosts": int(t.counts[HOST_LIMIT]),
            "observations": int(t.counts[OBSERVATIONS]),
            "passes": int(t.counts[PASSES]),
            "threshold": self.threshold,
            "demand": self.demand(self.threshold),
            "budget": self._settings.budget,
            "roots": float(t.sums[0, ROOTS]),
            "prior_mean_rate": float(t.facts[MEAN]) * pooling.mean_factor(t.weights),
            "bytes": sum(array.nbytes for array in (*t, *self._calendar)),
        }

    def check(self, importance: OfPages, *, in_full: bool = False) -> None:
        """Verifies every invariant; raises ScheduleBroken with what is broken. `in_full` also verifies times and sums:
        right after `refile` only (`verifier.py`).
        """
        t = self._t
        opens = verifier.verify_filing(t, self._calendar)
        if in_full:
            pages = np.flatnonzero(t.records["flags"][: t.counts[LIMIT]] & INSIDE)
            hosts, weights = self._facts_of(pages, importance)
            highest = max(self.threshold, float(t.facts[HIGHEST_THRESHOLD]))
            verifier.verify_times(t, self._calendar, opens, pages, hosts, weights, highest)
            verifier.verify_sums(t, pages, hosts, weights)
            verifier.verify_exactness(t, pages, hosts, weights)

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """The complete state as facts and arrays; the arrays are copies."""
        return {"began": self.began, "settings": asdict(self._settings)}, copy_tables(self._t, self._calendar)

    @classmethod
    def from_state(cls, facts: dict[str, Any], arrays: dict[str, npt.NDArray[Any]], hosts_of: OfPages) -> "RefreshBook":
        """The book that has this state; it continues exactly as the original would."""
        book = cls(facts["began"], RefreshSettings(**facts["settings"]), hosts_of)
        restore_tables(book._t, book._calendar, arrays)
        return book


def _checked_pages(pages: npt.NDArray[Any]) -> Pages:
    pages = np.asarray(pages, dtype=np.int64)
    if len(pages) and not 0 <= pages.min() <= pages.max() <= LARGEST_PAGE:
        raise ScheduleBroken(f"page numbers reach from {pages.min()} to {pages.max()}; they are 0 to {LARGEST_PAGE}")
    return pages
