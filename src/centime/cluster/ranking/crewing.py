"""Where the processes of a divided ranking are: on this machine, or on the nodes of a cluster."""

from collections.abc import Iterable
from socket import socket
from time import monotonic
from typing import Protocol

from centime.cluster.nodes.remote import RemoteNodes
from centime.cluster.nodes.token import NotAdmitted
from centime.cluster.process import LocalProcess, Process
from centime.cluster.ranking import worker
from centime.model.errors import CentimeError
from centime.processes.clock import RunClock


class Crewing(Protocol):
    """Starts processes of a ranking."""

    @property
    def count(self) -> int:
        """The number of processes that the ranking is divided among."""
        ...

    def start(self, number: int, first: bytes, others: Iterable[socket]) -> Process:
        """Starts the process of a slice; also again, after it was lost."""
        ...

    def turn(self) -> None:
        """Keeps the connections to the machines alive; called every second."""
        ...

    def close(self) -> None:
        """Closes all connections."""
        ...


class LocalCrew:
    """Processes of this machine."""

    def __init__(self, count: int) -> None:
        self.count = count

    def start(self, number: int, first: bytes, others: Iterable[socket]) -> Process:
        """Starts a child of this process."""
        return LocalProcess(worker.__name__, worker.main, first, others)

    def turn(self) -> None:
        """There is nothing to look after."""

    def close(self) -> None:
        """They end with their sockets."""


class NodeCrew:
    """A process on each node of a cluster, and on another one if its node is lost."""

    def __init__(self, head: str, token: bytes) -> None:
        self._clock = RunClock()
        self._nodes = RemoteNodes(head, token, "", self._clock)
        self._at: dict[int, str] = {}  # slice -> node
        self._turned_at = 0.0
        self.count = len(self._nodes.there())

    def start(self, number: int, first: bytes, others: Iterable[socket]) -> Process:
        """Starts a process on the node that has the fewest."""
        self._at.pop(number, None)
        while nodes := sorted(self._nodes.there(), key=lambda node: (list(self._at.values()).count(node), node)):
            try:
                process = self._nodes.start_ranker(nodes[0], first)
            except (OSError, NotAdmitted):
                self._nodes.turn(self._clock())  # which notices that it is lost
                continue
            self._at[number] = nodes[0]
            return process
        raise CentimeError("all nodes of the cluster are lost")

    def turn(self) -> None:
        """Exchanges pings with the nodes; without them, they would kill the processes of this ranking."""
        if monotonic() - self._turned_at >= 1.0:
            self._turned_at = monotonic()
            self._nodes.turn(self._clock())

    def close(self) -> None:
        """Hangs up."""
        self._nodes.close()
