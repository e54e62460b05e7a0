"""A queue: the pages of one (host, kind) in a heap, with the best page at its root.

The larger key is first; of equal keys, the page with the lower number. This order is total, so which page is best never
depends on how the heap was built. Entry i lies in the queue's chunk i // 8 at place i mod 8, and eight siblings share
one chunk:

    above(i) = 0 for 0 < i < 8,   i // 8 - 1 for i ≥ 8

Traps: call `lacks_room` before `insert`. Whenever an entry moves, its position must be written too (`put` does both).
"""

import numpy as np

from centime.frontier.tables import (
    CHUNK,
    CHUNKS_USED,
    DIRECTORY_NEED,
    DIRECTORY_USED,
    FREE_CHUNK,
    OUTSIDE,
    OWNER,
    RANK,
    ROOM,
    SIZE,
    START,
    Tables,
)
from centime.model.kernel import Whole, bare_inlined


@bare_inlined
def place(t: Tables, q: Whole, i: Whole) -> Whole:
    """The position in the pool of entry i of a queue."""
    if t.queues[q, ROOM] == 0:
        return np.int64(t.queues[q, START]) * CHUNK + i
    return np.int64(t.directory[t.queues[q, START] + (i >> 3)]) * CHUNK + (i & 7)


@bare_inlined
def put(t: Tables, at: Whole, key: np.float32, page: Whole) -> None:
    """Writes an entry."""
    t.keys[at] = key
    t.pages[at] = page
    t.position[page] = at


@bare_inlined
def rise(t: Tables, q: Whole, i: Whole, key: np.float32, page: Whole) -> Whole:
    """Puts an entry at i or, pushing worse ones down, above it; returns its final index."""
    here = place(t, q, i)
    while i > 0:
        above = (i >> 3) - 1 if i >= CHUNK else 0
        there = place(t, q, above)
        if key < t.keys[there] or (key == t.keys[there] and page > t.pages[there]):
            break
        put(t, here, t.keys[there], t.pages[there])
        i = above
        here = there
    put(t, here, key, page)
    return i


@bare_inlined
def sink(t: Tables, q: Whole, i: Whole, key: np.float32, page: Whole) -> None:
    """Puts an entry at i or, pulling better ones up, below it."""
    size = np.int64(t.queues[q, SIZE])
    here = np.int64(place(t, q, i))
    while True:
        best = np.int64(OUTSIDE)
        best_at = np.int64(OUTSIDE)
        best_key = key
        best_page = np.int64(page)
        if i == 0:
            for at in range(here + 1, here + min(np.int64(CHUNK), size)):
                if t.keys[at] > best_key or (t.keys[at] == best_key and t.pages[at] < best_page):
                    best, best_at, best_key, best_page = (
                        np.int64(at - here),
                        np.int64(at),
                        t.keys[at],
                        np.int64(t.pages[at]),
                    )
        first = (np.int64(i) + 1) * CHUNK
        if first < size:
            start = np.int64(place(t, q, first))
            for at in range(start, start + min(np.int64(CHUNK), size - first)):
                if t.keys[at] > best_key or (t.keys[at] == best_key and t.pages[at] < best_page):
                    best, best_at, best_key, best_page = (
                        np.int64(first + at - start),
                        np.int64(at),
                        t.keys[at],
                        np.int64(t.pages[at]),
                    )
        if best < 0:
            break
        put(t, here, best_key, best_page)
        i = best
        here = best_at
    put(t, here, key, page)


@bare_inlined
def lacks_room(t: Tables, q: Whole) -> bool:
    """Whether the pool or the directory must grow before one more page; sets DIRECTORY_NEED to the places that the
    directory lacks.
    """
    size = np.int64(0) if q < 0 else np.int64(t.queues[q, SIZE])
    if size & 7:
        return False
    if t.counts[FREE_CHUNK] < 0 and t.counts[CHUNKS_USED] == len(t.chunks):
        return True
    if size == 0 or size >> 3 < t.queues[q, ROOM]:
        return False
    if t.counts[DIRECTORY_USED] + next_room(size >> 3) <= len(t.directory):
        return False
    t.counts[DIRECTORY_NEED] = next_room(size >> 3)
    return True


@bare_inlined
def next_room(chunks: Whole) -> Whole:
    """Places in the new directory of a queue that has outgrown its old one."""
    return chunks + (chunks >> 1) + 2


@bare_inlined
def _take_chunk(t: Tables, q: Whole, rank: Whole) -> Whole:
    chunk = np.int64(t.counts[FREE_CHUNK])
    if chunk >= 0:
        t.counts[FREE_CHUNK] = t.chunks[chunk, OWNER]
    else:
        chunk = t.counts[CHUNKS_USED]
        t.counts[CHUNKS_USED] = chunk + 1
    t.chunks[chunk, OWNER] = q
    t.chunks[chunk, RANK] = rank
    return chunk


@bare_inlined
def extend(t: Tables, q: Whole) -> None:
    """Adds a chunk to a queue whose chunks are full."""
    rank = np.int64(t.queues[q, SIZE]) >> 3
    chunk = _take_chunk(t, q, rank)
    if rank == 0:
        t.queues[q, START] = chunk
        t.queues[q, ROOM] = 0
        return
    old_room = np.int64(t.queues[q, ROOM])
    if rank >= old_room:
        old = np.int64(t.queues[q, START])
        new = t.counts[DIRECTORY_USED]
        room = next_room(rank)
        if old_room == 0:
            t.directory[new] = old
        else:
            for k in range(rank):
                t.directory[new + k] = t.directory[old + k]
        t.counts[DIRECTORY_USED] = new + room
        t.queues[q, START] = new
        t.queues[q, ROOM] = room
    t.directory[t.queues[q, START] + rank] = chunk


@bare_inlined
def insert(t: Tables, q: Whole, key: np.float32, page: Whole) -> Whole:
    """Puts a page into a queue; returns its index."""
    size = np.int64(t.queues[q, SIZE])
    if size & 7 == 0:
        extend(t, q)
    t.queues[q, SIZE] = size + 1
    return rise(t, q, size, key, page)


@bare_inlined
def change(t: Tables, q: Whole, i: Whole, key: np.float32, page: Whole, better: bool) -> Whole:
    """Moves the entry at i, whose key has become better or worse, to its new place; returns 0 if the root may have
    changed.
    """
    if better:
        return rise(t, q, i, key, page)
    sink(t, q, i, key, page)
    return i


@bare_inlined
def cut_out(t: Tables, q: Whole, i: Whole) -> None:
    """Removes entry i from a queue; the last entry fills the hole."""
    last = np.int64(t.queues[q, SIZE]) - 1
    at = place(t, q, last)
    key = t.keys[at]
    page = np.int64(t.pages[at])
    t.queues[q, SIZE] = last
    if last & 7 == 0:
        chunk = at >> 3
        t.chunks[chunk, OWNER] = t.counts[FREE_CHUNK]
        t.chunks[chunk, RANK] = OUTSIDE
        t.counts[FREE_CHUNK] = chunk
    if i < last:
        hole = place(t, q, i)
        if key > t.keys[hole] or (key == t.keys[hole] and page < t.pages[hole]):
            rise(t, q, i, key, page)
        else:
            sink(t, q, i, key, page)
