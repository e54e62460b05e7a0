"""Nodes on loopback, each a process with a disk of its own, as on several machines."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep

from centime.cluster.nodes.line import ask_node
from centime.cluster.nodes.node import Node
from centime.cluster.nodes.said import End, List, Listing, NodeInfo

TOKEN = b"0123456789abcdef0123456789abcdef"


class Machine:
    """A node in a process of its own, with a disk of its own."""

    def __init__(self, disk: Path, *, head: str = "") -> None:
        self.disk = disk
        self._head = head
        self.address = "127.0.0.1:0"
        self.pid = 0
        self.start()

    def start(self) -> None:
        """Starts the node, at the address that it had."""
        node = Node(self.address, TOKEN, self.disk, head=self._head, is_head=not self._head)
        self.address = node.address
        self.pid = os.fork()
        if not self.pid:
            os.setpgid(0, 0)
            try:
                node.run()
            finally:
                os._exit(0)
        node._listener.close()
        node._selector.close()

    def stop(self) -> None:
        """Ends it in good order."""
        ask_node(self.address, TOKEN, End())
        self.wait()

    def wait(self) -> None:
        """Waits for its end."""
        os.waitpid(self.pid, 0)
        self.pid = 0

    def kill(self) -> None:
        """Ends it with all its processes, as a machine that loses its power."""
        if self.pid:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = 0


@contextmanager
def machines(room: Path, count: int) -> Iterator[list[Machine]]:
    """Some nodes that have all joined the first one."""
    started = [Machine(room / "m0")]
    try:
        for number in range(1, count):
            started.append(Machine(room / f"m{number}", head=started[0].address))
        wait_for(lambda: len(nodes_of(started[0])) == count)
        yield started
    finally:
        for machine in started:
            machine.kill()


def nodes_of(head: Machine) -> list[NodeInfo]:
    """The nodes that a head lists."""
    listing = ask_node(head.address, TOKEN, List())
    assert isinstance(listing, Listing)
    return listing.nodes


def wait_for(holds: Callable[[], bool], seconds: float = 30.0) -> None:
    """Waits until something holds."""
    until = monotonic() + seconds
    while not holds():
        assert monotonic() < until, "it never came to hold"
        sleep(0.05)


def write_token(file: Path) -> Path:
    """Writes the token of these nodes."""
    file.touch(mode=0o600)
    file.write_bytes(TOKEN)
    return file
