"""Who wants to be subscription of which changes, what they are still to be subscription, and when.

    deliver a batch of subscription s at      t = max(time of its first notice that waits, last delivery + every)
    the batch                                 its waiting notices seen until t, the first MOST_NOTICES of them

So the first change is subscription at once; then at most one delivery every `every`, with all that changed in between.
The batch follows from the state alone: asked for later, or again after a crash, it is the same, with the same id, until
`delivered` says that it arrived. If a batch was full, the rest follows at once. A page that changes again while its
notice waits has one notice, which counts its changes, unless the first is in a batch that may be on its way: what waits
is bounded by the pages, however long a subscriber is away.

Nothing here reads a clock, and everything that changes it is a call that the shard has in its journal: `add`, `remove`,
`noticed`, `delivered`. The same calls give the same state.
"""

from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any

import msgspec

from centime.model.pattern import compiled
from centime.shard.notices import Batch, Change, Notice

MOST_NOTICES = 1_000  # in a batch

Watched = tuple[str, int, str]  # the subscription, the hash of what its XPath found, the beginning of that


class Subscription(msgspec.Struct, array_like=True, frozen=True):
    """Tell `to` of changes of the pages in whose URL `pattern` is found; with an XPath only if what it finds has
    changed.
    """

    name: str
    pattern: str
    every: float  # seconds: subscription at most so often, and the pages are read at least so often
    to: str  # file:PATH, command:PROGRAM, http://..., https://...
    xpath: str = ""


class _Kept(msgspec.Struct, array_like=True):
    """A subscription as a snapshot has it."""

    subscription: Subscription
    last: float  # when a batch was last delivered, 0 if none was
    waiting: list[Notice]
    hashes: dict[int, int]  # of what the XPath found in each page


class _State(msgspec.Struct, array_like=True):
    next_number: int
    kept: list[_Kept]


class _Active:
    """One subscription with what it is still to be subscription."""

    def __init__(self, subscription: Subscription) -> None:
        self.subscription = subscription
        self.search = compiled(subscription.pattern).search
        self.last = 0.0
        self.waiting: dict[int, Notice] = {}  # by number, the oldest first
        self.newest: dict[int, int] = {}  # page -> number of its newest notice that waits
        self.hashes: dict[int, int] = {}

    def due(self) -> float:
        """When the next batch is to be delivered."""
        first = next(iter(self.waiting.values()), None)
        return (
            float("inf")
            if first is None
            else max(first.time, self.last + self.subscription.every if self.last else 0.0)
        )

    def batch(self) -> Batch:
        """The batch that is delivered then."""
        until = self.due()
        notices: list[Notice] = []
        for notice in self.waiting.values():
            if notice.time > until or len(notices) == MOST_NOTICES:
                break
            notices.append(notice)
        return Batch(self.subscription.name, self.subscription.to, tuple(notices))

    def add(self, notice: Notice) -> None:
        """Lets a notice wait; together with the page's last unless that may be on its way by now."""
        before, due = self.waiting.get(self.newest.get(notice.page, -1)), self.due()
        if before is not None and (notice.time < due or before.time > due):
            del self.waiting[before.number]
            change = Change.NEW if (before.change, notice.change) == (Change.NEW, Change.CHANGED) else notice.change
            first = before.first_time or before.time
            notice = msgspec.structs.replace(notice, change=change, changes=before.changes + 1, first_time=first)
        self.waiting[notice.number] = notice
        self.newest[notice.page] = notice.number

    def delivered(self, up_to: int, now: float) -> None:
        """Forgets notices that have arrived."""
        until = self.due()
        for number in list(takewhile(lambda number: number <= up_to, self.waiting)):
            page = self.waiting.pop(number).page
            if self.newest.get(page) == number:
                del self.newest[page]
        first = next(iter(self.waiting.values()), None)
        if first is None or first.time > until:
            self.last = now


class Subscriptions:
    """All subscriptions of a crawl."""

    def __init__(self) -> None:
        self._all: dict[str, _Active] = {}
        self._next_number = 1

    def __len__(self) -> int:
        """How many there are."""
        return len(self._all)

    def __contains__(self, name: str) -> bool:
        """Whether there is one of this name."""
        return name in self._all

    @property
    def waiting(self) -> int:
        """How many notices are still to be delivered."""
        return sum(len(one.waiting) for one in self._all.values())

    def add(self, subscription: Subscription) -> None:
        """Takes a subscription; one of the same name is replaced, and what it is still to be subscription is kept."""
        before = self._all.get(subscription.name)
        active = self._all[subscription.name] = _Active(subscription)
        if before is not None:
            active.last, active.waiting, active.newest = before.last, before.waiting, before.newest
            active.hashes = before.hashes if before.subscription.xpath == subscription.xpath else {}

    def remove(self, name: str) -> bool:
        """Drops a subscription with all that it was still to be subscription; whether there was one."""
        return self._all.pop(name, None) is not None

    def subscription(self) -> list[Subscription]:
        """The subscriptions, in the order in which they were made."""
        return [one.subscription for one in self._all.values()]

    def with_xpath(self, url: str) -> tuple[Subscription, ...]:
        """The subscriptions that a page belongs to and that have an XPath: what its fetcher must know."""
        return tuple(one.subscription for one in self._all.values() if one.subscription.xpath and one.search(url))

    def match(self, url: str) -> list[str]:
        """The names of the subscriptions that a page belongs to."""
        return [name for name, one in self._all.items() if one.search(url)]

    def deadline_seconds(self, url: str) -> float:
        """How often a page must be read at least, infinity if nobody waits for it."""
        return min((one.subscription.every for one in self._all.values() if one.search(url)), default=float("inf"))

    def noticed(
        self,
        page: int,
        url: str,
        time: float,
        importance: float,
        change: Change | None,
        watched: Sequence[Watched] = (),
        names: Iterable[str] | None = None,
    ) -> None:
        """Takes what a visit showed: `change` of the page as a whole, None if it is as it was, and what XPaths found in
        it.

        `names` are the subscriptions that match, if the caller remembers them.
        """
        found = {name: (mark, text) for name, mark, text in watched}
        for name in self.match(url) if names is None else names:
            active = self._all.get(name)
            if active is None:
                continue
            said, text = change, ""
            if active.subscription.xpath:
                said, text = self._of_xpath(active, page, change, found.get(name))
            if said is not None:
                active.add(Notice(self._next_number, page, url, time, importance, said, text))
                self._next_number += 1

    def due(self, now: float) -> list[Batch]:
        """The batches that are to be delivered by now; the same again until they are. Nothing changes by asking."""
        return [one.batch() for one in self._all.values() if one.due() <= now]

    def earliest(self) -> float:
        """When the next batch is due, infinity if nothing waits."""
        return min((one.due() for one in self._all.values()), default=float("inf"))

    def delivered(self, name: str, up_to: int, now: float) -> None:
        """Forgets the notices of a subscription up to this number: they have arrived. Saying so twice changes
        nothing.
        """
        active = self._all.get(name)
        if active is not None and active.waiting and next(iter(active.waiting)) <= up_to:
            active.delivered(up_to, now)

    def facts(self) -> list[dict[str, Any]]:
        """What people want to see of each."""
        return [
            {
                "name": one.subscription.name,
                "pattern": one.subscription.pattern,
                "xpath": one.subscription.xpath or None,
                "every_seconds": one.subscription.every,
                "to": one.subscription.to,
                "waiting": len(one.waiting),
                "delivered": one.last or None,
                "due": one.due() if one.waiting else None,
            }
            for one in self._all.values()
        ]

    def state(self) -> bytes:
        """All of it, for a snapshot."""
        kept = [_Kept(one.subscription, one.last, list(one.waiting.values()), one.hashes) for one in self._all.values()]
        return msgspec.msgpack.encode(_State(self._next_number, kept))

    @classmethod
    def from_state(cls, state: bytes) -> "Subscriptions":
        """The subscriptions of a snapshot."""
        known = msgspec.msgpack.decode(state, type=_State)
        made = cls()
        made._next_number = known.next_number
        for kept in known.kept:
            active = made._all[kept.subscription.name] = _Active(kept.subscription)
            active.last, active.hashes = kept.last, kept.hashes
            active.waiting = {notice.number: notice for notice in kept.waiting}
            active.newest = {notice.page: notice.number for notice in kept.waiting}
        return made

    @staticmethod
    def _of_xpath(
        active: _Active, page: int, change: Change | None, found: tuple[int, str] | None
    ) -> tuple[Change | None, str]:
        """What is to be said to a subscription with an XPath. What it finds in a page that was read before it began
        is taken as known.
        """
        if found is None:  # gone, or read by a fetcher that did not know the subscription yet
            return (Change.GONE if change is Change.GONE else None), ""
        mark, text = found
        before = active.hashes.get(page)
        active.hashes[page] = mark
        if change in (Change.NEW, Change.BACK):
            return change, text
        return (Change.CHANGED if before is not None and before != mark else None), text
