"""Passes over all queues: copies them into a state, sets all keys, lists pages from the best one down.

A state lists the queues by host and kind, each with its pages in heap order. Reading it back gives the same heaps,
entry by entry. So a frontier that was read back leases the same pages as the original from then on, and its own state
stays the same, bit for bit.
"""

import heapq
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from centime.frontier.kind import CLASSES, DISCOVERY, KINDS
from centime.frontier.queue import place, sink
from centime.frontier.ready import enter
from centime.frontier.standing import STANDINGS
from centime.frontier.tables import (
    CHUNK,
    CHUNKS_USED,
    DIRECTORY_USED,
    HOST,
    KIND,
    OUTSIDE,
    OWNER,
    QUEUES_USED,
    RANK,
    READY,
    READY_QUEUES,
    ROOM,
    SIZE,
    START,
    STATE,
    Tables,
)
from centime.model.kernel import Whole, bare_inlined, late_kernel


def queues_in_order(t: Tables) -> npt.NDArray[np.int64]:
    """The queues with pages, by host and kind."""
    used = t.queues[: t.counts[QUEUES_USED]]
    live = np.flatnonzero(used[:, SIZE] > 0)
    return live[np.lexsort((used[live, KIND], used[live, HOST]))]


@late_kernel(0.3)
def copy_entries(
    t: Tables, queues: npt.NDArray[np.int64], pages: npt.NDArray[np.int32], keys: npt.NDArray[np.float32]
) -> None:
    """Writes the entries of the queues, one after the other in heap order."""
    n = 0
    for q in queues:
        for i in range(t.queues[q, SIZE]):
            at = place(t, q, i)
            pages[n] = t.pages[at]
            keys[n] = t.keys[at]
            n += 1


@bare_inlined
def _entries_of(t: Tables, chunk: Whole) -> Whole:
    """Number of entries of a chunk that are in use."""
    rank = np.int64(t.chunks[chunk, RANK])
    if rank < 0:
        return np.int64(0)
    return min(np.int64(CHUNK), np.int64(t.queues[t.chunks[chunk, OWNER], SIZE]) - rank * CHUNK)


@late_kernel(0.3)
def _collect(t: Tables, first: Whole, last: Whole, pages: npt.NDArray[np.int64]) -> Whole:
    n = 0
    for chunk in range(first, last):
        for at in range(chunk * CHUNK, chunk * CHUNK + _entries_of(t, chunk)):
            pages[n] = t.pages[at]
            n += 1
    return n


@late_kernel(0.3)
def _set_keys(t: Tables, first: Whole, last: Whole, keys: npt.NDArray[np.float32]) -> None:
    n = 0
    for chunk in range(first, last):
        unread = t.chunks[chunk, RANK] >= 0 and t.queues[t.chunks[chunk, OWNER], KIND] // CLASSES == DISCOVERY
        for at in range(chunk * CHUNK, chunk * CHUNK + _entries_of(t, chunk)):
            if unread:
                t.keys[at] = keys[n]
            n += 1


def batches(t: Tables, size: int = 1 << 17) -> Iterator[tuple[int, int, npt.NDArray[np.int64]]]:
    """All pages inside by ranges of chunks: the first chunk, the one after the last, the pages in between."""
    used = int(t.counts[CHUNKS_USED])
    for first in range(0, used, size):
        last = min(first + size, used)
        pages = np.empty((last - first) * CHUNK, dtype=np.int64)
        yield first, last, pages[: _collect(t, first, last, pages)]


def set_keys(t: Tables, first: int, last: int, keys: npt.NDArray[np.float32]) -> None:
    """Sets the keys of the unread pages of a batch; the heaps are out of order until `restore_order`."""
    _set_keys(t, first, last, keys)


@late_kernel(1.0)
def restore_order(t: Tables) -> None:
    """Rebuilds the heaps of all queues and of the ready queues, in time proportional to their sizes."""
    for heap in range(STANDINGS * KINDS):
        t.roots[heap] = OUTSIDE
        t.levels[READY_QUEUES, heap % KINDS // CLASSES] = 0
    for q in range(t.counts[QUEUES_USED]):
        size = np.int64(t.queues[q, SIZE])
        if size == 0:
            continue
        for i in range(max((size - 1) // CHUNK - 1, np.int64(0)), -1, -1):
            at = place(t, q, i)
            sink(t, q, i, t.keys[at], np.int64(t.pages[at]))
        if t.hosts[t.queues[q, HOST], STATE] == READY:
            enter(t, q)


def best_pages(t: Tables, count: int, offsets: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """The first `count` pages by level, importance, key and page number, whether their hosts are ready or not."""
    live = queues_in_order(t)
    rows = t.queues[live]
    chunks = rows[:, START].copy()
    spread = rows[:, ROOM] > 0
    chunks[spread] = t.directory[: t.counts[DIRECTORY_USED]][rows[spread, START]]
    roots = chunks.astype(np.int64) * CHUNK
    levels, focuses = np.divmod(rows[:, KIND], CLASSES)
    shifts = np.where(levels == DISCOVERY, offsets[focuses], 0.0)
    importance = t.keys[roots].astype(np.float64) + shifts
    # if a page is among the first `count`, so is the root of its queue among the roots
    first = np.lexsort((t.pages[roots], -t.keys[roots], -importance, levels))[:count]
    heap = [_Candidate(t, int(live[n]), 0, float(shifts[n])) for n in first]
    heapq.heapify(heap)
    found: list[int] = []
    while heap and len(found) < count:
        best = heapq.heappop(heap)
        found.append(best.page)
        for i in best.below(t):
            heapq.heappush(heap, _Candidate(t, best.queue, i, best.offset))
    return np.array(found, dtype=np.int64)


class _Candidate:
    """An entry of a queue that may be the next of `best_pages`."""

    def __init__(self, t: Tables, queue: int, i: int, offset: float) -> None:
        start, room = int(t.queues[queue, START]), int(t.queues[queue, ROOM])
        at = (start if room == 0 else int(t.directory[start + i // CHUNK])) * CHUNK + i % CHUNK
        key = float(t.keys[at])
        self.queue, self.i, self.offset, self.page = queue, i, offset, int(t.pages[at])
        self.sort_key = (int(t.queues[queue, KIND]) // CLASSES, -(key + offset), -key, self.page)

    def __lt__(self, other: "_Candidate") -> bool:
        return self.sort_key < other.sort_key

    def below(self, t: Tables) -> list[int]:
        size = int(t.queues[self.queue, SIZE])
        own = range((self.i + 1) * CHUNK, min((self.i + 2) * CHUNK, size))
        return [*range(1, min(CHUNK, size)), *own] if self.i == 0 else list(own)
