"""Subscriptions: which changes each subscriber is notified of, which notices wait, and when they are due.

    a batch of subscription s is due at    t = max(time of its first waiting notice, last delivery + every)
    the batch contains                     its waiting notices seen until t, the first MOST_NOTICES of them

So a subscriber is notified of the first change at once, and then at most once per `every`, of all changes in between.
The batch follows from the state alone: requested later, or again after a crash, it is the same and has the same id,
until `delivered` records that it arrived. After a full batch, the rest is due at once. If a page changes again while
its notice waits, the two are merged into one notice that counts the changes, unless the first may already be in a batch
that is being delivered. So the waiting notices are bounded by the number of pages, however long a subscriber is away.

A subscription with a condition keeps its last result in each page, so that a notice has the full old and new value.
Their text is bounded: above MOST_KEPT characters in values and waiting notices, further texts are cut to SHORT
characters; hashes still show every change.

Nothing here reads a clock. All calls that change the state (`add`, `remove`, `noticed`, `delivered`) follow from frames
of the journal, and the same calls give the same state.
"""

from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any

import msgspec

from centime.model.ids import PageId
from centime.model.pattern import compiled
from centime.shard.people.notices import Batch, Change, Condition, Notice, When

MOST_NOTICES = 1_000  # in a batch
MOST_KEPT = 32 << 20  # characters of the results of a condition, for each subscription
SHORT = 200  # characters of a text for which there is no room

MISSING, THERE = 0, 1  # the hashes of words that are not in a page, and of those that are

Watched = tuple[str, int, str]  # the name of a subscription, the hash of its condition's result, and its text
Value = tuple[int, str | None]  # the hash of a condition's result in a page, and its text; None if it was not kept


class Subscription(msgspec.Struct, array_like=True, frozen=True):
    """Notifies `to` of changes of the pages whose URL matches `pattern`; with an XPath or words, only if their result
    changes.

    `every`, in seconds, is the least time between two deliveries, and the longest between two reads of a page.
    """

    name: str
    pattern: str
    every: float
    to: str  # file:PATH, command:PROGRAM, http://..., https://...
    xpath: str = ""
    words: str = ""
    when: When = When.ALWAYS

    @property
    def condition(self) -> Condition:
        """The part of a page whose changes count."""
        return Condition(self.xpath, self.words, self.when)


class _Kept(msgspec.Struct, array_like=True):
    """A subscription as a snapshot stores it."""

    subscription: Subscription
    last: float  # when a batch was last delivered, 0 if none was
    waiting: list[Notice]
    values: dict[PageId, Value | int]  # the condition's result in each page; version 0.1 kept the hash alone


class _State(msgspec.Struct, array_like=True):
    next_number: int
    kept: list[_Kept]


class _Active:
    """One subscription with its waiting notices."""

    def __init__(self, subscription: Subscription) -> None:
        self.subscription = subscription
        self.search = compiled(subscription.pattern).search
        self.last = 0.0
        self.waiting: dict[int, Notice] = {}  # by number, the oldest first
        self.newest: dict[PageId, int] = {}  # page -> number of its newest waiting notice
        self.values: dict[PageId, Value] = {}
        self.kept = 0  # characters of the values and of the waiting notices

    def take_over(self, last: float, waiting: Iterable[Notice], values: dict[PageId, Value]) -> None:
        """Continues with the notices and values of a snapshot, or of the subscription that this one replaces."""
        self.last, self.values = last, values
        self.waiting = {notice.number: notice for notice in waiting}
        self.newest = {notice.page: notice.number for notice in self.waiting.values()}
        self.kept = sum(len(text or "") for _, text in values.values()) + sum(map(_size, self.waiting.values()))

    def due(self) -> float:
        """When the next batch is due; infinity if no notice waits."""
        first = next(iter(self.waiting.values()), None)
        if first is None:
            return float("inf")
        return max(first.time, self.last + self.subscription.every if self.last else 0.0)

    def batch(self, source: str = "") -> Batch:
        """The next batch, from this source."""
        until = self.due()
        notices: list[Notice] = []
        for notice in self.waiting.values():
            if notice.time > until or len(notices) == MOST_NOTICES:
                break
            notices.append(notice)
        subscription = self.subscription
        return Batch(subscription.name, subscription.to, tuple(notices), subscription.condition, source)

    def add(self, notice: Notice) -> None:
        """Adds a notice, merged with the page's last one unless that may already be in a batch in transit."""
        before, due = self.waiting.get(self.newest.get(notice.page, -1)), self.due()
        if before is not None and (notice.time < due or before.time > due):
            del self.waiting[before.number]
            change = Change.NEW if (before.change, notice.change) == (Change.NEW, Change.CHANGED) else notice.change
            first = before.first_time or before.time
            self.kept -= _size(before)
            notice = msgspec.structs.replace(
                notice,
                change=change,
                changes=before.changes + 1,
                first_time=first,
                old=before.old,
                first_before=before.first_before or before.before,
                doubtful=before.doubtful and notice.doubtful,
            )
        self.kept += _size(notice)
        self.waiting[notice.number] = notice
        self.newest[notice.page] = notice.number

    def delivered(self, up_to: int, now: float) -> None:
        """Removes notices that were delivered."""
        until = self.due()
        for number in list(takewhile(lambda number: number <= up_to, self.waiting)):
            notice = self.waiting.pop(number)
            self.kept -= _size(notice)
            page = notice.page
            if self.newest.get(page) == number:
                del self.newest[page]
        first = next(iter(self.waiting.values()), None)
        if first is None or first.time > until:
            self.last = now

    def found(
        self, page: PageId, change: Change | None, found: tuple[int, str] | None
    ) -> tuple[Change | None, str | None, str]:
        """The change that the condition shows, its result before (None if unknown), and its result now.

        If a page changed since it was last read, but the condition was never evaluated in it, its result may have
        changed: the subscriber is notified, without an old value.
        """
        mark, old = self.values.get(page, (None, None))
        if found is None:  # not read, or by a fetcher that did not know the subscription yet, or beyond a limit
            return self._unread(change, mark), old, (old or "") if change is Change.BACK else ""
        known = page in self.values
        same = known and self.values[page][0] == found[0]
        if not same:
            self.kept -= len(old or "")
            text = found[1] if self.kept + len(found[1]) <= MOST_KEPT else found[1][:SHORT]
            self.kept += len(text)
            self.values[page] = (found[0], text)
        new = self.values[page][1] or ""
        if self.subscription.words:
            return self._of_words(change, None if change in (Change.NEW, Change.BACK) else mark, found[0]), old, new
        if change in (Change.NEW, Change.BACK):
            return change, old, new
        if known:
            return (None if same else Change.CHANGED), old, new
        return change, None, new

    def _unread(self, change: Change | None, mark: int | None) -> Change | None:
        """The change of a page in which the condition was not evaluated: it came or went, as far as words are in it."""
        leaves = change in (Change.GONE, Change.MOVED)
        if not leaves and change not in (Change.NEW, Change.BACK):
            return None
        if self.subscription.words:
            against = When.APPEARS if leaves else When.VANISHES
            return None if mark == MISSING or self.subscription.when is against else change
        return change

    def _of_words(self, change: Change | None, before: int | None, now: int) -> Change | None:
        """The change of a page in which words appeared or vanished; None if neither, or if the subscription excludes
        it."""
        when = self.subscription.when
        if now == before or (before is None and (change is None or (now == MISSING and change is not Change.CHANGED))):
            return None
        if when is (When.VANISHES if now == THERE else When.APPEARS):
            return None
        return change if before is None else Change.CHANGED


class Subscriptions:
    """All subscriptions of a crawl."""

    def __init__(self) -> None:
        self._all: dict[str, _Active] = {}
        self._next_number = 1

    def __len__(self) -> int:
        """The number of subscriptions."""
        return len(self._all)

    def __contains__(self, name: str) -> bool:
        """Whether there is a subscription of this name."""
        return name in self._all

    @property
    def waiting(self) -> int:
        """The number of notices that wait for delivery."""
        return sum(len(one.waiting) for one in self._all.values())

    def add(self, subscription: Subscription) -> None:
        """Adds a subscription; if it replaces one of the same name, the waiting notices stay."""
        before = self._all.get(subscription.name)
        active = self._all[subscription.name] = _Active(subscription)
        if before is not None:
            same = (before.subscription.xpath, before.subscription.words) == (subscription.xpath, subscription.words)
            values = before.values if same else {}
            active.take_over(before.last, before.waiting.values(), values)

    def remove(self, name: str) -> bool:
        """Removes a subscription with its waiting notices; returns whether there was one."""
        return self._all.pop(name, None) is not None

    def with_condition(self, url: str) -> tuple[Subscription, ...]:
        """The subscriptions with an XPath or words that match a page: its fetcher evaluates them."""
        return tuple(one.subscription for one in self._all.values() if one.subscription.condition and one.search(url))

    def unknown(self, page: PageId, watch: Sequence[Subscription]) -> bool:
        """Whether the condition of one of these subscriptions was never evaluated in a page."""
        return any(page not in self._all[one.name].values for one in watch)

    def match(self, url: str) -> list[str]:
        """The names of the subscriptions that match a page."""
        return [name for name, one in self._all.items() if one.search(url)]

    def deadline_seconds(self, url: str) -> float:
        """The longest time allowed between two reads of a page; infinity if no subscription matches it."""
        return min((one.subscription.every for one in self._all.values() if one.search(url)), default=float("inf"))

    def noticed(
        self,
        page: PageId,
        url: str,
        time: float,
        importance: float,
        change: Change | None,
        watched: Sequence[Watched] = (),
        names: Iterable[str] | None = None,
        before: float = 0.0,
        status: int = 0,
        target: str = "",
        *,
        minor: bool = False,
    ) -> None:
        """Adds notices for the results of a visit: the `change` of the page (None if unchanged), the results of
        conditions.

        `names` are the subscriptions that match, if the caller knows them; `before` is the time of the visit before;
        `status` and `target` are those of the response. A `minor` difference is no change of the page, but the result
        of a condition that was not evaluated before may have changed.
        """
        found = {name: (mark, text) for name, mark, text in watched}
        for name in self.match(url) if names is None else names:
            active = self._all.get(name)
            if active is None:
                continue
            own_change, old, new = change, None, ""
            doubtful = False
            if active.subscription.condition:
                doubtful = minor and change is None and name in found and page not in active.values
                own_change, old, new = active.found(page, Change.CHANGED if doubtful else change, found.get(name))
            if own_change is not None:
                active.add(
                    Notice(
                        self._next_number,
                        page,
                        url,
                        time,
                        importance,
                        own_change,
                        new,
                        old=old,
                        before=before,
                        status=status,
                        target=target,
                        doubtful=doubtful,
                    )
                )
                self._next_number += 1

    def due(self, now: float, source: str = "") -> list[Batch]:
        """The batches that are due, from this source; the same ones until `delivered` is called. The state does not
        change.
        """
        return [one.batch(source) for one in self._all.values() if one.due() <= now]

    def earliest(self) -> float:
        """When the next batch is due; infinity if no notice waits."""
        return min((one.due() for one in self._all.values()), default=float("inf"))

    def move(self, now: float) -> None:
        """Moves all deliveries and notices of a later time to `now`, because the clock was set back."""
        for one in self._all.values():
            one.last = min(one.last, now)
            one.waiting = {
                number: notice if notice.time <= now else msgspec.structs.replace(notice, time=now)
                for number, notice in one.waiting.items()
            }

    def delivered(self, name: str, up_to: int, now: float) -> None:
        """Removes the notices of a subscription up to a number, because they were delivered. Idempotent."""
        active = self._all.get(name)
        if active is not None and active.waiting and next(iter(active.waiting)) <= up_to:
            active.delivered(up_to, now)

    def places(self) -> dict[str, str]:
        """The destination of the notices of each subscription."""
        return {name: one.subscription.to for name, one in self._all.items()}

    def facts(self) -> list[dict[str, Any]]:
        """The facts of each subscription, for reports."""
        return [
            {
                "name": one.subscription.name,
                "pattern": one.subscription.pattern,
                **condition_facts(one.subscription),
                "every_seconds": one.subscription.every,
                "to": one.subscription.to,
                "waiting": len(one.waiting),
                "delivered": one.last or None,
                "due": one.due() if one.waiting else None,
            }
            for one in self._all.values()
        ]

    def state(self) -> bytes:
        """All subscriptions, packed for a snapshot."""
        kept = [
            _Kept(one.subscription, one.last, list(one.waiting.values()), dict(one.values))
            for one in self._all.values()
        ]
        return msgspec.msgpack.encode(_State(self._next_number, kept))

    @classmethod
    def from_state(cls, state: bytes) -> "Subscriptions":
        """The subscriptions of a snapshot."""
        known = msgspec.msgpack.decode(state, type=_State)
        made = cls()
        made._next_number = known.next_number
        for kept in known.kept:
            active = made._all[kept.subscription.name] = _Active(kept.subscription)
            values = {page: (value, None) if isinstance(value, int) else value for page, value in kept.values.items()}
            active.take_over(kept.last, kept.waiting, values)
        return made


def condition_facts(subscription: Subscription) -> dict[str, str | None]:
    """The condition of a subscription, for reports."""
    return {
        "xpath": subscription.xpath or None,
        "words": subscription.words or None,
        "when": subscription.when.value or None,
    }


def _size(notice: Notice) -> int:
    """The characters of a notice's texts."""
    return len(notice.new) + len(notice.old or "")
