"""What a disk has after the first steps of a recorded run, as a process finds it or as a fault leaves it.

    what was synced is there; of what was written since, each write is there, torn at a sector, or lost, in any
    combination, so that a later one may be there without an earlier one; names change in their order, up to any of
    them, unless their folder was synced

A disk is asked for thousands of moments of one run. The content of a file at a moment is therefore made once, from its
content one write before, and names are remembered every some steps. The same content is always the same object:
`Room` writes only files that differ from those of the world before.
"""

import shutil
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

SECTOR = 512
NAMING = ("create", "make", "rename", "remove")
NAMES_KEPT_EVERY = 64


@dataclass(frozen=True, slots=True)
class Step:
    """One change of the disk. `inode` identifies a file whatever its name is."""

    kind: str  # create, write, truncate, allocate, sync, rename, remove, make, sync_folder, promise
    path: str = ""
    target: str = ""
    inode: int = 0
    at: int = 0
    data: bytes = b""

    def torn(self, size: int) -> "Step":
        """A write of which only the first bytes arrived."""
        return Step(self.kind, self.path, self.target, self.inode, self.at, self.data[:size])


@dataclass(slots=True)
class Image:
    """Files and folders by their names. Contents are shared with other images: `edit` gives one of its own."""

    files: dict[str, bytes | bytearray] = field(default_factory=dict)
    folders: Collection[str] = ()

    def edit(self, name: str) -> bytearray:
        """The content of a file, to be changed."""
        self.files[name] = data = bytearray(self.files[name])
        return data


class Disk:
    """The steps of a run, prepared for questions."""

    def __init__(self, steps: list[Step]) -> None:
        self.steps = steps
        self.promises = [number for number, step in enumerate(steps, 1) if step.kind == "promise"]
        self._promised = [steps[number - 1].at for number in self.promises]
        self.writes = [number for number, step in enumerate(steps) if step.kind == "write" and step.data]
        self.renames = [number for number, step in enumerate(steps) if step.kind == "rename"]
        self._naming = [number for number, step in enumerate(steps) if step.kind in NAMING]
        self._of: dict[int, list[int]] = defaultdict(list)  # inode: its writes and truncations
        self._synced: dict[int, list[int]] = defaultdict(list)
        self._folder_synced: dict[str, list[int]] = defaultdict(list)
        for number, step in enumerate(steps):
            if step.kind in ("write", "truncate", "allocate"):
                self._of[step.inode].append(number)
            elif step.kind == "sync":
                self._synced[step.inode].append(number)
            elif step.kind == "sync_folder":
                self._folder_synced[step.path].append(number)
        self._contents: dict[tuple[int, int], bytes] = {}
        self._names: list[tuple[dict[str, int], frozenset[str]]] = [({}, frozenset())]

    def promised(self, moment: int) -> int:
        """The frames that were confirmed before a moment."""
        place = bisect_right(self.promises, moment)
        return self._promised[place - 1] if place else 0

    def image(
        self,
        moment: int,
        *,
        lost_names: Collection[int] = (),
        contents: Mapping[int, bytes] | None = None,
    ) -> Image:
        """The disk after the first `moment` steps, without these changes of names, with other contents of files."""
        names, folders = self.names(moment, lost_names)
        given = contents or {}
        return Image(
            {name: given[inode] if inode in given else self.content(inode, moment) for name, inode in names.items()},
            folders,
        )

    def names(self, moment: int, lost: Collection[int] = ()) -> tuple[dict[str, int], Collection[str]]:
        """Inodes by name, and folders, after the first steps, without those that are lost."""
        count = bisect_left(self._naming, moment)
        first = bisect_left(self._naming, min(lost)) if lost else count
        while len(self._names) <= first // NAMES_KEPT_EVERY:
            known, made = self._names[-1]
            begin = (len(self._names) - 1) * NAMES_KEPT_EVERY
            names, folders = dict(known), set(made)
            self._rename(names, folders, self._naming[begin : begin + NAMES_KEPT_EVERY])
            self._names.append((names, frozenset(folders)))
        place = min(first, count) // NAMES_KEPT_EVERY
        known, made = self._names[place]
        names, folders = dict(known), set(made)
        rest = self._naming[place * NAMES_KEPT_EVERY : count]
        self._rename(names, folders, [number for number in rest if number not in lost] if lost else rest)
        return names, folders

    def _rename(self, names: dict[str, int], folders: set[str], numbers: Iterable[int]) -> None:
        for number in numbers:
            step = self.steps[number]
            match step.kind:
                case "create":
                    names[step.path] = step.inode
                case "make":
                    folders.add(step.path)
                case "remove":
                    names.pop(step.path, None)
                    folders.discard(step.path)
                case _:
                    _move(names, folders, step.path, step.target)

    def content(self, inode: int, moment: int) -> bytes:
        """The content of a file after the first steps."""
        numbers = self._of.get(inode, [])
        count = bisect_left(numbers, moment)
        known = count
        while known and (inode, known) not in self._contents:
            known -= 1
        data = self._contents.get((inode, known), b"")
        for place in range(known, count):
            data = written(data, [self.steps[numbers[place]]])
            self._contents[inode, place + 1] = data
        return data

    def changes(self, inode: int, moment: int) -> list[Step]:
        """The writes and truncations of a file among the first steps."""
        numbers = self._of.get(inode, [])
        return [self.steps[number] for number in numbers[: bisect_left(numbers, moment)]]

    def after_power_failure(self, moment: int, chance: Random) -> Image:
        """The disk after a power failure that comes after the first `moment` steps."""
        kept = chance.randint(0, moment)  # the file system has written its own journal up to here
        lost = set()
        for number in self._naming[bisect_right(self._naming, kept) : bisect_left(self._naming, moment)]:
            step = self.steps[number]
            parent = (step.target or step.path).rpartition("/")[0] or "."
            if number > _last(self._folder_synced.get(parent, []), moment):
                lost.add(number)
        names, folders = self.names(moment, lost)
        files: dict[str, bytes | bytearray] = {}
        for name, inode in sorted(names.items()):
            synced = _last(self._synced.get(inode, []), moment)
            numbers = self._of.get(inode, [])
            begin, end = bisect_right(numbers, synced), bisect_left(numbers, moment)
            durable = self.content(inode, synced + 1)
            changes = [left for number in numbers[begin:end] if (left := _left(self.steps[number], chance))]
            files[name] = written(durable, changes) if changes else durable
        return Image(files, folders)


def _last(numbers: list[int], moment: int) -> int:
    """The last of these numbers before a moment, or -1."""
    place = bisect_left(numbers, moment)
    return numbers[place - 1] if place else -1


def _left(step: Step, chance: Random) -> Step | None:
    """What a power failure leaves of a write or truncation that was not synced."""
    fate = chance.random()
    if fate < 0.3:
        return None
    if fate < 0.45 and step.kind == "write":
        return step.torn(chance.randrange(0, len(step.data) + 1, SECTOR))
    return step


def written(data: bytes, changes: Iterable[Step]) -> bytes:
    """The content of a file after writes and truncations."""
    made = bytearray(data)
    for step in changes:
        end = step.at + len(step.data)
        if len(made) < end:
            made.extend(bytes(end - len(made)))
        if step.kind == "truncate":
            del made[step.at :]
        elif step.kind == "write":
            made[step.at : end] = step.data
    return bytes(made)


def _move(names: dict[str, int], folders: set[str], old: str, new: str) -> None:
    for name in [name for name in names if name == old or name.startswith(f"{old}/")]:
        names[new + name[len(old) :]] = names.pop(name)
    for name in [name for name in folders if name == old or name.startswith(f"{old}/")]:
        folders.discard(name)
        folders.add(new + name[len(old) :])


class Room:
    """A folder that becomes one image after the other. Whoever changes it on disk says so: `spoil`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._image: Image | None = None

    def spoil(self) -> None:
        """Forgets what the folder has: it is written anew the next time."""
        self._image = None

    def show(self, image: Image) -> Path:
        """Makes the folder as it is in an image; returns it."""
        if self._image is None:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)
            self._image = Image()
        before, base = self._image, self.folder
        had, wanted = _with_parents(before), _with_parents(image)
        for name in before.files.keys() - image.files.keys():
            (base / name).unlink()
        for name in sorted(had - wanted, reverse=True):
            (base / name).rmdir()
        for name in sorted(wanted - had):
            (base / name).mkdir()
        for name, data in image.files.items():
            old = before.files.get(name)
            if old is data or (old is not None and old == data):
                continue
            if old is not None:
                (base / name).unlink()  # somebody may have mapped it
            (base / name).write_bytes(data)
        self._image = image
        return self.folder


def _with_parents(image: Image) -> set[str]:
    folders = set(image.folders)
    for name in [*image.folders, *image.files]:
        while "/" in name:
            name = name.rpartition("/")[0]
            folders.add(name)
    return folders
