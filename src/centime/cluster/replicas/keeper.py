"""The process that keeps the replicas of partitions of other nodes (`replica.py`).

    python -m centime.cluster.replicas.keeper SOCKET

It stores messages in the order in which they arrive, and answers. Its files survive its own end; they survive a loss of
power unless the partition's own disk is lost at the same time.

If its files are missing, truncated or unreadable, it reports this and ends. It is started again, and partitions send it
what it lacks.
"""

import os
import shutil
import signal
import socket
import sys
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

import msgspec

from centime.cluster.replicas.bodies import BODIES, VERSIONS, body_files
from centime.cluster.replicas.lacking import BEHIND
from centime.cluster.replicas.replica import INCARNATION, files_of, read_incarnation, write_incarnation
from centime.cluster.replicas.said import (
    Body,
    Copied,
    Dropped,
    FromKeeper,
    Has,
    IsWhole,
    Kept,
    Look,
    Refused,
    Rows,
    Stored,
    Tail,
    ToKeeper,
    Trouble,
    Whole,
)
from centime.files.disk import make_folder, room_for, write_whole
from centime.model.errors import CentimeError, DamagedFile, FileGone
from centime.processes.channel import MessageSocket
from centime.processes.parent import die_with_parent
from centime.store.versions.change_log import Position, VersionCopy, VersionRows

EQUAL = ".equal"  # the incarnation to which a replica was last equal
PART = ".part"  # of a file that does not count yet


class Restore(msgspec.Struct, array_like=True, frozen=True, tag="restore"):
    """Makes the folder of a lost partition from its replica; nothing older than this incarnation is stored any more."""

    partition: int
    incarnation: int
    folder: str


class Restored(msgspec.Struct, array_like=True, frozen=True, tag="restored"):
    """The folder is there, or the replica cannot make it: then a sentence says why."""

    partition: int
    trouble: str = ""
    is_missing: bool = False  # there is no replica, so the folder may still be at its home


unpack_order = msgspec.msgpack.Decoder(ToKeeper | Restore).decode
unpack_answer = msgspec.msgpack.Decoder(FromKeeper | Restored).decode


class Keeper:
    """The replicas that one node keeps, each in a folder below `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._newest: dict[int, int] = {}
        self._equal: dict[int, int] = {}
        self._versions: dict[int, VersionCopy] = {}
        self._copied: defaultdict[int, dict[str, None]] = defaultdict(dict)  # files that do not count yet

    def take(self, message: ToKeeper | Restore) -> FromKeeper | Restored | None:
        """Stores the content of a message; returns the answer, None if there is none."""
        if message.incarnation < self._incarnation(message.partition):
            return None if isinstance(message, Restore) else Refused(message.partition, message.incarnation)
        folder = self._folder(message.partition)
        if not isinstance(message, Look | Restore) and not (folder / INCARNATION).is_file():
            raise FileGone(f"{folder}: this replica was moved or deleted while it was kept")
        match message:
            case Look(partition, incarnation):
                self._begin(partition, incarnation)
                self._copied.pop(partition, None)
                for part in folder.rglob(f".*{PART}"):
                    part.unlink()
                (folder / BEHIND).touch()
                bodies = body_files(folder / BODIES)
                equal = self._equal[partition] = read_incarnation(folder / EQUAL) or 0
                return Has(partition, incarnation, files_of(folder), bodies, self._position(partition), equal)
            case Copied(partition, name=name, at=at, data=data):
                self._write(_part_of(folder / name), at, data)
                self._copied[partition][name] = None
            case Dropped(partition, names=names):
                for name in self._copied.pop(partition, {}):
                    _part_of(folder / name).replace(folder / name)
                for name in names:
                    (folder / name).unlink(missing_ok=True)
            case Tail(partition, incarnation, name, at, data, frames):
                self._write(folder / name, at, data)
                if frames and self._equal.get(partition) != incarnation:
                    self._equal[partition] = incarnation
                    write_incarnation(folder / EQUAL, incarnation)
                return Stored(partition, incarnation, frames) if frames else None
            case Body(partition, incarnation, number, name, at, data):
                self._write(folder / name, at, data)
                return Kept(partition, incarnation, number)
            case Rows(partition, incarnation, number, rows):
                self._take_rows(partition, rows)
                return Kept(partition, incarnation, number)
            case Whole(partition, incarnation):
                (folder / BEHIND).unlink(missing_ok=True)
                return IsWhole(partition, incarnation)
            case Restore(partition, incarnation, to):
                try:
                    with room_for(Path(to)):
                        return self._restore(partition, incarnation, Path(to))
                except (CentimeError, OSError) as trouble:
                    why = f"the replica of partition {partition} cannot take its place: {trouble}"
                    return Restored(partition, f"{why}; the same command tries it again")
        return None

    def _restore(self, partition: int, incarnation: int, to: Path) -> Restored:
        """Copies a replica to the place of its partition, and moves its bodies there: they may be many. It can be
        repeated if the process dies meanwhile.
        """
        self._begin(partition, incarnation)
        folder = self._folder(partition)
        if not (folder / "centime.json").is_file():
            return Restored(partition, f"the replica of partition {partition} has no crawl", is_missing=True)
        self._copy_of(partition).close()
        unfinished = to.with_name(f".{to.name}.restored")
        for before in (unfinished, to):  # bodies that were moved before a process died
            for part in (BODIES, VERSIONS):
                if (before / part).is_dir() and not (folder / part).is_dir():
                    (before / part).replace(folder / part)
        shutil.rmtree(unfinished, ignore_errors=True)
        shutil.copytree(
            folder, unfinished, ignore=shutil.ignore_patterns(INCARNATION, EQUAL, f".*{PART}", BODIES, VERSIONS)
        )
        shutil.rmtree(to, ignore_errors=True)
        for part in (BODIES, VERSIONS):
            if (folder / part).is_dir():
                (folder / part).replace(unfinished / part)
        unfinished.replace(to)
        return Restored(partition)

    def _position(self, partition: int) -> Position | None:
        """How far the versions are stored; None if there are none, or they are damaged: then all are sent again."""
        try:
            return self._copy_of(partition).position()
        except DamagedFile:
            self._copy_of(partition).drop()
            return None

    def _take_rows(self, partition: int, rows: VersionRows) -> None:
        try:
            self._copy_of(partition).take(rows)
        except DamagedFile:
            self._copy_of(partition).drop()
            raise

    def _copy_of(self, partition: int) -> VersionCopy:
        if partition not in self._versions:
            self._versions[partition] = VersionCopy(self._folder(partition) / VERSIONS)
        return self._versions[partition]

    def _write(self, path: Path, at: int, data: bytes) -> None:
        if not path.resolve().is_relative_to(self.root.resolve()):
            raise CentimeError(f"{path}: a replica has no such file")
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            size = os.fstat(handle).st_size
            if size < at:
                raise FileGone(
                    f"{path}: {at - size} bytes of this replica are gone: they were deleted while it was kept"
                )
            write_whole(handle, data, at, path)
            os.ftruncate(handle, at + len(data))
        finally:
            os.close(handle)

    def _incarnation(self, partition: int) -> int:
        """The youngest incarnation of a partition from which this keeper has had a message."""
        if partition not in self._newest:
            self._newest[partition] = read_incarnation(self._folder(partition) / INCARNATION) or 0
        return self._newest[partition]

    def _begin(self, partition: int, incarnation: int) -> None:
        make_folder(self._folder(partition))
        write_incarnation(self._folder(partition) / INCARNATION, incarnation)
        self._newest[partition] = incarnation

    def _folder(self, partition: int) -> Path:
        return self.root / f"{partition:02}"


def main(number: int | None = None) -> None:
    """Keeps replicas for the coordinator at the other end of the inherited socket; its first message is the folder."""
    die_with_parent()
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, signal.SIG_IGN)
    line = MessageSocket(socket.socket(fileno=int(sys.argv[1]) if number is None else number))
    keeper: Keeper | None = None
    with suppress(EOFError, ConnectionError):
        while True:
            for packed in line.exchange(60.0):
                if keeper is None:
                    root = Path(packed.decode())
                    root.mkdir(parents=True, exist_ok=True, mode=0o700)
                    keeper = Keeper(root)
                    continue
                answer = _answer(keeper, unpack_order(packed))
                if answer is not None:
                    line.say(msgspec.msgpack.encode(answer))
                while isinstance(answer, Trouble):
                    line.wait(60.0)
                    line.flush()
                    if not line.unsent:
                        return
            line.flush()


def _part_of(path: Path) -> Path:
    return path.with_name(f".{path.name}{PART}")


def _answer(keeper: Keeper, order: ToKeeper | Restore) -> FromKeeper | Restored | None:
    try:
        with room_for(keeper.root):
            return keeper.take(order)
    except (CentimeError, OSError) as trouble:
        return Trouble(order.partition, order.incarnation, type(trouble).__name__, str(trouble))


if __name__ == "__main__":
    main()
