"""The nodes on which the processes of a run are: the interface, and its implementation for this machine.

`nodes/remote.py` has the nodes of other machines.
"""

from collections.abc import Collection, Iterable
from pathlib import Path
from socket import socket
from typing import Protocol

from centime.cluster import partition
from centime.cluster.order import Begin, pack
from centime.cluster.process import LocalProcess, Process
from centime.cluster.replicas import keeper
from centime.files.disk import make_folder
from centime.store.folder import is_crawl


class Hosting(Protocol):
    """The nodes of a run, by name."""

    def there(self) -> Collection[str]:
        """The nodes that can be used now; also those that leave."""
        ...

    def leaving(self) -> Collection[str]:
        """The nodes that partitions and copies must leave."""
        ...

    def turn(self, now: float) -> list[str]:
        """Checks the nodes; returns those that were lost since the last call."""
        ...

    def folder_of(self, node: str, partition: int) -> str:
        """The folder of a partition on its node."""
        ...

    def has_crawl(self, node: str, partition: int) -> bool:
        """Whether it is there; also False if the node is lost."""
        ...

    def ahead(self, node: str) -> float | None:
        """How far the clock of the run is ahead of the node's steady time; None if it is that of this machine."""
        ...

    def start_partition(self, node: str, begin: Begin, others: Iterable[socket]) -> Process:
        """Starts the process of a partition."""
        ...

    def start_keeper(self, node: str, others: Iterable[socket]) -> Process:
        """Starts the process that keeps replicas."""
        ...

    def drop(self, node: str, partition: int) -> None:
        """Deletes the folder of a partition that is elsewhere now."""
        ...

    def drop_copy(self, node: str, partition: int) -> None:
        """Deletes a replica that does not count any more."""
        ...

    def close(self) -> None:
        """Closes the connections to all nodes."""
        ...


class LocalNodes:
    """Nodes of this machine: groups of processes that share one folder."""

    def __init__(self, path: Path, count: int) -> None:
        self._path = path
        self._names = [str(number) for number in range(count)]

    def there(self) -> Collection[str]:
        """All of them."""
        return self._names

    def leaving(self) -> Collection[str]:
        """None."""
        return ()

    def turn(self, now: float) -> list[str]:
        """They are lost with this process."""
        return []

    def folder_of(self, node: str, partition: int) -> str:
        """The folder of a partition."""
        return str(self._path / "partitions" / f"{partition:02}")

    def has_crawl(self, node: str, partition: int) -> bool:
        """Whether it is there."""
        return is_crawl(Path(self.folder_of(node, partition)))

    def ahead(self, node: str) -> float | None:
        """It is the clock of this machine."""
        return None

    def start_partition(self, node: str, begin: Begin, others: Iterable[socket]) -> Process:
        """Starts the process of a partition."""
        return LocalProcess("centime.cluster.partition", partition.main, pack(begin), others)

    def start_keeper(self, node: str, others: Iterable[socket]) -> Process:
        """Starts the process that keeps replicas."""
        make_folder(self._path / "replicas")
        return LocalProcess(
            "centime.cluster.replicas.keeper", keeper.main, str(self._path / "replicas").encode(), others
        )

    def drop(self, node: str, partition: int) -> None:
        """There is one folder of each partition."""

    def drop_copy(self, node: str, partition: int) -> None:
        """There is one replica of each partition."""

    def close(self) -> None:
        """There is nothing to do."""
