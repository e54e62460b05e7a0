"""Nodes with a disk of their own each, as on several machines: a crawl moves between them and outlives their loss."""

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from centime.cluster.beginning import cluster_run
from centime.cluster.checking import check_any
from centime.cluster.coordinator import Coordinator
from centime.cluster.folder import read_about
from centime.cluster.nodes import remote
from centime.cluster.nodes.node import Node
from centime.cluster.nodes.said import Leave, List, Listing
from centime.cluster.parts import parts_of
from centime.crawl.engine.loop import Limits
from centime.lab.webbox import WebBox, serve_in_process

TOKEN = b"0123456789abcdef0123456789abcdef"
BOX = WebBox(
    hosts=6, pages=60, traps=False, feeds=False, crawl_delay_seconds=0.0, delay_seconds=0.0, changes_per_day=1e-6
)
GIVEN: dict[str, Any] = {"allow-network": ["127.0.0.0/8"], "scope": "any", "delay": 0.0, "workers": 1}
View = Callable[[Coordinator, float], None]


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


def nodes_of(head: Machine) -> list[remote.NodeInfo]:
    listing = remote.ask_node(head.address, TOKEN, List())
    assert isinstance(listing, Listing)
    return listing.nodes


def wait_for(holds: Callable[[], bool], seconds: float = 30.0) -> None:
    until = monotonic() + seconds
    while not holds():
        assert monotonic() < until, "it never came to hold"
        sleep(0.05)


@pytest.fixture(scope="module")
def seed() -> Iterator[str]:
    with serve_in_process(BOX) as served:
        yield served.seed_url


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.touch(mode=0o600)
    file.write_bytes(TOKEN)
    return file


def nothing(crawl: Coordinator, now: float) -> None:
    """Does not look."""


def test_a_crawl_on_nodes_without_a_shared_disk_is_whole(seed: str, tmp_path: Path, token_file: Path) -> None:
    with machines(tmp_path, 3) as nodes:
        with cluster_run(
            tmp_path / "c", [seed], GIVEN, Limits(), cluster=nodes[0].address, partitions=3, replicas=1,
            token_file=token_file,
        ) as crawl:
            print(crawl.run(), crawl.run_facts.notes)
        about = read_about(tmp_path / "c")
        print(about)
