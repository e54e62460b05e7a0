"""A child process and the socket to it, seen from the parent: messages out, messages in, and the parent never blocks.

The child runs a module as `python -m MODULE SOCKET` would (`child.py`), or is a spare that was forked before
(`spare.py`). A child that has died shows as `EOFError` or `OSError` in `receive` and `flush`. After `hang_up` it ends
by itself.
"""

import os
import socket
import subprocess
import sys

from centime.processes.channel import MessageSocket
from centime.processes.spare import Spare

# The first thing that a child does is to ask to die with its parent: its imports take half a second.
PROGRAM = """
from centime.processes.parent import die_with_parent
die_with_parent({parent})
from runpy import run_module
run_module({module!r}, run_name="__main__", alter_sys=True)
"""
KILL_SECONDS = 60.0  # a killed process is gone long before


def run_on(module: str, theirs: socket.socket) -> subprocess.Popen[bytes]:
    """A child that runs a module with this socket."""
    program = PROGRAM.format(parent=os.getpid(), module=module)
    command = [sys.executable, "-c", program, str(theirs.fileno())]
    return subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)


class ChildProcess(MessageSocket):
    """One child process. `first` is its first message: its settings. A `spare` runs the module already."""

    def __init__(self, module: str, first: bytes, spare: Spare | None = None) -> None:
        self._process: subprocess.Popen[bytes] | Spare
        if spare is None:
            ours, theirs = socket.socketpair()
            with theirs:
                self._process = run_on(module, theirs)
        else:
            ours, self._process = spare.connection, spare
        super().__init__(ours)
        self.say(first)

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit code of the process once `end` has returned."""
        return self._process.returncode

    def end(self, patience_seconds: float = 5.0) -> None:
        """Closes the socket and waits for the child; kills it after `patience_seconds`."""
        self.hang_up()
        try:
            self._process.wait(patience_seconds)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """Kills the child at once."""
        self.hang_up()
        self._process.kill()
        self._process.wait(KILL_SECONDS)
