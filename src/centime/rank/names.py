"""The names of pages (URLs, titles): one heap of bytes with offsets, and a hash table to find them. No object per page.

Name i is `heap[offsets[i]:offsets[i + 1]]` in UTF-8. The table holds the number of a name and its fingerprint in each slot that is taken; a
name is looked for from the slot of its fingerprint onward (linear probing, at most two slots of three taken) and compared byte by byte.

The fingerprint is a polynomial of the name's bytes, three at a time, in a key drawn once per process, modulo the prime 2^31 - 1. The key
is secret, so nobody can write a file whose names all meet in one slot; page numbers follow first mention and never depend on it.

Memory: the bytes of the names and 8 bytes per name; 12 to 24 more per name while names are found or gathered.
"""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from centime.model.errors import BadGraph
from centime.model.graph import LARGEST_PAGE_COUNT, Graph, Offsets, Targets
from centime.model.kernel import inlined, kernel

Bytes = npt.NDArray[np.uint8]
Slots = npt.NDArray[np.int64]

PRIME = 2**31 - 1
KEY = 2**29 + secrets.randbelow(2**29)  # below 2^30, so that no product passes 2^63
LEAST_SLOTS = 1024
GROUP = 32
AGAIN = -1


class PageNames:
    """The name of every page, by number, and the number of every name."""

    def __init__(self, heap: Bytes, offsets: Offsets) -> None:
        self.heap = heap
        self.offsets = offsets
        self._slots: Slots | None = None

    @classmethod
    def of(cls, names: list[str]) -> "PageNames":
        """The names of a list, which must differ."""
        table = NameTable()
        for name in names:
            page = len(table)
            if table.add(name) != page:
                raise BadGraph(f"two pages have the name {name!r}")
        return table.names()

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, page: int) -> str:
        if not 0 <= page < len(self):
            raise IndexError(f"there is no page {page} among {len(self)} names")
        return self.heap[self.offsets[page] : self.offsets[page + 1]].tobytes().decode()

    def __iter__(self) -> Iterator[str]:
        return (self[page] for page in range(len(self)))

    def find(self, name: str) -> int | None:
        """The number of the page of this name; None if no page has it."""
        if self._slots is None:
            self._slots = _empty_slots(len(self))
            _enter_all(self.heap, self.offsets, len(self), self._slots, KEY)
        wanted = np.frombuffer(name.encode("utf-8", "replace"), dtype=np.uint8)
        page = _look(wanted, self._slots, self.heap, self.offsets, KEY)
        return None if page < 0 else page


@dataclass(frozen=True, slots=True)
class NamedGraph:
    """A graph and, if its pages have them, their names."""

    graph: Graph
    names: PageNames | None = None

    def __post_init__(self) -> None:
        if self.names is not None and len(self.names) != self.graph.pages:
            raise BadGraph(f"there are {len(self.names)} names for {self.graph.pages} pages")


class NameTable:
    """Names that are still being gathered: each new one gets the next number, until `names` closes the table to new ones."""

    def __init__(self) -> None:
        self.count = 0
        self.most = LARGEST_PAGE_COUNT
        self.heap: Bytes = np.empty(4096, dtype=np.uint8)
        self.offsets: Offsets = np.zeros(LEAST_SLOTS, dtype=np.int64)
        self.slots = _empty_slots(0)

    def __len__(self) -> int:
        return self.count

    def add(self, name: str) -> int:
        """The number of a name, which is new or known; -1 if it is new and the table is closed."""
        text = np.frombuffer(bytearray(name.encode()), dtype=np.uint8)
        return int(self.number(text, np.zeros(1, dtype=np.int64), np.array([len(text)]))[0])

    def number(self, text: Bytes, starts: Offsets, ends: Offsets) -> Targets:
        """The numbers of names that stand in a text, in the order given; -1 for each new one if the table is closed."""
        numbers = np.empty(len(starts), dtype=np.int32)
        if self.most > self.count:
            self._make_room(len(starts), int((ends - starts).sum()))
        self.count = int(_number_all(text, starts, ends, self.slots, self.heap, self.offsets, self.count, self.most, KEY, numbers))
        return numbers

    def _make_room(self, names: int, size: int) -> None:
        """Lets so many more names with so many bytes in all fit."""
        used = int(self.offsets[self.count])
        if used + size > len(self.heap):
            self.heap.resize(used + max(size, used // 4), refcheck=False)
        if self.count + names >= len(self.offsets):
            self.offsets.resize(self.count + 1 + max(names, self.count // 4), refcheck=False)
        if 3 * (self.count + names) > 2 * len(self.slots):
            old, self.slots = self.slots, _empty_slots(self.count + names)
            _move(old, self.slots)

    def first_not_text(self, start: int) -> bytes | None:
        """The first name from number `start` on that is not UTF-8; None if all are."""
        offsets = self.offsets[start : self.count + 1]
        within = (self.heap[offsets[:-1]] & 0xC0) == 0x80  # a byte that goes on with a letter cannot start a name
        try:
            self.heap[offsets[0] : offsets[-1]].tobytes().decode()
        except UnicodeDecodeError as wrong:
            page = int(np.searchsorted(offsets, offsets[0] + wrong.start, side="right")) - 1
        else:
            if not within.any():
                return None
            page = int(np.argmax(within))
        return self.heap[offsets[page] : offsets[page + 1]].tobytes()

    def names(self) -> PageNames:
        """The names gathered so far; from now on the table only finds names, which may be done while these are in use."""
        self.most = self.count
        self.heap.resize(int(self.offsets[self.count]), refcheck=False)
        self.offsets.resize(self.count + 1, refcheck=False)
        return PageNames(self.heap, self.offsets)


def _empty_slots(names: int) -> Slots:
    size = LEAST_SLOTS
    while 2 * size < 3 * names:
        size *= 2
    return np.zeros(size, dtype=np.int64)


@inlined
def _fingerprint(text: Bytes, start: int, end: int, key: int) -> int:
    """A number below 2^31 - 1 that the bytes from `start` to `end` decide; the key is below 2^30."""
    value = np.int64(end - start)
    at = start
    while at + 3 <= end:
        value = value * key + ((np.int64(text[at]) << 16) | (np.int64(text[at + 1]) << 8) | np.int64(text[at + 2]))
        value = (value & PRIME) + (value >> 31)
        at += 3
    while at < end:
        value = value * key + np.int64(text[at])
        value = (value & PRIME) + (value >> 31)
        at += 1
    return int(value % PRIME)


@inlined
def _same(one: Bytes, start: int, other: Bytes, other_start: int, length: int) -> bool:
    """Whether two runs of bytes are the same."""
    step = 0
    while step < length and one[start + step] == other[other_start + step]:
        step += 1
    return step == length


@inlined
def _slot_of(text: Bytes, start: int, end: int, print_: int, slots: Slots, heap: Bytes, offsets: Offsets) -> int:
    """The slot of the name that stands from `start` to `end` in the text, or the free slot where it belongs."""
    last = len(slots) - 1
    slot = print_ & last
    while slots[slot] != 0:
        page = (slots[slot] & 0xFFFFFFFF) - 1
        length = offsets[page + 1] - offsets[page]
        if slots[slot] >> 32 == print_ and length == end - start and _same(text, start, heap, offsets[page], length):
            return slot
        slot = (slot + 1) & last
    return slot


@inlined
def _number_of(text: Bytes, start: int, end: int, print_: int, slots: Slots, heap: Bytes, offsets: Offsets, count: int, most: int) -> int:
    """The number of the name from `start` to `end`; a new one becomes number `count`, unless that is `most`: then it is -1."""
    slot = _slot_of(text, start, end, print_, slots, heap, offsets)
    if slots[slot] == 0:
        if count == most:
            return -1
        slots[slot] = (np.int64(print_) << 32) | (count + 1)
        place = offsets[count]
        for step in range(end - start):
            heap[place + step] = text[start + step]
        offsets[count + 1] = place + end - start
    return int((slots[slot] & 0xFFFFFFFF) - 1)


@kernel
def _look(text: Bytes, slots: Slots, heap: Bytes, offsets: Offsets, key: int) -> int:
    slot = _slot_of(text, 0, len(text), _fingerprint(text, 0, len(text), key), slots, heap, offsets)
    return int((slots[slot] & 0xFFFFFFFF) - 1)


@kernel
def _number_all(
    text: Bytes,
    starts: Offsets,
    ends: Offsets,
    slots: Slots,
    heap: Bytes,
    offsets: Offsets,
    count: int,
    most: int,
    key: int,
    numbers: Targets,
) -> int:
    """Gives each of many names its number, -1 if it is new and there must be no new ones; returns how many names there are.

    What memory holds of the names is scattered, and waiting for it is most of the work. So the names are taken in groups, and each place is
    touched for the whole group before it is needed: the waits overlap.
    """
    prints = np.empty(GROUP, np.int64)
    places = np.empty(GROUP, np.int64)
    touched = np.empty(GROUP, np.uint8)
    for first in range(0, len(starts), GROUP):
        group = min(GROUP, len(starts) - first)
        for member in range(group):
            start, end = starts[first + member], ends[first + member]
            # The links of a page mostly stand together: every second name is the one before the last.
            before = max(first + member - 2, 0)
            length = ends[before] - starts[before]
            if first + member >= 2 and length == end - start and _same(text, start, text, starts[before], length):
                prints[member] = AGAIN
            else:
                prints[member] = _fingerprint(text, start, end, key)
        for member in range(group):
            places[member] = slots[prints[member] & (len(slots) - 1)] & 0xFFFFFFFF
        for member in range(group):
            places[member] = offsets[places[member]]
        for member in range(group):
            touched[member] = heap[max(places[member] - 1, 0)]
        for member in range(group):
            if prints[member] == AGAIN:
                numbers[first + member] = numbers[first + member - 2]
                continue
            start, end = starts[first + member], ends[first + member]
            page = _number_of(text, start, end, prints[member], slots, heap, offsets, count, most)
            count = max(count, page + 1)
            numbers[first + member] = page
    return count


@kernel
def _enter_all(heap: Bytes, offsets: Offsets, count: int, slots: Slots, key: int) -> None:
    for page in range(count):
        print_ = _fingerprint(heap, offsets[page], offsets[page + 1], key)
        slot = print_ & (len(slots) - 1)
        while slots[slot] != 0:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = (np.int64(print_) << 32) | (page + 1)


@kernel
def _move(old: Slots, slots: Slots) -> None:
    for taken in old:
        if taken != 0:
            slot = (taken >> 32) & (len(slots) - 1)
            while slots[slot] != 0:
                slot = (slot + 1) & (len(slots) - 1)
            slots[slot] = taken
