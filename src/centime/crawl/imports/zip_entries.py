"""The files in a zip file, however damaged it is.

    zip file    (head packed-bytes descriptor?)* directory

A zip file that is cut has no directory, because that is at its end. Then its files are found by the heads before them.
A head says how long its file is, unless the writer did not know that yet: then a descriptor behind the file has its
length, and is searched. The last file ends where the zip file ends.

A file is read up to where it is damaged; `trouble` says what was wrong once it was read. A wrong checksum is reported
at the end, because the records of an archive have checks of their own.
"""

import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from struct import Struct
from typing import BinaryIO, cast

from centime.crawl.imports.packed_members import BROKEN

DAMAGE = (zipfile.BadZipFile, *BROKEN, lzma.LZMAError, EOFError, OSError, ValueError, RuntimeError)
WINDOW = 1 << 16
CRUMB = 1 << 14  # bytes that are lost before a damaged place, at most
MOST_RATIO = 1032  # bytes that deflate makes of one
UNKNOWN = 0xFFFFFFFF  # a length that is among the extra fields

_BEGIN, _DESCRIPTION = b"PK\x03\x04", b"PK\x07\x08"
_HEAD = Struct("<4s2xHH8xIIHH")  # flags, method, packed size, size, length of the name, length of the extra fields
_DESCRIPTOR = Struct("<4s4xI")  # packed size
_FIELD = Struct("<HH")
_LENGTHS = Struct("<QQ")
_DESCRIBED, _UTF8 = 0x08, 0x800  # flags
_ZIP64 = 1


class EntryFile:
    """A file in a zip file, open for reading."""

    def __init__(self, file: zipfile.ZipExtFile, checksum: int | None) -> None:
        file._expected_crc = None  # type: ignore[attr-defined]  # or a wrong checksum would lose the last bytes
        self._file = file
        self._checksum = checksum
        self._sum = self._summed = 0
        self.trouble = ""  # what was wrong with it so far

    def seek(self, at: int) -> int:
        """Goes to a place."""
        return self._file.seek(at)

    def read(self, most: int) -> bytes:
        """At most `most` bytes; fewer at the end and before a damaged place."""
        begin, pieces, left = self._file.tell(), [], most
        try:
            while left and (piece := self._file.read(min(left, CRUMB))):
                pieces.append(piece)
                left -= len(piece)
        except DAMAGE as wrong:
            self.trouble = f"is damaged from here on: {wrong}"
        data = b"".join(pieces)
        if begin == self._summed:
            self._sum, self._summed = zlib.crc32(data, self._sum), begin + len(data)
            if left and not self.trouble and self._checksum not in (None, self._sum):
                self.trouble = "differs from its checksum in the zip file: some of it is damaged"
        return data


class ZipEntries:
    """The files in the zip file at a path."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.trouble = ""  # why the directory cannot be read
        try:
            with zipfile.ZipFile(path) as archive:
                self.all = archive.infolist()
        except DAMAGE as wrong:
            self.trouble = str(wrong)
            found = path.stat()
            self.all = _listed(path, found.st_size, found.st_mtime_ns)

    def named(self, name: str) -> zipfile.ZipInfo:
        """The file with a name; KeyError if there is none."""
        return {one.filename: one for one in self.all}[name]

    @contextmanager
    def open(self, entry: zipfile.ZipInfo) -> Iterator[EntryFile]:
        """Opens a file for reading; it can seek, also if it is packed."""
        if self.trouble:
            with self._path.open("rb") as outer, zipfile.ZipExtFile(_at_content(outer, entry), "r", entry) as inside:
                yield EntryFile(inside, None)
            return
        with zipfile.ZipFile(self._path) as archive, archive.open(entry) as inside:
            yield EntryFile(cast(zipfile.ZipExtFile, inside), entry.CRC)


@lru_cache(maxsize=16)
def _listed(path: Path, size: int, written: int) -> list[zipfile.ZipInfo]:
    """The files of a zip file without a directory, which has this size and was written then."""
    entries, at = [], 0
    with path.open("rb") as file:
        while (at := _find(file, _BEGIN, at)) >= 0:
            entry = _entry_at(file, at)
            at = file.tell() + (0 if entry is None else entry.compress_size)
            if entry is not None:
                entries.append(entry)
    return entries


def _entry_at(file: BinaryIO, at: int) -> zipfile.ZipInfo | None:
    """The file whose head is at a place, and goes to its first byte; None if there is no whole head."""
    file.seek(at)
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    _, flags, method, packed, size, name_length, extra_length = _HEAD.unpack(head)
    name, extra = file.read(name_length), file.read(extra_length)
    begin = file.tell()
    if UNKNOWN in (packed, size):
        size, packed = _long_sizes(extra)
    if not packed and flags & _DESCRIBED:
        packed = _described(file, begin)
    there = file.seek(0, 2) - begin
    file.seek(begin)
    entry = zipfile.ZipInfo(name.decode("utf-8" if flags & _UTF8 else "cp437", "replace"))
    entry.header_offset, entry.CRC = at, 0  # the checksum may be in what is cut off
    entry.compress_type = method
    entry.compress_size = min(packed, there)
    entry.file_size = entry.compress_size if method == zipfile.ZIP_STORED else size or packed * MOST_RATIO
    return entry


def _at_content(file: BinaryIO, entry: zipfile.ZipInfo) -> BinaryIO:
    """The zip file at the first byte of a file in it."""
    file.seek(entry.header_offset)
    *_, name_length, extra_length = _HEAD.unpack(file.read(_HEAD.size))
    file.seek(name_length + extra_length, 1)
    return file


def _long_sizes(extra: bytes) -> tuple[int, int]:
    """The size and the packed size that extra fields give; 0 if they give none."""
    at = 0
    while at + _FIELD.size <= len(extra):
        kind, length = _FIELD.unpack_from(extra, at)
        at += _FIELD.size
        if kind == _ZIP64 and length >= _LENGTHS.size and at + length <= len(extra):
            size, packed = _LENGTHS.unpack_from(extra, at)
            return size, packed
        at += length
    return 0, 0


def _described(file: BinaryIO, begin: int) -> int:
    """The packed size of a file that begins at a place: by the descriptor behind it, or up to the end of the zip
    file."""
    at = begin
    while (at := _find(file, _DESCRIPTION, at)) >= 0:
        file.seek(at)
        said = file.read(_DESCRIPTOR.size)
        if len(said) == _DESCRIPTOR.size and _DESCRIPTOR.unpack(said)[1] == (at - begin) & 0xFFFFFFFF:
            return at - begin
        at += 1
    return file.seek(0, 2) - begin


def _find(file: BinaryIO, mark: bytes, at: int) -> int:
    """The first place of a mark from a place on; -1 if there is none."""
    file.seek(at)
    rest = b""
    while window := file.read(WINDOW):
        place = (rest + window).find(mark)
        if place >= 0:
            return at - len(rest) + place
        at += len(window)
        rest = window[1 - len(mark) :]
    return -1
