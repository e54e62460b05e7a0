"""The processes that keep replicas, seen from the coordinator: one for each node, for partitions of others."""

import threading
from collections.abc import Iterable
from pathlib import Path
from socket import socket

from centime.cluster.keeper import main
from centime.processes.handle import ChildProcess
from centime.processes.spare import fork_spare

MODULE = "centime.cluster.keeper"


class KeeperProcess(ChildProcess):
    """The keeper of one node."""

    def __init__(self, node: int, root: Path, others: Iterable[socket]) -> None:
        forks = threading.active_count() == 1
        super().__init__(MODULE, str(root).encode(), fork_spare(main, others) if forks else None)
        self.node = node


def keeper_of(partition: int, nodes: int) -> int:
    """The node that keeps the replica of a partition: the one after its own."""
    return (partition + 1) % nodes
