"""The records of a WARC file, plain, gzipped or in Zstandard, one after the other, however damaged the file is.

    file      member*                        each a gzip stream or a frame of Zstandard, with one record or more; or
                                             neither (`packed_members.py`)
    record    head CRLF CRLF content CRLF CRLF

A record counts if its content is as long as its head says and is followed by its end. Otherwise the trouble is
reported, and reading continues at the next place where a record begins: in a plain file the next `WARC/`, in a packed
one the next member. So a record with a wrong length costs only itself, even if the length covers the rest of the file.

Memory is bounded by MOST_RECORD bytes and a piece, whatever the file contains: of a longer record, and of data that
expand without end, only the beginning is read. Time is bounded too: each byte of the file is unpacked once, and skipped
bytes are searched without unpacking.

A position is the place of a record in the file; in a member of many records, that of the member.
"""

import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from centime.crawl.imports.finding import Trouble
from centime.crawl.imports.packed_members import (
    BROKEN,
    FRAME_HEAD,
    GZIP,
    Packing,
    Stream,
    dictionary_bytes,
    packing_of,
)

MOST_RECORD = 128 << 20
LONGEST_HEAD = 64 << 10
PIECE = 1 << 20  # bytes unpacked at once
READ = 1 << 20
FIRST_WINDOW = 16 << 10  # of a member: what zlib does not use is copied

_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r?\ncontent-length[ \t]*:[ \t]*([0-9]{1,18})[ \t]*(?:\r?\n|\Z)", re.IGNORECASE)
_BEGIN = re.compile(rb"WARC/\d+\.\d+\r?\n")
_BLANK = re.compile(rb"[\r\n]*")


class WarcRecord(NamedTuple):
    """A complete record."""

    head: bytes
    content: bytes
    at: int = 0  # where it begins in the file, or the member that it is in


class _Lies(Exception):
    """A record is not as its head says."""


class WarcRecords:
    """The records of an open file of `size` bytes."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self.size = size
        self.at = 0  # how far the file was read
        self._begin, self._buffer = 0, b""

    def read(self, position: int) -> Iterator[tuple[int, WarcRecord | Trouble]]:
        """The records from a position on, each with the position behind it."""
        packing = Packing(GZIP) if self._bytes(position, len(GZIP)) == GZIP else self._packing()
        if packing is not None:
            yield from self._packed(position, packing)
        else:
            yield from self._plain(position)

    def _packing(self) -> Packing | None:
        """How the file is packed, from its beginning, which may have a dictionary for all of it."""
        begin = self._bytes(0, LONGEST_HEAD)
        wanted = dictionary_bytes(begin)
        return packing_of(self._bytes(0, wanted) if wanted > len(begin) else begin)

    def _bytes(self, at: int, count: int) -> bytes:
        """Bytes of the file; fewer at its end. Bytes in memory are not read again: a zip file is slow to seek back."""
        offset = at - self._begin
        if offset < 0 or offset + count > len(self._buffer):
            kept = self._buffer[offset:] if 0 <= offset <= len(self._buffer) else b""
            if not kept:
                self._file.seek(at)
            more = self._file.read(max(count, READ) - len(kept))
            self._begin, self._buffer, offset = at, kept + more, 0
        return self._buffer[offset : offset + count]

    def _packed(self, at: int, packing: Packing) -> Iterator[tuple[int, WarcRecord | Trouble]]:
        while True:
            window = self._bytes(at, FIRST_WINDOW)
            if not window:
                return
            self.at = at
            if skipped := packing.skipped(window):
                if self._is_border(at + skipped, packing):
                    at += skipped
                    continue
                found = self._next_member(at + FRAME_HEAD, packing)
                yield found, Trouble(f"the skippable frame at byte {at} does not end where a frame begins")
                at = found
                continue
            if not window.startswith(packing.magic):
                found = self._next_member(at, packing)
                if self._bytes(at, min(found - at, READ)).strip(b"\0\r\n"):
                    yield found, Trouble(f"no record begins at byte {at}")
                at = found
                continue
            end = at
            try:
                stream = packing.stream()
                data = stream.decompress(window, PIECE)
                record = _only_record(data) if stream.eof else None
                if record is not None:  # the common case, the fast path
                    begin, at = at, at + len(window) - len(stream.unused_data)
                    yield at, record._replace(at=begin)
                    continue
                for end, record in self._of_member(at, window, stream, data):
                    if record is not None:
                        yield end, record
            except (_Lies, *BROKEN) as wrong:
                end = self._next_member(at + 1, packing)
                yield end, Trouble(f"the record at byte {at} is damaged and was skipped: {wrong}")
            at = end

    def _of_member(
        self, at: int, window: bytes, stream: Stream, data: bytes
    ) -> Iterator[tuple[int, WarcRecord | None]]:
        """The records of the member at a place, whose window gave these data; last None with its end."""
        fed = at + len(window)
        rest = b""
        while True:
            rest = rest + data if rest else data
            records, used = _records_in(rest, last=stream.eof)
            ended = stream.eof and used == len(rest)
            end = fed - len(stream.unused_data) if stream.eof else at
            for number, record in enumerate(records, 1):
                yield (end if ended and number == len(records) else at), record._replace(at=at)
            if stream.eof:
                if not ended:
                    raise _Lies("its length differs from its header")
                yield end, None
                return
            rest = rest[used:]
            if len(rest) > MOST_RECORD:
                raise _Lies(f"it has more than {MOST_RECORD >> 20} MiB")
            window = stream.unconsumed_tail
            if not window and len(data) < PIECE:  # zlib may hold more than it was allowed to give
                window = self._bytes(fed, READ)
                fed += len(window)
                self.at = fed
                if not window:
                    raise _Lies("the file ends within it")
            data = stream.decompress(window, PIECE)

    def _is_border(self, at: int, packing: Packing) -> bool:
        """Whether a member begins at a place, or the file ends there: a skippable frame with a wrong length ends
        elsewhere, and its length may cover the rest of the file.
        """
        if at >= self.size:
            return at == self.size
        behind = self._bytes(at, FRAME_HEAD)
        return not behind.strip(b"\0\r\n") or behind.startswith(packing.magic) or packing.skipped(behind) > 0

    def _next_member(self, at: int, packing: Packing) -> int:
        """Where the next member begins that is a record, or the end of the file."""
        while at < self.size:
            window = self._bytes(at, READ)
            place = window.find(packing.magic)
            while place >= 0:
                try:
                    begin = packing.stream().decompress(self._bytes(at + place, 1024), 16)
                except BROKEN:
                    begin = b""
                if begin.startswith(b"WARC/"):
                    return at + place
                place = window.find(packing.magic, place + 1)
            if len(window) < READ:
                break
            at += len(window) - len(packing.magic) + 1
        return self.size

    def _plain(self, at: int) -> Iterator[tuple[int, WarcRecord | Trouble]]:
        while True:
            self.at = at
            window = self._bytes(at, LONGEST_HEAD)
            if not window.strip(b"\r\n\0"):
                if len(window) < LONGEST_HEAD:
                    return
                at += len(window)
                continue
            blank = _BLANK.match(window)
            at, begin = at + (blank.end() if blank else 0), at
            window = self._bytes(at, LONGEST_HEAD)
            try:
                head, length = _head_in(window)
                begin = at + len(head) + len(_END)
                if length > MOST_RECORD:
                    raise _Lies(f"it has more than {MOST_RECORD >> 20} MiB")
                content = self._bytes(begin, length + len(_END))
                behind = self._bytes(begin + length + len(_END), 16)
                if content[length:] != _END or (behind.strip(b"\r\n\0") and not behind.lstrip().startswith(b"WARC/")):
                    raise _Lies("its length differs from its header")
                end = begin + length + len(_END)
                yield end, WarcRecord(head, content[:length], at)
                at = end
            except _Lies as wrong:
                start, at = at, self._next_plain(at + 1)
                yield at, Trouble(f"the record at byte {start} is damaged and was skipped: {wrong}")

    def _next_plain(self, at: int) -> int:
        """Where the next record of a plain file begins, or the end of the file."""
        while at < self.size:
            window = self._bytes(at, READ)
            for found in _BEGIN.finditer(window):
                if found.start() == 0 or window[found.start() - 1] in b"\r\n":
                    return at + found.start()
            if len(window) < READ:
                break
            at += len(window) - 16
        return self.size


def _only_record(data: bytes) -> WarcRecord | None:
    """The record if the data are exactly one; None otherwise."""
    end = data.find(_END, 0, LONGEST_HEAD)
    if end < 0 or not data.startswith(b"WARC/") or not data.endswith(_END):
        return None
    head = data[:end]
    length = _LENGTH.search(head)
    if length is None or end + int(length[1]) + 2 * len(_END) != len(data):
        return None
    return WarcRecord(head, data[end + len(_END) : -len(_END)])


def _head_in(data: bytes) -> tuple[bytes, int]:
    """The head of the record with which the data begin, and the length of its content."""
    end = data.find(_END, 0, LONGEST_HEAD)
    if not data.startswith(b"WARC/") or end < 0:
        raise _Lies("it does not begin with the header of a record")
    head = data[:end]
    length = _LENGTH.search(head)
    if length is None:
        raise _Lies("its header has no length")
    return head, int(length[1])


def _records_in(data: bytes, *, last: bool) -> tuple[list[WarcRecord], int]:
    """The complete records with which the data begin, and how many bytes they are; `last`: no more data follow. Before
    that, the last record does not count if nothing follows it: the member may be cut behind it, and its checksum is not
    verified.
    """
    records = []
    at = 0
    while at < len(data):
        rest = data[at:] if at else data
        if rest[:2] in (b"\r\n", b"\n", b"\n\n") or rest[:1] == b"\0":
            blank = len(rest) - len(rest.lstrip(b"\r\n\0"))
            at += blank
            continue
        if not last and _END not in rest[:LONGEST_HEAD] and len(rest) < LONGEST_HEAD:
            break
        head, length = _head_in(rest)
        begin = len(head) + len(_END)
        end = begin + length
        if length > MOST_RECORD:
            raise _Lies(f"it has more than {MOST_RECORD >> 20} MiB")
        if len(rest) < end + len(_END):
            break
        if rest[end : end + len(_END)] != _END:
            raise _Lies("its length differs from its header")
        if not last and len(rest) == end + len(_END):
            break
        records.append(WarcRecord(head, rest[begin:end]))
        at += end + len(_END)
    return records, at
