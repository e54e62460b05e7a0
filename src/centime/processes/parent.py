"""Ends a process together with its parent.

A lock makes a crawl the only one in its folder, and the system releases the lock when the process is killed. By then
its children must have ended too: they write snapshots, keep bodies and fetch from hosts. Linux kills them at that
moment. Other systems have no such call; there they end by themselves a little later (a fetcher when its socket closes).

Trap: Linux kills the child when the thread that started it ends, so start processes from the main thread.
"""

import ctypes
import os
import signal

PARENT_DEATH_SIGNAL = 1  # of prctl, on Linux


def die_with_parent(parent: int | None = None, by: signal.Signals = signal.SIGKILL) -> None:
    """Requests a signal when the parent ends; exits at once if `parent`, the parent's process id, has ended already."""
    call = getattr(ctypes.CDLL(None), "prctl", None)
    if call is not None:
        call(PARENT_DEATH_SIGNAL, int(by))
    if parent is not None and os.getppid() != parent:
        os._exit(1)
