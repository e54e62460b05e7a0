"""Parquet files with one link per row.

The columns are `source` and `target` (or `from` and `to`, and the like), otherwise the first two; a column `weight` has
the weights of the links. Pages are integers, or text: then they are numbered in the order of their first mention. Files
written by Centime declare how integers map to pages; for others see `link_blocks.py`. Memory: one batch of rows and,
for text, the names.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from centime.graphs.columns import check_filled, kind_of_ends, link_weights, number_names, plain, whole_numbers
from centime.graphs.heading import choose_columns
from centime.graphs.link_blocks import Declared, Links
from centime.graphs.names import NameTable, PageNames
from centime.graphs.packed import opened
from centime.model.errors import BadGraph
from centime.model.graph import LARGEST_PAGE_COUNT, Targets

BATCH_ROWS = 1 << 16
PAGES_KEY, FIRST_KEY = b"centime.pages", b"centime.first"
MAGIC, SHORTEST = b"PAR1", 12
DAMAGE = (pa.ArrowException, OSError, ValueError, KeyError, RuntimeError, MemoryError)


class ParquetLinks:
    """The links of a Parquet file."""

    def __init__(self, path: Path, known: NameTable | None = None) -> None:
        """Reads the schema; `known` are the names of the first pages."""
        self.name = str(path)
        self.path = path
        self.known = known
        self.done = 0.0
        with self._file() as file:
            schema = file.schema_arrow
            self.columns = choose_columns(self.name, schema.names)
            self.pages, self.first = _declared(schema, PAGES_KEY), _declared(schema, FIRST_KEY) or 0
        kind = kind_of_ends(self.name, self.columns, schema)
        self.table = None if kind == "numbers" else NameTable() if known is None else known

    def declared(self) -> Declared:
        """The number of pages and the first number, if the file or a list of names gives them."""
        table = self.known if self.table is None else self.table
        pages = self.pages if table is None else len(table)
        return Declared(pages, None if pages is None else self.first if self.table is None else 0)

    def names(self) -> PageNames | None:
        """The names in the order of first mention."""
        table = self.known if self.table is None else self.table
        return None if table is None else table.names()

    def blocks(self) -> Iterator[Links]:
        """The links in the order of the file."""
        rows = 0
        with self._file() as file:
            for batch in self._batches(file):
                columns = [plain(batch.column(batch.schema.get_field_index(column))) for column in self.columns]
                check_filled(self.name, self.columns, columns, rows)
                if self.table is None:
                    sources, targets = (self._numbers(column, rows) for column in columns[:2])
                else:
                    sources, targets = number_names(self.name, self.table, columns[0], columns[1], rows)
                self.done = (rows + len(batch)) / max(1, file.metadata.num_rows)
                yield Links(sources, targets, link_weights(self.name, columns[2], rows) if len(columns) == 3 else None)
                rows += len(batch)

    def _batches(self, file: pq.ParquetFile) -> Iterator[pa.RecordBatch]:
        """The rows, one row group at a time, so that an error can say where the damage is."""
        for group in range(file.num_row_groups):
            try:
                yield from file.iter_batches(
                    batch_size=BATCH_ROWS, row_groups=[group], columns=list(self.columns), use_threads=False
                )
            except DAMAGE:
                column, at = self._damaged(file, group)
                if at is None:
                    raise
                raise BadGraph(
                    f"{self.name}, byte {at}: column {column!r} of row group {group}, which begins there, is damaged"
                ) from None

    def _damaged(self, file: pq.ParquetFile, group: int) -> tuple[str, int | None]:
        """The first unreadable column of a row group, and the byte where it begins; none if the footer is damaged.

        The footer's description of a column is not used: if it is wrong, Arrow ends the process.
        """
        for column in self.columns:
            self._noted.first = None
            try:
                for _ in file.iter_batches(
                    batch_size=BATCH_ROWS, row_groups=[group], columns=[column], use_threads=False
                ):
                    pass
            except DAMAGE:
                break
        return column, self._noted.first

    def _numbers(self, column: pa.Array, rows: int) -> Targets:
        numbers = whole_numbers(self.name, column, rows)
        good = (numbers >= 0) & (numbers < LARGEST_PAGE_COUNT)
        if not good.all():
            place = f"{self.name}, row {rows + int(np.argmin(good))}"
            raise BadGraph(f"{place}: a page number is outside the range 0 to {LARGEST_PAGE_COUNT - 1}")
        return np.asarray(numbers, dtype=np.int32)

    @contextmanager
    def _file(self) -> Iterator[pq.ParquetFile]:
        with opened(self.path) as raw:
            self._noted = _Noted(raw)
            try:
                with pq.ParquetFile(self._noted, page_checksum_verification=True) as file:
                    yield file
            except DAMAGE:
                raise BadGraph(
                    f"{self.path}, byte {_end_of_sense(self.path)}: this is not a Parquet file, or it is damaged"
                ) from None


class _Noted:
    """An open file that notes where it was read first."""

    def __init__(self, file: io.BufferedReader) -> None:
        self.first: int | None = None
        self._file = file

    def read(self, size: int = -1) -> bytes:
        """Reads from the file."""
        if self.first is None:
            self.first = self._file.tell()
        return self._file.read(size)

    def __getattr__(self, name: str) -> Any:
        """All other attributes are those of the file."""
        return getattr(self._file, name)


def _end_of_sense(path: Path) -> int:
    """The byte where a file stops being Parquet: its start, its end, or its footer, which describes the rest."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(0)
        if file.read(4) != MAGIC:
            return 0
        if size < SHORTEST:
            return size
        file.seek(size - 8)
        end = file.read(8)
    footer = size - 8 - int.from_bytes(end[:4], "little")
    return size - 4 if end[4:] != MAGIC else size - 8 if footer < 4 else footer


def _declared(schema: pa.Schema, key: bytes) -> int | None:
    """A number in the metadata of a file that Centime wrote, or None."""
    text = (schema.metadata or {}).get(key)
    return int(text) if text is not None and text.isdigit() and len(text) < 11 else None
