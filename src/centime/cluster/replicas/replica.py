"""The replica of a partition: a copy of its folder that another node keeps, always up to the last flushed frame.

    Look, then Has              at the start of an incarnation: which files the replica has
    Copied, Dropped             the files in which it differs; they take effect together once all are there: if a node
                                is lost meanwhile, the replica stays as it was before
    Tail, then Stored           from then on new bytes of the journal, and the frames that the replica has
    Copied, Dropped             new settings, before the frames that have them
    Body, Rows, Whole           stored bodies, before the frames that record them (`bodies.py`)

The state is the fold of the journal, so only the journal and settings are sent while the crawl runs. The replica keeps
the whole journal, also segments that the partition has dropped behind its snapshots, until the next incarnation makes
both equal again.

The replica stores nothing of an incarnation if it knows a younger one: it answers `Fenced`, and that process ends. So a
process that was frozen, and replaced elsewhere, can make nothing durable and contact no host.
"""

from collections.abc import Iterator
from pathlib import Path

from xxhash import xxh3_64

from centime.cluster.replicas.bodies import BODIES, VERSIONS, Bodies
from centime.cluster.replicas.said import Copied, Dropped, Has, Look, Outdated, Tail, ToKeeper
from centime.files.listing import files_below
from centime.files.replacement import replace_file
from centime.store.folder import ABOUT, COPY
from centime.store.journal import Journal

CHUNK = 1 << 20
INCARNATION = ".incarnation"  # in a folder: that of its youngest process. In a replica: the youngest that it knows
LEFT_OUT = frozenset({"lock", "figures.bin", "orders.jsonl"})
LEFT_OUT_FOLDERS = frozenset({BODIES, VERSIONS, "index", "commands"})


def files_of(folder: Path) -> dict[str, tuple[int, int]]:
    """The files of a folder that a replica has, with their lengths and checksums, in the order in which they are sent:
    what a snapshot refers to before it, and the journal last.
    """
    found = {}
    for path in files_below(folder):
        name = path.relative_to(folder)
        if name.name in LEFT_OUT or name.name.startswith(".") or name.parts[0] in LEFT_OUT_FOLDERS:
            continue
        digest, size = xxh3_64(), 0
        try:
            with path.open("rb") as file:
                while data := file.read(CHUNK):
                    digest.update(data)
                    size += len(data)
        except FileNotFoundError:  # an older snapshot, removed meanwhile
            continue
        found[str(name)] = size, digest.intdigest()
    return dict(sorted(found.items(), key=lambda one: (_turn(one[0]), one[0])))


def read_incarnation(file: Path) -> int | None:
    """The incarnation in a file; None without one that can be read."""
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return None


def write_incarnation(file: Path, incarnation: int) -> None:
    """Writes an incarnation to a file."""
    replace_file(file, f"{incarnation}\n".encode())


def _turn(name: str) -> int:
    return {"state": 0, "snapshots": 1, "journal": 3}.get(Path(name).parts[0], 2)


class Shipper:
    """Sends a folder to its replica. All calls are of the process that writes the folder."""

    def __init__(self, folder: Path, partition: int, incarnation: int) -> None:
        self._folder = folder
        self._ids = partition, incarnation
        self._at: tuple[int, int] | None = None  # the segment that is sent, and how much of it was
        self._frames = 0  # that were sent
        self._settings: object = None  # that the replica has
        self.bodies = Bodies(folder, partition, incarnation)

    def look(self) -> Look:
        """The first message, also after the replica was away."""
        self._at = None
        self.bodies.stop()
        return Look(*self._ids)

    def must_be_newest(self, has: Has) -> None:
        """Outdated if the replica was equal to a process that is younger than the last one of this folder: what that
        process wrote is missing here. Notes this process, before the replica can be equal to it.
        """
        last = read_incarnation(self._folder / INCARNATION)
        if last is not None and has.equal > last:
            raise Outdated(
                f"{self._folder}: this folder is older than its replica, such as one from a backup; delete it to"
                " continue from the replica"
            )
        write_incarnation(self._folder / INCARNATION, self._ids[1])

    def differences(self, has: Has, frames: int) -> Iterator[ToKeeper]:
        """The messages that make the replica equal to the folder now; `frames` is the number of its frames, all of them
        flushed.
        """
        mine = files_of(self._folder)
        for name, (size, digest) in mine.items():
            if has.files.get(name) == (size, digest):
                continue
            with (self._folder / name).open("rb") as file:
                for at in range(0, max(1, size), CHUNK):
                    yield Copied(*self._ids, name, at, file.read(min(CHUNK, size - at)))
        yield Dropped(*self._ids, [name for name in has.files if name not in mine])
        last = max(name for name in mine if name.startswith("journal/"))
        self._at = int(Path(last).stem), mine[last][0]
        yield Tail(*self._ids, last, mine[last][0], b"", frames)
        self.bodies.begin(has)

    def settings(self, now: object) -> Iterator[ToKeeper]:
        """The files with the settings, if others were written since they were sent."""
        if self._at is None or now is self._settings:
            return
        self._settings = now
        for name in (COPY, ABOUT):
            yield Copied(*self._ids, name, 0, (self._folder / name).read_bytes())
        yield Dropped(*self._ids, [])

    def tail(self, journal: Journal) -> Iterator[ToKeeper]:
        """The new bytes of the journal, sent after the bodies that they record; all its frames are flushed."""
        if self._at is None:
            return
        if self._frames != journal.next_index or self.bodies.are_left:
            yield from self.bodies.parts()
            if self.bodies.hold_frames:
                return
        first, begin = self._at
        for segment in range(first, journal.last_segment + 1):
            name = f"journal/{segment:06}.log"
            with (self._folder / name).open("rb") as file:
                file.seek(begin)
                data = file.read()
            self._at = segment, begin + len(data)
            self._frames = journal.next_index
            if data:
                yield Tail(*self._ids, name, begin, data, journal.next_index if segment == journal.last_segment else 0)
            begin = 0
