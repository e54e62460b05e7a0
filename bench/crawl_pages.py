"""Pages a second of CPU on real documentation: Centime beside the least that a crawler must do, and beside Scrapy, on
the same pages.

Every run is a process of its own, and its CPU is all that it and its children used (`wait4`), Centime's shard, fetcher
and snapshots together. Starting up is not crawling: each crawler also runs for `FEW` pages, and what counts is the
difference, pages and CPU. Runs of the crawlers take turns; of each the least CPU counts. Everybody crawls the same
hosts to their end, so everybody reads the same pages; Scrapy crawls one host, because it takes so long."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.crawl_server import NotToBeHad, Served, documentation
from bench.figure import Figure
from centime.lab.webbox import WebBox, serve_in_process

FEW, ALL = 2_500, 1_000_000  # kernels are compiled or loaded within the first two thousand pages
HOSTS = 2
MANY_HOSTS, MANY = 20, 10_000  # by the clock: so many hosts that fetchers never wait for one
REPEATS, PACE_REPEATS, SCRAPY_REPEATS = 3, 5, 2  # by the clock: both cores must be free at once, which is rarer
BOX = WebBox(
    hosts=HOSTS, pages=10_000, traps=False, feeds=False, crawl_delay_seconds=0.0, delay_seconds=0.0
)  # half is read: to the end it has failures to wait for


@dataclass(frozen=True, slots=True)
class Run:
    """What one run of a crawler took."""

    pages: int
    cpu: float
    wall: float
    served: float  # CPU of the server meanwhile


def pages() -> Iterator[Figure]:
    """The figures of all crawlers."""
    try:
        with documentation() as served:
            yield from _compare(served)
    except NotToBeHad as error:
        yield Figure(f"left out: {error}", float("nan"), "")


def page_cost() -> tuple[float, str]:
    """Seconds of CPU that a page costs a crawl with one fetcher, start-up taken out, and whose pages they were."""
    try:
        with documentation() as served:
            return _page_cost(served.seeds(HOSTS), "host", ALL), "documentation by nginx"
    except NotToBeHad as error:
        with serve_in_process(BOX) as box:
            return _page_cost([box.seed_url], "any", BOX.pages // 2), f"the webbox, because {error}"


def _page_cost(seeds: list[str], scope: str, most: int) -> float:
    timed_crawl(seeds, scope, 1, FEW)  # compiles what is not compiled yet
    return 1.0 / per_cpu_second(
        [(timed_crawl(seeds, scope, 1, FEW), timed_crawl(seeds, scope, 1, most)) for _ in range(REPEATS)]
    )


def _compare(served: Served) -> Iterator[Figure]:
    yield Figure(f"{served.pages} pages of documentation by nginx, mean", served.mean_bytes / 1000, "KB")
    _centime(served, 1, FEW)  # compiles what is not compiled yet
    runs: dict[str, list[tuple[Run, Run]]] = {"centime": [], "bare": [], "scrapy": [], "one": [], "two": []}
    for _ in range(REPEATS):
        runs["centime"].append((_centime(served, 1, FEW), _centime(served, 1, ALL)))
        runs["bare"].append((_peer(served, "crawl_bare", HOSTS, FEW), _peer(served, "crawl_bare", HOSTS, ALL)))
    for _ in range(PACE_REPEATS):
        for name, workers in (("one", 1), ("two", 2)):
            runs[name].append((_centime(served, workers, FEW, MANY_HOSTS), _centime(served, workers, MANY, MANY_HOSTS)))
    for _ in range(SCRAPY_REPEATS):
        runs["scrapy"].append((_peer(served, "crawl_scrapy", 1, FEW), _peer(served, "crawl_scrapy", 1, ALL)))
    ours, bare, scrapy = (per_cpu_second(runs[name]) for name in ("centime", "bare", "scrapy"))
    yield Figure("centime, one fetcher: everything", ours, "pages/CPU-s", "at least", 800.0)
    yield Figure("bare aiohttp + selectolax + ada_url", bare, "pages/CPU-s")
    yield Figure("Scrapy following all links", scrapy, "pages/CPU-s")
    yield Figure("centime over bare", ours / bare, "", "at least", 0.65)
    yield Figure("centime over Scrapy", ours / scrapy, "times", "at least", 10.0)
    yield from _two(runs["one"], runs["two"])


def _two(one: list[tuple[Run, Run]], two: list[tuple[Run, Run]]) -> Iterator[Figure]:
    single, double = _pace(one), _pace(two)
    yield Figure("one fetcher, by the clock", single, "pages/s")
    yield Figure("two fetchers, by the clock, server on the same two cores", double, "pages/s")
    yield Figure("two fetchers over one", double / single, "times", "at least", 1.6)
    last = min((full for _, full in two), key=lambda run: run.wall)
    first = min((full for _, full in one), key=lambda run: run.wall)
    for name, run in (("one fetcher", first), ("two fetchers", last)):
        yield Figure(f"{name}: cores busy with crawling, all of the run", run.cpu / run.wall, "")
        yield Figure(f"{name}: cores busy with nginx", run.served / run.wall, "")


def per_cpu_second(runs: list[tuple[Run, Run]]) -> float:
    few = min((few for few, _ in runs), key=lambda run: run.cpu)
    full = min((full for _, full in runs), key=lambda run: run.cpu)
    return (full.pages - few.pages) / (full.cpu - few.cpu)


def _pace(runs: list[tuple[Run, Run]]) -> float:
    few = min((few for few, _ in runs), key=lambda run: run.wall)
    full = min((full for _, full in runs), key=lambda run: run.wall)
    return (full.pages - few.pages) / (full.wall - few.wall)


def _centime(served: Served, workers: int, most: int, hosts: int = HOSTS) -> Run:
    return timed_crawl(served.seeds(hosts), "host", workers, most, served.cpu)


def timed_crawl(
    seeds: list[str],
    scope: str,
    workers: int,
    most: int,
    server_cpu: Callable[[], float] = float,
    *more: str,
    python: str = sys.executable,
) -> Run:
    """A crawl by a process of its own, with more options, by this Python or another; its folder is removed."""
    folder = Path(tempfile.mkdtemp(prefix="crawl-", dir=Path(tempfile.gettempdir())))
    try:
        program = [python, "-m", "centime", "crawl", str(folder / "crawl"), *seeds, "--scope", scope, "--delay", "0"]
        limits = ["--workers", str(workers), "--pages", str(most), "--allow-network", "127.0.0.0/8", "--json"]
        return _measured([*program, *limits, *more], server_cpu)
    finally:
        shutil.rmtree(folder)


def _peer(served: Served, module: str, hosts: int, most: int) -> Run:
    return _measured([sys.executable, "-m", f"bench.{module}", str(most), *served.seeds(hosts)], served.cpu)


def _measured(command: list[str], server_cpu: Callable[[], float]) -> Run:
    before, started = server_cpu(), time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - started
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    found = json.loads(said.splitlines()[-1])
    return Run(
        found if isinstance(found, int) else found["read"], used.ru_utime + used.ru_stime, wall, server_cpu() - before
    )
