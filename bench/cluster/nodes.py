"""What nodes of several machines cost and how quickly one is answered for, on loopback: beside `local:N`, which runs
the same partitions without nodes. `ray_cost.py` measures what Ray costs.
"""

import resource
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from subprocess import PIPE, Popen
from tempfile import TemporaryDirectory
from time import monotonic, perf_counter, sleep
from typing import Any

from bench.cluster.machines import machines, write_token
from bench.cluster.real import in_child
from bench.figure import Figure
from centime.cluster.beginning import cluster_run
from centime.cluster.coordinator import Coordinator
from centime.cluster.folder import read_about
from centime.cluster.process import cpu_seconds
from centime.crawl.engine.loop import Limits
from centime.lab.webbox import WebBox, serve_in_process

BOX = WebBox(
    hosts=12, pages=2_000, traps=False, feeds=False, crawl_delay_seconds=0.0, delay_seconds=0.0, changes_per_day=1e-6
)
GIVEN: dict[str, Any] = {"allow-network": ["127.0.0.0/8"], "scope": "any", "delay": 0.0, "workers": 2}
PARTITIONS = 2
TURNS = 3
LOSE_AT = 100  # visits
IDLE_SECONDS = 10.0


def nodes() -> Iterator[Figure]:
    """CPU of a visit with and without nodes, what an idle node takes, and the time until a lost one is answered for."""
    with TemporaryDirectory() as room, serve_in_process(BOX) as served:
        place = Path(room)
        token = write_token(place / "token")
        seeds = [served.seed_url]

        def without(turn: int) -> int:
            return _crawl(place / f"local{turn}", seeds, "local:2")

        def on_nodes(turn: int) -> int:
            with machines(place / f"disks{turn}", 2) as started:
                visits = _crawl(place / f"nodes{turn}", seeds, started[0].address, token)
                for machine in started[::-1]:
                    machine.stop()  # then its CPU is that of this process's children
                return visits

        log = place / "log"
        turns = [(cpu_of(partial(without, turn), log), cpu_of(partial(on_nodes, turn), log)) for turn in range(TURNS)]
        local, remote = (min(figures) for figures in zip(*turns, strict=True))
        yield Figure("CPU of a visit, local:2", 1e3 * local, "ms")
        yield Figure("CPU of a visit, two nodes", 1e3 * remote, "ms")
        yield Figure("  over local:2", remote / local, "times")
        yield from _idle(place, token)
        yield Figure(
            "a node killed with its disk: all its partitions are back after", _lose(place, seeds), "s", "at most", 30
        )


def _crawl(path: Path, seeds: list[str], cluster: str, token: Path | None = None) -> int:
    with cluster_run(path, seeds, GIVEN, Limits(), cluster=cluster, partitions=PARTITIONS, token_file=token) as crawl:
        crawl.run()
        return crawl.run_facts.visits


def cpu_of(work: Callable[[], int], log: Path) -> float:
    """Seconds of CPU for each visit that the work returns. It runs in a forked child without other threads, as the
    program does: with them every process of a crawl would be a new program, and import all again.
    """
    before = _used()
    visits = in_child(lambda: str(work()), log)
    return (_used() - before) / int(visits or 0)


def _used() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _idle(place: Path, token: Path) -> Iterator[Figure]:
    """The start of `centime cluster start`, and the memory of a node that does nothing."""
    command = [sys.executable, "-m", "centime", "cluster", "start", "--head", "--listen", "127.0.0.1:0"]
    command += ["--token-file", str(token), "--folder", str(place / "idle")]
    began = perf_counter()
    with Popen(command, stderr=PIPE, text=True) as node:
        assert node.stderr is not None
        node.stderr.readline()  # it listens
        yield Figure("start of a node", perf_counter() - began, "s")
        lines = Path(f"/proc/{node.pid}/smaps_rollup").read_text().splitlines()
        memory = sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        yield Figure("memory of an idle node", memory / 1024, "MB")
        used = cpu_seconds(node.pid)
        sleep(IDLE_SECONDS)
        yield Figure("CPU of an idle node", (cpu_seconds(node.pid) - used) / IDLE_SECONDS, "of a core")
        node.terminate()


def _lose(place: Path, seeds: list[str]) -> float:
    """Seconds from the loss of a node with its disk until every partition is open again."""
    at: list[float] = []
    token = write_token(place / "token")
    with machines(place / "lose", 3) as started:

        def look(crawl: Coordinator, now: float) -> None:
            about = read_about(place / "lost")
            if not at and crawl.run_facts.visits > LOSE_AT and all(about.copies):
                started[1].kill()
                shutil.rmtree(started[1].disk)
                at.append(monotonic())
            elif len(at) == 1 and started[1].address not in about.homes and crawl.all_open:
                at.append(monotonic())
                crawl.stop()

        given = GIVEN | {"rate": "60/s"}
        with cluster_run(
            place / "lost",
            seeds,
            given,
            Limits(),
            cluster=started[0].address,
            partitions=6,
            replicas=1,
            token_file=token,
        ) as crawl:
            crawl.run(look)
    return at[1] - at[0]
