"""The process that started this one: when it ends, however it ends, so does this one.

A crawl is alone in its folder by a lock that the system takes back when its process is killed. What that process had
started must be gone by then too: a snapshot still being written, bodies still being kept, hosts still being asked.
Linux kills them at that moment; other systems have no such call, and there they end a little later by themselves (a
fetcher by its closed socket).

Trap: it is the end of the thread that started this process which counts, so start processes from the main thread.
"""

import ctypes
import os
import signal

PARENT_DEATH_SIGNAL = 1  # of prctl, on Linux


def die_with_parent(parent: int | None = None, by: signal.Signals = signal.SIGKILL) -> None:
    """Ends this process, by a signal, together with the one that started it; at once if that was `parent` and has
    ended already.
    """
    call = getattr(ctypes.CDLL(None), "prctl", None)
    if call is not None:
        call(PARENT_DEATH_SIGNAL, int(by))
    if parent is not None and os.getppid() != parent:
        os._exit(1)
