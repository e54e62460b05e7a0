"""The waiting hosts, in a binary heap by the time at which they wake; of equal times, the lower host number first."""

import numpy as np

from centime.frontier.tables import OUTSIDE, SLOT, WAITING_COUNT, WAKE, Tables
from centime.model.kernel import Whole, bare_inlined


@bare_inlined
def _sooner(t: Tables, a: Whole, b: Whole) -> bool:
    return bool(t.times[a, WAKE] < t.times[b, WAKE] or (t.times[a, WAKE] == t.times[b, WAKE] and a < b))


@bare_inlined
def _settle(t: Tables, slot: Whole, h: Whole) -> None:
    """Puts a host at a slot of the heap, or above or below it, where its time belongs."""
    count = t.counts[WAITING_COUNT]
    i = np.int64(slot)
    while i > 0 and _sooner(t, h, t.waiting[(i - 1) >> 1]):
        above = (i - 1) >> 1
        t.waiting[i] = t.waiting[above]
        t.hosts[t.waiting[i], SLOT] = i
        i = above
    while 2 * i + 1 < count:
        below = 2 * i + 1
        if below + 1 < count and _sooner(t, t.waiting[below + 1], t.waiting[below]):
            below += 1
        if not _sooner(t, t.waiting[below], h):
            break
        t.waiting[i] = t.waiting[below]
        t.hosts[t.waiting[i], SLOT] = i
        i = below
    t.waiting[i] = h
    t.hosts[h, SLOT] = i


@bare_inlined
def start_waiting(t: Tables, h: Whole, wake: float) -> None:
    """Makes a host wait until `wake`, instead of until the time it waited for."""
    t.times[h, WAKE] = wake
    slot = np.int64(t.hosts[h, SLOT])
    if slot < 0:
        slot = t.counts[WAITING_COUNT]
        t.counts[WAITING_COUNT] = slot + 1
    _settle(t, slot, h)


@bare_inlined
def stop_waiting(t: Tables, h: Whole) -> None:
    """Removes a host from the heap."""
    slot = np.int64(t.hosts[h, SLOT])
    last = t.counts[WAITING_COUNT] - 1
    t.counts[WAITING_COUNT] = last
    t.hosts[h, SLOT] = OUTSIDE
    if slot < last:
        _settle(t, slot, np.int64(t.waiting[last]))
