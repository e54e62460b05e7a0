"""Spare children: forked before there is work for them, so they need not import what their parent has imported.

A fetcher that starts as a new program spends half a second of CPU on imports. A forked one has them already and shares
their memory. Spares wait for the first message on their socket (`handle.py`); without work they end with their parent.

Traps: fork before the state of a crawl is in memory, or parent and child each keep a copy of what the other changes.
Fork while no other thread runs, or the child may wait forever for a lock that such a thread held; `fork_spares`
therefore forks nothing in a process with threads.
"""

import os
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from centime.processes.parent import die_with_parent


class Spare:
    """A forked child and the socket to it; it can be waited for and killed like `subprocess.Popen`."""

    def __init__(self, pid: int, connection: socket.socket) -> None:
        self.pid = pid
        self.connection = connection
        self.returncode: int | None = None

    def wait(self, timeout: float) -> None:
        """Waits up to `timeout` seconds until the child has ended; raises `subprocess.TimeoutExpired`."""
        if self.returncode is None:
            ended, ending = os.pidfd_open(self.pid), select.poll()  # `select` ends at file 1023
            try:
                ending.register(ended, select.POLLIN)
                if not ending.poll(timeout * 1000.0):
                    raise subprocess.TimeoutExpired("a forked child", timeout)
            finally:
                os.close(ended)
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def kill(self) -> None:
        """Kills the child at once."""
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)


@contextmanager
def fork_spares(count: int, main: Callable[[int], object]) -> Iterator[list[Spare]]:
    """Up to `count` children that call `main` with the number of their socket. Callers remove those that they use from
    the list; the others are ended at the end of the block.
    """
    spares: list[Spare] = []
    try:
        while len(spares) < count and threading.active_count() == 1:
            spares.append(fork_spare(main, [other.connection for other in spares]))
        yield spares
    finally:
        for spare in spares:
            spare.connection.close()
        for spare in spares:
            spare.kill()
            spare.wait(60.0)


def fork_spare(main: Callable[[int], object], others: Iterable[socket.socket]) -> Spare:
    """A child that calls `main` with the number of its socket; `others` are the sockets to other children."""
    ours, theirs = socket.socketpair()
    with theirs:
        return Spare(fork_child(main, theirs, (ours, *others)), ours)


def fork_child(main: Callable[[int], object], theirs: socket.socket, others: Iterable[socket.socket]) -> int:
    """Forks a child that calls `main` with the number of the socket `theirs`, and closes all others; returns its id."""
    parent = os.getpid()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()  # or the child would write it again
    pid = os.fork()
    if pid:
        return pid
    try:
        die_with_parent(parent)
        for connection in others:
            connection.close()  # the others must see when the parent closes its side
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        main(theirs.fileno())
    except OSError as error:  # no files or no memory: its parent notices that it has ended
        sys.stderr.write(f"centime: a child process ended: {error}\n")
    except BaseException:  # no exception may propagate into the parent's program
        traceback.print_exc()
    finally:
        os._exit(1)
