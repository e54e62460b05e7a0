"""A ranking that is divided among processes, synchronous and chaotic, beside one process: iterations, bytes, CPU, time.

Xyleme compared both ways on a cluster of its own ("Acquiring XML pages", Section 5). Here all processes share the cores
of one machine, so time means something up to as many processes as there are cores; bytes and iterations are those of
as many machines.
"""

import resource
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np

from bench.cluster.real import in_child
from bench.figure import Figure
from centime.cluster.ranking.divided import WAYS, Way, rank_divided
from centime.graphs.files import read_named
from centime.lab.synthetic.weblike import weblike
from centime.model.graph import Graph
from centime.rank.pagerank import Method, pagerank
from centime.rank.scores import Scores

PAGES = 300_000
ERROR = 1e-8
WORKERS = (1, 2, 4)
ALONE: tuple[Method, ...] = ("jacobi", "gauss-seidel", "push")


def ranking(path: Path | None) -> Iterator[Figure]:
    """The figures of a generated web, and of a real one if there is a file."""
    yield from _of("weblike", weblike(PAGES, 0))
    if path is not None:
        yield from _of(path.name, read_named(path).graph)


def _of(name: str, graph: Graph) -> Iterator[Figure]:
    yield Figure(f"{name}: links", float(graph.links), "")
    for method in ALONE:
        pagerank(graph, error=0.1, method=method, threads=1)  # compiles
        found, seconds, cpu = _measured(partial(pagerank, graph, error=ERROR, method=method, threads=1))
        yield from _lines(f"{method}, one thread", found, seconds, cpu)
    with TemporaryDirectory() as room:
        for way in WAYS:
            for workers in WORKERS:
                yield from _divided(graph, way, workers, Path(room) / "log")


def _divided(graph: Graph, way: Way, workers: int, log: Path) -> Iterator[Figure]:
    """The figures of a divided ranking, in a forked child without other threads: there workers are forks, as in the
    program, and import nothing again.
    """

    def work() -> str:
        rank_divided(graph, way, workers, error=0.1)  # compiles
        scores, told = rank_divided(graph, way, workers, error=ERROR)
        facts = scores.iterations, scores.certified_error, scores.seconds, told.bytes
        return " ".join(map(str, facts))

    used = _used()
    words = (in_child(work, log) or "").split()
    iterations, certified, seconds, exchanged = int(words[0]), float(words[1]), float(words[2]), int(words[3])
    found = Scores(np.empty(0), way, iterations, 0.0, 0.0, certified)
    yield from _lines(f"{way}, {workers} processes", found, seconds, _used() - used, ", with a first run to 0.1")
    yield Figure("    bytes a link and iteration", exchanged / graph.links / iterations, "")


def _measured(work: Callable[[], Scores]) -> tuple[Scores, float, float]:
    """The result, the seconds and the CPU of this process and its ended children."""
    used, began = _used(), perf_counter()
    found = work()
    return found, perf_counter() - began, _used() - used


def _used() -> float:
    both = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


def _lines(name: str, found: Scores, seconds: float, cpu: float, of_what: str = "") -> Iterator[Figure]:
    yield Figure(f"  {name}: certified error", found.certified_error, "", "at most", ERROR)
    yield Figure("    iterations", float(found.iterations), "")
    yield Figure("    time", seconds, "s")
    yield Figure(f"    CPU{of_what}", cpu, "s")
