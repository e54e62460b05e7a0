"""Whether a host is idle, waiting or ready.

A host that has pages, is not blocked and has a lease to spare is waiting or ready; any other host is idle.

    ready time = max(the host's own next time, its address group's time)

Readiness is lazy. A host wakes at the first lease after its time. A ready host whose group was delayed in the meantime
goes back to waiting when it comes to the top. So delaying a group costs nothing; only moving a group's time forward
visits all its hosts.
"""

import numpy as np

from centime.frontier.queue import cut_out, place
from centime.frontier.ready import enter, leave, renew
from centime.frontier.tables import (
    BLOCKED,
    DOMAIN,
    FIRST,
    FREE_QUEUE,
    GROUP,
    HOST,
    IDLE,
    LEASES_PER_HOST,
    NEXT,
    NEXT_TIME,
    OUTSIDE,
    OUTSTANDING,
    OUTSTANDING_COUNT,
    PAGE_COUNT,
    PAGES,
    QUEUE_COUNT,
    READY,
    SIZE,
    STANDING,
    STATE,
    WAITING,
    WAITING_COUNT,
    WAKE,
    Tables,
)
from centime.frontier.waiting import start_waiting, stop_waiting
from centime.model.kernel import Whole, bare_inlined


@bare_inlined
def ready_time(t: Tables, h: Whole) -> float:
    """The time from which a host is ready: the later one of its own and its group's."""
    time = t.times[h, NEXT_TIME]
    group = t.hosts[h, GROUP]
    if group >= 0 and t.group_times[group] > time:
        time = t.group_times[group]
    return float(time)


@bare_inlined
def settle(t: Tables, h: Whole) -> None:
    """Sets the state of a host to idle or waiting, by its pages, leases, block and times."""
    state = t.hosts[h, STATE]
    if state == READY:
        q = np.int64(t.hosts[h, FIRST])
        while q >= 0:
            leave(t, q)
            q = np.int64(t.queues[q, NEXT])
    if t.hosts[h, PAGES] > 0 and t.hosts[h, BLOCKED] == 0 and t.hosts[h, OUTSTANDING] < t.counts[LEASES_PER_HOST]:
        t.hosts[h, STATE] = WAITING
        start_waiting(t, h, ready_time(t, h))
    else:
        t.hosts[h, STATE] = IDLE
        if state == WAITING:
            stop_waiting(t, h)


@bare_inlined
def wake_hosts(t: Tables, now: float) -> None:
    """Makes every waiting host ready whose time has come."""
    while t.counts[WAITING_COUNT] > 0:
        h = np.int64(t.waiting[0])
        if t.times[h, WAKE] > now:
            break
        time = ready_time(t, h)
        if time > now:
            start_waiting(t, h, time)
        else:
            stop_waiting(t, h)
            t.hosts[h, STATE] = READY
            q = np.int64(t.hosts[h, FIRST])
            while q >= 0:
                enter(t, q)
                q = np.int64(t.queues[q, NEXT])


@bare_inlined
def _end_queue(t: Tables, q: Whole) -> None:
    """Unlinks an empty queue from its host and frees it."""
    h = t.queues[q, HOST]
    other = np.int64(t.hosts[h, FIRST])
    if other == q:
        t.hosts[h, FIRST] = t.queues[q, NEXT]
    else:
        while t.queues[other, NEXT] != q:
            other = np.int64(t.queues[other, NEXT])
        t.queues[other, NEXT] = t.queues[q, NEXT]
    t.queues[q, HOST] = OUTSIDE
    t.queues[q, NEXT] = t.counts[FREE_QUEUE]
    t.counts[FREE_QUEUE] = q
    t.counts[QUEUE_COUNT] -= 1


@bare_inlined
def count_leases(t: Tables, h: Whole, change: Whole) -> None:
    """Adds to the leases in flight of a host, and of its standing, domain and address."""
    standing = t.hosts[h, STANDING]
    domain = t.hosts[h, DOMAIN]
    group = t.hosts[h, GROUP]
    t.hosts[h, OUTSTANDING] += change
    t.counts[OUTSTANDING_COUNT] += change
    t.leases[standing] += change
    if domain >= 0:
        t.domain_leases[domain, standing] += change
    if group >= 0:
        t.group_leases[group, standing] += change


@bare_inlined
def take_out(t: Tables, q: Whole, i: Whole, leases: Whole) -> None:
    """Removes entry i of a queue from the frontier and adds `leases` (0 or 1) to its host's outstanding leases."""
    h = np.int64(t.queues[q, HOST])
    t.position[t.pages[place(t, q, i)]] = OUTSIDE
    t.counts[PAGE_COUNT] -= 1
    t.hosts[h, PAGES] -= 1
    count_leases(t, h, leases)
    if t.hosts[h, STATE] != IDLE and (t.hosts[h, PAGES] == 0 or t.hosts[h, OUTSTANDING] >= t.counts[LEASES_PER_HOST]):
        settle(t, h)
    ready = t.hosts[h, STATE] == READY
    if ready and t.queues[q, SIZE] == 1:
        leave(t, q)
    cut_out(t, q, i)
    if t.queues[q, SIZE] == 0:
        _end_queue(t, q)
    elif ready and i == 0:
        renew(t, q)
