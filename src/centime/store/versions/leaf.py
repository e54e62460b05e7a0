"""A page of a tree in a file of SQLite, above all a leaf of a table: its cells, and the records in them.

    page    its kind, first free block, number of cells, begin of the cells, fragments; the last child, if it is not a
            leaf; then where each cell is
    cell    a child, if it is not a leaf; bytes of its record, rowid, record; the rest of a long record is in a chain of
            overflow pages. An index has no rowids, and a branch of a table has no records.
    record  bytes of its header, the kind of each column, the columns

See https://www.sqlite.org/fileformat2.html. Functions raise Unreadable for other bytes.
"""

import struct
from typing import Any, NamedTuple

from centime.store.versions.database import PAGE_BYTES

INDEX_BRANCH, BRANCH, INDEX_LEAF, LEAF = 0x02, 0x05, 0x0A, 0x0D  # how pages of trees begin
MOST_LOCAL = PAGE_BYTES - 35  # bytes of a record that its leaf holds as a whole
LEAST_LOCAL = (PAGE_BYTES - 12) * 32 // 255 - 23
_HEAD = struct.Struct(">xHHHB")
_BLOCK = struct.Struct(">HH")
_FLOAT, _ZERO, _ONE, _BYTES = 7, 8, 9, 12  # kinds of columns; from _BYTES on, even ones are bytes and odd ones texts
_SIZES = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)  # of the other kinds


class Unreadable(ValueError):
    """Bytes that SQLite has not written."""


class Cell(NamedTuple):
    """Where a record is."""

    rowid: int
    size: int  # of the record
    begin: int  # in the leaf
    local: int  # bytes that are in the leaf


def cells_of(page: bytes, kind: int = LEAF) -> tuple[int, ...]:
    """Where the cells of a page begin."""
    begin = _pointers(kind)
    count = min(_HEAD.unpack_from(page)[1], (PAGE_BYTES - begin) // 2)
    return struct.unpack_from(f">{count}H", page, begin)


def cell_at(page: bytes, at: int, kind: int = LEAF) -> Cell:
    """The cell that begins at a byte of a page."""
    at += 4 * (kind in (BRANCH, INDEX_BRANCH))
    size, at = _varint(page, at) if kind != BRANCH else (0, at)
    rowid, at = _varint(page, at) if kind in (LEAF, BRANCH) else (0, at)
    local = size
    if size > MOST_LOCAL:
        local = LEAST_LOCAL + (size - LEAST_LOCAL) % (PAGE_BYTES - 4)
        local = local if local <= MOST_LOCAL else LEAST_LOCAL
    return Cell(rowid - (1 << 64) if rowid >= 1 << 63 else rowid, size, at, local)


def fills(page: bytes, kind: int) -> bool:
    """Whether cells and free bytes fill a page of a kind exactly, as they do if it is whole and of this kind."""
    free, _, begin, fragments = _HEAD.unpack_from(page)
    used: int = fragments + begin
    try:
        cells = cells_of(page, kind)
        for at in cells:
            cell = cell_at(page, at, kind)
            used += max(4, cell.begin - at + cell.local + 4 * (cell.local < cell.size))
        at = 0
        while free > at:
            at = free
            free, size = _BLOCK.unpack_from(page, at)
            used += size
    except (Unreadable, struct.error):
        return False
    return used == PAGE_BYTES and bool(_pointers(kind) + 2 * len(cells) <= begin)


def _pointers(kind: int) -> int:
    """The place of the pointers to the cells of a page."""
    return _HEAD.size + 4 * (kind in (BRANCH, INDEX_BRANCH))


def columns_of(record: bytes) -> tuple[list[int], int]:
    """The kinds of the columns of a record, and where the first column begins."""
    end, at = _varint(record, 0)
    kinds: list[int] = []
    while at < end:
        kind, at = _varint(record, at)
        kinds.append(kind)
    if at != end:
        raise Unreadable
    return kinds, end


def values_of(record: bytes, most: int = -1) -> list[Any]:
    """The columns of a record, or the first ones, as Python has them."""
    kinds, at = columns_of(record)
    values: list[Any] = []
    for kind in kinds if most < 0 else kinds[:most]:
        if _ONE < kind < _BYTES:
            raise Unreadable
        size = (kind - _BYTES) // 2 if kind >= _BYTES else _SIZES[kind]
        data = record[at : at + size]
        if len(data) < size:
            raise Unreadable
        values.append(_value(kind, data))
        at += size
    return values


def _value(kind: int, data: bytes) -> Any:
    if kind >= _BYTES:
        return data.decode(errors="replace") if kind % 2 else data
    if kind == _FLOAT:
        (found,) = struct.unpack(">d", data)
        return found if found == found else None  # SQLite has no NaN
    if kind in (_ZERO, _ONE):
        return kind - _ZERO
    return int.from_bytes(data, signed=True) if kind else None


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, and where it ends."""
    value = 0
    for byte in data[at : at + 8]:
        at += 1
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at
    if at >= len(data):
        raise Unreadable
    return value << 8 | data[at], at + 1
