"""Writing while the work goes on: a forked child sees memory as it was at that moment and writes it at leisure.

The child shares pages with its parent until one of them writes to them, does nothing but call what it was given, and
ends without running anything else of the program. Killed, it leaves what it had written: so let it write beside and
rename. It does not hear Ctrl-C, so that an orderly stop can wait for it. It dies with its parent: whoever opens the
folder next is alone in it. Trap: memory use may double in the worst case, if every page of memory changes while it
writes.
"""

import contextlib
import os
import signal
from collections.abc import Callable

from centime.processes.parent import die_with_parent

LONGEST_TROUBLE = 4000  # bytes; less than a pipe holds, so that the child never waits


class Background:
    """A piece of writing under way."""

    def __init__(self, process: int, pipe: int) -> None:
        self.process = process
        self.trouble = ""  # what went wrong, once it has
        self._pipe = pipe
        self._succeeded: bool | None = None

    def done(self, wait: bool = False) -> bool | None:
        """None while it is under way, then whether it succeeded."""
        if self._succeeded is None:
            process, status = os.waitpid(self.process, 0 if wait else os.WNOHANG)
            if process:
                self._succeeded = status == 0
                with contextlib.suppress(BlockingIOError):  # a child that was killed has said nothing
                    self.trouble = os.read(self._pipe, LONGEST_TROUBLE).decode(errors="replace")
                if not self._succeeded and not self.trouble:
                    self.trouble = f"the writing process ended with {os.waitstatus_to_exitcode(status)}"
                os.close(self._pipe)
        return self._succeeded


def in_background(write: Callable[[], object]) -> Background:
    """Calls `write` in a forked child."""
    receiver, sender = os.pipe()
    parent = os.getpid()
    process = os.fork()
    if process:
        os.close(sender)
        os.set_blocking(receiver, False)
        return Background(process, receiver)
    code = 1
    try:
        die_with_parent(parent)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        write()
        code = 0
    except BaseException as trouble:  # whatever it is, it ends here and is told to the parent
        os.write(sender, f"{type(trouble).__name__}: {trouble}".encode()[:LONGEST_TROUBLE])
    finally:
        os._exit(code)
