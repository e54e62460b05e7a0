"""Replaces files atomically: a reader sees the old file or the whole new one, and never a part.

The new bytes go to a temporary file in the same folder, which is then renamed over the old file. If anything fails, the
old file is untouched and the temporary file is removed. A full disk raises `NoRoom`, which names the file to replace.

    replace_file      whole bytes, by the only process that writes this file, which only its owner can read. The
                      temporary file is `.NAME`, so the next attempt overwrites the one that a killed process left
    replacing_file    an open file to write to. Several processes may replace the same file: each temporary file
                      has a name of its own, `.NAME.TOKEN.part`
    replacing_files   several files that appear together, written by functions that open a path themselves. These are
                      files that a user names: see below

A path that a user names need not be a file. If it is a symbolic link, the file that it leads to is replaced, and the
link stays. A device, a FIFO or a socket is never replaced: the new bytes are copied into it when they are complete.
`STANDARD_OUTPUT`, the path `-`, is standard output. `is_stream` says which paths are not files.

`durable` means: the bytes are synced before the rename and the folder after it, so the new file survives a power
failure. Without it, a power failure can leave an empty file.

Trap: a killed process leaves its temporary file. Code that lists a folder must skip names that begin with a dot.
"""

import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from centime.files.disk import PRIVATE_FILE, room_for, sync_folder, write_whole
from centime.model.errors import BadInput

STANDARD_OUTPUT = Path("-")
LONGEST_STEM = 200  # bytes of a name kept in its temporary name: file systems allow 255


def replace_file(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Writes a file whole or not at all; no other process may write it at the same time."""
    with _renamed(path, path.with_name(f".{path.name}"), durable, PRIVATE_FILE) as handle:
        write_whole(handle, data, 0, path)


@contextmanager
def replacing_file(path: Path, *, durable: bool = False) -> Iterator[BinaryIO]:
    """An open file that takes the place of `path` when the block ends without an exception."""
    path = _file_behind(path)
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
        for other in self.temporary:
            if is_stream(other):
                raise BadInput(f"{other}: this is not a regular file, and {path.name} must be written beside it")
        self.temporary[path] = _scratch_file() if is_stream(path) else _own_name(_file_behind(path))
        return self.temporary[path]

    def remove(self, path: Path) -> None:
        """Removes an old file when the new ones are in place."""
        self._old.append(path)

    def finish(self) -> None:
        """Renames the new files and removes the old ones."""
        for path, temporary in self.temporary.items():
            if is_stream(path):
                _copy(temporary, path)
            else:
                temporary.replace(_file_behind(path))
        for path in self._old:
            path.unlink(missing_ok=True)


def is_stream(path: Path) -> bool:
    """Whether a path is standard output, a device, a FIFO or a socket: these take bytes but cannot be replaced."""
    if path == STANDARD_OUTPUT:
        return True
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


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


def _file_behind(path: Path) -> Path:
    """The file to replace: the path itself, or the file that a symbolic link leads to."""
    if path.exists() and not path.is_file():
        raise BadInput(f"{path}: this is {'a directory' if path.is_dir() else 'not a regular file'}")
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _copy(file: Path, stream: Path) -> None:
    with file.open("rb") as new, os.fdopen(os.dup(1), "wb") if stream == STANDARD_OUTPUT else stream.open("wb") as out:
        shutil.copyfileobj(new, out)


def _scratch_file() -> Path:
    """A new file that only its owner can read, in the folder for temporary files."""
    handle, name = tempfile.mkstemp(prefix="centime-")
    os.close(handle)
    return Path(name)


def _own_name(path: Path) -> Path:
    return path.with_name(f".{os.fsdecode(os.fsencode(path.name)[:LONGEST_STEM])}.{secrets.token_hex(6)}.part")
