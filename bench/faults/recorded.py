"""Watches a process while it writes below a folder, and records every write, sync, rename and removal.

`disk.py` makes of the steps what the disk has after a crash at any moment.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bench.faults.disk import Disk, Step

IGNORED = frozenset({"lock", "owner", ".owner"})  # no part of the state


class Recording:
    """The steps of a run below a folder. What is there before is durable: the first `begun` steps make it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._prefix = f"{folder}/"
        self.steps: list[Step] = []
        self._inodes: dict[str, int] = {}
        self._open: dict[int, tuple[str, int, bool]] = {}  # handle: name, inode, whether each write is synced
        self._next = 0
        for path in sorted(folder.rglob("*")):
            self.add_existing(path)
        self.begun = len(self.steps)

    def add_existing(self, path: Path) -> None:
        """Notes a file or folder that others have made, durable."""
        name = self._name(path)
        if name is None:
            return
        if path.is_dir():
            self.steps += [Step("make", name), Step("sync_folder", str(Path(name).parent))]
        else:
            self._inodes[name] = self._next = inode = self._next + 1
            self.steps += [
                Step("create", name, inode=inode),
                Step("write", name, inode=inode, data=path.read_bytes()),
                Step("sync", name, inode=inode),
                Step("sync_folder", str(Path(name).parent)),
            ]

    def _name(self, path: Any) -> str | None:
        if not isinstance(path, str | os.PathLike):
            return None
        name = os.fspath(path)
        if not isinstance(name, str) or not name.startswith(self._prefix):
            return "." if name == self._prefix[:-1] else None
        return None if name.rpartition("/")[2] in IGNORED else name[len(self._prefix) :]

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
                add(Step("allocate", self._open[handle][0], inode=self._open[handle][1], at=at + size))
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
            if name not in (None, ".") and not os.path.lexists(path):
                add(Step("make", str(name)))
            real["mkdir"](path, *rest, **named)

        def copyfile(source: Any, target: Any, **named: Any) -> Any:
            name = self._name(target)
            if name is not None:
                self._next += 1
                add(Step("create", name, inode=self._next))
                self._inodes[name] = self._next
                add(Step("write", name, inode=self._next, data=Path(source).read_bytes()))
            return copy(source, target, **named)

        copy = shutil.copyfile
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
        with patch.multiple(os, **replaced), patch.object(shutil, "copyfile", copyfile):
            yield

    def promise(self, frame: int) -> None:
        """Notes that all frames before this one were confirmed."""
        self.steps.append(Step("promise", at=frame))

    def disk(self) -> Disk:
        """The disk of the run."""
        return Disk(self.steps)


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
