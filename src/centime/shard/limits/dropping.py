"""Drops the least important unread pages when a crawl must know fewer, and returns them to the frontier when it may
know more.

    live = known pages - dropped pages
    live > bound      the least important pages that were never visited leave the frontier until live = bound
    live < mark       dropped pages return, the most important first, until live = mark (`bounds.py`)

A dropped page stays known: its number, its URL and the money that links pay it remain, because rows link to it. It
gives up its place in the frontier, and the memory of its host's queue. Pages that were visited, leased or published are
never dropped.

Which pages those are is found by counting keys, in three passes over batches of pages, because this happens when memory
is short: sorting all keys would take more memory than dropping gives back.
"""

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from centime.frontier.kind import DISCOVERY, OUTSIDE_LEVEL
from centime.ledger.partial import OUTSIDE
from centime.model.ids import page_ids
from centime.model.row_batch import Pages
from centime.shard.limits.bounds import Room
from centime.shard.queueing import requeue
from centime.shard.state import ShardState

BATCH = 1 << 20

Ranks = npt.NDArray[np.uint32]  # in the order of the importance of pages


def rebalance(state: ShardState, now: float) -> None:
    """Drops pages, or returns dropped ones to the frontier, as the bounds demand."""
    bounds = state.bounds
    live = state.pages.count - bounds.dropped
    if live > bounds.pages:
        pages = _chosen(lambda: _unread(state), live - bounds.pages)
        if len(pages):
            state.placement.drop(pages)
            bounds.dropped += len(pages)
    elif bounds.dropped and live < Room(bounds.pages).mark:
        room = min(bounds.dropped, Room(bounds.pages).mark - live)
        pages = _chosen(lambda: ((pages, ~ranks) for pages, ranks in _lost(state)), room)
        requeue(state, page_ids(pages), now)
        bounds.dropped -= len(pages)


def _unread(state: ShardState) -> Iterator[tuple[Pages, Ranks]]:
    """The pages that may be dropped, with their ranks, in batches."""
    announced = state.requests.publishers.announced()
    frontier = state.placement.frontier
    for pages in frontier.batches():
        free = (frontier.levels(pages) == DISCOVERY) & ~state.pages.records.visited(pages) & ~np.isin(pages, announced)
        yield pages[free], _ranks(state, pages[free])


def _lost(state: ShardState) -> Iterator[tuple[Pages, Ranks]]:
    """The pages that were dropped, with their ranks, in batches."""
    leased = state.placement.leases.held()
    for begin in range(0, state.pages.count, BATCH):
        pages = np.arange(begin, min(begin + BATCH, state.pages.count), dtype=np.int64)
        outside = state.placement.frontier.levels(pages) == OUTSIDE_LEVEL
        pages = pages[outside & ~state.pages.records.visited(pages) & ~np.isin(pages, leased)]
        if state.transfers is not None:  # pages that the crawl refused and other partitions link to stay out
            pages = pages[state.pages.origins_of(pages)["focus"] != OUTSIDE]
        yield pages, _ranks(state, pages)


def _ranks(state: ShardState, pages: Pages) -> Ranks:
    """The importance of unread pages as whole numbers in the same order: the bits of a float, its sign turned."""
    shares = state.class_offsets()
    classes = state.pages.origins_of(pages)["focus"] if len(shares) > 1 else np.zeros(len(pages), dtype=np.uint8)
    bits = (state.unread_keys(pages) + shares[classes]).astype(np.float32).view(np.uint32)
    negative = bits >> np.uint32(31) == 1
    ranks: Ranks = np.where(negative, ~bits, bits | np.uint32(1 << 31)).astype(np.uint32)
    return ranks


def _chosen(batches: Callable[[], Iterator[tuple[Pages, Ranks]]], count: int) -> Pages:
    """The `count` pages of the lowest ranks, all if there are fewer; of equal ranks, those with the highest numbers."""
    high, below = _bin(((ranks >> np.uint32(16)) for _, ranks in batches()), count)
    within = (ranks[ranks >> np.uint32(16) == high] & np.uint32(0xFFFF) for _, ranks in batches())
    low, before = _bin(within, count - below)
    border = np.uint32(high << 16 | low)
    lower: list[npt.NDArray[np.int32]] = []
    equal: list[npt.NDArray[np.int32]] = []
    for pages, ranks in batches():
        lower.append(pages[ranks < border].astype(np.int32))
        equal.append(pages[ranks == border].astype(np.int32))
    left = max(0, count - below - before)
    ties = np.sort(np.concatenate(equal)) if equal else np.empty(0, dtype=np.int32)
    return np.concatenate([*lower, ties[max(0, len(ties) - left) :]]).astype(np.int64)


def _bin(parts: Iterator[npt.NDArray[np.uint32]], count: int) -> tuple[int, int]:
    """The bin of 65 536 in which the `count` lowest values end, and how many values lie in the bins before it."""
    counts = np.zeros(1 << 16, dtype=np.int64)
    for part in parts:
        counts += np.bincount(part.astype(np.int64), minlength=1 << 16)
    sums = np.cumsum(counts)
    place = min(int(np.searchsorted(sums, count)), (1 << 16) - 1)
    return place, int(sums[place] - counts[place])
