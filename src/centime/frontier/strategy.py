"""Which page is next: strictly by importance inside a level, and a bounded share for each level.

    importance(page) = key(page) + offset[class of the page]    for an unread page (level 5)
    worth(page)      = key(page)                                for every other page (levels 1 to 4)

Guarantee: in the chosen level, no page of a ready host has a larger importance (worth) than the leased page. Inside a
class the larger key is first, then the lower page number. Between the best pages of two classes, equal importance goes
to the lower page number.

Levels: level 1 chooses first, level 5 last. While a level below it has a ready page, a level takes only its share of
the choices passed down to it. Each of levels 1 to 4 has a credit. At each choice in which both it and a lower level are
ready, credit += share; if credit ≥ 1, the level is chosen and pays 1; otherwise the choice passes down. Hence of any n
successive such choices it takes between ⌊share·n⌋ and ⌈share·n⌉. With shares of one half, levels 1 to 5 get 1/2, 1/4,
1/8, 1/16, 1/16 if all are ready, and a level alone gets everything. Credits are whole millionths, so rounding never
accumulates.

Hosts of each standing, of each domain and of each address have a bounded number of leases (`standing.py`). A page whose
host is over a bound counts as a page of a host that is not ready; the host of a full domain or address is delayed.

With `discovery` > 0, the worth of one unit of importance of an unread page, refresh and discovery (levels 4 and 5)
choose as one level: the larger of worth(best due page) and discovery · importance(best unread page) is next, and a tie
goes to the due page.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from centime.frontier.kind import CLASSES, DISCOVERY, KINDS, LEVELS, REFRESH
from centime.frontier.queue import place
from centime.frontier.readiness import ready_time, settle, take_out, wake_hosts
from centime.frontier.standing import IN_ALL, PUT_OFF_AT_ONCE, SHARED, STANDINGS
from centime.frontier.tables import (
    BEST,
    CLASS_COUNT,
    CREDIT,
    DOMAIN,
    GROUP,
    HOST,
    KIND,
    LEASED,
    NEXT_TIME,
    OUTSIDE,
    PUT_OFF_COUNT,
    READY_QUEUES,
    SHARE,
    WAITING_COUNT,
    WAKE,
    Tables,
)
from centime.frontier.waiting import start_waiting
from centime.model.kernel import Whole, bare_inlined, late_kernel

WHOLE_CREDIT: Final = 1_000_000


@bare_inlined
def _is_full(t: Tables, h: Whole, standing: Whole, bounds: npt.NDArray[np.int64]) -> bool:
    """Whether the domain or the address of a host has as many leases as it may have."""
    domain = t.hosts[h, DOMAIN]
    group = t.hosts[h, GROUP]
    return bool(
        (domain >= 0 and t.domain_leases[domain, standing] >= bounds[SHARED, standing])
        or (group >= 0 and t.group_leases[group, standing] >= bounds[SHARED, standing])
    )


@bare_inlined
def _best_of_heap(
    t: Tables, standing: Whole, kind: Whole, now: float, bounds: npt.NDArray[np.int64], puts_off: bool
) -> Whole:
    """The best queue of a standing and kind whose host may be fetched from, or OUTSIDE."""
    heap = standing * KINDS + kind
    q = np.int64(t.roots[heap])
    while q >= 0:
        h = np.int64(t.queues[q, HOST])
        if ready_time(t, h) <= now:
            if not (puts_off and _is_full(t, h, standing, bounds)):
                break
            t.times[h, NEXT_TIME] = np.floor(now) + 1.0 + t.counts[PUT_OFF_COUNT] // PUT_OFF_AT_ONCE
            t.counts[PUT_OFF_COUNT] += 1
        settle(t, h)
        q = np.int64(t.roots[heap])
    return q


@bare_inlined
def _best_of_kind(t: Tables, kind: Whole, now: float, bounds: npt.NDArray[np.int64], puts_off: bool) -> Whole:
    """The best queue of a kind, whatever the standing of its host, or OUTSIDE."""
    best = np.int64(OUTSIDE)
    for standing in range(STANDINGS):
        if t.leases[standing] >= bounds[IN_ALL, standing]:
            continue
        q = np.int64(_best_of_heap(t, standing, kind, now, bounds, puts_off))
        if q >= 0 and (
            best < 0
            or t.queue_keys[q] > t.queue_keys[best]
            or (t.queue_keys[q] == t.queue_keys[best] and t.queues[q, BEST] < t.queues[best, BEST])
        ):
            best = q
    return best


@bare_inlined
def _best_queue(
    t: Tables,
    level: Whole,
    now: float,
    offsets: npt.NDArray[np.float64],
    bounds: npt.NDArray[np.int64],
    puts_off: bool,
) -> Whole:
    """The queue of the level with the most important page of all ready hosts, or OUTSIDE."""
    best = np.int64(OUTSIDE)
    most = 0.0
    for focus in range(t.counts[CLASS_COUNT]):
        q = np.int64(_best_of_kind(t, level * CLASSES + focus, now, bounds, puts_off))
        if q >= 0:
            importance = np.float64(t.queue_keys[q]) + (offsets[focus] if level == DISCOVERY else 0.0)
            if best < 0 or importance > most or (importance == most and t.queues[q, BEST] < t.queues[best, BEST]):
                best = q
                most = importance
    return best


@bare_inlined
def _worthier(t: Tables, due: Whole, unread: Whole, offsets: npt.NDArray[np.float64], discovery: float) -> bool:
    """Whether the best page of a queue of unread pages is worth more than the best page of a queue of due pages."""
    importance = np.float64(t.queue_keys[unread]) + offsets[t.queues[unread, KIND] % CLASSES]
    return bool(discovery * importance > np.float64(t.queue_keys[due]))


@bare_inlined
def _choose(
    t: Tables, now: float, offsets: npt.NDArray[np.float64], discovery: float, bounds: npt.NDArray[np.int64]
) -> Whole:
    """The queue whose best page is next, or OUTSIDE."""
    held = np.int64(OUTSIDE)
    held_level = 0
    for level in range(1, LEVELS + 1):
        if t.levels[READY_QUEUES, level] == 0:
            continue
        q = np.int64(_best_queue(t, level, now, offsets, bounds, True))
        if q < 0:
            continue
        if held >= 0 and held_level == REFRESH and discovery > 0.0:
            if _worthier(t, held, q, offsets, discovery):
                held = q
                held_level = DISCOVERY
            break
        if held >= 0:
            t.levels[CREDIT, held_level] += t.levels[SHARE, held_level]
            if t.levels[CREDIT, held_level] >= WHOLE_CREDIT:
                t.levels[CREDIT, held_level] -= WHOLE_CREDIT
                break
        held = q
        held_level = level
    if held >= 0:
        t.levels[LEASED, held_level] += 1
    return held


@late_kernel(2.0)
def lease_pages(
    t: Tables,
    now: float,
    offsets: npt.NDArray[np.float64],
    discovery: float,
    bounds: npt.NDArray[np.int64],
    leased: npt.NDArray[np.int64],
) -> Whole:
    """Leases pages into `leased` and returns how many; OUTSIDE if the offset of a class is missing or not finite."""
    t.counts[PUT_OFF_COUNT] = 0
    if len(offsets) < t.counts[CLASS_COUNT]:
        return OUTSIDE
    for focus in range(t.counts[CLASS_COUNT]):
        if not np.isfinite(offsets[focus]):
            return OUTSIDE
    wake_hosts(t, now)
    for n in range(len(leased)):
        q = np.int64(_choose(t, now, offsets, discovery, bounds))
        if q < 0:
            return n
        leased[n] = t.pages[place(t, q, 0)]
        take_out(t, q, 0, 1)
    return len(leased)


@late_kernel(1.0)
def earliest_time(t: Tables, now: float, offsets: npt.NDArray[np.float64], bounds: npt.NDArray[np.int64]) -> float:
    """`now` if a host is ready, else the time at which the next one is, else infinity."""
    wake_hosts(t, now)
    for level in range(1, LEVELS + 1):
        if t.levels[READY_QUEUES, level] > 0 and _best_queue(t, level, now, offsets, bounds, False) >= 0:
            return now
    while t.counts[WAITING_COUNT] > 0:
        h = np.int64(t.waiting[0])
        time = ready_time(t, h)
        if time <= t.times[h, WAKE]:
            return time
        start_waiting(t, h, time)
    return np.inf
