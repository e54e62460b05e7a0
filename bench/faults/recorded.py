"""A disk that remembers: every write, sync, rename and removal of a run, from which the disk after a crash at any
moment is made, as a real one could leave it.

    what was synced is there; of what was written since, each write is there, torn at a sector, or lost, in any
    combination; names change in their order, up to any of them, unless their folder was synced

`Recording` watches this process while it writes below a folder. `Image` is the content of the folder then.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

SECTOR = 512
IGNORED = frozenset({"lock", "owner", ".owner"})  # no part of the state


@dataclass(frozen=True, slots=True)
class Step:
    """One change of the disk. `inode` identifies a file whatever its name is."""

    kind: str  # create, write, truncate, sync, rename, remove, make, sync_folder, promise
    path: str = ""
    target: str = ""
    inode: int = 0
    at: int = 0
    data: bytes = b""


@dataclass(slots=True)
class Image:
    """Files and folders by their names."""

    files: dict[str, bytearray] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)

    def write_to(self, folder: Path) -> None:
        """Makes the folder as it is in this image."""
        folder.mkdir(parents=True)
        for name in sorted(self.folders):
            (folder / name).mkdir(parents=True, exist_ok=True)
        for name, data in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)


class Recording:
    """The steps of a run below a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.steps: list[Step] = []
        self._inodes: dict[str, int] = {}
        self._open: dict[int, tuple[str, int, bool]] = {}  # handle: name, inode, whether each write is synced
        self._next = 0

    def _name(self, path: Any) -> str | None:
        try:
            name = str(Path(os.fspath(path)).relative_to(self.folder))
        except (ValueError, TypeError):
            return None
        return None if name.rpartition("/")[2] in IGNORED else name

    @contextmanager
    def watching(self, before: Callable[[Step], None] = lambda step: None) -> Iterator[None]:
        """Records what this process does to the disk; `before` is called with each step and may raise."""
        real = {name: getattr(os, name) for name in _WATCHED}

        def add(step: Step) -> None:
            before(step)
            self.steps.append(step)

        def opening(path: Any, flags: int, *rest: Any, **named: Any) -> int:
            name = self._name(path)
            writes = flags & (os.O_WRONLY | os.O_RDWR)
            if name is not None and writes:
                new = name not in self._inodes or flags & os.O_TRUNC
                if new:
                    self._next += 1
                    add(Step("create", name, inode=self._next))
                handle: int = real["open"](path, flags, *rest, **named)
                if new:
                    self._inodes[name] = self._next
                self._open[handle] = name, self._inodes[name], bool(flags & os.O_DSYNC)
                return handle
            handle = real["open"](path, flags, *rest, **named)
            self._open.pop(handle, None)
            if name is not None and flags & os.O_DIRECTORY:
                self._open[handle] = name, 0, False
            return handle

        def pwrite(handle: int, data: Any, at: int) -> int:
            if handle in self._open:
                name, inode, synced = self._open[handle]
                add(Step("write", name, inode=inode, at=at, data=bytes(data)))
                written: int = real["pwrite"](handle, data, at)
                assert written == len(data)
                if synced:
                    add(Step("sync", name, inode=inode))
                return written
            return int(real["pwrite"](handle, data, at))

        def ftruncate(handle: int, size: int) -> None:
            if handle in self._open:
                add(Step("truncate", self._open[handle][0], inode=self._open[handle][1], at=size))
            real["ftruncate"](handle, size)

        def posix_fallocate(handle: int, at: int, size: int) -> None:
            if handle in self._open:
                add(Step("truncate", self._open[handle][0], inode=self._open[handle][1], at=at + size))
            real["posix_fallocate"](handle, at, size)

        def sync(handle: int) -> None:
            if handle in self._open:
                name, inode, _ = self._open[handle]
                add(Step("sync" if inode else "sync_folder", name, inode=inode))
            real["fdatasync"](handle)

        def rename(source: Any, target: Any, **named: Any) -> None:
            old, new = self._name(source), self._name(target)
            if old is not None and new is not None:
                add(Step("rename", old, new))
                for name in [name for name in self._inodes if name == old or name.startswith(f"{old}/")]:
                    self._inodes[new + name[len(old) :]] = self._inodes.pop(name)
            real["replace"](source, target, **named)

        def remove(path: Any, **named: Any) -> None:
            name = self._name(_resolved(path, named))
            if name is not None:
                add(Step("remove", name))
                self._inodes.pop(name, None)
            real["unlink"](path, **named)

        def rmdir(path: Any, **named: Any) -> None:
            name = self._name(_resolved(path, named))
            if name is not None:
                add(Step("remove", name))
            real["rmdir"](path, **named)

        def mkdir(path: Any, *rest: Any, **named: Any) -> None:
            name = self._name(path)
            real["mkdir"](path, *rest, **named)
            if name is not None and name != ".":
                add(Step("make", name))

        made = {
            "open": opening,
            "pwrite": pwrite,
            "ftruncate": ftruncate,
            "posix_fallocate": posix_fallocate,
            "fsync": sync,
            "fdatasync": sync,
            "rename": rename,
            "replace": rename,
            "unlink": remove,
            "remove": remove,
            "rmdir": rmdir,
            "mkdir": mkdir,
        }
        replaced: Any = made
        with patch.multiple(os, **replaced):
            yield

    def promise(self, frame: int) -> None:
        """Notes that all frames before this one were confirmed."""
        self.steps.append(Step("promise", at=frame))

    def promised(self, moment: int) -> int:
        """The frames that were confirmed before a moment."""
        return max((step.at for step in self.steps[:moment] if step.kind == "promise"), default=0)

    def after(self, moment: int, chance: Random | None = None) -> Image:
        """The disk after the first `moment` steps: as a process finds it, or after a power failure by chance."""
        return _Disk(self.steps[:moment]).image(chance)


_WATCHED = (
    "open",
    "pwrite",
    "ftruncate",
    "posix_fallocate",
    "fsync",
    "fdatasync",
    "rename",
    "replace",
    "unlink",
    "remove",
    "rmdir",
    "mkdir",
)


def _resolved(path: Any, named: dict[str, Any]) -> Any:
    """The path behind a name relative to an open folder, as `shutil.rmtree` uses it."""
    handle = named.get("dir_fd")
    return path if handle is None else Path(f"/proc/self/fd/{handle}").readlink() / os.fspath(path)


class _Disk:
    """Steps, and which of them a power failure may undo."""

    def __init__(self, steps: list[Step]) -> None:
        self.steps = steps

    def image(self, chance: Random | None) -> Image:
        lost = self._lost(chance) if chance is not None else {}
        names: dict[str, int] = {}
        content: dict[int, bytearray] = {}
        folders: set[str] = set()
        for number, step in enumerate(self.steps):
            fate = lost.get(number, -1)  # -1 whole, otherwise this many bytes of it
            if step.kind in ("create", "make", "rename", "remove") and fate == 0:
                continue
            match step.kind:
                case "create":
                    names[step.path] = step.inode
                    content.setdefault(step.inode, bytearray())
                case "make":
                    folders.add(step.path)
                case "rename":
                    _rename(names, folders, step.path, step.target)
                case "remove":
                    names.pop(step.path, None)
                    folders.discard(step.path)
                case "write":
                    data = content.setdefault(step.inode, bytearray())
                    piece = step.data if fate < 0 else step.data[:fate]
                    if len(data) < step.at + len(piece):
                        data.extend(bytes(step.at + len(piece) - len(data)))
                    data[step.at : step.at + len(piece)] = piece
                case "truncate" if fate < 0:
                    data = content.setdefault(step.inode, bytearray())
                    if step.at < len(data):
                        del data[step.at :]
                    else:
                        data.extend(bytes(step.at - len(data)))
        return Image({name: content[inode] for name, inode in names.items()}, sorted(folders))

    def _lost(self, chance: Random) -> dict[int, int]:
        """By the number of a step: how many bytes of it a power failure leaves."""
        synced: dict[int, int] = {}  # inode: the last step at which it was synced
        folders: dict[str, int] = {}
        for number, step in enumerate(self.steps):
            if step.kind == "sync":
                synced[step.inode] = number
            elif step.kind == "sync_folder":
                folders[step.path] = number
        kept = chance.randint(0, len(self.steps))  # the file system has written its own journal up to here
        lost = {}
        for number, step in enumerate(self.steps):
            if step.kind in ("write", "truncate") and number > synced.get(step.inode, -1):
                fate = chance.random()
                if fate < 0.3:
                    lost[number] = 0
                elif fate < 0.45 and step.kind == "write":
                    lost[number] = chance.randrange(0, len(step.data) + 1, SECTOR)
            elif step.kind in ("create", "rename", "remove", "make") and number > kept:
                parent = (step.target or step.path).rpartition("/")[0] or "."
                if number > folders.get(parent, -1):
                    lost[number] = 0
        return lost


def _rename(names: dict[str, int], folders: set[str], old: str, new: str) -> None:
    for name in [name for name in names if name == old or name.startswith(f"{old}/")]:
        names[new + name[len(old) :]] = names.pop(name)
    for name in [name for name in folders if name == old or name.startswith(f"{old}/")]:
        folders.discard(name)
        folders.add(new + name[len(old) :])
