"""A child process and the socket to it, seen from the parent: messages out, messages in, and the parent never blocks.

The child runs a module as `python -m MODULE SOCKET` would (`child.py`), or is a spare that was forked before
(`spare.py`). Messages that the socket does not take wait in memory. A child that has died shows as `EOFError` or
`OSError` in `receive` and `flush`.
"""

import contextlib
import os
import select
import socket
import subprocess
import sys

from centime.processes.channel import LENGTH, MessageBuffer
from centime.processes.spare import Spare

READ_BYTES = 1 << 20
BUFFER_BYTES = 1 << 20
# The first thing that a child does is to ask to die with its parent: its imports take half a second.
PROGRAM = """
from centime.processes.parent import die_with_parent
die_with_parent({parent})
from runpy import run_module
run_module({module!r}, run_name="__main__", alter_sys=True)
"""
KILL_SECONDS = 60.0  # a killed process is gone long before


class ChildProcess:
    """One child process. `first` is its first message: its settings. A `spare` runs the module already."""

    def __init__(self, module: str, first: bytes, spare: Spare | None = None) -> None:
        self._received = MessageBuffer()
        self._unsent = bytearray()
        self._process: subprocess.Popen[bytes] | Spare
        if spare is None:
            ours, theirs = socket.socketpair()
            with theirs:
                program = PROGRAM.format(parent=os.getpid(), module=module)
                command = [sys.executable, "-c", program, str(theirs.fileno())]
                self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        else:
            ours, self._process = spare.connection, spare
        for side in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            ours.setsockopt(socket.SOL_SOCKET, side, BUFFER_BYTES)
        ours.setblocking(False)
        self._connection = ours
        self.say(first)

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit code of the process once `end` has returned."""
        return self._process.returncode

    @property
    def unsent(self) -> int:
        """Bytes that wait for room in the socket."""
        return len(self._unsent)

    def fileno(self) -> int:
        """The socket, for selectors."""
        return self._connection.fileno()

    def say(self, message: bytes) -> None:
        """Queues a message."""
        self._unsent += LENGTH.pack(len(message)) + message

    def flush(self) -> None:
        """Sends as much of the queue as the socket takes now."""
        with contextlib.suppress(BlockingIOError):
            while self._unsent:
                del self._unsent[: self._connection.send(self._unsent)]

    def receive(self) -> list[bytes]:
        """The messages that have arrived; EOFError if the child has closed the socket."""
        messages: list[bytes] = []
        with contextlib.suppress(BlockingIOError):
            received = self._connection.recv(READ_BYTES)
            if not received:
                raise EOFError
            messages.extend(self._received.take(received))
        return messages

    def exchange(self, timeout: float) -> list[bytes]:
        """Sends and receives what it can, waiting up to `timeout` seconds for a message."""
        self.flush()
        if timeout > 0:
            poll = select.poll()
            poll.register(self._connection, select.POLLIN | (select.POLLOUT if self._unsent else 0))
            poll.poll(timeout * 1000)
        return self.receive()

    def hang_up(self) -> None:
        """Closes the socket, upon which the child ends by itself."""
        self._connection.close()

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
