"""Observations: the verdict of a read (`learning/verdict.py`) or a published period updates a page's record and sums.

A page joins the book with its first read, whatever the verdict. A read that is not later than the last one is no
evidence. The age that the content had at the first read, by a reliable date, is evidence too, and exact, because a
Poisson process looks the same backwards. It counts only from the second read on: counted at once, it would give up
pages that had changed just before by chance, and these would never be read again (0.956 of the oracle's freshness
instead of 0.961, `docs/decisions/refresh-by-threshold.md`). A page that is filed already stays in its slot: at worst it
is inspected too early or, if it changes much faster than its slot assumes, late by up to a quarter of its last age; the
next pass (`sweep.py`) files it again.
"""

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from centime.model.kernel import Whole, bare_inlined, bare_kernel, late_kernel
from centime.refresh.calendar import Calendar, file_page
from centime.refresh.learning.doubt import note_read
from centime.refresh.learning.evidence import (
    SHORT,
    SURE,
    UNIT,
    joint_interval,
    kept_share,
    scaled_down,
    stored_changes,
    stored_interval,
    stored_times,
    widened,
)
from centime.refresh.learning.posterior import NEW, OLD, explain, mean_octaves
from centime.refresh.learning.verdict import Verdict
from centime.refresh.page_record import (
    PRIME,
    belief_of,
    cost_of,
    drawn_number,
    mean_of_page,
    next_age,
    read_time,
    set_class,
    tally,
    weigh_page,
)
from centime.refresh.tables import (
    COST_STEPS,
    CURSOR,
    FILED,
    HANDED,
    INSIDE,
    NO_PASS,
    OBSERVATIONS,
    OBSERVED,
    PAGE_COUNT,
    THRESHOLD,
    TICKS,
    RefreshTables,
)

# plain numbers, for kernels
FIRST: Final = Verdict.FIRST.value
QUIET: Final = Verdict.QUIET.value
CHANGED: Final = Verdict.CHANGED.value
DATED: Final = Verdict.DATED.value
FAILED: Final = Verdict.FAILED.value
VERDICTS: Final = len(Verdict)

CLAIMED_FACTOR: Final = 16.0
"""A published period counts as at most CLAIMED_FACTOR^weight times longer or shorter than the usual one: 4-fold for the
weight 1/2 of a stranger. Otherwise half an observation of a year, as thousands of cache headers claim, would outweigh
all other evidence on a page that changes within seconds."""
LONGEST_STANDING: Final = 4 * 365 * 86_400.0
"""An older date counts as this age: such dates often come from files that were unpacked or never had a date."""

Floats = npt.NDArray[np.float64]
Pages = npt.NDArray[np.int64]


@bare_inlined
def _tally_kept(t: RefreshTables, page: Whole, host: Whole, importance: float, sign: float) -> None:
    cost = cost_of(t, page)
    shape, rate = belief_of(t, page, host, importance, cost)
    tally(t, page, 0, shape, rate, importance, cost, sign)
    if page < t.counts[CURSOR]:
        tally(t, page, 1, shape, rate, importance, cost, sign)


@bare_inlined
def _learn(
    t: RefreshTables, page: Whole, host: Whole, verdict: Whole, interval: float, since: float, stood: float
) -> None:
    """Adds the result of a read to the evidence of a page, whose posterior is in `scratch`."""
    record = t.records[page]
    n, c, v = record["s"] * UNIT, stored_interval(record["b"]), float(record["b"])
    if n == 0.0 and v == 0.0 and stood > 0.0:  # not for nan
        record["s"] = stored_changes(1.0)
        record["b"] = stored_times(min(stood, LONGEST_STANDING), 0.0, 0.0)
        n, v = 1.0, float(record["b"])
        weigh_page(t, page, mean_of_page(t, page, host))
    m = mean_of_page(t, page, host)
    shown = math.inf if verdict == QUIET else -1.0 if verdict == CHANGED else min(max(since, 0.0), interval)
    if interval > SHORT:
        note_read(t, m, interval, verdict == QUIET)
    explain(t, m, interval, shown)
    kept = kept_share(t.explained[OLD, 0], t.explained[NEW, 0], interval)
    widen = verdict == QUIET and interval < SHORT and kept < SURE
    if not widen:
        n, v = kept * n, kept * v
    if verdict == QUIET:
        v += interval
    else:
        within = interval
        if verdict != CHANGED:
            within = 0.0
            v += shown
        c = joint_interval(n, c, within, m * math.exp2(mean_octaves(t)))
        n += 1.0
    if widen:
        old, new = t.explained[OLD], t.explained[NEW]
        shares = widened(kept, n, (old[1], old[2]), (new[1], new[2]))
        n, v = shares[0] * n, shares[1] * v
    _store(t, page, n, c, v)


@bare_inlined
def _store(t: RefreshTables, page: Whole, n: float, c: float, v: float) -> None:
    share = scaled_down(n)
    t.records[page]["s"] = stored_changes(share * n)
    t.records[page]["b"] = stored_times(share * v, c, drawn_number(t, page, 1) / PRIME)


@bare_inlined
def _stored_cost(cost: float) -> np.uint8:
    return np.uint8(min(math.log2(max(cost, 1.0)) * COST_STEPS + 0.5, 255.0))


@bare_inlined
def _mean_cost(kept: Whole, cost: float) -> np.uint8:
    """The mean cost, moved a quarter of the way to the cost of this read. Most reads cost a few bytes, some a whole
    document.
    """
    mean = math.exp2(kept / COST_STEPS)
    return _stored_cost(mean + 0.25 * (cost - mean))


@bare_inlined
def _join(t: RefreshTables, calendar: Calendar, page: Whole, host: Whole, importance: float) -> None:
    record = t.records[page]
    t.counts[PAGE_COUNT] += 1
    if t.counts[CURSOR] != NO_PASS and page >= t.counts[CURSOR]:
        record["flags"] = np.uint8((np.int64(record["flags"]) & ~FILED) | INSIDE)  # the running pass will file it
    elif record["flags"] & FILED:
        record["flags"] = np.uint8(np.int64(record["flags"]) | INSIDE)
    else:
        record["flags"] = np.uint8(np.int64(record["flags"]) | INSIDE | FILED)
        cost = cost_of(t, page)
        shape, rate = belief_of(t, page, host, importance, cost)
        age = next_age(t, page, host, shape, rate, importance, cost, t.facts[THRESHOLD])
        file_page(calendar, t.records, page, read_time(t, page) + age)


@late_kernel(2.0)
def record_reads(
    t: RefreshTables,
    calendar: Calendar,
    pages: Pages,
    hosts: Pages,
    times: Floats,
    verdicts: npt.NDArray[np.uint8],
    since: Floats,
    stood: Floats,
    costs: Floats,
    importance: Floats,
) -> None:
    """Records a batch of reads, in its order."""
    for i in range(pages.size):
        page, host, verdict = pages[i], hosts[i], verdicts[i]
        record = t.records[page]
        inside = record["flags"] & INSIDE
        t.counts[OBSERVED] += 1
        t.counts[OBSERVATIONS] += 1
        if verdict == FAILED:
            continue
        tick = np.int64(min(max(times[i] * TICKS + 0.5, 0.0), 4294967295.0))
        if inside:
            _tally_kept(t, page, host, importance[i], -1.0)
            interval = (tick - np.int64(record["read"])) / TICKS
            if verdict != FIRST and interval > 0.0:
                _learn(t, page, host, verdict, interval, since[i], stood[i])
            record["flags"] = np.uint8(np.int64(record["flags"]) & ~HANDED)
        record["read"] = np.uint32(max(tick, np.int64(record["read"])) if inside else tick)
        record["cost"] = _mean_cost(record["cost"], costs[i]) if inside else _stored_cost(costs[i])
        set_class(t, page, importance[i])
        _tally_kept(t, page, host, importance[i], 1.0)
        if not inside:
            _join(t, calendar, page, host, importance[i])


@bare_kernel
def claim_periods(t: RefreshTables, pages: Pages, hosts: Pages, periods: Floats, weights: Floats) -> None:
    """Adds published periods to the evidence of pages, limited to CLAIMED_FACTOR^weight times the estimated period of
    the host.
    """
    for i in range(pages.size):
        record = t.records[pages[i]]
        usual, factor = 1.0 / mean_of_page(t, pages[i], hosts[i]), CLAIMED_FACTOR ** weights[i]
        period = min(max(periods[i], usual / factor), usual * factor)
        n, c, rate = record["s"] * UNIT, stored_interval(record["b"]), 1.0 / usual
        if c > 0.0 and weights[i] > 0.0:
            c = joint_interval(n / weights[i], c, 0.0, rate)
        _store(t, pages[i], n + weights[i], c, float(record["b"]) + weights[i] * period)
        t.counts[OBSERVED] += 1


@late_kernel(0.5)
def forget_pages(t: RefreshTables, pages: Pages) -> None:
    """Stops refreshing pages; the calendar drops them when they are taken."""
    for i in range(pages.size):
        if 0 <= pages[i] < t.records.size:
            record = t.records[pages[i]]
            if record["flags"] & INSIDE:
                record["flags"] = np.uint8(record["flags"] & FILED)
                record["s"] = np.uint16(0)
                record["b"] = np.float32(0.0)
                t.counts[PAGE_COUNT] -= 1
                t.counts[OBSERVED] += 1
