"""The names of pages (URLs, titles): one heap of bytes with offsets, and a hash table. There is no object per page.

Name i is `heap[offsets[i]:offsets[i + 1]]` in UTF-8; `name_slots.py` finds the number of a name. Memory: the bytes of
the names and 8 bytes per name; 12 to 24 more per name once a name has been searched, or while names are collected.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from centime.graphs.name_slots import KEY, LEAST_SLOTS, Bytes, Slots, empty_slots, enter_all, look, move, number_all
from centime.model.errors import BadGraph
from centime.model.graph import LARGEST_PAGE_COUNT, Graph, Offsets, Targets

LONGEST_NUMBER = 20  # digits of 64 bits


class PageNames:
    """The name of each page, and the page of each name."""

    def __init__(self, heap: Bytes, offsets: Offsets) -> None:
        self.heap = heap
        self.offsets = offsets
        self._slots: Slots | None = None

    @classmethod
    def of(cls, names: list[str]) -> "PageNames":
        """The names of a list, which must be distinct."""
        table = NameTable()
        again = np.flatnonzero(table.add(names) != np.arange(len(names)))
        if len(again):
            raise BadGraph(f"two pages have the name {names[again[0]]!r}")
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
        """The page with this name, or None."""
        if self._slots is None:
            self._slots = empty_slots(len(self))
            enter_all(self.heap, self.offsets, len(self), self._slots, KEY)
        try:
            wanted = np.frombuffer(bytearray(name.encode()), dtype=np.uint8)
        except UnicodeEncodeError:
            return None
        page = look(wanted, self._slots, self.heap, self.offsets, KEY)
        return None if page < 0 else page

    def label(self, page: int) -> str | int:
        """The label of a page for users: its name."""
        return self[page]


class PageNumbers(PageNames):
    """Names that are whole numbers, for pages whose numbers have gaps: the label of a page is its number."""

    @classmethod
    def numbered(cls, numbers: Iterable[int]) -> "PageNumbers":
        """The names of pages with these numbers, which must be distinct."""
        names = PageNames.of([str(number) for number in numbers])
        return cls(names.heap, names.offsets)

    def label(self, page: int) -> int:
        """The number of a page."""
        return int(self[page])


@dataclass(frozen=True, slots=True)
class NamedGraph:
    """A graph and the names of its pages, if they have names."""

    graph: Graph
    names: PageNames | None = None
    first: int = 0
    """The number of the first page in the file: without names, users know page i as i + first."""
    nofollow: npt.NDArray[np.bool_] | None = None
    """Which links ask not to be followed; None if unknown."""

    def __post_init__(self) -> None:
        if self.names is not None and len(self.names) != self.graph.pages:
            raise BadGraph(f"there are {len(self.names)} names for {self.graph.pages} pages")

    def label(self, page: int) -> str | int:
        """The label of a page for users: its name, or its number in the file."""
        return page + self.first if self.names is None else self.names.label(page)

    def find(self, label: object) -> int | None:
        """The page with this label, or None; a page with a name can also be given by its place."""
        return find_page(label, self.names, self.first, self.graph.pages)

    @property
    def never_mentioned(self) -> int:
        """The number of pages to and from which no link leads, such as gaps in the numbers of a file."""
        return self.graph.pages - int(np.count_nonzero(self._linked()))

    def mentioned(self) -> "NamedGraph":
        """The graph without pages that no link mentions; the others keep their names or numbers."""
        linked = self._linked()
        kept = np.flatnonzero(linked)
        graph = self.graph
        if self.names is None:
            names: PageNames = PageNumbers.numbered((kept + self.first).tolist())
        else:
            names = type(self.names).of([self.names[page] for page in kept.tolist()])
        offsets = graph.offsets[np.append(kept, graph.pages)]
        targets = (np.cumsum(linked) - 1)[graph.targets].astype(np.int32)
        return NamedGraph(Graph(offsets, targets, graph.weights), names, nofollow=self.nofollow)

    def _linked(self) -> npt.NDArray[np.bool_]:
        linked = self.graph.out_degree > 0
        linked[self.graph.targets] = True
        return linked


def find_page(label: object, names: PageNames | None, first: int, pages: int) -> int | None:
    """The page with this label among `pages` pages, which are numbered from `first` if they have no names.

    Whole numbers of any type are the same label, as in a dictionary. Pages given by other values are found by the text
    of the value, which is the name of the page.
    """
    whole = _whole_number(label)
    if isinstance(names, PageNumbers):
        return names.find(str(label if whole is None else whole))
    if names is not None:
        page = names.find(str(label))
        if page is not None or isinstance(label, str) or whole is None:
            return page
    if whole is None:
        return None
    number = whole - (first if names is None else 0)
    return number if 0 <= number < pages else None


def _whole_number(label: object) -> int | None:
    """The whole number that a label is, or None; a text is one if it consists of digits."""
    if isinstance(label, str):
        return int(label) if label.isascii() and label.isdecimal() and len(label) <= LONGEST_NUMBER else None
    if isinstance(label, float):
        return int(label) if label.is_integer() else None
    return int(label) if isinstance(label, int | np.integer) else None


class NameTable:
    """A table of names under construction: each new name gets the next number, until `names` closes the table."""

    def __init__(self) -> None:
        self.count = 0
        self.most = LARGEST_PAGE_COUNT
        self.heap: Bytes = np.empty(4096, dtype=np.uint8)
        self.offsets: Offsets = np.zeros(LEAST_SLOTS, dtype=np.int64)
        self.slots = empty_slots(0)

    def __len__(self) -> int:
        return self.count

    def add(self, names: list[str]) -> Targets:
        """The numbers of names, new or known; -1 for each new name if the table is closed."""
        try:
            encoded = [name.encode() for name in names]
        except UnicodeEncodeError as wrong:
            raise BadGraph(f"the name {wrong.object!r} cannot be encoded in UTF-8") from None
        ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
        return self.number(np.frombuffer(bytearray(b"".join(encoded)), dtype=np.uint8), ends[:-1], ends[1:])

    def number(self, text: Bytes, starts: Offsets, ends: Offsets) -> Targets:
        """The numbers of names in a text, in the given order; -1 for each new name if the table is closed."""
        numbers = np.empty(len(starts), dtype=np.int32)
        if self.most > self.count:
            self._make_room(len(starts), int((ends - starts).sum()))
        self.count = int(
            number_all(text, starts, ends, self.slots, self.heap, self.offsets, self.count, self.most, KEY, numbers)
        )
        return numbers

    def _make_room(self, names: int, size: int) -> None:
        """Makes room for `names` more names with `size` bytes in all."""
        used = int(self.offsets[self.count])
        if used + size > len(self.heap):
            self.heap.resize(used + max(size, used // 4), refcheck=False)
        if self.count + names >= len(self.offsets):
            self.offsets.resize(self.count + 1 + max(names, self.count // 4), refcheck=False)
        if 3 * (self.count + names) > 2 * len(self.slots):
            old, self.slots = self.slots, empty_slots(self.count + names)
            move(old, self.slots)

    def first_not_text(self, start: int) -> bytes | None:
        """The first name, from number `start` on, that is not UTF-8; None if all are."""
        offsets = self.offsets[start : self.count + 1]
        within = (self.heap[offsets[:-1]] & 0xC0) == 0x80  # a continuation byte cannot start a name
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
        """The names collected so far; closes the table, which can still find names while these are in use."""
        self.most = self.count
        self.heap.resize(int(self.offsets[self.count]), refcheck=False)
        self.offsets.resize(self.count + 1, refcheck=False)
        return PageNames(self.heap, self.offsets)
