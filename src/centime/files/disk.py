"""Durable writing: complete writes, full disks and too large files as `NoRoom`, synced folders, and files that only
their owner can read.

A crawl may hold secrets of subscribers, so everything in its folder is private, whatever the umask: files have mode
0600 (`create_file`), folders 0700 (`make_folder`).
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from centime.model.errors import NoRoom

PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@contextmanager
def room_for(path: Path) -> Iterator[None]:
    """Raises NoRoom, which names `path`, when the disk is full, a quota is used up or a file is too large."""
    try:
        yield
    except OSError as trouble:
        if trouble.errno in FULL:
            reason = os.strerror(trouble.errno)
            if trouble.errno == errno.EFBIG:
                raise NoRoom(
                    f"{path}: the file is too large for `ulimit -f` or the file system ({reason})"
                ) from trouble
            raise NoRoom(f"{path}: the disk is full ({reason})") from trouble
        raise


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Lets every OSError name `path`, if it names no file: that of a read or write of an open file does not."""
    try:
        yield
    except OSError as trouble:
        if trouble.filename is None:
            trouble.filename = str(path)
        raise


def read_file(path: Path) -> bytes:
    """The content of a file; an OSError names it."""
    with naming(path):
        return path.read_bytes()


def create_file(path: Path, flags: int) -> int:
    """Opens a file, created if it is missing, that only its owner can read; returns the handle."""
    with room_for(path):
        return os.open(path, flags | os.O_CREAT, PRIVATE_FILE)


def make_folder(path: Path) -> None:
    """Creates a folder that only its owner can enter, if it is missing; its parent must exist."""
    with room_for(path):
        path.mkdir(PRIVATE_FOLDER, exist_ok=True)


def write_whole(handle: int, data: bytes | memoryview, at: int, path: Path) -> None:
    """Writes all of the data at offset `at`, with as many system calls as it takes."""
    rest = memoryview(data)
    with room_for(path):
        while rest:
            written = os.pwrite(handle, rest, at)
            rest, at = rest[written:], at + written


def sync_folder(folder: Path) -> None:
    """Makes created, renamed and removed names of a folder durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
