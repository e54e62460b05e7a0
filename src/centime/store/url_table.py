"""The URL table: from the 64-bit fingerprint of a URL to its page number and back.

    fingerprints   8 bytes per page, by page number; a snapshot has only these, the slots follow from them
    slots          a hash table with open addressing and linear probing: page + 1, or 0 for an empty slot; the low bits
                   of a fingerprint are its first slot

New pages get the next numbers in the order of their first appearance, so the same fingerprints in the same order give
the same numbers, in any batches. At most 3/4 of the slots are used: 8 + 4 / load bytes per page, at most 18.7.

Trap: two URLs with the same fingerprint would be one page. With 10 million pages on many hosts, the probability of any
collision is 3 in a million; on one host, whose URLs share 12 bits of the fingerprint, it is 1.1 %.
"""

import numpy as np
import numpy.typing as npt

from centime.model.errors import NoRoom, StoreBroken
from centime.model.graph import LARGEST_PAGE_COUNT
from centime.model.ids import PageId
from centime.model.kernel import Whole, bare_inlined, late_kernel
from centime.model.row_batch import Pages

Fingerprints = npt.NDArray[np.uint64]
Slots = npt.NDArray[np.uint32]

SMALLEST = 1024


class UrlTable:
    """Maps fingerprints to page numbers, for a set of pages that only grows."""

    def __init__(self, fingerprints: Fingerprints | None = None) -> None:
        self._column = np.empty(0, dtype=np.uint64) if fingerprints is None else fingerprints
        self.count = len(self._column)
        size = SMALLEST
        while self.count > size * 3 // 4:
            size *= 2
        self._slots = np.zeros(size, dtype=np.uint32)
        _place_all(self._column, self.count, self._slots)

    @property
    def fingerprints(self) -> Fingerprints:
        """The fingerprint of every page by number; enough to restore this table."""
        return self._column[: self.count]

    @property
    def nbytes(self) -> int:
        """Bytes of memory, reserved space included."""
        return self._column.nbytes + self._slots.nbytes

    def state(self) -> dict[str, npt.NDArray[np.uint64]]:
        """The arrays for a snapshot."""
        return {"fingerprints": self.fingerprints}

    def find(self, fingerprints: Fingerprints) -> Pages:
        """The page of each fingerprint; -1 if it is unknown."""
        pages = np.empty(len(fingerprints), dtype=np.int64)
        _find(fingerprints.copy(), self._column, self._slots, pages)  # read-only arrays would be compiled for again
        return pages

    def find_one(self, fingerprint: int) -> PageId | None:
        """The page of a fingerprint; None if it is unknown."""
        page = int(self.find(np.array([fingerprint], dtype=np.uint64))[0])
        return PageId(page) if page >= 0 else None

    def find_or_add(self, fingerprints: Fingerprints) -> tuple[Pages, npt.NDArray[np.bool_]]:
        """The page of each fingerprint, which is added if it is unknown, and whether this place added it."""
        pages = np.empty(len(fingerprints), dtype=np.int64)
        is_new = np.zeros(len(fingerprints), dtype=np.bool_)
        done = 0
        while True:
            done, self.count = _find_or_add(fingerprints, self._column, self._slots, self.count, done, pages, is_new)
            if done == len(fingerprints):
                return pages, is_new
            self._grow()

    def check(self) -> None:
        """Raises StoreBroken unless every page is found by its fingerprint and the slots have nothing else."""
        found = self.find(self.fingerprints)
        wrong = np.flatnonzero(found != np.arange(self.count))
        if len(wrong):
            raise StoreBroken(f"URL table: page {wrong[0]} is found as page {found[wrong[0]]}")
        used = int(np.count_nonzero(self._slots))
        if used != self.count:
            raise StoreBroken(f"URL table: {used} slots in use for {self.count} pages")

    def _grow(self) -> None:
        """Enlarges the column or the slots, whichever is full."""
        if self.count >= LARGEST_PAGE_COUNT:
            raise NoRoom(f"URL table: {self.count} pages, the most that 32-bit page numbers allow")
        if self.count == len(self._column):
            room = np.empty(max(SMALLEST, self.count * 5 // 4), dtype=np.uint64)
            room[: self.count] = self._column
            self._column = room
        if self.count >= len(self._slots) * 3 // 4:
            self._slots = np.zeros(2 * len(self._slots), dtype=np.uint32)
            _place_all(self._column, self.count, self._slots)


@bare_inlined
def _search(fingerprint: np.uint64, column: Fingerprints, slots: Slots, mask: np.uint64) -> tuple[Whole, Whole]:
    """The slot of a fingerprint, or the empty slot where it belongs, and its page or -1."""
    slot = np.int64(fingerprint & mask)
    while True:
        entry = np.int64(slots[slot])
        if entry == 0:
            return slot, -1
        if column[entry - 1] == fingerprint:
            return slot, entry - 1
        slot = (slot + 1) & np.int64(mask)


@late_kernel(0.2)
def _find(fingerprints: Fingerprints, column: Fingerprints, slots: Slots, pages: Pages) -> None:
    """Writes the page of each fingerprint, or -1."""
    mask = np.uint64(len(slots) - 1)
    for k in range(len(fingerprints)):
        _, pages[k] = _search(fingerprints[k], column, slots, mask)


@late_kernel(0.2)
def _find_or_add(
    fingerprints: Fingerprints,
    column: Fingerprints,
    slots: Slots,
    count: int,
    begin: int,
    pages: Pages,
    is_new: npt.NDArray[np.bool_],
) -> tuple[int, int]:
    """Continues from `begin` until all fingerprints are done or the table is full; returns the number done and the new
    number of pages.
    """
    mask = np.uint64(len(slots) - 1)
    limit = min(len(column), len(slots) * 3 // 4)
    for k in range(begin, len(fingerprints)):
        slot, page = _search(fingerprints[k], column, slots, mask)
        if page < 0:
            if count >= limit:
                return k, count
            page = count
            column[page] = fingerprints[k]
            slots[slot] = page + 1
            is_new[k] = True
            count += 1
        pages[k] = page
    return len(fingerprints), count


@late_kernel(0.2)
def _place_all(column: Fingerprints, count: int, slots: Slots) -> None:
    """Fills empty slots with pages that have distinct fingerprints."""
    mask = np.uint64(len(slots) - 1)
    for page in range(count):
        slot = np.int64(column[page] & mask)
        while slots[slot] != 0:
            slot = (slot + 1) & np.int64(mask)
        slots[slot] = page + 1
