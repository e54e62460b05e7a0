"""The lock of a folder, held by the one process that writes there. The system releases it when that process ends."""

import fcntl
import os
from pathlib import Path

from centime.files.disk import create_file
from centime.model.errors import InUse

LOCK = "lock"

_held: set[int] = set()


def _release_in_child() -> None:
    """Closes the locks in a forked child, which must not hold a lock that its parent has released."""
    for handle in _held:
        os.close(handle)
    _held.clear()


os.register_at_fork(after_in_child=_release_in_child)


def lock_file(folder: Path, what: str = "a crawl is running here") -> int:
    """Makes this the only process that may write in a folder; InUse names the process that holds the lock, and says
    what it is.
    """
    handle = create_file(folder / LOCK, os.O_RDWR)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as trouble:
        holder = os.pread(handle, 20, 0).decode(errors="replace").strip()
        os.close(handle)
        raise InUse(f"{folder}: {what}, as process {holder or 'unknown'}; stop it first") from trouble
    _held.add(handle)
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
    except BaseException:
        unlock_file(handle)
        raise
    return handle


def unlock_file(handle: int) -> None:
    """Releases a lock; a forked child has none."""
    if handle in _held:
        _held.discard(handle)
        fcntl.flock(handle, fcntl.LOCK_UN)  # also for a forked child that has not closed it yet
        os.close(handle)
