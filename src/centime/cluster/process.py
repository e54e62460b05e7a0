"""A process of a cluster, seen from the coordinator: on this machine, or on another one."""

import os
import socket
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from centime.processes.handle import ChildProcess
from centime.processes.spare import fork_spare


class Process(Protocol):
    """The socket to a process, and operations on the process. Messages sent after its end are lost."""

    @property
    def connection(self) -> socket.socket:
        """The socket."""
        ...

    @property
    def pid(self) -> int:
        """The number of the process on its machine; 0 if it is not known."""
        ...

    @property
    def returncode(self) -> int | None:
        """The exit code, if it is known."""
        ...

    @property
    def unsent(self) -> int:
        """Bytes that wait for room in the socket."""
        ...

    def fileno(self) -> int:
        """The socket, for selectors; below 0 if it is closed."""
        ...

    def say(self, message: bytes) -> None:
        """Queues a message."""
        ...

    def flush(self) -> None:
        """Sends as much as the socket accepts."""
        ...

    def receive(self) -> list[bytes]:
        """The messages that have arrived; EOFError or OSError if the process has ended."""
        ...

    def cpu_seconds(self) -> float:
        """The CPU time that it has used; 0 if unknown."""
        ...

    def hang_up(self) -> None:
        """Closes the socket: the process ends by itself."""
        ...

    def end(self) -> None:
        """Closes the socket and waits for the end of the process."""
        ...

    def kill(self) -> None:
        """Kills it at once."""
        ...


def cpu_seconds(process: int) -> float:
    """The CPU that a process of this machine has used; 0 if the system does not say."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class LocalProcess(ChildProcess):
    """A child of this process. `others` are the sockets to other children."""

    def __init__(
        self, module: str, main: Callable[[int], object], first: bytes, others: Iterable[socket.socket]
    ) -> None:
        forks = threading.active_count() == 1  # after a fork, a lock that another thread held would never be released
        super().__init__(module, first, fork_spare(main, others) if forks else None)

    def cpu_seconds(self) -> float:
        """The CPU that it has used."""
        return cpu_seconds(self.pid)


class NoProcess:
    """Stands for a process that is not there yet."""

    pid, returncode, unsent = 0, None, 0

    @property
    def connection(self) -> socket.socket:
        """There is none."""
        raise OSError("there is no process")

    def fileno(self) -> int:
        """There is no socket."""
        return -1

    def say(self, message: bytes) -> None:
        """Drops the message."""

    def flush(self) -> None:
        """There is nothing to send."""

    def receive(self) -> list[bytes]:
        """There is nothing to receive."""
        return []

    def cpu_seconds(self) -> float:
        """It uses none."""
        return 0.0

    def hang_up(self) -> None:
        """It has no socket."""

    def end(self) -> None:
        """It has ended."""

    def kill(self) -> None:
        """It is not there."""
