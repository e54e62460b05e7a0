"""The requests that wait: which is next, by download slot, priority and importance.

    of idle slots       the one whose best request is the best of all
    of the others       the one with the fewest downloads that takes one more; then the same
    in a slot           highest priority, most important page, oldest

Each slot has a heap. The importance of a page changes while its request waits, so a request can have several entries in
its heap; those that are not its newest are skipped. The idle slots are a heap of the same kind.
"""

from collections.abc import Callable, Iterable, Iterator
from heapq import heapify, heappop, heappush

from scrapy import Request

from centime.scrapy.request_log import Place

STALE_ENTRIES = 64  # a heap is rebuilt when it has this many entries more than three times its requests

Key = tuple[int, float, int]


class WaitingRequest:
    """A request that waits, or is running."""

    __slots__ = ("number", "page", "place", "priority", "request", "slot", "taken", "url", "weight")

    def __init__(
        self, number: int, url: str, slot: str, priority: int, place: Place | None, request: Request | None = None
    ) -> None:
        self.number = number
        self.url = url
        self.slot = slot
        self.priority = priority
        self.place = place  # in the log; None if it is in memory alone
        self.request = request  # if it is in memory
        self.weight = 0.0  # the importance of its page, in any unit
        self.page = -1  # the number of its page in the crawl, when it is known
        self.taken = False  # it does not wait any more

    @property
    def key(self) -> Key:
        """The sort key of the request."""
        return -self.priority, -self.weight, self.number


class _Slot:
    __slots__ = ("count", "entries", "name", "offered")

    def __init__(self, name: str) -> None:
        self.name = name
        self.count = 0
        self.offered: Key | None = None  # its key among the idle ones
        self.entries: list[tuple[Key, WaitingRequest]] = []

    def add(self, one: WaitingRequest) -> None:
        heappush(self.entries, (one.key, one))
        if len(self.entries) > 3 * self.count + STALE_ENTRIES:
            self.entries = [entry for entry in self.entries if entry[0] == entry[1].key and not entry[1].taken]
            heapify(self.entries)

    def best(self) -> Key:
        """The key of the best request; there is one."""
        entries = self.entries
        while entries[0][1].taken or entries[0][0] != entries[0][1].key:
            heappop(entries)
        return entries[0][0]


class WaitingRequests:
    """The requests that wait. `busy` returns the number of downloads of a slot, and `takes` whether it takes one
    more."""

    def __init__(self, busy: Callable[[str], int], takes: Callable[[str], bool]) -> None:
        self._busy_of, self._takes = busy, takes
        self._slots: dict[str, _Slot] = {}
        self._idle: list[tuple[Key, str]] = []
        self._busy: set[str] = set()  # slots with requests that were not idle when they were last looked at
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[WaitingRequest]:
        for slot in self._slots.values():
            yield from {one.number: one for key, one in slot.entries if not one.taken and key == one.key}.values()

    def add(self, one: WaitingRequest) -> None:
        """Adds a request."""
        slot = self._slots.get(one.slot)
        if slot is None:
            slot = self._slots[one.slot] = _Slot(one.slot)
        slot.count += 1
        self._count += 1
        slot.add(one)
        self._offer(slot)

    def weigh(self, some: Iterable[tuple[WaitingRequest, float]]) -> None:
        """Gives requests that wait other weights."""
        changed = {}
        for one, weight in some:
            if weight != one.weight and not one.taken:
                one.weight = weight
                slot = changed[one.slot] = self._slots[one.slot]
                slot.add(one)
        for slot in changed.values():
            self._offer(slot)

    def take(self) -> WaitingRequest | None:
        """The request that is next; None if there is none, or no slot takes one now."""
        for name in [name for name in self._busy if not self._busy_of(name)]:
            self._busy.discard(name)
            self._offer(self._slots[name])
        slot = self._best_idle() or self._best_busy()
        if slot is None:
            return None
        slot.best()
        _, one = heappop(slot.entries)
        slot.count -= 1
        self._count -= 1
        one.taken = True  # entries that are left of it are skipped
        self._busy.discard(slot.name)
        if slot.count:
            self._busy.add(slot.name)
        else:
            del self._slots[slot.name]
        return one

    def _offer(self, slot: _Slot) -> None:
        """Enters an idle slot by its best request."""
        best = slot.best()
        if slot.name not in self._busy and best != slot.offered:
            slot.offered = best
            heappush(self._idle, (best, slot.name))
            if len(self._idle) > 3 * len(self._slots) + STALE_ENTRIES:
                self._idle = [(one.offered, one.name) for one in self._slots.values() if one.offered is not None]
                heapify(self._idle)

    def _best_idle(self) -> _Slot | None:
        idle = self._idle
        while idle:
            key, name = heappop(idle)
            slot = self._slots.get(name)
            if slot is None or slot.offered != key:
                continue
            slot.offered = None
            if name in self._busy or slot.best() != key:
                continue
            if not self._busy_of(name):
                return slot
            self._busy.add(name)
        return None

    def _best_busy(self) -> _Slot | None:
        open_slots = [(self._busy_of(name), self._slots[name].best(), name) for name in self._busy if self._takes(name)]
        return self._slots[min(open_slots)[2]] if open_slots else None
