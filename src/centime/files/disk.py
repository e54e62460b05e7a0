"""Durable writing: complete writes, full disks as `NoRoom`, and synced folders."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from centime.model.errors import NoRoom

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@contextmanager
def room_for(path: Path) -> Iterator[None]:
    """Raises NoRoom, which names `path`, when the disk is full, a quota is used up or a file is too large."""
    try:
        yield
    except OSError as trouble:
        if trouble.errno in FULL:
            raise NoRoom(f"{path}: the disk is full ({os.strerror(trouble.errno or 0)})") from trouble
        raise


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
