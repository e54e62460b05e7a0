"""Link rows on disk: the last known links of each page, by page number, read and written in batches by the ledger.

Rows are appended to a file; a column of 4 bytes per page holds the place of the last row (0: no known links). A
replaced row becomes garbage; `compacted` copies the live rows to the file of the next generation. The old file must
stay as long as a snapshot refers to it: after a crash, the crawl returns to that snapshot and appends the same rows to
the old file again, from the journal.

`DiskRows` is a `centime.model.row_batch.RowStore`.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from centime.files.appended import HEAD_BYTES, AppendedFile
from centime.model.errors import DamagedFile
from centime.model.ids import PageId
from centime.model.row_batch import NO_WEIGHTS, Pages, RowBatch
from centime.store.columns import Columns
from centime.store.row_code import LONGEST_HEAD, UNIT, count_links, decode, encode, measure

SOME = 65_536  # pages in a batch when all rows are copied
NO_LIMIT = 1 << 31  # of page numbers
NO_BYTES = np.empty(0, dtype=np.uint8)


class DiskRows:
    """The last known row of every page."""

    def __init__(self, file: AppendedFile, columns: Columns, generation: int, live_units: int) -> None:
        self.file = file
        self.generation = generation
        self.known: Callable[[], int] = lambda: NO_LIMIT  # the number of pages that a row may link to
        self._columns = columns
        self._live_units = live_units

    @classmethod
    def open(cls, folder: Path, state: Mapping[str, npt.NDArray[Any]], writable: bool) -> "DiskRows":
        """Opens the rows of a folder as they were in this state; an empty state creates a new file."""
        generation, live_units = state["row_facts"].tolist() if state else (1, 0)
        file = AppendedFile.open(cls.path(folder, generation), "rows", state.get("rows"), writable, UNIT)
        return cls(file, Columns({"row_at": np.uint32}, state), generation, live_units)

    @staticmethod
    def path(folder: Path, generation: int) -> Path:
        """The file of a generation."""
        return folder / f"rows-{generation:06}.bin"

    @property
    def nbytes(self) -> int:
        """Bytes of memory in use."""
        return self._columns.nbytes

    @property
    def garbage(self) -> float:
        """The share of the file that is garbage, from 0 to 1."""
        units = (self.file.length - HEAD_BYTES) // UNIT
        return 1.0 - self._live_units / units if units else 0.0

    def gather(self, pages: Pages) -> RowBatch:
        """The last known rows of these pages; empty for a page without a row."""
        starts, lengths = np.empty(len(pages), dtype=np.int64), np.empty(len(pages), dtype=np.int64)
        where = (pages, self._columns["row_at"], self.file.base, self.file.tail)
        total, weighted = count_links(*where, starts, lengths)
        if total < 0:
            raise self._damage(PageId(int(pages[-1 - int(total)])))
        targets = np.empty(int(total), dtype=np.int32)
        weights = np.empty(int(total)) if weighted else NO_WEIGHTS
        damaged = decode(*where, starts, targets, weights, weights.view(np.uint8), self.known())
        if damaged >= 0:
            raise self._damage(PageId(int(pages[int(damaged)])))
        return RowBatch(starts, lengths, targets, weights)

    def replace(self, pages: Pages, rows: RowBatch) -> None:
        """Replaces the rows of these pages, which must be distinct."""
        if not len(pages):
            return
        links = int(rows.lengths.sum())
        octets = np.empty(links * (13 if len(rows.weights) else 5) + LONGEST_HEAD * len(pages), dtype=np.uint8)
        begins = np.empty(len(pages), dtype=np.int64)
        used = int(encode(rows, _weight_bytes(rows), octets, begins))
        if used < 0:
            rows = rows.ascending()
            used = int(encode(rows, _weight_bytes(rows), octets, begins))
        at = self.file.append(octets[:used])
        self._columns.reach(int(pages.max()) + 1)
        self._live_units += used // UNIT - self._units_of(pages)
        self._columns["row_at"][pages] = np.where(begins < 0, 0, (begins + at) // UNIT)

    def compacted(self) -> "DiskRows":
        """Copies the live rows to the file of the next generation and returns it; this file stays unchanged."""
        fresh = self.emptied()
        try:
            fresh._columns.reach(self._columns.count)
            for begin in range(0, self._columns.count, SOME):
                pages = np.arange(begin, min(begin + SOME, self._columns.count))
                fresh.replace(pages, self.gather(pages))
        except BaseException:
            fresh.close()
            fresh.file.path.unlink()
            raise
        return fresh

    def reach(self, count: int) -> None:
        """Makes room for the rows of this many pages."""
        self._columns.reach(count)

    def emptied(self) -> "DiskRows":
        """The file of the next generation, without rows; this file stays unchanged."""
        path = self.path(self.file.path.parent, self.generation + 1)
        file = AppendedFile.open(path, "rows", None, True, UNIT)
        fresh = DiskRows(file, Columns({"row_at": np.uint32}), self.generation + 1, 0)
        fresh.known = self.known
        return fresh

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays for a snapshot, from which `open` restores the rows."""
        facts = np.array([self.generation, self._live_units], dtype=np.int64)
        return {**self._columns.state(), "rows": self.file.state(), "row_facts": facts}

    def sync(self) -> None:
        """Waits until everything appended is on disk."""
        self.file.sync()

    def close(self) -> None:
        """Closes the file."""
        self.file.close()

    def _damage(self, page: PageId) -> DamagedFile:
        at = int(self._columns["row_at"][page]) * UNIT
        return DamagedFile(f"{self.file.path}: the row of page {page} is damaged at byte {at}")

    def _units_of(self, pages: Pages) -> int:
        """The number of units that the rows of these pages occupy."""
        units = np.empty(len(pages), dtype=np.int64)
        measure(pages, self._columns["row_at"], self.file.base, self.file.tail, units)
        return int(units.sum())


def _weight_bytes(rows: RowBatch) -> npt.NDArray[np.uint8]:
    return rows.weights.view(np.uint8) if len(rows.weights) else NO_BYTES
