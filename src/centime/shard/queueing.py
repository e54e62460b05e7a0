"""Decides where pages wait and leases them: pages enter the frontier at their level, and return when they are due.

1 requisite    never read, needed to show a page, by the importance of that page
2 published    announced by a publisher that is trusted, by importance
3 deadline     the deadline of a subscription or the greatest interval is over; the longest wait first
4 refresh      read before, by the worth of another read
5 discovery    never read, by importance
"""

import numpy as np
import numpy.typing as npt

from centime.frontier.kind import DEADLINE, DISCOVERY, PUBLISHED, REFRESH, REQUISITE, kinds_of
from centime.model.ids import PageId, host_ids, page_ids
from centime.model.row_batch import Pages
from centime.shard.message import Returned
from centime.shard.state import ShardState

ENLISTED_AT_ONCE = 10_000  # pages that one call matches against a new subscription


def lease(state: ShardState, now: float, count: int, slots: int = 0) -> tuple[Pages, bool]:
    """Leases pages; returns them, and whether other pages moved or hosts were delayed.

    A call that does none of this has changed nothing, so it need not be in the journal. `slots` is how many leases the
    fetchers can hold; hosts of each standing have a part of them (`frontier/standing.py`).
    """
    expired, again = state.placement.expired(now), state.placement.take_due(now)
    late = state.refreshing.deadlines.due(now)
    due = _read_long_ago(state, now)
    give_back(state, expired, now)
    requeue(state, [*page_ids(again), *due], now)
    _enqueue_late(state, late, now)
    moved = bool(len(expired) or len(again) or len(late) or due)
    moved = _inspect(state, now) or moved
    moved = _enlist(state, now) or moved
    discovery = state.refreshing.discovery() * state.key_unit()
    pages = state.placement.lease(now, count, state.class_offsets(), discovery, slots)
    return pages, moved or state.placement.frontier.put_off > 0


def earliest(state: ShardState, now: float, slots: int = 0) -> float:
    """When the next page can be leased or becomes due."""
    return min(state.placement.frontier.earliest(now, slots), state.refreshing.earliest())


def take_back(state: ShardState, frame: Returned) -> None:
    """Ends leases that no fetcher works on any more."""
    pages = state.placement.leases.held() if frame.all else np.array(frame.pages, dtype=np.int64)
    pages = pages[state.placement.end(pages)]
    for number in set(host_ids(state.pages.origins_of(pages)["host"])):
        state.politeness.delay_after_loss(state.hosts, state.placement.frontier, frame.now, number)
    give_back(state, pages, frame.now)


def give_back(state: ShardState, pages: Pages, now: float) -> None:
    """Puts pages whose lease ended without a visit back into the frontier, and releases their hosts."""
    ended = page_ids(pages)
    for page in page_ids(pages[state.placement.counted(pages)]):
        host = state.pages.host(page)
        state.placement.frontier.release(host, state.hosts[host].next_time)
    requeue(state, ended, now)


def requeue(state: ShardState, pages: list[PageId], now: float) -> None:
    """Puts those of the pages that wait nowhere into the frontier, each at its level."""
    if not pages:
        return
    numbers = np.array(sorted(set(pages)), dtype=np.int64)
    numbers = numbers[state.placement.idle(numbers)]
    read = state.pages.were_read(numbers) | state.refreshing.book.contains(numbers)
    announced = np.array([state.requests.publishers.has_announced(page) for page in page_ids(numbers)], dtype=np.bool_)
    unread = numbers[~read & ~announced]
    needed = state.requisites.nesting(unread) > 0
    if needed.any():
        _add(state, unread[needed], REQUISITE, state.requisites.urgency(unread[needed], state.ledger.importance))
        unread = unread[~needed]
    if len(unread):
        origins = state.pages.origins_of(unread)
        kinds = kinds_of(np.full(len(unread), DISCOVERY), origins["focus"])
        state.placement.enqueue(unread, origins["host"].astype(np.int32), kinds, state.unread_keys(unread))
    known = numbers[read & ~announced]
    if len(known):
        worth = state.refreshing.worth(known, now, state.value) if state.settings.continuous else state.value(known)
        _add(state, known, REFRESH, worth)
    promote(state, numbers[announced])


def promote(state: ShardState, pages: Pages, weight: npt.ArrayLike = 1.0) -> None:
    """Moves pages to the published level with the key `weight` times importance; leased and more urgent pages stay."""
    if len(pages):
        free = state.placement.withdraw(pages, PUBLISHED)
        weights = np.broadcast_to(weight, len(pages))[free]
        _add(state, pages[free], PUBLISHED, weights * state.ledger.importance(pages[free]))


def _enqueue_late(state: ShardState, pages: Pages, now: float) -> None:
    """Moves pages whose deadline is over to the deadline level; leased and more urgent pages stay.

    The page that has waited longest comes first, not the most important one: if a subscription needs more than the
    budget allows, its less important pages would otherwise never be read.
    """
    if len(pages):
        late = pages[state.placement.withdraw(pages, DEADLINE)]
        _add(state, late, DEADLINE, np.full(len(late), state.refreshing.book.began - now))


def reorder(state: ShardState) -> None:
    """Gives the frontier the new keys of all pages that were paid."""
    if state.all_paid:
        state.placement.frontier.rebuild(state.unread_keys)
    elif state.paid:
        pages = np.concatenate(state.paid).astype(np.int64)
        state.placement.frontier.update(pages, state.unread_keys(pages))
    state.paid.clear()
    state.all_paid = False


def _add(state: ShardState, pages: Pages, level: int, worth: npt.NDArray[np.float64]) -> None:
    hosts = state.pages.origins_of(pages)["host"].astype(np.int32)
    state.placement.enqueue(pages, hosts, kinds_of(np.full(len(pages), level), np.zeros(len(pages))), worth)


def _read_long_ago(state: ShardState, now: float) -> list[PageId]:
    """With `refresh-after`: the pages whose last read is longer ago than that."""
    if state.settings.refresh_after is None:
        return []
    due, until = state.pages.read_before(now - state.settings.refresh_after, state.refreshed_until, state.ceilings)
    if due:  # a call without a due page may not be in the journal, so it must not change the state
        state.refreshed_until = until
    return due


def _inspect(state: ShardState, now: float) -> bool:
    """Puts pages that are due for a refresh into the frontier, or updates their worth there; returns whether the book
    was inspected.
    """
    inspected = state.refreshing.inspect(now, state.value, state.pages.texts.get_many)
    if inspected is None:
        return False
    pages, worth = inspected
    frontier = state.placement.frontier
    waiting = frontier.levels(pages) == REFRESH
    frontier.update_worth(pages[waiting], worth[waiting])
    free = state.placement.idle(pages)
    if free.any():
        _add(state, pages[free], REFRESH, worth[free])
    return True


def longest_wait(state: ShardState, url: str) -> float:
    """The longest time allowed between two reads of a page; infinity if there is no limit."""
    greatest = state.settings.greatest_times().of(url) if state.settings.continuous else float("inf")
    return min(greatest, state.requests.subscriptions.deadline_seconds(url))


def _enlist(state: ShardState, now: float) -> bool:
    """Gives deadlines to pages that were read before a subscription or a greatest interval was made, some per call;
    returns whether there were any left.
    """
    requests = state.requests
    if requests.enlisted >= requests.enlist_end:
        return False
    pages = np.arange(requests.enlisted, min(requests.enlist_end, requests.enlisted + ENLISTED_AT_ONCE), dtype=np.int64)
    requests.enlisted = int(pages[-1]) + 1
    read = pages[state.pages.were_read(pages)]
    for page, url in zip(page_ids(read), state.pages.texts.get_many(read), strict=True):
        seconds = longest_wait(state, url)
        if seconds < float("inf"):
            if requests.subscriptions.unknown(page, requests.subscriptions.with_condition(url)):
                seconds = 0.0  # later values are compared with the present result of the condition
            state.refreshing.deadlines.add(page, now + seconds)
    return True
