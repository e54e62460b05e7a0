"""Real clusters on this machine whose processes are killed, frozen and lost with their folders while they crawl.

    killed     the process of a partition gets SIGKILL: it is started again from its folder
    lost       the same, and its folder is deleted: it goes on from its replica
    frozen     it gets SIGSTOP: it is replaced when it does not answer
    keeper     the process that keeps replicas of a node gets SIGKILL
    all        the coordinator gets SIGKILL, and with it every process; the next run resumes

In the end no known page waits, every law of `centime check` holds in all partitions and between them, the error is
certified, and no host was asked within half of its delay by whomever. Whether what a replica had is visited again is
checked by a test (`tests/cluster/test_local.py`), not here.
"""

import os
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

from bench.figure import Figure
from centime.cluster import coordinator
from centime.cluster.beginning import cluster_run
from centime.cluster.checking import check_any
from centime.cluster.coordinator import Coordinator
from centime.cluster.parts import parts_of
from centime.crawl.engine.loop import Limits
from centime.lab.webbox import WebBox, serve_in_process
from centime.lab.webbox.process import Served

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


class Broken(Exception):
    """A law does not hold."""


def real(wanted: int, seed: int) -> Iterator[Figure]:
    """The faults of real clusters with every law kept, by kind; an exception ends it, if one does not hold."""
    counts = real_faults(wanted, seed)
    yield Figure("real faults with every law kept", float(sum(counts[kind] for kind in KINDS)), "", "at least", wanted)
    for name in (*KINDS, "clusters"):
        yield Figure(f"  {name}", float(counts[name]), "")


def real_faults(count: int, seed: int = 0) -> Counter[str]:
    """Runs clusters until so many faults have happened; Broken says what was lost. Returns what happened, counted."""
    coordinator.FROZEN_SECONDS = FROZEN_SECONDS
    chance, counts = Random(f"real {seed}"), Counter[str]()
    while sum(counts[kind] for kind in KINDS) < count:
        with TemporaryDirectory() as room, serve_in_process(BOX) as served:
            _one_cluster(served, Path(room) / "c", chance, counts, count)
            counts["clusters"] += 1
    return counts


def _one_cluster(served: Served, path: Path, chance: Random, counts: Counter[str], most: int) -> None:
    seeds = [served.seed_url]
    while True:
        faults = Faults(path, chance, most - sum(counts[kind] for kind in KINDS))
        ending = in_child(partial(_run, path, seeds, faults), faults.log)
        counts += faults.happened()
        if ending is not None:
            break
    if not ending.startswith("everything known was read"):
        raise Broken(f"the crawl ended otherwise: {ending}")
    _must_be_right(served, path)


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
        self.log = path.with_name("faults.log")
        self.log.unlink(missing_ok=True)

    def happened(self) -> Counter[str]:
        """The faults, by kind."""
        return Counter(self.log.read_text().split()) if self.log.exists() else Counter()

    def look(self, crawl: Coordinator, now: float) -> None:
        """Makes a fault if it is time for one; called by the run itself."""
        running = crawl.run_facts.visits > 5 and not crawl.run_facts.ending
        if not running or monotonic() < self._next or self.happened().total() >= self._most:
            return
        kind, victim = self._chance.choice(KINDS), self._chance.randrange(PARTITIONS)
        with self.log.open("a") as log:
            log.write(f"{kind}\n")
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
        self._next = monotonic() + PAUSE_SECONDS * (1 + self._chance.random())


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
