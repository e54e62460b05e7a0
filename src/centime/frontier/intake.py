"""Kernels over batches that add pages to the frontier, change their keys and remove them.

`add_pages` stops where an array is full and returns how far it came; the caller makes room and calls again from there.
A batch is checked before anything changes, so a bad batch changes nothing.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from centime.frontier.kind import CLASSES, DISCOVERY, LEVELS, OUTSIDE_LEVEL
from centime.frontier.queue import change, insert, lacks_room
from centime.frontier.readiness import settle, take_out
from centime.frontier.ready import enter, renew
from centime.frontier.tables import (
    CHUNK,
    CLASS_COUNT,
    DIRECTORY_USED,
    FIRST,
    FREE_QUEUE,
    HIGHEST_HOST,
    HIGHEST_PAGE,
    HOST,
    HOST_COUNT,
    IDLE,
    KIND,
    MARKED,
    NEXT,
    OUTSIDE,
    OWNER,
    PAGE_COUNT,
    PAGES,
    QUEUE_COUNT,
    QUEUES_USED,
    RANK,
    READY,
    ROOM,
    SIZE,
    START,
    STATE,
    Tables,
)
from centime.model.kernel import Whole, bare_inlined, late_kernel

BAD: Final = -1
SHORT: Final = -2
LARGEST_PAGE: Final = 2**31 - 2
LARGEST_HOST: Final = 2**31 - 2


@bare_inlined
def _check_batch(
    t: Tables,
    pages: npt.NDArray[np.int64],
    hosts: npt.NDArray[np.int32],
    kinds: npt.NDArray[Any],
    keys: npt.NDArray[np.float32],
) -> Whole:
    """0 if the batch is good, and then its pages are marked; BAD if it is not; SHORT if there is no room for its
    highest page or host, which are noted in HIGHEST_PAGE and HIGHEST_HOST.
    """
    highest_page = np.int64(-1)
    highest_host = np.int64(-1)
    classes = t.counts[CLASS_COUNT]
    for n in range(len(pages)):
        if pages[n] < 0 or pages[n] > LARGEST_PAGE or hosts[n] < 0 or hosts[n] > LARGEST_HOST or np.isnan(keys[n]):
            return BAD
        if kinds[n] < CLASSES or kinds[n] >= (LEVELS + 1) * CLASSES:
            return BAD
        highest_page = max(highest_page, np.int64(pages[n]))
        highest_host = max(highest_host, np.int64(hosts[n]))
        classes = max(classes, np.int64(kinds[n]) % CLASSES + 1)
    t.counts[HIGHEST_PAGE] = highest_page
    t.counts[HIGHEST_HOST] = highest_host
    if highest_page >= len(t.position) or highest_host >= t.counts[HOST_COUNT]:
        return SHORT
    for n in range(len(pages)):
        if t.position[pages[n]] != OUTSIDE:
            for marked in range(n):
                t.position[pages[marked]] = OUTSIDE
            return BAD
        t.position[pages[n]] = MARKED
    t.counts[CLASS_COUNT] = classes
    return 0


@bare_inlined
def _find_queue(t: Tables, h: Whole, kind: Whole) -> Whole:
    q = np.int64(t.hosts[h, FIRST])
    while q >= 0 and t.queues[q, KIND] != kind:
        q = np.int64(t.queues[q, NEXT])
    return q


@bare_inlined
def start_queue(t: Tables, h: Whole, kind: Whole) -> Whole:
    """Starts a queue without pages and returns it; there must be room for it."""
    q = np.int64(t.counts[FREE_QUEUE])
    if q >= 0:
        t.counts[FREE_QUEUE] = t.queues[q, NEXT]
    else:
        q = t.counts[QUEUES_USED]
        t.counts[QUEUES_USED] = q + 1
    t.queues[q, HOST] = h
    t.queues[q, KIND] = kind
    t.queues[q, SIZE] = 0
    t.queues[q, ROOM] = 0
    t.queues[q, NEXT] = t.hosts[h, FIRST]
    t.hosts[h, FIRST] = q
    t.counts[QUEUE_COUNT] += 1
    return q


@late_kernel(2.0)
def add_pages(
    t: Tables,
    pages: npt.NDArray[np.int64],
    hosts: npt.NDArray[np.int32],
    kinds: npt.NDArray[Any],
    keys: npt.NDArray[np.float32],
    start: Whole,
) -> Whole:
    """Returns how many pages of the batch are inside now, or BAD or SHORT; `start` is SHORT for a batch that was not
    checked yet.
    """
    n = np.int64(start)
    if n < 0:
        n = np.int64(_check_batch(t, pages, hosts, kinds, keys))
        if n < 0:
            return n
    while n < len(pages):
        h = np.int64(hosts[n])
        kind = np.int64(kinds[n])
        q = _find_queue(t, h, kind)
        if lacks_room(t, q) or (q < 0 and t.counts[FREE_QUEUE] < 0 and t.counts[QUEUES_USED] == len(t.queues)):
            return n
        new = q < 0
        if new:
            q = start_queue(t, h, kind)
        i = insert(t, q, keys[n], np.int64(pages[n]))
        t.counts[PAGE_COUNT] += 1
        t.hosts[h, PAGES] += 1
        state = t.hosts[h, STATE]
        if state == READY:
            if new:
                enter(t, q)
            elif i == 0:
                renew(t, q)
        elif state == IDLE:
            settle(t, h)
        n += 1
    return n


@late_kernel(0.5)
def update_pages(t: Tables, pages: npt.NDArray[np.int64], keys: npt.NDArray[np.float32], own: bool) -> bool:
    """Sets the keys of the pages that are inside, in the order given: of the unread ones or, with `own`, of all others.
    False, and nothing changes, if a key is NaN.
    """
    for n in range(len(keys)):
        if np.isnan(keys[n]):
            return False
    for n in range(len(pages)):
        page = np.int64(pages[n])
        if page < 0 or page >= len(t.position):
            continue
        at = np.int64(t.position[page])
        if at < 0 or t.keys[at] == keys[n]:
            continue
        chunk = at // CHUNK
        q = np.int64(t.chunks[chunk, OWNER])
        if (t.queues[q, KIND] // CLASSES == DISCOVERY) == own:
            continue
        i = np.int64(t.chunks[chunk, RANK]) * CHUNK + at % CHUNK
        if (
            change(t, q, i, keys[n], page, bool(keys[n] > t.keys[at])) == 0
            and t.hosts[t.queues[q, HOST], STATE] == READY
        ):
            renew(t, q)
    return True


@late_kernel(0.5)
def remove_pages(t: Tables, pages: npt.NDArray[np.int64]) -> None:
    """Removes those of the pages that are inside."""
    for n in range(len(pages)):
        page = np.int64(pages[n])
        if page < 0 or page >= len(t.position):
            continue
        at = np.int64(t.position[page])
        if at >= 0:
            chunk = at // CHUNK
            take_out(t, np.int64(t.chunks[chunk, OWNER]), np.int64(t.chunks[chunk, RANK]) * CHUNK + at % CHUNK, 0)


@late_kernel(0.5)
def find_pages(t: Tables, pages: npt.NDArray[np.int64], inside: npt.NDArray[np.bool_]) -> None:
    """Writes for each page whether it is inside."""
    for n in range(len(pages)):
        inside[n] = 0 <= pages[n] < len(t.position) and t.position[pages[n]] >= 0


@late_kernel(0.5)
def find_levels(t: Tables, pages: npt.NDArray[np.int64], levels: npt.NDArray[np.int64]) -> None:
    """Writes the level of each page that is inside, OUTSIDE_LEVEL for the others."""
    for n in range(len(pages)):
        page = np.int64(pages[n])
        at = np.int64(t.position[page]) if 0 <= page < len(t.position) else np.int64(-1)
        levels[n] = OUTSIDE_LEVEL if at < 0 else t.queues[t.chunks[at // CHUNK, OWNER], KIND] // CLASSES


@bare_inlined
def _fitting_room(size: Whole) -> Whole:
    chunks = (size + CHUNK - 1) // CHUNK
    return chunks + chunks // 4 + 2


@late_kernel(0.5)
def measure_directory(t: Tables) -> Whole:
    """Places that the directories of all queues need, with a quarter more to grow into."""
    total = np.int64(0)
    for q in range(t.counts[QUEUES_USED]):
        if t.queues[q, SIZE] > 0 and t.queues[q, ROOM] > 0:
            total += _fitting_room(np.int64(t.queues[q, SIZE]))
    return total


@late_kernel(0.5)
def move_directory(t: Tables, directory: npt.NDArray[np.int32]) -> None:
    """Moves the directories of all queues, one after the other, to a new array."""
    used = np.int64(0)
    for q in range(t.counts[QUEUES_USED]):
        if t.queues[q, SIZE] > 0 and t.queues[q, ROOM] > 0:
            old = np.int64(t.queues[q, START])
            for rank in range((t.queues[q, SIZE] + CHUNK - 1) // CHUNK):
                directory[used + rank] = t.directory[old + rank]
            t.queues[q, START] = used
            t.queues[q, ROOM] = _fitting_room(np.int64(t.queues[q, SIZE]))
            used += t.queues[q, ROOM]
    t.counts[DIRECTORY_USED] = used
