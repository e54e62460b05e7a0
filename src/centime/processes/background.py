"""Writing in the background: a forked child sees memory as it was at the fork and writes it while the parent works on.

Parent and child share a page of memory until one of them writes to it. The child calls the given function and exits
without running anything else of the program. A killed child leaves what it has written, so let it write to a temporary
name and rename. It ignores Ctrl-C, so that an orderly stop can wait for it. It dies with its parent, so the next
process that opens the folder is alone in it.

Traps: if every page of memory changes while the child writes, memory use doubles. Looking at a Python object changes
it, because its references are counted: let the parent pack objects, and the child write arrays. A process with several
threads may be forked while another thread holds a lock, for which the child then waits forever. So a waiting parent
watches the child: one that sleeps for STUCK_SECONDS without using the processor is killed and counts as failed, with
`stuck` set.
"""

import contextlib
import gc
import os
import select
import signal
import time
from collections.abc import Callable
from pathlib import Path

from centime.processes.parent import die_with_parent

STUCK_SECONDS = 20.0
LOOKING_MILLISECONDS = 50  # from one look at a child that is waited for to the next
LONGEST_TROUBLE = 4000  # bytes; less than the capacity of a pipe, so the child never waits


class Background:
    """A forked child that writes."""

    def __init__(self, process: int, pipe: int) -> None:
        self.process = process
        self.trouble = ""  # the error message of a child that failed
        self.stuck = False
        self._pipe = pipe
        self._succeeded: bool | None = None

    def done(self, wait: bool = False) -> bool | None:
        """None while the child runs, then whether it succeeded."""
        if self._succeeded is None:
            process, status = os.waitpid(self.process, os.WNOHANG)
            if not process and wait:
                process, status = self._waited()
            if process:
                self._succeeded = status == 0
                with contextlib.suppress(BlockingIOError):  # a killed child has written no message
                    self.trouble = os.read(self._pipe, LONGEST_TROUBLE).decode(errors="replace")
                if not self._succeeded and not self.trouble:
                    self.trouble = f"the writing process ended with {os.waitstatus_to_exitcode(status)}"
                os.close(self._pipe)
        return self._succeeded

    def _waited(self) -> tuple[int, int]:
        """Waits for the child; kills it if it is stuck."""
        seen, since, ending = _work_of(self.process), time.monotonic(), select.poll()  # `select` ends at file 1023
        ending.register(self._pipe, select.POLLIN)
        while True:
            if ending.poll(LOOKING_MILLISECONDS):  # a message, or the end of the pipe: the child exits
                return os.waitpid(self.process, 0)
            now = _work_of(self.process)
            if now != seen or now is None:
                seen, since = now, time.monotonic()
            elif time.monotonic() - since > STUCK_SECONDS:
                self.stuck = True
                os.kill(self.process, signal.SIGKILL)
                return os.waitpid(self.process, 0)


def _work_of(process: int) -> tuple[str, str] | None:
    """The processor time of a process that sleeps; None if it works, or waits for the disk."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # no /proc, or the process has just ended
        return None
    return (fields[11], fields[12]) if fields[0] == "S" else None


def in_background(write: Callable[[], object]) -> Background:
    """Calls `write` in a forked child and returns at once."""
    receiver, sender = os.pipe()
    parent = os.getpid()
    process = os.fork()
    if process:
        os.close(sender)
        os.set_blocking(receiver, False)
        return Background(process, receiver)
    code = 1
    try:
        gc.disable()  # a collection writes to every object, so all memory that holds objects would be copied
        die_with_parent(parent)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        write()
        code = 0
    except BaseException as trouble:  # any failure goes to the parent through the pipe
        os.write(sender, f"{type(trouble).__name__}: {trouble}".encode()[:LONGEST_TROUBLE])
    finally:
        os._exit(code)
