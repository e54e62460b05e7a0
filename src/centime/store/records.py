"""Visit records: one for every attempt to fetch a page, appended and never changed, linked to the previous one.

Together with the URL texts, the link rows and the ledger, they are the metadata of the Xyleme paper (Section 4):

    Map-Data       page number to URL and back: `texts.py`, `url_table.py`
    Refresh-Data   times of the first and the last visit, of the last detected change and of the last change according
                   to the server; signature; numbers of visits and of changes since a base line; kind; importance at
                   that time
    Link-Data      the number of links; the links themselves are in `link_rows.py`
    Status-Data    the outcome of the attempt

    record         the fixed head, the lengths of its texts, the texts, the state; padded to 8 bytes

The next read of the page is compared with the state (`change/page_state.py`). If this visit made no new state, the
record has the place of the record that has it, and the present values of volatile parts (REFERENCE).

A column of 4 bytes per page holds the place of the last record in units of 8 bytes (0: never visited). The head is also
a numpy type, so that the last heads of millions of pages are one array.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from struct import Struct
from typing import Any

import numpy as np
import numpy.typing as npt

from centime.files.appended import HEAD_BYTES, AppendedFile
from centime.model.errors import DamagedFile
from centime.model.ids import PageId
from centime.model.kernel import late_kernel
from centime.model.outcome import Outcome, PageKind, Presence
from centime.model.row_batch import Pages
from centime.store.columns import Columns
from centime.store.record import Mark, Record

UNIT = 8
LONGEST_TEXT = 4096

_NUMBERS = (  # struct code, numpy type, and the fields of this type, in the order of the file
    ("I", "<u4", ("page", "previous")),
    ("d", "<f8", ("time", "first_time", "changed_time", "modified_time", "baseline_time", "importance")),
    ("Q", "<u8", ("signature",)),
    ("16s", "V16", ("digest",)),
    ("L", "<u4", ("visits", "changes", "wire_bytes", "body_bytes", "latency_milliseconds", "links")),
    ("i", "<i4", ("redirect",)),
    ("H", "<u2", ("status", "depth", "marks")),
    ("B", "u1", ("outcome", "kind", "failures")),
    ("2x", "V2", ("",)),  # free, and 0
    ("B", "u1", ("presence",)),
)
_TEXT_FIELDS = (
    "etag",
    "modified",
    "content_type",
    "detail",
    "address",
    "canonical",
    "title",
    "language",
    "refused",
)
_HEAD = Struct("<" + "".join(code * len(names) for code, _, names in _NUMBERS))
_LENGTHS = Struct(f"<{len(_TEXT_FIELDS) + 1}H")
REFERENCE = Struct("<BI")  # a zero in place of STATE, and the place of a record; then its hidden bytes
STATE = b"\1"
_NAMES = [name for _, _, names in _NUMBERS for name in names if name]
_ENUMS: Mapping[str, Callable[[int], int]] = {
    "outcome": Outcome,
    "kind": PageKind,
    "marks": Mark,
    "presence": Presence,
}
_VALIDATORS = 2  # the first two texts, etag and modified: useless if truncated
_head_of, _texts_of = attrgetter(*_NAMES), attrgetter(*_TEXT_FIELDS)
_PREVIOUS, _FAILURES = _NAMES.index("previous"), _NAMES.index("failures")

HEAD_TYPE = np.dtype([(name or "reserved", kind) for _, kind, names in _NUMBERS for name in names])


_TIME, _TIME_AT = Struct("<d"), int(HEAD_TYPE.fields["time"][1]) if HEAD_TYPE.fields else 0
HEAD_BYTES_OF_RECORD = _HEAD.size + _LENGTHS.size  # before its texts


def size_at(data: npt.NDArray[np.uint8], at: int) -> int:
    """The number of bytes of the record at a place."""
    begin = at + _HEAD.size
    lengths: tuple[int, ...] = _LENGTHS.unpack(data[begin : begin + _LENGTHS.size].tobytes())
    return HEAD_BYTES_OF_RECORD + sum(lengths)


def move_state(piece: npt.NDArray[np.uint8], places: Mapping[int, int]) -> None:
    """Moves the reference of a record to the state of an older one; a reference to a record that is lost becomes 0."""
    lengths: tuple[int, ...] = _LENGTHS.unpack(piece[_HEAD.size : HEAD_BYTES_OF_RECORD].tobytes())
    begin = HEAD_BYTES_OF_RECORD + sum(lengths[:-1])
    if lengths[-1] and piece[begin] != STATE[0]:
        tag, place = REFERENCE.unpack(piece[begin : begin + REFERENCE.size].tobytes())
        moved = REFERENCE.pack(tag, places.get(place, 0))
        piece[begin : begin + REFERENCE.size] = np.frombuffer(moved, dtype=np.uint8)


class Records:
    """The visit records of every page, newest first."""

    def __init__(self, file: AppendedFile, columns: Columns) -> None:
        self.file = file
        self._columns = columns

    @classmethod
    def open(cls, folder: Path, state: Mapping[str, npt.NDArray[Any]], writable: bool) -> "Records":
        """Opens the records of a folder as they were in this state; an empty state creates a new file."""
        file = AppendedFile.open(folder / "records.bin", "records", state.get("records"), writable, UNIT)
        return cls(file, Columns({"record_at": np.uint32}, state))

    @property
    def nbytes(self) -> int:
        """Bytes of memory in use."""
        return self._columns.nbytes

    @property
    def record_at(self) -> npt.NDArray[np.uint32]:
        """The place of the last record of each page, 0 if never visited; pages after the end were never visited."""
        return self._columns["record_at"]

    def visited(self, pages: Pages) -> npt.NDArray[np.bool_]:
        """For each page, whether it was ever visited."""
        record_at = self.record_at
        visited = np.zeros(len(pages), dtype=np.bool_)
        early = pages < len(record_at)
        visited[early] = record_at[pages[early]] > 0
        return visited

    def append(self, record: Record) -> int:
        """Appends one visit, which becomes the last of its page; returns its place."""
        return self.append_many([record])[0]

    def append_many(self, records: Sequence[Record]) -> list[int]:
        """Appends visits of distinct pages at once, at a third of the cost of one by one; returns their places."""
        if not records:
            return []
        pages = [record.page for record in records]
        self._columns.reach(max(pages) + 1)
        record_at = self.record_at
        pieces: list[bytes] = []
        places = []
        at = self.file.length // UNIT
        for record, previous in zip(records, record_at[pages].tolist(), strict=True):
            head = [*_head_of(record)]
            head[_PREVIOUS] = previous
            head[_FAILURES] = min(record.failures, 255)
            texts = [_cut(text, place) if text else b"" for place, text in enumerate(_texts_of(record))]
            texts.append(
                STATE + record.state
                if record.state
                else REFERENCE.pack(0, record.state_at) + record.hidden
                if record.state_at
                else b""
            )
            piece = b"".join((_HEAD.pack(*head), _LENGTHS.pack(*map(len, texts)), *texts))
            units = -(-len(piece) // UNIT)
            pieces += (piece, bytes(units * UNIT - len(piece)))
            places.append(at)
            at += units
        self.file.append(b"".join(pieces))
        record_at[pages] = places
        return places

    def read(self, at: int) -> Record:
        """The record at a place."""
        begin = at * UNIT
        head = self.file.read(begin, _HEAD.size + _LENGTHS.size)
        values: dict[str, Any] = dict(zip(_NAMES, _HEAD.unpack_from(head), strict=True))
        begin += len(head)
        *lengths, state_length = _LENGTHS.unpack_from(head, _HEAD.size)
        for name, length in zip(_TEXT_FIELDS, lengths, strict=True):
            values[name] = self.file.read(begin, length).decode()
            begin += length
        if state_length:
            octets = bytes(self.file.read(begin, state_length))
            if octets[:1] == STATE:
                values["state"], values["state_at"] = octets[1:], at
            else:
                values["state_at"], values["hidden"] = REFERENCE.unpack_from(octets)[1], octets[REFERENCE.size :]
        for name, kind in _ENUMS.items():
            values[name] = kind(values[name])
        return Record(**values)

    @property
    def first(self) -> int:
        """The place of the first record in the file."""
        return HEAD_BYTES // UNIT

    @property
    def end(self) -> int:
        """The place of the next record to append."""
        return self.file.length // UNIT

    def head(self, at: int) -> np.void:
        """The head of the record at a place."""
        head: np.void = np.frombuffer(self.file.read(at * UNIT, HEAD_TYPE.itemsize), dtype=HEAD_TYPE)[0]
        return head

    def behind(self, at: int) -> int:
        """The place of the record that follows this one in the file."""
        lengths: tuple[int, ...] = _LENGTHS.unpack(self.file.read(at * UNIT + _HEAD.size, _LENGTHS.size))
        return at + -(-(_HEAD.size + _LENGTHS.size + sum(lengths)) // UNIT)

    def last(self, page: PageId) -> Record | None:
        """The last visit of a page; None if it was never visited."""
        return next(self.history(page), None)

    def last_time(self, page: PageId) -> float:
        """The time of the last visit of a page; 0 if it was never visited."""
        at = int(self.record_at[page]) if page < self._columns.count else 0
        return float(_TIME.unpack_from(self.file.read(at * UNIT + _TIME_AT, _TIME.size))[0]) if at else 0.0

    def history(self, page: PageId) -> Iterator[Record]:
        """All visits of a page, newest first."""
        at = int(self.record_at[page]) if page < self._columns.count else 0
        while at:
            record = self.read(at)
            yield record
            at = self._older(at, record.previous)

    def head_history(self, page: PageId) -> Iterator[np.void]:
        """The heads of all visits of a page, newest first."""
        at = int(self.record_at[page]) if page < self._columns.count else 0
        while at:
            head = self.head(at)
            yield head
            at = self._older(at, int(head["previous"]))

    def _older(self, at: int, previous: int) -> int:
        """The place of the previous record; DamagedFile if it is not older, so that a history has an end."""
        if previous >= at:
            raise DamagedFile(
                f"{self.file.path}: the record at byte {at * UNIT} refers to a previous one that is not older"
            )
        return previous

    def heads(self, pages: Pages) -> npt.NDArray[np.void]:
        """The heads of the last records of these pages as one array of HEAD_TYPE; zeros for a page never visited."""
        return self._heads_at(pages, self.record_at)

    def head_histories(self, pages: Pages, most: int) -> Iterator[npt.NDArray[np.void]]:
        """The heads of the last records of these pages, then those of the records before them, up to `most` of a page;
        zeros for a page that has no more.
        """
        every = np.arange(len(pages), dtype=np.int64)
        visited = self.visited(pages)
        places = np.zeros(len(pages), dtype=np.uint32)
        places[visited] = self.record_at[pages[visited]]
        for _ in range(most):
            if not places.any():
                return
            heads = self._heads_at(every, places)
            yield heads
            newer, places = places, np.ascontiguousarray(heads["previous"])
            for wrong in np.flatnonzero((places >= newer) & (newer > 0)):
                self._older(int(newer[wrong]), int(places[wrong]))

    def _heads_at(self, numbers: Pages, places: npt.NDArray[np.uint32]) -> npt.NDArray[np.void]:
        heads = np.zeros(len(numbers), dtype=HEAD_TYPE)
        _copy_heads(
            numbers,
            places,
            self.file.base,
            self.file.tail,
            heads.view(np.uint8).reshape(len(numbers), HEAD_TYPE.itemsize),
        )
        return heads

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays for a snapshot, from which `open` restores the records."""
        return {**self._columns.state(), "records": self.file.state()}

    def sync(self) -> None:
        """Waits until everything appended is on disk."""
        self.file.sync()

    def close(self) -> None:
        """Closes the file."""
        self.file.close()


def _cut(text: str, place: int) -> bytes:
    """A text as it is stored: truncated to complete characters of at most LONGEST_TEXT bytes; a validator is stored
    whole or not at all.
    """
    encoded = text.encode(errors="replace")
    if len(encoded) <= LONGEST_TEXT:
        return encoded
    return b"" if place < _VALIDATORS else encoded[:LONGEST_TEXT].decode(errors="ignore").encode()


@late_kernel(0.2)
def _copy_heads(
    pages: Pages,
    record_at: npt.NDArray[np.uint32],
    base: npt.NDArray[np.uint8],
    tail: npt.NDArray[np.uint8],
    heads: npt.NDArray[np.uint8],
) -> None:
    for k in range(len(pages)):
        page = pages[k]
        if page < len(record_at) and record_at[page] > 0:
            at = np.int64(record_at[page]) * UNIT
            data = base if at < len(base) else tail
            begin = at if at < len(base) else at - len(base)
            for byte in range(heads.shape[1]):
                heads[k, byte] = data[begin + byte]
