"""Stored bodies in transit from a partition to its replica: the files of the archive, and the versions of pages.

    Has, then Body and Rows     what the replica lacks, in order; it answers each with Kept
    Whole, then IsWhole         it lacks nothing

A fetcher stores a body before its visit is recorded. Once a replica is whole, all that was stored is sent before the
frames that record it, so a replica that knows of a visit has its body. Until then bodies are behind: the replica says
so in a file (`BEHIND`), and a crawl that continues from it reads the pages again whose bodies it lacks (`lacking.py`).

A completed file that is damaged here does not replace the intact one of the replica.

At most `WINDOW` bytes are in flight. Nothing is sent twice after a process dies: files of the archive only grow, and
versions have a log (`store/versions/change_log.py`).
"""

import logging
import os
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from xxhash import xxh3_64_intdigest

from centime.cluster.replicas.said import Body, BodyFile, Dropped, Has, Rows, Whole
from centime.crawl.check.archive import check_archive_file
from centime.crawl.check.findings import Findings
from centime.files.listing import list_files
from centime.store.archives.captures import OPEN
from centime.store.versions.change_log import ChangeLog, Position, end_log
from centime.store.versions.database import FILE

BODIES, VERSIONS = "bodies", "versions"  # folders
WINDOW = 8 << 20
CHUNK = 1 << 20
ENDS = 4_096  # bytes at both ends of a file that show whether two files are the same
FORGET = 1_000  # changes that the replica has stored, after which the log of them is shortened
SETTLED_NANOSECONDS = 1_000_000_000  # after which a folder that has not changed is not listed again
WARC = ".warc.gz"
_log = logging.getLogger("centime.damage")


def body_files(folder: Path) -> dict[str, BodyFile]:
    """The files of an archive of bodies."""
    return {path.name: _about(path, path.stat().st_size) for path in list_files(folder, "[!.]*")}


def _about(path: Path, size: int) -> BodyFile:
    with path.open("rb") as file:
        first = file.read(min(ENDS, size))
        file.seek(max(0, size - ENDS))
        last = file.read(size - file.tell())
    return BodyFile(size, xxh3_64_intdigest(first), xxh3_64_intdigest(last))


class Bodies:
    """The stored bodies of a partition, for its replica."""

    def __init__(self, folder: Path, partition: int, incarnation: int) -> None:
        self._folder = folder
        self._ids = partition, incarnation
        self._files = ArchiveFiles(folder / BODIES, {})
        self._log: ChangeLog | None = None
        self._at: Position | None = None  # how far the versions were sent
        self._forgotten = 0
        self._begun = False
        self._number = self._under_way = 0
        self._sent: deque[tuple[int, int, Position | None]] = deque()  # numbers and sizes of parts without an answer
        self.is_whole = False  # the replica was whole once: frames follow their bodies from then on
        self.are_left = False  # some wait for room

    @property
    def hold_frames(self) -> bool:
        """Whether frames must wait for bodies."""
        return self.is_whole and self.are_left

    def stop(self) -> None:
        """Stops sending until the replica says what it has."""
        self._begun = self.is_whole = self.are_left = False

    def begin(self, has: Has) -> None:
        """Continues with the bodies that the replica lacks."""
        self._files = ArchiveFiles(self._folder / BODIES, has.bodies)
        self._log = self._at = None
        if (self._folder / VERSIONS / FILE).exists():
            self._log = ChangeLog(self._folder / VERSIONS)
            self._at = self._log.begin(has.versions)
            self._forgotten = self._at.sequence
        self._sent.clear()
        self._under_way = 0
        self._begun, self.is_whole, self.are_left = True, False, True

    def parts(self) -> Iterator[Body | Rows | Dropped | Whole]:
        """The parts to send now, as far as the window has room."""
        while self._begun:
            if self._under_way >= WINDOW:
                self.are_left = True
                return
            part, size, position = self._next()
            if part is None:
                break
            self._number += 1
            self._under_way += size
            self._sent.append((self._number, size, position))
            yield part
        if self._begun:
            self.are_left = False
            if gone := self._files.gone():
                yield Dropped(*self._ids, gone)
            if not self.is_whole:
                self.is_whole = True
                yield Whole(*self._ids)

    def kept(self, number: int) -> None:
        """The replica has all up to this number."""
        position = None
        while self._sent and self._sent[0][0] <= number:
            _, size, at = self._sent.popleft()
            self._under_way -= size
            position = at or position
        if self._log is not None and position is not None and position.sequence - self._forgotten >= FORGET:
            self._forgotten = position.sequence
            self._log.forget(position)

    def end(self) -> None:
        """There is no replica any more."""
        self.stop()
        self._log = self._at = None
        end_log(self._folder / VERSIONS)

    def _next(self) -> tuple[Body | Rows | None, int, Position | None]:
        found = self._files.next()
        if found is not None:
            name, at, data = found
            return Body(*self._ids, self._number + 1, name, at, data), len(data), None
        if self._log is not None and self._at is not None:
            rows = self._log.part(self._at)
            if rows is not None:
                self._at = rows.position
                size = sum(len(row[-1]) for row in rows.versions) + 100 * len(rows.pages)
                return Rows(*self._ids, self._number + 1, rows), size, rows.position
        return None, 0, None


class ArchiveFiles:
    """The files of an archive, and how much of each was sent. The index of a file is sent after what it names."""

    def __init__(self, folder: Path, has: dict[str, BodyFile]) -> None:
        self._folder = folder
        self._sent: dict[str, int] = {}
        self._listed_at = -1
        self._grow: set[str] = set()
        self._due: deque[tuple[str, int]] = deque()
        self._damaged: set[str] = set()
        for name, theirs in has.items():
            path = folder / name
            size = path.stat().st_size if path.is_file() else -1
            ours = _about(path, min(size, theirs.size)) if size >= 0 else None
            if size < 0:
                self._sent[name] = 0  # to be dropped
            elif ours != theirs and _is_damaged(folder, name):
                self._damaged.add(name)
                _log.warning("a file of stored bodies is damaged; its replica is left as it is", extra=_facts(path))
            elif ours == theirs or (size < theirs.size and ours is not None and ours.first == theirs.first):
                self._sent[name] = theirs.size

    def next(self) -> tuple[str, int, bytes] | None:
        """The next part of a file that was not sent: its name, where the part begins, and the part."""
        if not self._due:
            self._look()
        while self._due:
            name, size = self._due[0]
            sent = min(self._sent.get(name, 0), size)
            try:
                with (self._folder / name).open("rb") as file:
                    file.seek(sent)
                    data = file.read(min(CHUNK, size - sent))
            except FileNotFoundError:  # an index that was completed meanwhile
                data = b""
            if not data or sent + len(data) == size:
                self._due.popleft()
            self._sent[name] = sent + len(data)
            return f"{BODIES}/{name}", sent, data
        return None

    def gone(self) -> list[str]:
        """The names of files that were sent and are not there any more; each is reported once."""
        gone = [name for name in self._sent if name in self._grow or name.endswith(OPEN)]
        gone = [name for name in gone if not (self._folder / name).exists()]
        for name in gone:
            del self._sent[name]
            self._grow.discard(name)
        return [f"{BODIES}/{name}" for name in gone]

    def _look(self) -> None:
        try:
            changed = self._folder.stat().st_mtime_ns
        except FileNotFoundError:
            return
        wanted = self._grow
        if changed != self._listed_at:
            wanted = {entry.name for entry in os.scandir(self._folder) if entry.is_file() and entry.name[0] != "."}
            opened = {name for name in wanted if name.endswith(OPEN)}
            self._grow = opened | {name.removesuffix(OPEN) + WARC for name in opened} & wanted
            # a file may be created within the same tick of the clock of the file system
            self._listed_at = changed if time.time_ns() - changed > SETTLED_NANOSECONDS else -1
        sizes = {}
        for name in sorted(
            wanted, key=lambda name: name.endswith(WARC)
        ):  # the size of an index before that of its file
            with suppress(FileNotFoundError):
                sizes[name] = (self._folder / name).stat().st_size
        for name in sorted(sizes, key=lambda name: (not name.endswith(WARC), name)):
            if self._sent.get(name, -1) != sizes[name] and name not in self._damaged:
                self._due.append((name, sizes[name]))


def _is_damaged(folder: Path, name: str) -> bool:
    """Whether a file that was completed, or the one that belongs to it, differs from its content when it was
    written."""
    stem = name.removesuffix(WARC).removesuffix(".cdxj")
    if name.endswith(OPEN) or (folder / f"{stem}{OPEN}").exists():
        return False
    if not (folder / f"{stem}{WARC}").is_file():
        return True
    findings = Findings()
    check_archive_file(folder, folder / f"{stem}{WARC}", findings)
    return bool(findings.problems)


def _facts(path: Path) -> dict[str, object]:
    return {"facts": {"file": str(path)}}
