"""The mark: a small file that says up to where the journal was confirmed to be on disk.

    slot      "CENTMARK", identity of the crawl u64, number of the mark u64, segment u32, frames u64, chain u64,
              xxh3-64 of these bytes; two slots, SLOT_BYTES apart

Frames are written, synced, and then marked. So a journal that ends before its mark has lost frames that were confirmed,
and damage behind the mark concerns frames that were never confirmed. Marks go to the two slots in turn: a torn one
leaves the one before it. A reader must read the mark before it reads the journal, never after.
"""

import os
from pathlib import Path
from struct import Struct
from typing import NamedTuple

from xxhash import xxh3_64_intdigest

from centime.files.disk import read_file, write_whole
from centime.files.presence import leads_to, must_lead_to, write_back
from centime.files.replacement import replace_file

MAGIC = b"CENTMARK"
SLOT_BYTES = 4096  # apart, so that no write of the disk touches both
_SLOT = Struct("<8sQQIQQ")


class Mark(NamedTuple):
    """The confirmed frames: all before the index `frame`, the last of them in `segment`."""

    identity: int
    number: int
    segment: int
    frame: int
    chain: int


def read_mark(path: Path) -> Mark | None:
    """The newest mark; None if there is none that is whole."""
    try:
        data = read_file(path)
    except FileNotFoundError:
        return None
    found = [mark for slot in range(2) if (mark := _mark_in(data, slot)) is not None]
    return max(found, key=lambda mark: mark.number, default=None)


def mark_trouble(path: Path) -> str:
    """What is wrong with the file of a mark, in a few words; empty if nothing."""
    data = read_file(path) if path.is_file() else b""
    if not data:
        return "is missing or empty"
    rest = b"".join(data[slot * SLOT_BYTES :][_SLOT.size + 8 : SLOT_BYTES] for slot in range(2))
    whole = [slot for slot in range(2) if _mark_in(data, slot) is not None]
    if len(whole) < 2:
        return "both of its slots are damaged" if not whole else f"slot {1 - whole[0]} is damaged"
    return "" if len(data) == 2 * SLOT_BYTES and not rest.strip(b"\0") else "has other bytes beside its two slots"


def _mark_in(data: bytes, slot: int) -> Mark | None:
    packed = data[slot * SLOT_BYTES :][: _SLOT.size + 8]
    checksum = xxh3_64_intdigest(packed[: _SLOT.size]).to_bytes(8, "little")
    if packed[:8] != MAGIC or packed[_SLOT.size :] != checksum:
        return None
    return Mark(*_SLOT.unpack(packed[: _SLOT.size])[1:])


def create_mark(path: Path, mark: Mark) -> None:
    """Writes a new file with this mark."""
    replace_file(path, _packed(mark).ljust(SLOT_BYTES, b"\0") * 2)


class MarkFile:
    """The mark of a journal, open for writing."""

    def __init__(self, path: Path, last: Mark) -> None:
        self.path = path
        self.last = last
        self._handle = os.open(path, os.O_RDWR | os.O_DSYNC)

    def move(self, segment: int, frame: int, chain: int) -> None:
        """Marks these frames as confirmed, and waits for the disk."""
        mark = Mark(self.last.identity, self.last.number + 1, segment, frame, chain)
        write_whole(self._handle, _packed(mark), mark.number % 2 * SLOT_BYTES, self.path)
        self.last = mark

    def must_be_there(self) -> None:
        """Raises FileGone if the file was deleted or replaced."""
        must_lead_to(self.path, self._handle)

    def write_back(self) -> None:
        """Writes the file again if it was deleted or replaced."""
        if not leads_to(self.path, self._handle):
            os.close(write_back(self.path, self._handle, 2 * SLOT_BYTES))
            self._handle = os.open(self.path, os.O_RDWR | os.O_DSYNC)

    def close(self) -> None:
        """Closes the file."""
        os.close(self._handle)


def _packed(mark: Mark) -> bytes:
    slot = _SLOT.pack(MAGIC, *mark)
    return slot + xxh3_64_intdigest(slot).to_bytes(8, "little")
