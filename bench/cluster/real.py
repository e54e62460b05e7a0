"""Real clusters on this machine whose processes are killed, frozen and lost with their folders while they crawl.

    killed     the process of a partition gets SIGKILL: it is started again from its folder
    lost       the same, and its folder is deleted: it goes on from its replica
    frozen     it gets SIGSTOP: it is replaced when it does not answer
    keeper     the process that keeps replicas of a node gets SIGKILL
    all        the coordinator gets SIGKILL, and with it every process; the next run resumes

In the end no known page waits, every law of `centime check` holds in all partitions and between them, the error is
certified, and no host was asked within half of its delay by whomever. Whether what a replica had is visited again is
checked by a test (`tests/cluster/test_local.py`), not here.

Measured beside it: how long it takes from the loss of a partition with its folder until one of its hosts is asked
again by its successor, and the bytes of messages between nodes for each visit: batches, what journals grow by, and
copies to replicas after a fault.
"""

import json
import os
import shutil
import signal
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from time import monotonic, time
from typing import Any

from bench.figure import Figure
from centime.cluster import coordinator
from centime.cluster.beginning import cluster_run
from centime.cluster.coordinator import Coordinator
from centime.cluster.report.checking import check_any
from centime.cluster.report.parts import parts_of
from centime.crawl.engine.loop import VIEW_SECONDS, Limits
from centime.lab.webbox import WebBox, serve_in_process
from centime.lab.webbox.process import Served
from centime.model.address import partition_of

KINDS = ("killed", "lost", "frozen", "keeper", "all")
PARTITIONS, NODES = 3, 2
DELAY = 0.4
BOX = WebBox(
    hosts=12, pages=400, traps=False, feeds=False, crawl_delay_seconds=0.0, delay_seconds=0.0, changes_per_day=1e-6
)
GIVEN: dict[str, Any] = {"allow-network": ["127.0.0.0/8"], "scope": "any", "delay": DELAY, "rate": "60/s"}
PAUSE_SECONDS = 1.5  # between two faults
TOLERANCE = 0.2  # of a delay: on a busy machine the server reads one request late and the next one at once
FROZEN_SECONDS = 3.0
MOST_WAIT = 30.0  # seconds


Loss = tuple[int, float, float]  # a partition, when it was lost, and when its successor was open


class Broken(Exception):
    """A law does not hold."""


def real(wanted: int, seed: int) -> Iterator[Figure]:
    """The faults of real clusters with every law kept, by kind; an exception ends it, if one does not hold."""
    waits: list[float] = []
    yield from figures_of(real_faults(wanted, seed, waits), KINDS, wanted, waits)


def figures_of(counts: Counter[str], kinds: tuple[str, ...], wanted: int, waits: list[float]) -> Iterator[Figure]:
    """What happened, as figures."""
    yield Figure("real faults with every law kept", float(sum(counts[kind] for kind in kinds)), "", "at least", wanted)
    for name in (*kinds, "clusters"):
        yield Figure(f"  {name}", float(counts[name]), "")
    if waits:
        yield Figure("hosts of a lost partition asked again, median", median(waits), "s")
        yield Figure("hosts of a lost partition asked again, longest", max(waits), "s", "at most", MOST_WAIT)
    for name in ("batches", "tails", "copies"):
        yield Figure(f"between nodes, for each visit: {name}", counts[name] / max(1, counts["visits"]), "bytes")


def real_faults(count: int, seed: int = 0, waits: list[float] | None = None) -> Counter[str]:
    """Runs clusters until so many faults have happened; Broken says what was lost. Returns what happened, counted;
    `waits` gets the seconds from each loss until a host of the partition was asked again.
    """
    waits = [] if waits is None else waits
    coordinator.FROZEN_SECONDS = FROZEN_SECONDS
    chance, counts = Random(f"real {seed}"), Counter[str]()
    while sum(counts[kind] for kind in KINDS) < count:
        with TemporaryDirectory() as room, serve_in_process(BOX) as served:
            path = Path(room) / "c"
            one_cluster(
                served,
                path,
                partial(_run, path, [served.seed_url]),
                lambda path=path: Faults(path, chance, count - sum(counts[kind] for kind in KINDS)),  # type: ignore[misc]
                counts,
                waits,
            )
            counts["clusters"] += 1
    return counts


def one_cluster(
    served: Served,
    path: Path,
    run: Callable[["Faults"], str],
    make_faults: Callable[[], "Faults"],
    counts: Counter[str],
    waits: list[float],
) -> None:
    """Runs a cluster to its end, again and again if it is killed, and checks it; adds to what happened."""
    lost: list[Loss] = []
    while True:
        faults = make_faults()
        ending = in_child(partial(run, faults), faults.log)
        counts.update(faults.happened())
        counts.update(faults.traffic())
        lost += faults.lost
        if ending is not None:
            break
    if not ending.startswith("everything known was read"):
        raise Broken(f"the crawl ended otherwise: {ending}")
    _must_be_right(served, path)
    waits += _waits(served, lost)


def _waits(served: Served, lost: list[Loss]) -> Iterator[float]:
    """The seconds from each loss of a partition until its successor asked one of its hosts, if it had one to ask."""
    asked = sorted((one.time, partition_of(f"http://{one.host}/", PARTITIONS)) for one in served.requests())
    for partition, at, opened in lost:
        again = next((time for time, owner in asked if owner == partition and time > opened), None)
        if again is not None:
            yield again - at


def _run(path: Path, seeds: list[str], faults: "Faults") -> str:
    cluster = f"local:{NODES}"
    with cluster_run(path, seeds, GIVEN, Limits(), cluster=cluster, partitions=PARTITIONS, replicas=1) as crawl:
        return crawl.run(faults.look)


def in_child(work: Callable[[], str], log: Path) -> str | None:
    """What a forked child returns; None if it was killed."""
    answer = log.with_suffix(".answer")
    answer.unlink(missing_ok=True)
    child = os.fork()
    if not child:
        try:
            answer.write_text(work())
        except BaseException:
            traceback.print_exc()  # whoever started the child says only that the run failed
        finally:
            os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code == -signal.SIGKILL:
        return None
    return answer.read_text() if answer.exists() else "the run failed"


class Faults:
    """Makes faults while a cluster runs, and logs them where their maker's death does not matter."""

    def __init__(self, path: Path, chance: Random, most: int) -> None:
        self._path = path
        self._chance = Random(chance.random())
        self._most = most
        self._next = monotonic() + PAUSE_SECONDS
        self.kinds: tuple[str, ...] = KINDS
        self.log = path.with_name("faults.log")
        self.log.unlink(missing_ok=True)
        self._traffic = self.log.with_name("traffic")
        self._traffic.unlink(missing_ok=True)
        self._losses = self.log.with_name("losses")
        self._losses.unlink(missing_ok=True)
        self._waiting: dict[int, tuple[int, float]] = {}  # lost partitions: the process that died, and when

    def happened(self) -> Counter[str]:
        """The faults, by kind."""
        return Counter(self.log.read_text().split()) if self.log.exists() else Counter()

    @property
    def lost(self) -> list[Loss]:
        """The losses of partitions with their folders."""
        return json.loads(self._losses.read_text()) if self._losses.exists() else []

    def _note_successors(self, crawl: Coordinator) -> None:
        for victim, (pid, at) in list(self._waiting.items()):
            if crawl.members[victim].process.pid != pid and crawl.members[victim].is_open:
                self._losses.write_text(json.dumps([*self.lost, (victim, at, time() - VIEW_SECONDS)]))
                del self._waiting[victim]

    def traffic(self) -> Counter[str]:
        """The visits of the run and the bytes between nodes, as last noted."""
        return Counter(json.loads(self._traffic.read_text()) if self._traffic.exists() else {})

    def look(self, crawl: Coordinator, now: float) -> None:
        """Makes a fault if it is time for one; called by the run itself."""
        self._traffic.write_text(json.dumps({"visits": crawl.run_facts.visits, **crawl.bytes_between_nodes}))
        self._note_successors(crawl)
        running = crawl.run_facts.visits > 5 and not crawl.run_facts.ending
        if not running or monotonic() < self._next or self.happened().total() >= self._most:
            return
        kind, victim = self._chance.choice(self.kinds), self._chance.randrange(PARTITIONS)
        with self.log.open("a") as log:
            log.write(f"{kind}\n")
        self.make(kind, victim, crawl)
        self._next = monotonic() + PAUSE_SECONDS * (1 + self._chance.random())

    def make(self, kind: str, victim: int, crawl: Coordinator) -> None:
        """Makes a fault."""
        match kind:
            case "all":
                os.kill(os.getpid(), signal.SIGKILL)
            case "keeper":
                os.kill(self._chance.choice(crawl.keeper_pids), signal.SIGKILL)
            case "frozen":
                os.kill(crawl.pids[victim], signal.SIGSTOP)
            case _:
                with suppress(ProcessLookupError):
                    os.kill(crawl.pids[victim], signal.SIGKILL)
                if kind == "lost" and (self._path / "replicas" / f"{victim:02}" / "centime.json").exists():
                    shutil.rmtree(self._path / "partitions" / f"{victim:02}")
                    self._waiting[victim] = crawl.pids[victim], time()


def _must_be_right(served: Served, path: Path) -> None:
    found = check_any(path)
    if found.problems:
        raise Broken(f"check: {found.problems[0]}")
    parts = parts_of(path)
    certificate = parts.certificate
    if certificate is None or certificate.shown > 1e-5:
        raise Broken(f"certified: {certificate}")
    for reader in parts.readers:
        waiting = len(reader.shard.placement.frontier)
        if waiting:
            raise Broken(f"{waiting} pages of {reader.folder.path} were never read")
    parts.close()
    last: dict[str, float] = {}
    for seen in sorted(served.requests(), key=lambda one: one.time):
        if seen.path == "/robots.txt":
            continue
        if seen.time - last.get(seen.host, -1e9) < DELAY - TOLERANCE:
            raise Broken(f"{seen.host} was asked after {seen.time - last[seen.host]:.3f} s")
        last[seen.host] = seen.time
