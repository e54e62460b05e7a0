"""What waits where: pages go to the level they belong to, come back when they are due, and are handed out.

2 published   while their publisher is believed        4 refresh      pages that were read, with what another read is worth
3 deadline    pages that a subscription asks for        5 discovery    pages that were not, by importance
"""

import numpy as np
import numpy.typing as npt

from centime.frontier.kind import DEADLINE, DISCOVERY, PUBLISHED, REFRESH, kinds_of
from centime.model.row_batch import Pages
from centime.shard.message import Returned
from centime.shard.state import ShardState

ENLISTED_AT_ONCE = 10_000  # pages looked through for a new subscription in one call


def lease(state: ShardState, now: float, count: int) -> tuple[Pages, bool]:
    """The pages granted, and whether others have moved: a call that changes nothing need not be in the journal."""
    expired, again = state.placement.expired(now), state.placement.take_due(now)
    late = state.refreshing.deadlines.due(now)
    due = _read_long_ago(state, now)
    give_back(state, expired, now)
    requeue(state, [*again.tolist(), *due], now)
    _remind(state, late, now)
    moved = bool(len(expired) or len(again) or len(late) or due)
    moved = _look(state, now) or moved
    moved = _enlist(state, now) or moved
    discovery = state.refreshing.discovery() * state.ledger.unit()
    pages = state.placement.lease(now, count, state.ledger.class_shares(), discovery)
    return pages, moved


def earliest(state: ShardState, now: float) -> float:
    """When something may be handed out, or becomes due."""
    return min(state.placement.frontier.earliest(now), state.refreshing.earliest())


def take_back(state: ShardState, frame: Returned) -> None:
    """Ends leases that nobody works on any more."""
    pages = state.placement.leases.held() if frame.all else np.array(frame.pages, dtype=np.int64)
    pages = pages[state.placement.end(pages)]
    for number in set(state.pages.origins_of(pages)["host"].tolist()):
        state.politeness.leave_alone(state.hosts, state.placement.frontier, frame.now, number)
    give_back(state, pages, frame.now)


def give_back(state: ShardState, pages: Pages, now: float) -> None:
    """Puts pages whose lease ended without a visit where they were."""
    for page in pages.tolist():
        number = int(state.pages.origin(page)["host"])
        state.placement.frontier.release(number, state.hosts[number].next_time)
    requeue(state, pages.tolist(), now)


def requeue(state: ShardState, pages: list[int], now: float) -> None:
    """Puts pages that wait nowhere where they belong."""
    if not pages:
        return
    numbers = np.array(sorted(set(pages)), dtype=np.int64)
    numbers = numbers[state.placement.idle(numbers)]
    read = state.pages.were_read(numbers) | state.refreshing.book.contains(numbers)
    announced = np.array([state.requests.publishers.has_announced(page) for page in numbers.tolist()], dtype=np.bool_)
    unread = numbers[~read & ~announced]
    if len(unread):
        origins = state.pages.origins_of(unread)
        kinds = kinds_of(np.full(len(unread), DISCOVERY), origins["focus"])
        state.placement.enqueue(unread, origins["host"].astype(np.int32), kinds, state.ledger.inflow(unread))
    known = numbers[read & ~announced]
    if len(known):
        worth = (
            state.refreshing.worth(known, now, state.ledger.importance)
            if state.settings.continuous
            else state.ledger.importance(known)
        )
        _add(state, known, REFRESH, worth)
    promote(state, numbers[announced])


def promote(state: ShardState, pages: Pages, weight: npt.ArrayLike = 1.0) -> None:
    """Puts pages among the published ones, by so many times their importance, unless they are out or at a higher
    level.
    """
    if len(pages):
        free = state.placement.withdraw(pages, PUBLISHED)
        _add(
            state,
            pages[free],
            PUBLISHED,
            np.broadcast_to(weight, len(pages))[free] * state.ledger.importance(pages[free]),
        )


def _remind(state: ShardState, pages: Pages, now: float) -> None:
    """Puts pages whose deadline is over among those that are late, unless they are out or at a higher level.

    The one that has waited longest comes first, not the most important: where a subscription asks for more than the
    budget has, its less important pages would never be read.
    """
    if len(pages):
        late = pages[state.placement.withdraw(pages, DEADLINE)]
        _add(state, late, DEADLINE, np.full(len(late), state.refreshing.book.began - now))


def reorder(state: ShardState) -> None:
    """Tells the frontier the standing of all pages that were paid."""
    if state.all_paid:
        state.placement.frontier.rebuild(state.ledger.inflow)
    elif state.paid:
        pages = np.concatenate(state.paid).astype(np.int64)
        state.placement.frontier.update(pages, state.ledger.inflow(pages))
    state.paid.clear()
    state.all_paid = False


def _add(state: ShardState, pages: Pages, level: int, worth: npt.NDArray[np.float64]) -> None:
    hosts = state.pages.origins_of(pages)["host"].astype(np.int32)
    state.placement.enqueue(pages, hosts, kinds_of(np.full(len(pages), level), np.zeros(len(pages))), worth)


def _read_long_ago(state: ShardState, now: float) -> list[int]:
    """With `refresh-after`: the pages that were last read so many seconds ago."""
    if state.settings.refresh_after is None:
        return []
    due, until = state.pages.read_before(now - state.settings.refresh_after, state.refreshed_until)
    if due:
        state.refreshed_until = (
            until  # without a page that is due nothing may change: such a call is not in the journal
        )
    return due


def _look(state: ShardState, now: float) -> bool:
    """Lets pages come that have become worth a read; whether anything was looked at."""
    found = state.refreshing.look(now, state.ledger.importance)
    if found is None:
        return False
    pages, worth = found
    frontier = state.placement.frontier
    waiting = frontier.levels(pages) == REFRESH
    frontier.update_worth(pages[waiting], worth[waiting])
    free = state.placement.idle(pages)
    if free.any():
        _add(state, pages[free], REFRESH, worth[free])
    return True


def _enlist(state: ShardState, now: float) -> bool:
    """Gives pages that were read before a subscription began their deadlines, some at a time; whether there were any
    to look at.
    """
    requests = state.requests
    if requests.enlisted >= requests.enlist_end:
        return False
    pages = np.arange(requests.enlisted, min(requests.enlist_end, requests.enlisted + ENLISTED_AT_ONCE), dtype=np.int64)
    requests.enlisted = int(pages[-1]) + 1
    read = pages[state.pages.were_read(pages)]
    for page, url in zip(read.tolist(), state.pages.texts.get_many(read), strict=True):
        seconds = requests.subscriptions.deadline_seconds(url)
        if seconds < float("inf"):
            state.refreshing.deadlines.add(page, now + seconds)
    return True
