"""The journal: every change of the crawl as a numbered frame, in append-only segments `000001.log`, `000002.log`, ...

    segment   "CENTJRNL", format version u32, segment number u32, identity of the crawl u64, index of its first frame
              u64, chain of the frames before it u64, xxh3-64 of these 40 bytes; then frames
    mark      `journal.mark` beside the folder: up to where the journal was confirmed (files/mark.py)

Guarantee: every frame appended before a successful `sync` is read back bit for bit, or `DamagedFile` says what is
missing or damaged: a frame, a segment, the last segments, all of them, or segments of another crawl. An incomplete
frame behind the mark was never confirmed by `sync`: a writer truncates it, a reader stops before it. An incomplete
frame before the mark is damage and is never skipped.

If the mark itself is lost, a writer reports it (`troubles`) and starts a new one. Then the end of the journal is where
the last valid frame ends, and an invalid frame with a valid one after it is damage.

Traps: `append` only buffers. After `NoRoom`, the frames stay buffered and the next `flush` tries again. After a failed
sync, the state of the disk is unknown, so the journal closes. A reader may see less than the writer has written, but
never anything else.

Over 400 lines because it is one class: the format that is written and the checks of reading must change together.
"""

import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from struct import Struct
from typing import NamedTuple

from xxhash import xxh3_64_intdigest

from centime.files.disk import make_folder, naming, room_for, sync_folder, write_whole
from centime.files.frame import FRAME, LARGEST_FRAME, frame_at, frame_behind, frame_head
from centime.files.listing import list_files
from centime.files.mark import Mark, MarkFile, create_mark, read_mark
from centime.files.presence import leads_to, must_lead_to, write_back
from centime.files.replacement import replace_file
from centime.model.errors import DamagedFile, StoreBroken

MAGIC = b"CENTJRNL"
VERSION = 2
HEAD = Struct("<8sIIQQQ")
HEAD_BYTES = HEAD.size + 8
CHUNK = 1 << 20
SEGMENTS = "[0-9]*.log"
LISTINGS = 100  # a writer drops segments once in minutes


class Cursor(NamedTuple):
    """A place between two frames: the segment, the byte in it, the index of the frame after it, and the chain of the
    frames before it.
    """

    segment: int
    at: int
    frame: int
    chain: int


class Head(NamedTuple):
    """The head of a segment."""

    identity: int
    first: int  # the index of its first frame
    chain: int  # of the frames before it


class Journal:
    """The frames of one crawl in their order; made by `open`."""

    def __init__(self, folder: Path, writable: bool, identity: int) -> None:
        self.folder = folder
        self.writable = writable
        self.identity = identity
        self.next_index = 0  # of the next frame to append
        self.chain = identity  # of all frames before it
        self.cut_bytes = 0  # length of the unconfirmed tail that `open` truncated
        self.troubles: tuple[str, ...] = ()  # problems that `open` found and fixed
        self._heads: dict[int, Head] = {}  # by segment number
        self._waiting: list[bytes] = []
        self._handle = -1  # of the last segment
        self._size = 0  # of its head and complete frames
        self._mark: MarkFile | None = None

    @classmethod
    def create(cls, folder: Path, identity: int) -> None:
        """Creates a journal without frames."""
        make_folder(folder)
        create_mark(mark_path(folder), Mark(identity, 0, 1, 0, identity))
        replace_file(folder / f"{1:06}.log", packed_head(1, Head(identity, 0, identity)))

    @classmethod
    def open(cls, folder: Path, writable: bool, identity: int) -> "Journal":
        """Opens the journal of a folder; a writer truncates what was never confirmed."""
        journal = cls(folder, writable, identity)
        mark = read_mark(mark_path(folder))
        if mark is not None and mark.identity != identity:
            mark = None
        if writable:
            for unfinished in list_files(folder, ".*.log"):
                unfinished.unlink()
        journal._list_segments()
        journal._find_end(mark)
        if writable:
            journal._open_mark(mark)
        return journal

    @property
    def last_segment(self) -> int:
        """The number of the newest segment."""
        return self._last

    @property
    def first_index(self) -> int:
        """The index of the oldest frame in the journal."""
        return next(iter(self._heads.values())).first

    @property
    def nbytes(self) -> int:
        """Bytes on disk."""
        return sum(path.stat().st_size for path in list_files(self.folder, SEGMENTS))

    def append(self, kind: int, payload: bytes) -> int:
        """Buffers one frame; returns its index."""
        if not 1 <= kind <= 255 or len(payload) > LARGEST_FRAME:
            raise StoreBroken(
                f"{self.folder}: a frame has a kind from 1 to 255 and at most {LARGEST_FRAME} bytes, "
                f"not kind {kind} and {len(payload)} bytes"
            )
        index = self.next_index
        head, self.chain = frame_head(kind, index, payload, self.chain)
        self._waiting += (head, payload)
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
        """Flushes, waits for the disk and marks all frames as confirmed; a failure closes the journal, because the
        state of the disk is unknown. FileGone leaves it open for `write_back`.
        """
        self.flush()
        self.must_be_there()
        try:
            with room_for(self._path(self._last)):
                os.fdatasync(self._handle)
            if self._mark is not None and self._mark.last.frame < self.next_index:
                self._mark.move(self._last, self.next_index, self.chain)
        except BaseException:
            self._close_segment()
            raise

    def must_be_there(self) -> None:
        """Raises FileGone if the last segment or the mark was deleted or replaced while this journal wrote to it."""
        must_lead_to(self._path(self._last), self._handle)
        if self._mark is not None:
            self._mark.must_be_there()

    def write_back(self) -> None:
        """Writes the last segment and the mark again under their names if they were deleted or replaced."""
        if self._handle >= 0 and not leads_to(self._path(self._last), self._handle):
            self._handle = write_back(self._path(self._last), self._handle, self._size)
        if self._mark is not None:
            self._mark.write_back()

    def rotate(self) -> None:
        """Syncs and begins a new segment."""
        self.sync()
        self._begin_segment(self._last + 1)

    def drop_before(self, index: int) -> int:
        """Deletes the segments that contain only frames before `index`, oldest first; returns their number."""
        self._must_be_open()
        doomed = self.segments_before(index)
        for path in doomed:
            path.unlink(missing_ok=True)  # another process may have deleted it
            del self._heads[int(path.stem)]
        sync_folder(self.folder)
        return len(doomed)

    def segments_before(self, index: int) -> list[Path]:
        """The segments that contain only frames before `index`, oldest first."""
        pairs = pairwise(self._heads)
        return [self._path(segment) for segment, follower in pairs if self._heads[follower].first <= index]

    def frames(self, start: int = 0, chain: int | None = None) -> Iterator[tuple[int, int, bytes]]:
        """Index, kind and payload of every flushed frame from `start` on; reads the files in chunks. The frames before
        `start` must have this chain, if one is given.
        """
        for cursor, kind, payload in self.follow(None, start, chain):
            yield cursor.frame - 1, kind, payload

    def follow(
        self, cursor: Cursor | None, start: int = 0, chain: int | None = None
    ) -> Iterator[tuple[Cursor, int, bytes]]:
        """Kind and payload of every flushed frame after a cursor, or from `start` on without one, each with the cursor
        after it. FileNotFoundError means that the writer has dropped a segment that is needed.
        """
        if cursor is None:
            cursor = self._cursor_before(start)
        while True:
            segment = cursor.segment
            # Tested before the segment is read: if a newer segment exists, this one is complete.
            newer = self._path(segment + 1).exists()
            if cursor.frame == start:
                self._must_follow(start, chain, cursor.chain)
            for after, kind, payload in self._read_segment(cursor, last=not newer):
                cursor = after
                if cursor.frame > start:
                    yield cursor, kind, payload
                elif cursor.frame == start:
                    self._must_follow(start, chain, cursor.chain)
            if not newer:
                if cursor.frame < start:
                    raise DamagedFile(
                        f"{self.folder}: the journal ends before frame {cursor.frame}, but the newest snapshot needs "
                        f"the frames from {start} on"
                    )
                return
            cursor = Cursor(segment + 1, HEAD_BYTES, cursor.frame, cursor.chain)

    def chain_at(self, frame: int) -> int:
        """The chain of all frames before one."""
        cursor = self._cursor_before(frame)
        for after, _, _ in self._read_segment(cursor, last=cursor.segment == self._last):
            if cursor.frame == frame:
                break
            cursor = after
        if cursor.frame != frame:
            raise DamagedFile(f"{self.folder}: the journal ends before frame {frame}")
        return cursor.chain

    def read_alone(self, segment: int) -> Iterator[tuple[Cursor, int, bytes]]:
        """Kind and payload of every complete frame of a segment, each with the cursor after it, whatever the state of
        the others.
        """
        head = self._head_of(segment)
        return self._read_segment(Cursor(segment, HEAD_BYTES, head.first, head.chain), last=True)

    def _cursor_before(self, start: int) -> Cursor:
        """The beginning of the segment that has this frame."""
        if not self._heads:
            self._list_segments()
        if start < self.first_index:
            raise DamagedFile(
                f"{self.folder}: frame {start} is needed, but the journal begins with frame {self.first_index}"
            )
        segment = max(number for number, head in self._heads.items() if head.first <= start)
        head = self._heads[segment]
        return Cursor(segment, HEAD_BYTES, head.first, head.chain)

    def _must_follow(self, start: int, expected: int | None, found: int) -> None:
        if expected is not None and found != expected:
            raise DamagedFile(
                f"{self.folder}: the frames before frame {start} are not those of the snapshot: the journal is of "
                "another crawl, or of a different history of this one"
            )

    def close(self) -> None:
        """Syncs and closes the file."""
        if self._handle >= 0:
            self.sync()
            self._close_segment()
        if self._mark is not None:
            self._mark.close()
            self._mark = None

    @property
    def _last(self) -> int:
        return next(reversed(self._heads))

    def _path(self, segment: int) -> Path:
        return self.folder / f"{segment:06}.log"

    def _close_segment(self) -> None:
        os.close(self._handle)
        self._handle = -1

    def _must_be_open(self) -> None:
        if self._handle < 0:
            raise StoreBroken(f"{self.folder}: this journal is closed, or open for reading only")

    def _begin_segment(self, segment: int) -> None:
        head = Head(self.identity, self.next_index, self.chain)
        replace_file(self._path(segment), packed_head(segment, head))
        if self._handle >= 0:
            self._close_segment()
        self._handle, self._size = os.open(self._path(segment), os.O_RDWR), HEAD_BYTES
        self._heads[segment] = head

    def _list_segments(self) -> None:
        """Finds the segments; retries if the writer deletes the oldest ones meanwhile."""
        for attempt in range(LISTINGS):
            found = sorted(int(path.stem) for path in list_files(self.folder, SEGMENTS))
            gaps = [number for number, follower in pairwise(found) if follower != number + 1]
            try:
                self._heads = {segment: self._head_of(segment) for segment in found}
            except FileNotFoundError:
                if attempt == LISTINGS - 1:
                    raise
                continue
            if gaps:
                raise DamagedFile(f"{self._path(gaps[0] + 1)}: this segment of the journal is missing")
            if not found:
                raise DamagedFile(f"{self.folder}: all segments of the journal are missing")
            return

    def _head_of(self, segment: int) -> Head:
        path = self._path(segment)
        with naming(path), path.open("rb") as file:
            head = file.read(HEAD_BYTES)
        if (
            len(head) < HEAD_BYTES
            or head[:8] != MAGIC
            or xxh3_64_intdigest(head[: HEAD.size]).to_bytes(8, "little") != head[HEAD.size :]
        ):
            raise DamagedFile(f"{path}: the head of this segment, bytes 0 to {HEAD_BYTES}, is damaged")
        _, version, number, identity, first, chain = HEAD.unpack_from(head)
        if version != VERSION:
            raise DamagedFile(f"{path}: format version {version}; this version reads {VERSION}")
        if identity != self.identity:
            raise DamagedFile(f"{path}: this segment belongs to another crawl")
        if number != segment:
            raise DamagedFile(f"{path}: this is segment {number} under the wrong name")
        return Head(identity, first, chain)

    def _find_end(self, mark: Mark | None) -> None:
        """Finds the last complete frame, which must not be before the mark; a writer truncates the file behind it."""
        head = self._heads[self._last]
        end = Cursor(self._last, HEAD_BYTES, head.first, head.chain)
        self._compare(mark, end)
        for after, _, _ in self._read_segment(end, last=True):
            end = after
            self._compare(mark, end)
        if mark is not None and mark.frame > end.frame:
            raise DamagedFile(
                f"{self.folder}: the journal ends with frame {end.frame - 1} in segment {end.segment}, but "
                f"{mark.frame - end.frame} more frames were confirmed, the last in segment {mark.segment}"
            )
        self.next_index, self.chain, self._size = end.frame, end.chain, end.at
        if self.writable:
            self._handle = os.open(self._path(self._last), os.O_RDWR)
            self.cut_bytes = os.fstat(self._handle).st_size - self._size
            if self.cut_bytes:
                os.ftruncate(self._handle, self._size)
                os.fsync(self._handle)

    def _compare(self, mark: Mark | None, end: Cursor) -> None:
        if mark is not None and mark.frame == end.frame and mark.chain != end.chain:
            raise DamagedFile(
                f"{self._path(end.segment)}: the frames before frame {end.frame} are not those that were confirmed"
            )

    def _open_mark(self, mark: Mark | None) -> None:
        """Opens the mark for writing; creates it again if it is lost."""
        path = mark_path(self.folder)
        if mark is None:
            self.troubles = (
                f"{path}: missing, damaged or of another crawl, so nothing proves that the journal is complete "
                f"after frame {self.next_index - 1}; it was written again",
            )
            mark = Mark(self.identity, 0, self._last, self.next_index, self.chain)
            create_mark(path, mark)
        self._mark = MarkFile(path, mark)

    def _read_segment(self, cursor: Cursor, last: bool) -> Iterator[tuple[Cursor, int, bytes]]:
        """Kind and payload of every complete frame of a segment after a cursor, each with the cursor after it; only the
        last segment may have an unconfirmed tail.
        """
        segment, at, index, chain = cursor
        if at == HEAD_BYTES and self._head_of(segment)[1:] != (index, chain):
            raise DamagedFile(f"{self._path(segment)}: does not follow the frames before it, up to frame {index - 1}")
        data, begin = b"", at  # a chunk of the file, and its place
        with self._path(segment).open("rb", buffering=0) as file:
            while True:
                frame = frame_at(data, at - begin, index, chain)
                if frame is None:
                    with naming(self._path(segment)):
                        data, begin = _read_from(file.fileno(), at), at
                    frame = frame_at(data, 0, index, chain)
                if frame is None and (not data or self._ends_at(last, Cursor(segment, at, index, chain))):
                    return
                if frame is not None:
                    kind, payload, chain = frame
                    at, index = at + FRAME.size + len(payload), index + 1
                    yield Cursor(segment, at, index, chain), kind, payload

    def _ends_at(self, last: bool, cursor: Cursor) -> bool:
        """Whether an unconfirmed tail begins at a cursor; False if the writer has completed the frame meanwhile. Raises
        DamagedFile otherwise.
        """
        segment, at, index, chain = cursor
        path = self._path(segment)
        mark = read_mark(mark_path(self.folder))  # before the data: these frames must be there
        with naming(path), path.open("rb") as file:
            file.seek(at)
            data = file.read()
        if frame_at(data, 0, index, chain) is not None:
            return False
        if not last:
            raise DamagedFile(f"{path}: frame {index} at byte {at} is damaged, and this is not the last segment")
        if mark is not None and mark.identity == self.identity:
            if index < mark.frame:
                raise DamagedFile(f"{path}: frame {index} at byte {at} is damaged; it was confirmed to be on disk")
            return True
        behind = frame_behind(data, index)
        if behind is not None:
            raise DamagedFile(
                f"{path}: frame {index} at byte {at} is damaged; the next valid frame is at byte {at + behind}"
            )
        return True


def mark_path(folder: Path) -> Path:
    """The mark of the journal in a folder."""
    return folder.with_name(f"{folder.name}.mark")


def packed_head(segment: int, head: Head) -> bytes:
    """The bytes of the head of a segment."""
    packed = HEAD.pack(MAGIC, VERSION, segment, *head)
    return packed + xxh3_64_intdigest(packed).to_bytes(8, "little")


def _read_from(handle: int, at: int) -> bytes:
    """A chunk of a file, long enough for the frame at its beginning."""
    data = os.pread(handle, CHUNK, at)
    if len(data) >= FRAME.size:
        length = FRAME.size + int.from_bytes(data[:4], "little")
        if CHUNK < length <= FRAME.size + LARGEST_FRAME:
            data = os.pread(handle, length, at)
    return data
