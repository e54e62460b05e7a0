"""Replaces files atomically: a reader sees the old file or the whole new one, and never a part.

The new bytes go to a temporary file in the same folder, which is then renamed over the old file. If anything fails, the
old file is untouched and the temporary file is removed. A full disk raises `NoRoom`, which names the file to replace.

    replace_file      whole bytes, by the only process that writes this file, which only its owner can read. The
                      temporary file is `.NAME`, so the next attempt overwrites what a killed process left
    replacing_file    an open file to write to. Several processes may replace the same file: each temporary file
                      has a name of its own, `.NAME.TOKEN.part`
    replacing_files   several files that appear together, written by functions that open a path themselves

`durable` means: the bytes are synced before the rename and the folder after it, so the new file survives a power
failure. Without it, a power failure can leave an empty file.

Trap: a killed process leaves its temporary file. Whoever lists a folder must skip names that begin with a dot.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from centime.files.disk import PRIVATE_FILE, room_for, sync_folder, write_whole

LONGEST_STEM = 200  # bytes of a name kept in its temporary name: file systems allow 255


def replace_file(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Writes a file whole or not at all; no other process may write it at the same time."""
    with _renamed(path, path.with_name(f".{path.name}"), durable, PRIVATE_FILE) as handle:
        write_whole(handle, data, 0, path)


@contextmanager
def replacing_file(path: Path, *, durable: bool = False) -> Iterator[BinaryIO]:
    """An open file that takes the place of `path` when the block ends without an exception."""
    with _renamed(path, _own_name(path), durable, 0o666) as handle, os.fdopen(handle, "wb", closefd=False) as file:
        yield file


class Replacements:
    """New files under temporary names, and old files to remove."""

    def __init__(self) -> None:
        self.temporary: dict[Path, Path] = {}  # by the path that each becomes
        self._old: list[Path] = []

    @property
    def paths(self) -> tuple[Path, ...]:
        """The new files, in the order in which they were begun."""
        return tuple(self.temporary)

    def new(self, path: Path) -> Path:
        """Returns the temporary path at which to write the new content of `path`."""
        self.temporary[path] = _own_name(path)
        return self.temporary[path]

    def remove(self, path: Path) -> None:
        """Removes an old file when the new ones are in place."""
        self._old.append(path)

    def finish(self) -> None:
        """Renames the new files and removes the old ones."""
        for path, temporary in self.temporary.items():
            temporary.replace(path)
        for path in self._old:
            path.unlink(missing_ok=True)


@contextmanager
def replacing_files(path: Path) -> Iterator[Replacements]:
    """New files that take their places when the block ends without an exception; `NoRoom` names `path`."""
    files = Replacements()
    try:
        with room_for(path):
            yield files
            files.finish()
    finally:
        for temporary in files.temporary.values():
            temporary.unlink(missing_ok=True)


@contextmanager
def _renamed(path: Path, temporary: Path, durable: bool, mode: int) -> Iterator[int]:
    """A handle to write to; the file is renamed at the end."""
    with room_for(path):
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        try:
            try:
                yield handle
                if durable:
                    os.fsync(handle)
            finally:
                os.close(handle)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        if durable:
            sync_folder(path.parent)


def _own_name(path: Path) -> Path:
    return path.with_name(f".{os.fsdecode(os.fsencode(path.name)[:LONGEST_STEM])}.{secrets.token_hex(6)}.part")
