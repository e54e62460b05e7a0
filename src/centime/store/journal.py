"""The journal: every change of the crawl as a numbered frame, in append-only segments `000001.log`, `000002.log`, ...

    segment   "CENTJRNL", format version u32, segment number u32, index of its first frame u64, xxh3-64 of these
              24 bytes; then frames

Guarantee: every frame appended before a successful `sync` is read back bit for bit, or `DamagedFile` names the segment
and the byte. Only the last segment can be torn, because a segment is synced before the next one begins, and a new
segment gets its name when its head is on disk. A torn tail (invalid bytes with no valid frame after them) was never
confirmed by `sync`: a writer truncates it, a reader stops before it. An invalid frame with a valid one after it, or in
an older segment, is damage and is never skipped.

Traps: `append` only buffers. After `NoRoom`, the frames stay buffered and the next `flush` tries again. After a failed
sync, the state of the disk is unknown, so the journal closes. A reader may see less than the writer has written, but
never anything else.
"""

import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from struct import Struct
from typing import NamedTuple

from xxhash import xxh3_64_intdigest

from centime.files.disk import room_for, sync_folder, write_whole
from centime.files.frame import FRAME, LARGEST_FRAME, frame_at, frame_behind, frame_head
from centime.files.replacement import replace_file
from centime.model.errors import DamagedFile, StoreBroken

MAGIC = b"CENTJRNL"
VERSION = 1
HEAD = Struct("<8sIIQ")
HEAD_BYTES = HEAD.size + 8
CHUNK = 1 << 20


class Cursor(NamedTuple):
    """A place between two frames: the segment, the byte in it, and the index of the frame after it."""

    segment: int
    at: int
    frame: int


class Journal:
    """The frames of one crawl in their order; made by `open`."""

    def __init__(self, folder: Path, writable: bool) -> None:
        self.folder = folder
        self.writable = writable
        self.next_index = 0  # of the next frame to append
        self.cut_bytes = 0  # length of the torn tail that `open` truncated
        self._firsts: dict[int, int] = {}  # segment number: index of its first frame
        self._waiting: list[bytes] = []
        self._handle = -1  # of the last segment
        self._size = 0  # of its head and complete frames

    @classmethod
    def open(cls, folder: Path, writable: bool) -> "Journal":
        """Opens the journal of a folder; a writer creates it if there is none, and truncates a torn tail."""
        journal = cls(folder, writable)
        if writable:
            folder.mkdir(parents=True, exist_ok=True)
            for unfinished in folder.glob(".*.log"):
                unfinished.unlink()
        journal._list_segments()
        if journal._firsts:
            journal._find_end()
        elif writable:
            journal._begin_segment(1)
        return journal

    @property
    def first_index(self) -> int:
        """The index of the oldest frame in the journal."""
        return next(iter(self._firsts.values()), 0)

    @property
    def nbytes(self) -> int:
        """Bytes on disk."""
        return sum(path.stat().st_size for path in self.folder.glob("[0-9]*.log"))

    def append(self, kind: int, payload: bytes) -> int:
        """Buffers one frame; returns its index."""
        if not 1 <= kind <= 255 or len(payload) > LARGEST_FRAME:
            raise StoreBroken(
                f"{self.folder}: a frame has a kind from 1 to 255 and at most {LARGEST_FRAME} bytes, "
                f"not kind {kind} and {len(payload)} bytes"
            )
        index = self.next_index
        self._waiting += (frame_head(kind, index, payload), payload)
        self.next_index = index + 1
        return index

    def flush(self) -> None:
        """Writes all buffered frames to the file at once; NoRoom leaves the file unchanged and the frames buffered."""
        self._must_be_open()
        if not self._waiting:
            return
        data = b"".join(self._waiting)
        try:
            write_whole(self._handle, data, self._size, self._path(self._last))
        except BaseException:
            os.ftruncate(self._handle, self._size)
            raise
        self._waiting, self._size = [], self._size + len(data)

    def sync(self) -> None:
        """Flushes and waits for the disk; a failure closes the journal, because the state of the disk is unknown."""
        self.flush()
        try:
            with room_for(self._path(self._last)):
                os.fdatasync(self._handle)
        except BaseException:
            self._close_segment()
            raise

    def rotate(self) -> None:
        """Syncs and begins a new segment."""
        self.sync()
        self._begin_segment(self._last + 1)

    def drop_before(self, index: int) -> int:
        """Deletes the segments that contain only frames before `index`, oldest first; returns their number."""
        self._must_be_open()
        segments = list(self._firsts)
        doomed = [segment for segment, follower in pairwise(segments) if self._firsts[follower] <= index]
        for segment in doomed:
            self._path(segment).unlink()
            del self._firsts[segment]
        sync_folder(self.folder)
        return len(doomed)

    def frames(self, start: int = 0) -> Iterator[tuple[int, int, bytes]]:
        """Index, kind and payload of every flushed frame from `start` on; reads the files in chunks."""
        for cursor, kind, payload in self.follow(None, start):
            yield cursor.frame - 1, kind, payload

    def follow(self, cursor: Cursor | None, start: int = 0) -> Iterator[tuple[Cursor, int, bytes]]:
        """Kind and payload of every flushed frame after a cursor, or from `start` on without one, each with the cursor
        after it. FileNotFoundError means that the writer has dropped a segment that is needed.
        """
        if cursor is None:
            if not self._firsts:
                self._list_segments()
            if not self._firsts:
                return
            if start < self.first_index:
                raise DamagedFile(
                    f"{self.folder}: frame {start} is needed, but the journal begins with frame {self.first_index}"
                )
            segment = max(number for number, first in self._firsts.items() if first <= start)
            cursor = Cursor(segment, HEAD_BYTES, self._firsts[segment])
        while True:
            segment = cursor.segment
            # Tested before the segment is read: if a newer segment exists, this one is complete.
            newer = self._path(segment + 1).exists()
            for index, kind, payload, end in self._read_segment(cursor, last=not newer):
                cursor = Cursor(segment, end, index + 1)
                if index >= start:
                    yield cursor, kind, payload
            if not newer:
                return
            cursor = Cursor(segment + 1, HEAD_BYTES, cursor.frame)

    def close(self) -> None:
        """Syncs and closes the file."""
        if self._handle >= 0:
            self.sync()
            self._close_segment()

    @property
    def _last(self) -> int:
        return next(reversed(self._firsts))

    def _path(self, segment: int) -> Path:
        return self.folder / f"{segment:06}.log"

    def _close_segment(self) -> None:
        os.close(self._handle)
        self._handle = -1

    def _must_be_open(self) -> None:
        if self._handle < 0:
            raise StoreBroken(f"{self.folder}: this journal is closed, or open for reading only")

    def _begin_segment(self, segment: int) -> None:
        head = HEAD.pack(MAGIC, VERSION, segment, self.next_index)
        replace_file(self._path(segment), head + xxh3_64_intdigest(head).to_bytes(8, "little"))
        if self._handle >= 0:
            self._close_segment()
        self._handle, self._size = os.open(self._path(segment), os.O_RDWR), HEAD_BYTES
        self._firsts[segment] = self.next_index

    def _list_segments(self) -> None:
        """Finds the segments; retries if the writer deletes the oldest ones meanwhile."""
        while True:
            found = sorted(int(path.stem) for path in self.folder.glob("[0-9]*.log"))
            gaps = [number for number, follower in pairwise(found) if follower != number + 1]
            try:
                self._firsts = {segment: self._first_of(segment) for segment in found}
            except FileNotFoundError:
                continue
            if gaps:
                raise DamagedFile(f"{self._path(gaps[0] + 1)}: this segment of the journal is missing")
            return

    def _first_of(self, segment: int) -> int:
        path = self._path(segment)
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
        if (
            len(head) < HEAD_BYTES
            or head[:8] != MAGIC
            or xxh3_64_intdigest(head[: HEAD.size]).to_bytes(8, "little") != head[HEAD.size :]
        ):
            raise DamagedFile(f"{path}: the head of this segment, bytes 0 to {HEAD_BYTES}, is damaged")
        _, version, number, first = HEAD.unpack_from(head)
        if version != VERSION:
            raise DamagedFile(f"{path}: format version {version}; this version reads {VERSION}")
        if number != segment:
            raise DamagedFile(f"{path}: this is segment {number} under the wrong name")
        return int(first)

    def _find_end(self) -> None:
        """Finds the last complete frame; a writer truncates the segment after it."""
        self.next_index, self._size = self._firsts[self._last], HEAD_BYTES
        start = Cursor(self._last, HEAD_BYTES, self.next_index)
        for index, _, _, end in self._read_segment(start, last=True):
            self.next_index, self._size = index + 1, end
        if self.writable:
            self._handle = os.open(self._path(self._last), os.O_RDWR)
            self.cut_bytes = os.fstat(self._handle).st_size - self._size
            if self.cut_bytes:
                os.ftruncate(self._handle, self._size)
                os.fsync(self._handle)

    def _read_segment(self, cursor: Cursor, last: bool) -> Iterator[tuple[int, int, bytes, int]]:
        """Index, kind, payload and end of every complete frame of a segment after a cursor; only the last segment may
        have a torn tail.
        """
        segment, at, index = cursor
        if at == HEAD_BYTES and self._first_of(segment) != index:
            raise DamagedFile(
                f"{self._path(segment)}: begins with frame {self._first_of(segment)} instead of frame {index}"
            )
        data, begin = b"", at  # a chunk of the file, and its place
        with self._path(segment).open("rb", buffering=0) as file:
            while True:
                frame = frame_at(data, at - begin, index)
                if frame is None:
                    data, begin = _read_from(file.fileno(), at), at
                    frame = frame_at(data, 0, index)
                if frame is None and (not data or self._ends_at(segment, last, index, at)):
                    return
                if frame is not None:
                    at += FRAME.size + len(frame[1])
                    yield index, *frame, at
                    index += 1

    def _ends_at(self, segment: int, last: bool, index: int, at: int) -> bool:
        """Whether a torn tail begins at `at`; False if the writer has completed the frame meanwhile. Raises DamagedFile
        otherwise.
        """
        path = self._path(segment)
        with path.open("rb") as file:
            file.seek(at)
            data = file.read()
        if frame_at(data, 0, index) is not None:
            return False
        behind = frame_behind(data, index)
        if behind is not None:
            raise DamagedFile(
                f"{path}: frame {index} at byte {at} is damaged; the next valid frame is at byte {at + behind}"
            )
        if not last:
            raise DamagedFile(f"{path}: frame {index} at byte {at} is damaged, and this is not the last segment")
        return True


def _read_from(handle: int, at: int) -> bytes:
    """A chunk of a file, long enough for the frame at its beginning."""
    data = os.pread(handle, CHUNK, at)
    if len(data) >= FRAME.size:
        length = FRAME.size + int.from_bytes(data[:4], "little")
        if CHUNK < length <= FRAME.size + LARGEST_FRAME:
            data = os.pread(handle, length, at)
    return data
