"""Checks that an open file still has its name, and gives it back.

A file that is deleted while it is open still accepts writes, and all of it is lost when the last process closes it. So
a process that keeps a file open checks now and then, and before others rely on its content, whether the name still
leads to it. If not, the content is still there, behind the open handle: `write_back` writes it again under its name. A
file that has taken its place meanwhile is renamed to `NAME.other`, and so kept too.
"""

import os
from pathlib import Path

from centime.files.disk import create_file, make_folder, room_for, sync_folder, write_whole
from centime.model.errors import FileGone

OTHER = ".other"
CHUNK = 1 << 20


def must_lead_to(path: Path, handle: int) -> None:
    """Raises FileGone if a path does not lead to this open file."""
    try:
        there = path.stat()
    except OSError:
        raise FileGone(f"{path}: this file was deleted while the crawl wrote to it") from None
    if not os.path.samestat(there, os.fstat(handle)):
        raise FileGone(f"{path}: this file was replaced while the crawl wrote to it, by one that is {path.name}{OTHER}")


def leads_to(path: Path, handle: int) -> bool:
    """Whether a path leads to this open file."""
    try:
        must_lead_to(path, handle)
    except FileGone:
        return False
    return True


def write_back(path: Path, handle: int, length: int) -> int:
    """Writes the first bytes of an open file again under its name, whole or not at all; closes the handle, and returns
    that of the new file.
    """
    make_folder(path.parent)
    if path.is_symlink() or path.exists():
        path.rename(path.with_name(path.name + OTHER))
    temporary = path.with_name(f".{path.name}")
    fresh = create_file(temporary, os.O_RDWR | os.O_TRUNC)
    try:
        for begin in range(0, length, CHUNK):
            write_whole(fresh, os.pread(handle, min(CHUNK, length - begin), begin), begin, path)
        with room_for(path):
            os.fsync(fresh)
        temporary.rename(path)
    except BaseException:
        os.close(fresh)
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)
    os.close(handle)
    return fresh
