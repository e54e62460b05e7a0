"""The log of requests, enqueued and done, in one file that only grows until it is compacted.

    state = fold(frames)          waiting requests, fingerprints of all, visits that the crawl has not imported yet

Frames are those of `files/frame.py`: numbered, checksummed and chained. Every prefix of the log is a state that
existed, so after a kill the log is cut behind its last whole frame and nothing else is needed. `flush` gives the bytes
to the system, where they survive kill -9; `sync` waits for the disk, for power failures.

    BEGUN     identity of the log, number of the next request, visits done
    SEEN      fingerprints of requests, as the dupe filter knows them
    PUSHED    a request
    DONE      the number of a request, and its visits: none for other methods than GET
    KEPT      a request that is done and can be repeated (CENTIME_REFRESH)
    FINISHED  nothing is left: start requests of the next run are new ones

The log is compacted when it has twice the bytes that it had after the last time: requests that are done are dropped,
except for their fingerprints.

Trap: requests are pickles, which can run programs when they are read. `open` refuses a log that this user has not
written on this machine, unless it is trusted.
"""

import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec

from centime.crawl.imports.finding import Finding
from centime.files.disk import create_file, make_folder, naming, room_for, sync_folder, write_whole
from centime.files.frame import FRAME, frame_at, frame_behind, frame_head
from centime.model.errors import BadInput, DamagedFile
from centime.store.lock import lock_file, unlock_file
from centime.store.ownership import foreign, sign

NAME = "requests.log"
BEGUN, SEEN, PUSHED, DONE, KEPT, FINISHED = range(1, 7)
FREE_BYTES = 32 << 20  # a log is not compacted before it has more than twice its size and this
SEEN_AT_ONCE = 10_000  # fingerprints of a frame
SEEN_BYTES = 22  # of one there

_pack = msgspec.msgpack.Encoder().encode


class LoggedRequest(msgspec.Struct, array_like=True, gc=False):
    """A request as the log has it."""

    number: int
    fingerprint: bytes  # of the dupe filter; empty if it was not filtered
    url: str
    slot: str  # of the downloader
    priority: int
    start: bytes  # the fingerprint of a start request, else empty
    pickled: bytes


class Place(NamedTuple):
    """Where the frame of a request lies in the log."""

    at: int
    size: int


class _Begun(msgspec.Struct, array_like=True):
    identity: int
    next_number: int
    visits: int
    started: list[bytes]


class _Done(msgspec.Struct, array_like=True):
    number: int
    visits: list[Finding]


_request = msgspec.msgpack.Decoder(LoggedRequest).decode
_begun = msgspec.msgpack.Decoder(_Begun).decode
_done = msgspec.msgpack.Decoder(_Done).decode


class RequestLog:
    """The log in a folder, which is created if it is missing. InUse: another process has it."""

    def __init__(self, folder: Path, *, keep: bool = False, trust: bool = False) -> None:
        """`keep` remembers requests that are done, to make them again."""
        self.path = folder / NAME
        self.waiting: dict[int, tuple[LoggedRequest, Place]] = {}  # without the pickles
        self.kept: dict[str, Place] = {}  # by URL
        self.seen: set[bytes] = set()
        self.started: set[bytes] = set()  # start requests of the crawl that is not finished
        self.unimported: list[Finding] = []  # the last of all visits
        self.visits = 0
        self.next_number = 0
        self.identity = 0
        self.cut_bytes = 0  # of an unfinished frame that a kill has left
        self._keep = keep
        self._index = self._chain = 0
        self._buffer = bytearray()
        folder.parent.parent.mkdir(parents=True, exist_ok=True)
        make_folder(folder.parent)
        make_folder(folder)
        self._lock = lock_file(folder)
        self._handle = -1
        try:
            self._handle = create_file(self.path, os.O_RDWR)
            self._length = self._read(trust)
            needed = [place for _, place in self.waiting.values()] + list(self.kept.values())
            self._compacted = sum(place.size + FRAME.size for place in needed) + SEEN_BYTES * len(self.seen)
        except BaseException:
            self._release()
            raise

    def push(self, request: LoggedRequest) -> Place:
        """Adds a request; returns where it is."""
        self.next_number = max(self.next_number, request.number + 1)
        if request.fingerprint:
            self.seen.add(request.fingerprint)
        if request.start:
            self.started.add(request.start)
        return self._append(PUSHED, _pack(request))

    def done(self, number: int, visits: Iterable[Finding] = (), *, again: tuple[str, Place] | None = None) -> None:
        """Records that a request is done, with its visits; `again` is the URL and the place of one to keep."""
        found = list(visits)
        self._append(DONE, _pack(_Done(number, found)))
        self.unimported += found
        self.visits += len(found)
        if self._keep and again is not None:
            self.kept[again[0]] = again[1]

    def finish(self) -> None:
        """Records that nothing is left."""
        self.started.clear()
        self._append(FINISHED, b"")

    def imported(self, visits: int) -> None:
        """Drops visits that the crawl has imported; `visits` is their total number."""
        left = self.visits - visits
        self.unimported = self.unimported[-left:] if left > 0 else []

    def read(self, place: Place) -> LoggedRequest:
        """The request at a place."""
        if place.at + place.size > self._length:
            self.flush()
        with naming(self.path):
            return _request(os.pread(self._handle, place.size, place.at))

    def flush(self) -> None:
        """Gives all frames to the system."""
        if self._buffer:
            write_whole(self._handle, bytes(self._buffer), self._length, self.path)
            self._length += len(self._buffer)
            self._buffer.clear()

    def sync(self) -> None:
        """Waits until all frames are on the disk."""
        self.flush()
        with room_for(self.path):
            os.fdatasync(self._handle)

    @property
    def is_long(self) -> bool:
        """Whether the log should be compacted."""
        return self._length > 2 * self._compacted + FREE_BYTES

    def compact(self, waiting: Iterable[Place]) -> dict[Place, Place]:
        """Rewrites the log with the frames that are still needed; returns the new places of the waiting requests."""
        self.flush()
        old, self._handle = self._handle, -1
        index, chain = self._index, self._chain
        beside = self.path.with_name(f".{NAME}")
        try:
            self._handle = create_file(beside, os.O_RDWR | os.O_TRUNC)
            moved, kept = self._rewrite(old, waiting)
            os.fsync(self._handle)
            beside.replace(self.path)
            sync_folder(self.path.parent)
        except BaseException:
            if self._handle >= 0:
                os.close(self._handle)
            beside.unlink(missing_ok=True)
            self._handle, self._index, self._chain = old, index, chain
            self._buffer.clear()
            self._length = os.fstat(old).st_size
            raise
        os.close(old)
        self.kept = kept
        self._compacted = self._length
        return moved

    def close(self) -> None:
        """Writes everything and closes the log."""
        if self._handle >= 0:
            try:
                self.sync()
            finally:
                self._release()

    def _release(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
        unlock_file(self._lock)
        self._lock = -1

    def _append(self, kind: int, payload: bytes) -> Place:
        head, self._chain = frame_head(kind, self._index, payload, self._chain)
        self._index += 1
        self._buffer += head
        at = self._length + len(self._buffer)
        self._buffer += payload
        return Place(at, len(payload))

    def _rewrite(self, old: int, waiting: Iterable[Place]) -> tuple[dict[Place, Place], dict[str, Place]]:
        self._index = self._chain = self._length = 0
        begun = _Begun(self.identity, self.next_number, self.visits - len(self.unimported), sorted(self.started))
        self._append(BEGUN, _pack(begun))
        seen = sorted(self.seen)
        for begin in range(0, len(seen), SEEN_AT_ONCE):
            self._append(SEEN, _pack(seen[begin : begin + SEEN_AT_ONCE]))
        if self.unimported:
            self._append(DONE, _pack(_Done(-1, self.unimported)))
        moved = {place: self._copy(PUSHED, old, place) for place in waiting}
        kept = {url: self._copy(KEPT, old, place) for url, place in self.kept.items()}
        self.flush()
        return moved, kept

    def _copy(self, kind: int, old: int, place: Place) -> Place:
        if len(self._buffer) > FREE_BYTES:
            self.flush()
        return self._append(kind, os.pread(old, place.size, place.at))

    # ---- reading

    def _read(self, trust: bool) -> int:
        """Folds the frames of the file; returns its length without an unfinished frame at its end."""
        with naming(self.path):
            data = self.path.read_bytes()
        at = 0
        while (frame := frame_at(data, at, self._index, self._chain)) is not None:
            begin = at + FRAME.size
            place = Place(begin, len(frame.payload))
            if not at:
                self._begin(_begun(frame.payload), trust)
            else:
                self._fold(frame.kind, frame.payload, place)
            self._index, self._chain = self._index + 1, frame.chain
            at = begin + len(frame.payload)
        if at < len(data):
            rest = data[at:]
            if frame_behind(rest, self._index) is not None:
                raise DamagedFile(
                    f"{self.path}: damaged at byte {at}; restore it from a copy, or delete it to start again"
                )
            self.cut_bytes = len(rest)
            os.ftruncate(self._handle, at)
        if not at:
            self._length = 0
            self.identity = secrets.randbits(63) | 1
            sign(self.path.parent, self.identity)
            self._append(BEGUN, _pack(_Begun(self.identity, 0, 0, [])))
            self.flush()
            sync_folder(self.path.parent)
            return self._length
        return at

    def _begin(self, begun: _Begun, trust: bool) -> None:
        self.identity = begun.identity
        reason = "" if trust else foreign(self.path.parent, begun.identity)
        if reason:
            raise BadInput(
                f"{self.path}: {reason}. Reading its requests could run programs that somebody else has put there; "
                "set CENTIME_TRUST = True if you trust it"
            )
        if trust:
            sign(self.path.parent, begun.identity)
        self.next_number, self.visits = begun.next_number, begun.visits
        self.started = set(begun.started)

    def _fold(self, kind: int, payload: bytes, place: Place) -> None:
        if kind in (PUSHED, KEPT):
            request = _request(payload)
            request.pickled = b""
            if kind == KEPT:
                if self._keep:
                    self.kept[request.url] = place
                return
            self.waiting[request.number] = (request, place)
            self.next_number = max(self.next_number, request.number + 1)
            if request.fingerprint:
                self.seen.add(request.fingerprint)
            if request.start:
                self.started.add(request.start)
        elif kind == DONE:
            done = _done(payload)
            known = self.waiting.pop(done.number, None)
            if known is not None and done.visits and self._keep:
                self.kept[known[0].url] = known[1]
            self.unimported += done.visits
            self.visits += len(done.visits)
        elif kind == SEEN:
            self.seen.update(msgspec.msgpack.decode(payload, type=list[bytes]))
        elif kind == FINISHED:
            self.started.clear()
        else:
            raise DamagedFile(f"{self.path}: a frame of kind {kind}, which this version does not know")
