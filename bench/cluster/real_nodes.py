"""Real nodes on loopback, each with a disk of its own, that are killed, frozen and lost while a cluster crawls on them.

    node            a node with all its processes gets SIGKILL; it is started again with its disk
    lost            the same, and its disk is deleted: its partitions go on from their replicas
    frozen          a node with all its processes gets SIGSTOP, and wakes up after they were replaced
    killed          the process of a partition gets SIGKILL
    stuck           the process of a partition gets SIGSTOP
    keeper          the process that keeps replicas of a node gets SIGKILL
    all             the coordinator gets SIGKILL, and with it every process; the next run resumes

A node is lost or frozen when all partitions have replicas that count: of two losses at once, nothing is promised. The
laws are those of `real.py`. Silence is noticed sooner here than by default (`QUICK`).
"""

import os
import shutil
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import sleep, time

from bench.cluster.machines import TOKEN, write_token
from bench.cluster.real import BOX, FROZEN_SECONDS, GIVEN, PARTITIONS, Faults, figures_of, one_cluster
from bench.figure import Figure
from centime.cluster import coordinator
from centime.cluster.beginning import cluster_run
from centime.cluster.coordinator import Coordinator
from centime.cluster.folder import read_about
from centime.cluster.nodes import node as node_module
from centime.cluster.nodes import remote
from centime.cluster.nodes.line import ask_node
from centime.cluster.nodes.node import Node
from centime.cluster.nodes.said import List, Listing
from centime.crawl.engine.loop import Limits
from centime.lab.webbox import serve_in_process
from centime.model.errors import CentimeError

KINDS = ("node", "lost", "frozen", "killed", "stuck", "keeper", "all")
QUICK = {"LOST_SECONDS": 5.0, "SILENCE_SECONDS": 4.0}  # of nodes
NODES = 3
AWAY_SECONDS = 1.0  # until a node that was killed is started again
ASLEEP_SECONDS = 8.0


class Disks:
    """The nodes, whose processes are children of a supervisor each, which starts them again."""

    def __init__(self, room: Path) -> None:
        self._room = room
        self.disks = [room / f"m{number}" for number in range(NODES)]
        self.addresses: list[str] = []
        self._supervisors: list[int] = []
        for disk in self.disks:
            head = self.addresses[0] if self.addresses else ""
            node = Node("127.0.0.1:0", TOKEN, disk, head=head)
            self.addresses.append(node.address)
            node.close()
            self._supervisors.append(self._supervise(disk, node.address, head))

    def pid(self, number: int) -> int:
        """The process of a node; 0 if it is being started."""
        with suppress(OSError, ValueError):
            return int(self._file(self.disks[number]).read_text())
        return 0

    def signal(self, number: int, what: int) -> None:
        """Sends a signal to a node and all its processes."""
        with suppress(ProcessLookupError):
            if pid := self.pid(number):
                os.killpg(pid, what)

    def lose(self, number: int) -> None:
        """Kills a node and deletes its disk."""
        gone = self.disks[number].with_suffix(".gone")
        self.signal(number, signal.SIGKILL)
        with suppress(OSError):
            self.disks[number].rename(gone)
        shutil.rmtree(gone, ignore_errors=True)

    def hold(self, number: int, what: int) -> None:
        """Keeps a node from being started again (SIGSTOP), or allows it (SIGCONT)."""
        os.kill(self._supervisors[number], what)

    def wake(self) -> None:
        """Wakes up all nodes."""
        for number in range(NODES):
            self.signal(number, signal.SIGCONT)

    def end(self) -> None:
        """Ends all of them."""
        for supervisor in self._supervisors:
            os.kill(supervisor, signal.SIGKILL)
            os.waitpid(supervisor, 0)
        for number in range(NODES):
            self.signal(number, signal.SIGKILL)

    def must_be_there(self) -> None:
        """Waits until the head lists all nodes."""
        for _ in range(300):
            with suppress(CentimeError):
                listing = ask_node(self.addresses[0], TOKEN, List())
                if isinstance(listing, Listing) and len(listing.nodes) == NODES:
                    return
            sleep(0.1)
        raise CentimeError("a node is not there")

    def _file(self, disk: Path) -> Path:
        return self._room / f"{disk.name}.pid"

    def _supervise(self, disk: Path, address: str, head: str) -> int:
        supervisor = os.fork()
        if supervisor:
            return supervisor
        while True:
            child = os.fork()
            if not child:
                os.setpgid(0, 0)
                self._file(disk).write_text(str(os.getpid()))
                try:
                    Node(address, TOKEN, disk, head=head, is_head=not head).run()
                finally:
                    os._exit(1)
            os.waitpid(child, 0)
            self._file(disk).write_text("0")
            sleep(AWAY_SECONDS)


@contextmanager
def supervised(room: Path) -> Iterator[Disks]:
    """The nodes, for the time of a block."""
    disks = Disks(room)
    try:
        disks.must_be_there()
        yield disks
    finally:
        disks.end()


class NodeFaults(Faults):
    """Makes faults of nodes."""

    def __init__(self, path: Path, chance: Random, most: int, disks: Disks) -> None:
        super().__init__(path, chance, most)
        self.kinds = KINDS
        self._disks = disks
        self._asleep: float | None = None  # when a node was frozen
        disks.wake()

    def look(self, crawl: Coordinator, now: float) -> None:
        """Makes a fault if it is time for one, and all is well again after the last one of a node."""
        if self._asleep is not None and time() - self._asleep > ASLEEP_SECONDS:
            self._disks.wake()
            self._asleep = None
        about = read_about(self._path)
        is_well = crawl.all_open and all(about.copies) and self._asleep is None
        if is_well or crawl.run_facts.ending:
            super().look(crawl, now)
        else:
            self._note_successors(crawl)

    def make(self, kind: str, victim: int, crawl: Coordinator) -> None:
        """Makes a fault."""
        number = self._disks.addresses.index(read_about(self._path).homes[victim])
        pid = crawl.pids[victim]
        match kind:
            case "node" | "lost":
                for partition, home in enumerate(read_about(self._path).homes):
                    if home == self._disks.addresses[number]:
                        self._waiting[partition] = crawl.pids[partition], time()
                if kind == "lost":
                    self._disks.lose(number)
                else:
                    self._disks.signal(number, signal.SIGKILL)
            case "frozen":
                self._disks.signal(number, signal.SIGSTOP)
                self._asleep = time()
            case "stuck" if pid:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP)
            case "killed" if pid:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            case "keeper" if known := [keeper for keeper in crawl.keeper_pids if keeper]:
                with suppress(ProcessLookupError):
                    os.kill(self._chance.choice(known), signal.SIGKILL)
            case "all":
                os.kill(os.getpid(), signal.SIGKILL)
            case _:
                pass  # nodes have not yet said which process it is


def _run(path: Path, seeds: list[str], disks: Disks, token: Path, faults: Faults) -> str:
    disks.must_be_there()
    with cluster_run(
        path,
        seeds,
        GIVEN,
        Limits(),
        cluster=disks.addresses[0],
        partitions=PARTITIONS,
        replicas=1,
        token_file=token,
    ) as crawl:
        return crawl.run(faults.look)


def real_nodes(wanted: int, seed: int) -> Iterator[Figure]:
    """The faults of real nodes with every law kept, by kind; an exception ends it, if one does not hold."""
    coordinator.FROZEN_SECONDS = FROZEN_SECONDS
    remote.LOST_SECONDS, node_module.SILENCE_SECONDS = QUICK["LOST_SECONDS"], QUICK["SILENCE_SECONDS"]
    chance, counts, waits = Random(f"real nodes {seed}"), Counter[str](), list[float]()
    while (left := wanted - sum(counts[kind] for kind in KINDS)) > 0:
        with TemporaryDirectory() as room, serve_in_process(BOX) as served, supervised(Path(room)) as disks:
            path, token = Path(room) / "c", write_token(Path(room) / "token")
            before = counts.copy()
            one_cluster(
                served,
                path,
                partial(_run, path, [served.seed_url], disks, token),
                lambda: NodeFaults(path, chance, left - sum((counts - before)[kind] for kind in KINDS), disks),  # noqa: B023
                counts,
                waits,
            )
            counts["clusters"] += 1
    yield from figures_of(counts, KINDS, wanted, waits)
