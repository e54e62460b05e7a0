"""The verifier of the frontier: scans all tables and checks every invariant, in O(pages + hosts)."""

from typing import Final

import numpy as np

from centime.frontier.kind import LEVELS
from centime.frontier.queue import place
from centime.frontier.readiness import ready_time
from centime.frontier.ready import heap_of
from centime.frontier.standing import STANDINGS
from centime.frontier.tables import (
    BEFORE,
    BEST,
    BLOCKED,
    CHILD,
    CHUNK,
    CHUNKS_USED,
    DOMAIN,
    FIRST,
    FOLLOWING,
    FREE_CHUNK,
    GROUP,
    GROUP_COUNT,
    HOST,
    HOST_COUNT,
    IDLE,
    KIND,
    LEASES_PER_HOST,
    NEXT,
    OUTSTANDING,
    OUTSTANDING_COUNT,
    OWNER,
    PAGE_COUNT,
    PAGES,
    PRECEDING,
    QUEUE_COUNT,
    QUEUES_USED,
    RANK,
    READY,
    READY_QUEUES,
    SIBLING,
    SIZE,
    SLOT,
    STANDING,
    STATE,
    WAITING,
    WAITING_COUNT,
    WAKE,
    Tables,
)
from centime.model.errors import ScheduleBroken
from centime.model.kernel import Whole, late_kernel

BROKEN_LAWS: Final = (
    "nothing",
    "the chunk of an entry names another queue or rank, in queue {}",
    "the position of a page is not that of its entry, in queue {}",
    "an entry is better than the one above it, in queue {}",
    "{} pages have a position, which are not as many as lie in queues",
    "chunks are neither in use nor free: {} of them are in use",
    "the free chunks are not one chain, at chunk {}",
    "the queues of host {} do not hold all its pages",
    "host {} has two queues of one kind",
    "the count of pages, queues or outstanding leases is wrong; {} pages were found",
    "the state of host {} (idle, waiting or ready) is wrong",
    "the heap of waiting hosts is broken at host {}",
    "host {} would wake too late",
    "ready queue {} is not where its best page belongs",
    "the ready queues are not one heap for each kind, at queue or count {}",
    "the list of the hosts of address group {} is broken",
    "the leases of a standing, domain or address are counted wrongly, by {} in all",
)


def verify(t: Tables) -> None:
    """Raises ScheduleBroken, with what is broken and where, if an invariant does not hold."""
    for scan in (_scan_queues, _scan_hosts, _scan_ready, _scan_groups, _scan_leases):
        law, where = scan(t)
        if law:
            raise ScheduleBroken(BROKEN_LAWS[law].format(where))


@late_kernel(0.5)
def _scan_queues(t: Tables) -> tuple[int, Whole]:
    pages = np.int64(0)
    chunks = np.int64(0)
    queues = np.int64(0)
    for q in range(t.counts[QUEUES_USED]):
        size = np.int64(t.queues[q, SIZE])
        queues += size > 0
        pages += size
        chunks += (size + CHUNK - 1) // CHUNK
        for i in range(size):
            at = place(t, q, i)
            if t.chunks[at // CHUNK, OWNER] != q or t.chunks[at // CHUNK, RANK] != i // CHUNK:
                return 1, q
            if t.position[t.pages[at]] != at:
                return 2, q
            if i > 0:
                above = place(t, q, i // CHUNK - 1 if i >= CHUNK else 0)
                if t.keys[at] > t.keys[above] or (t.keys[at] == t.keys[above] and t.pages[at] <= t.pages[above]):
                    return 3, q
    positions = np.int64(0)
    for page in range(len(t.position)):
        positions += t.position[page] != -1
    if positions != pages:
        return 4, positions
    free = t.counts[FREE_CHUNK]
    count = np.int64(0)
    while free >= 0:
        count += 1
        if t.chunks[free, RANK] != -1 or count > t.counts[CHUNKS_USED]:
            return 6, free
        free = np.int64(t.chunks[free, OWNER])
    if count + chunks != t.counts[CHUNKS_USED]:
        return 5, chunks
    if pages != t.counts[PAGE_COUNT] or queues != t.counts[QUEUE_COUNT]:
        return 9, pages
    return 0, np.int64(0)


@late_kernel(0.5)
def _scan_hosts(t: Tables) -> tuple[int, Whole]:
    waiting = np.int64(0)
    outstanding = np.int64(0)
    queues = np.int64(0)
    for h in range(t.counts[HOST_COUNT]):
        pages = np.int64(0)
        q = np.int64(t.hosts[h, FIRST])
        while q >= 0:
            queues += 1
            pages += t.queues[q, SIZE]
            if t.queues[q, HOST] != h or t.queues[q, SIZE] == 0 or queues > t.counts[QUEUE_COUNT]:
                return 7, h
            other = np.int64(t.queues[q, NEXT])
            while other >= 0:
                if t.queues[other, KIND] == t.queues[q, KIND]:
                    return 8, h
                other = np.int64(t.queues[other, NEXT])
            q = np.int64(t.queues[q, NEXT])
        if pages != t.hosts[h, PAGES]:
            return 7, h
        outstanding += t.hosts[h, OUTSTANDING]
        may = pages > 0 and t.hosts[h, BLOCKED] == 0 and t.hosts[h, OUTSTANDING] < t.counts[LEASES_PER_HOST]
        if may == (t.hosts[h, STATE] == IDLE):
            return 10, h
        slot = np.int64(t.hosts[h, SLOT])
        if (t.hosts[h, STATE] == WAITING) != (slot >= 0):
            return 10, h
        if slot >= 0:
            waiting += 1
            if slot >= t.counts[WAITING_COUNT] or t.waiting[slot] != h:
                return 11, h
            if slot > 0 and t.times[h, WAKE] < t.times[t.waiting[(slot - 1) // 2], WAKE]:
                return 11, h
            if t.times[h, WAKE] > ready_time(t, h):
                return 12, h
    if waiting != t.counts[WAITING_COUNT]:
        return 11, waiting
    if queues != t.counts[QUEUE_COUNT]:
        return 7, t.counts[HOST_COUNT]
    if outstanding != t.counts[OUTSTANDING_COUNT]:
        return 9, t.counts[PAGE_COUNT]
    return 0, np.int64(0)


@late_kernel(0.5)
def _scan_ready(t: Tables) -> tuple[int, Whole]:
    ready = np.int64(0)
    reached = np.int64(0)
    for q in range(t.counts[QUEUES_USED]):
        if t.queues[q, SIZE] == 0 or t.hosts[t.queues[q, HOST], STATE] != READY:
            continue
        ready += 1
        root = place(t, q, 0)
        if t.queue_keys[q] != t.keys[root] or t.queues[q, BEST] != t.pages[root]:
            return 13, q
        if t.roots[heap_of(t, q)] == q:
            reached += 1
            if t.queues[q, BEFORE] >= 0 or t.queues[q, SIBLING] >= 0:
                return 14, q
        before = np.int64(q)
        child = np.int64(t.queues[q, CHILD])
        while child >= 0:
            reached += 1
            later = t.queue_keys[child] < t.queue_keys[q] or (
                t.queue_keys[child] == t.queue_keys[q] and t.queues[child, BEST] > t.queues[q, BEST]
            )
            if not later or t.queues[child, BEFORE] != before or heap_of(t, child) != heap_of(t, q):
                return 13, child
            before = child
            child = np.int64(t.queues[child, SIBLING])
    counted = np.int64(0)
    for level in range(1, LEVELS + 1):
        counted += t.levels[READY_QUEUES, level]
    if reached != ready or counted != ready:
        return 14, ready
    return 0, np.int64(0)


@late_kernel(0.5)
def _scan_groups(t: Tables) -> tuple[int, Whole]:
    members = np.int64(0)
    listed = np.int64(0)
    for group in range(t.counts[GROUP_COUNT]):
        before = np.int64(-1)
        h = np.int64(t.groups[group])
        while h >= 0:
            members += 1
            if t.hosts[h, GROUP] != group or t.hosts[h, PRECEDING] != before or members > t.counts[HOST_COUNT]:
                return 15, group
            before = h
            h = np.int64(t.hosts[h, FOLLOWING])
    for host in range(t.counts[HOST_COUNT]):
        listed += t.hosts[host, GROUP] >= 0
    if members != listed:
        return 15, np.int64(-1)
    return 0, np.int64(0)


def _scan_leases(t: Tables) -> tuple[int, Whole]:
    hosts = t.hosts[: t.counts[HOST_COUNT]]
    standings, leases = hosts[:, STANDING], hosts[:, OUTSTANDING]
    wrong = np.abs(t.leases - np.bincount(standings, leases, STANDINGS)).sum()
    for column, counted in ((DOMAIN, t.domain_leases), (GROUP, t.group_leases[: t.counts[GROUP_COUNT]])):
        expected = np.zeros(counted.shape)
        member = hosts[:, column] >= 0
        np.add.at(expected, (hosts[member, column], standings[member]), leases[member])
        wrong += np.abs(counted - expected).sum()
    return (16, np.int64(wrong)) if wrong else (0, np.int64(0))
