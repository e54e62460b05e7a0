"""The rows of a damaged file of versions, read from the leaves of its trees alone.

SQLite reads a table from the first page (the head and the schema) down to its leaves, so one damaged byte of the head
hides all rows. But every leaf describes its own rows (`leaf.py`). So a repair reads all leaves, wherever they
are in the file, and needs neither the head nor the pages between.

The pointer map, one page before each MAPPED pages, says what each of them is. Rows of free pages were deleted, and stay
so. An overflow page is never taken for a leaf: it holds content of the web, which may look like rows of a database.

Guarantee: for any bytes, this terminates, with memory in proportion to the rows. It does not prove that a row is right:
digests do (`walk.py`).

Trap: SQLite stores a REAL that is a whole number as an integer.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from centime.files.disk import naming
from centime.model.errors import DamagedFile
from centime.store.versions.chain import Dictionary
from centime.store.versions.database import PAGE_BYTES
from centime.store.versions.dictionary import lost_dictionary, whole_copy
from centime.store.versions.leaf import (
    BRANCH,
    INDEX_BRANCH,
    INDEX_LEAF,
    LEAF,
    Unreadable,
    cell_at,
    cells_of,
    columns_of,
    fills,
    values_of,
)
from centime.store.versions.stored import document_id
from centime.store.versions.walk import Page, Row

MAPPED = PAGE_BYTES // 5
LOCKED = (1 << 30) // PAGE_BYTES + 1  # the page that SQLite never uses
ROOT, FREE, OVERFLOW, OVERFLOW_NEXT, CHILD = range(1, 6)  # values of a pointer map
_INDEX = (INDEX_BRANCH, INDEX_LEAF)
_BRANCHES = (BRANCH, *_INDEX)  # and other pages of trees that have no rows
_UNTIL_STEPS = Row._fields.index("steps") + 1
_MAGIC = b"SQLite format 3\0"
_PAGES = slice(28, 32)  # of the head: how many pages the file has
_MANY = 1 << 62


class Place(NamedTuple):
    """Where a version is. Steps only become fewer (`pruning.py`), so the smallest place is that of the newest row."""

    steps: int
    page: int
    at: int


class Leaves:
    """The rows in the leaves of a file: `pages` by their ids, `versions` by page and number. `unread` is 0 if there
    were certainly no other rows.
    """

    def __init__(self, handle: int, path: Path) -> None:
        self.pages: dict[int, Page] = {}
        self.versions: dict[tuple[int, int], Place] = {}
        self.unread = 0
        self._indexed = 0  # versions that the index knows
        self._dictionaries: dict[int, Dictionary] = {}
        self._handle, self._path = handle, path
        self._size = os.fstat(handle).st_size
        self._find()

    def rows(self, places: Iterable[Place]) -> Iterator[Row]:
        """The rows in some places; those that cannot be read are left out."""
        for place in places:
            with suppress(Unreadable):
                row = Row._make(values_of(self._record(self._page(place.page), place.at)))
                yield row._replace(time=_real(row.time), before_seen=_real(row.before_seen))

    def dictionary(self, number: int) -> Dictionary:
        """The dictionary with a number; DamagedFile if no copy of it is whole."""
        found = self._dictionaries.get(number)
        if found is None:
            raise lost_dictionary(number)
        return found

    def _find(self) -> None:
        kinds = b""
        end = -(-self._size // PAGE_BYTES) + 1
        for number in range(2, end):
            page, place = self._page(number), (number - 2) % (MAPPED + 1)
            if place == 0:
                kinds = page[: 5 * MAPPED : 5]
            elif number != LOCKED:
                self._look_at(number, page, kinds[place - 1])
        self.unread += self._is_cut(end, kinds) + (self._indexed > len(self.versions))

    def _is_cut(self, end: int, kinds: bytes) -> bool:
        """Whether both the head and the pointer map know pages behind the end: one alone may be damaged, or old."""
        head = self._page(1) if end > 2 else b""
        if not head.startswith(_MAGIC) or int.from_bytes(head[_PAGES]) < end:
            return self._size % PAGE_BYTES > 0
        place = (end - 2) % (MAPPED + 1)
        return place == 0 or kinds[place - 1] > 0

    def _look_at(self, number: int, page: bytes, kind: int) -> None:
        """Notes the rows of a page, if it is a leaf that is not free."""
        if kind == FREE:
            return
        is_leaf = fills(page, LEAF)
        if page[0] == LEAF or (is_leaf and kind in (ROOT, CHILD)):
            self.unread += not is_leaf
            for at in cells_of(page):
                try:
                    self._note(number, page, at)
                except (Unreadable, DamagedFile):
                    self.unread += 1
        elif kind not in (OVERFLOW, OVERFLOW_NEXT):
            self.unread += page[0] not in _BRANCHES or not fills(page, page[0])
            self._indexed += len(cells_of(page, page[0])) if page[0] in _INDEX else 0

    def _note(self, number: int, page: bytes, at: int) -> None:
        cell = cell_at(page, at)
        local = page[cell.begin : cell.begin + cell.local]
        columns = len(columns_of(local)[0])
        if columns == len(Row._fields):
            document, version, *_, steps = values_of(local, _UNTIL_STEPS)
            if isinstance(document, int) and isinstance(version, int):
                place = Place(steps if isinstance(steps, int) else _MANY, number, at)
                self.versions[document, version] = min(place, self.versions.get((document, version), place))
        elif columns == len(Page._fields):  # a dictionary has as many
            _, second, third, fourth, fifth = values_of(self._record(page, at))
            if isinstance(second, str):
                self._note_page(Page(cell.rowid, second, third, fourth, _real(fifth)))
            elif (whole := whole_copy(fourth, fifth, third)) is not None:
                made = Dictionary(*whole)
                self._dictionaries[made.number] = made

    def _note_page(self, page: Page) -> None:
        """Takes a page whose URL is proven by its id; the newest row of several."""
        if document_id(page.url) == page.id:
            known = self.pages.get(page.id, page)
            self.pages[page.id] = max(known, page, key=lambda one: one.newest if isinstance(one.newest, int) else 0)

    def _record(self, page: bytes, at: int) -> bytes:
        """A record, including its overflow pages."""
        cell = cell_at(page, at)
        left, end = cell.size - cell.local, cell.begin + cell.local
        if left > self._size:
            raise Unreadable
        parts, following = [page[cell.begin : end]], page[end : end + 4]
        while left > 0:
            page = self._page(int.from_bytes(following))
            parts.append(page[4 : 4 + left])
            left, following = left - len(parts[-1]), page[:4]
        return b"".join(parts)

    def _page(self, number: int) -> bytes:
        begin = (number - 1) * PAGE_BYTES
        if not 0 <= begin < self._size:
            raise Unreadable
        with naming(self._path):
            return os.pread(self._handle, PAGE_BYTES, begin).ljust(PAGE_BYTES, b"\0")


@contextmanager
def leaves_of(path: Path) -> Iterator[Leaves]:
    """The leaves of a file, while the block runs."""
    with naming(path):
        handle = os.open(path, os.O_RDONLY)
    try:
        yield Leaves(handle, path)
    finally:
        os.close(handle)


def _real(value: Any) -> Any:
    return float(value) if isinstance(value, int) else value
