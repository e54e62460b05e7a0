"""Largest first without a heap: a queue of buckets by the logarithm of the key, two buckets per octave.

A key is a whole number of money units, so bucket b > 0 holds the keys from about 2^((b-1)/2) up. Filing a page and
taking the next one cost O(1); the key of the page taken is within a factor of 1.5 of the largest filed one.

- `filed[page]` is the current bucket, 0 if the page is not filed. A page whose key has risen is filed again in a higher
  bucket, and its stale entry is skipped later. A page whose key has fallen is noticed when it is taken: the caller
  knows the keys and decides what to do with it.
- Buckets are first in, first out: chains of small chunks from one pool. If the pool is used up, `file_page` returns
  False, and `compact` removes stale entries.
- Pages below `floor` are not filed at all: filing every page at every small payment would be most of the work
  (measured: six entries per visit against two). When the queue is empty, the caller scans all pages and lowers the
  floor (`refill`).

Trap: a key can also change without a payment to the page (the virtual page pays all pages at once). So for pages that
were not paid since the last refill, the order is that of the last refill.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from centime.model.kernel import Whole, bare_inlined, bare_kernel, late_kernel

BUCKETS = 128
CHUNK = 64

FIRST, LAST, TAKEN, FILLED = 0, 1, 2, 3  # columns of `chains`: first and last chunk, entries taken from and put into it
FREE, TOP, FLOOR = 0, 1, 2  # places of `state`
NOTHING = -1


class Queue(NamedTuple):
    """The arrays of one queue, for kernels."""

    filed: npt.NDArray[np.uint8]
    entries: npt.NDArray[np.int32]
    following: npt.NDArray[np.int32]
    chains: npt.NDArray[np.int32]
    state: npt.NDArray[np.int64]

    @property
    def nbytes(self) -> int:
        """Bytes of memory without `filed`, which belongs to the pages."""
        return self.entries.nbytes + self.following.nbytes + self.chains.nbytes + self.state.nbytes


def make_queue(filed: npt.NDArray[np.uint8]) -> Queue:
    """An empty queue for the pages of `filed`, with space for a quarter of the pages to be filed twice."""
    chunks = len(filed) * 5 // (4 * CHUNK) + BUCKETS + 1
    queue = Queue(
        filed,
        np.zeros(chunks * CHUNK, dtype=np.int32),  # zeroed, because snapshots contain the whole array
        np.empty(chunks, dtype=np.int32),
        np.empty((BUCKETS, 4), dtype=np.int32),
        np.empty(3, dtype=np.int64),
    )
    clear(queue)
    queue.state[FLOOR] = BUCKETS
    filed[:] = 0
    return queue


@bare_inlined
def bucket_of(key: Whole) -> Whole:
    """The bucket of a key, 0 for 0: the exponent and the first bit of the mantissa of the key as a 64-bit float."""
    if key <= 0:
        return 0
    return (np.float64(key).view(np.int64) >> 51) - 2045


@late_kernel(0.2)
def clear(queue: Queue) -> None:
    """Empties the chains; `filed` and the floor stay unchanged."""
    queue.chains[:, :] = NOTHING
    chunks = len(queue.following)
    for chunk in range(chunks):
        queue.following[chunk] = chunk + 1
    queue.following[chunks - 1] = NOTHING
    queue.state[FREE] = 0
    queue.state[TOP] = 0


@bare_inlined
def file_page(queue: Queue, page: Whole, bucket: Whole) -> bool:
    """Files a page at the end of a bucket; returns whether the pool had space."""
    last, filled = queue.chains[bucket, LAST], queue.chains[bucket, FILLED]
    if last == NOTHING or filled == CHUNK:
        chunk = queue.state[FREE]
        if chunk == NOTHING:
            return False
        queue.state[FREE] = queue.following[chunk]
        queue.following[chunk] = NOTHING
        if last == NOTHING:
            queue.chains[bucket, FIRST] = chunk
            queue.chains[bucket, TAKEN] = 0
        else:
            queue.following[last] = chunk
        queue.chains[bucket, LAST] = chunk
        last, filled = chunk, 0
    queue.entries[last * CHUNK + filled] = page
    queue.chains[bucket, FILLED] = filled + 1
    queue.filed[page] = bucket
    if bucket > queue.state[TOP]:
        queue.state[TOP] = bucket
    return True


@bare_inlined
def take_page(queue: Queue) -> Whole:
    """Takes the page that waited longest in the highest bucket; NOTHING if no page is filed."""
    while queue.state[TOP] > 0:
        bucket = queue.state[TOP]
        chain = queue.chains[bucket]
        while chain[FIRST] != NOTHING:
            chunk = chain[FIRST]
            end = CHUNK if chunk != chain[LAST] else chain[FILLED]
            while chain[TAKEN] < end:
                page = queue.entries[chunk * CHUNK + chain[TAKEN]]
                chain[TAKEN] += 1
                if queue.filed[page] == bucket:
                    queue.filed[page] = 0
                    return np.int64(page)
            chain[FIRST] = queue.following[chunk]
            chain[TAKEN] = 0
            if chain[FIRST] == NOTHING:
                chain[LAST] = NOTHING
            queue.following[chunk] = queue.state[FREE]
            queue.state[FREE] = chunk
        queue.state[TOP] = bucket - 1
    return NOTHING


@bare_kernel
def compact(queue: Queue) -> None:
    """Files every filed page again, once, which frees the space of stale entries."""
    clear(queue)
    for page in range(len(queue.filed)):
        if queue.filed[page] > 0:
            file_page(queue, page, np.int64(queue.filed[page]))


@bare_inlined
def file_surely(queue: Queue, page: Whole, bucket: Whole) -> None:
    """Files a page, after `compact` if the pool is used up."""
    if not file_page(queue, page, bucket):
        compact(queue)
        file_page(queue, page, bucket)


@bare_inlined
def floor_for(counts: npt.NDArray[np.int64], wanted: Whole) -> Whole:
    """The highest bucket with `wanted` pages at or above it, or the lowest bucket with a page."""
    floor = BUCKETS
    found = 0
    for bucket in range(BUCKETS - 1, 0, -1):
        if counts[bucket] > 0:
            floor = bucket
            found += counts[bucket]
            if found >= wanted:
                break
    return floor
