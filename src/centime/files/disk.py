"""Writing so that it is there afterwards: whole writes, room taken before it is used, folders synced after a name
changed in them.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from centime.model.errors import NoRoom

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@contextmanager
def room_for(path: Path) -> Iterator[None]:
    """Turns the system's ways of saying that a disk is full into NoRoom."""
    try:
        yield
    except OSError as trouble:
        if trouble.errno in FULL:
            raise NoRoom(f"{path}: the disk is full ({os.strerror(trouble.errno or 0)})") from trouble
        raise


def write_whole(handle: int, data: bytes | memoryview, at: int, path: Path) -> None:
    """Writes all of the data at an offset, however many calls it takes."""
    rest = memoryview(data)
    with room_for(path):
        while rest:
            written = os.pwrite(handle, rest, at)
            rest, at = rest[written:], at + written


def sync_folder(folder: Path) -> None:
    """Makes names that were created, changed or removed in a folder last."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
