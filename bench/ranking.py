"""Off-line scores beside the peers: seconds to a true error, one pass over many links, memory from file to scores,
reading."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from math import inf, nan
from pathlib import Path

import numpy as np

from bench.effort import Contender, contenders, least_effort
from bench.figure import Figure, shortest
from centime.graphs.files import read_graph
from centime.lab.synthetic.graphs import power_law, weblike
from centime.model.graph import Graph
from centime.model.kernel import kernel
from centime.rank.crew import Crew, crew_for
from centime.rank.pagerank import pagerank
from centime.rank.sliced.memory import MemorySlices
from centime.rank.sliced.slices import Words
from centime.rank.sliced.solver import SliceSolver, Values

ERRORS = (1e-6, 1e-10)
REPEATS = 5
SLOW_SECONDS, FEWER = 5.0, 3
"""A solver that takes longer than this has fewer turns."""
PROMISED = {
    "scipy": 2.0,
    "igraph": 2.0,
    "networkit": 2.0,
    "scikit-network": 2.0,
    "networkx": 2.0,
    "simple pull": 1.5,
    "simple Gauss-Seidel": 1.0,
}


def solving(name: str, web: Graph) -> Iterator[Figure]:
    """Seconds of the quickest of some interleaved runs, each solver with the least effort to a true error of 1e-6
    and of 1e-10."""
    exact = pagerank(web, error=1e-14).scores
    found = list(contenders(web, exact))
    solvers = [each for each in found if not isinstance(each, str)]
    for error in ERRORS:
        efforts = {solver.name: least_effort(solver, error) for solver in solvers}
        best = _quickest([(solver, level) for solver in solvers if not isinstance(level := efforts[solver.name], str)])
        ours = best["centime"]
        size = f"{web.pages:_} pages, {web.links:_} links".replace("_", " ")
        yield Figure(f"{name}, {size}, true error {error:g}: centime", ours, "s")
        for solver in solvers[1:]:
            level = efforts[solver.name]
            if isinstance(level, str):
                yield Figure(f"  {solver.name}: {level}", nan, "")
                continue
            seconds = best[solver.name]
            least = PROMISED[solver.name] if error == ERRORS[0] or solver.name == "simple pull" else 1.0
            yield Figure(f"  {solver.name} ({seconds:.3g} s) over centime", seconds / ours, "times", "at least", least)
            if solver.name == "simple pull":
                turned = seconds + shortest(web.transpose, FEWER)
                yield Figure(
                    f"  {solver.name} with the turning of its links ({turned:.3g} s) over centime",
                    turned / ours,
                    "times",
                )
    for sentence in found:
        if isinstance(sentence, str):
            yield Figure(f"  {sentence}", nan, "")


def _quickest(chosen: list[tuple[Contender, float]]) -> dict[str, float]:
    """The least seconds of each solver at its level; they take turns, and slow ones get fewer of them."""
    best = {solver.name: inf for solver, _ in chosen}
    for turn in range(REPEATS):
        for solver, level in chosen:
            if turn < FEWER or best[solver.name] < SLOW_SECONDS:
                seconds = shortest(partial(solver.solve, level), 1)
                best[solver.name] = min(best[solver.name], seconds)
    return best


@kernel
def add_up(words: Words) -> int:
    total = np.uint64(0)
    for word in words:
        total += word
    return int(total)


def add_up_all(crew: Crew, parts: list[Words]) -> None:
    crew.do(lambda part: add_up(parts[part]))


def one_pass() -> Iterator[Figure]:
    """One iteration over 100 million links of 10 million pages in memory, beside reading as many words."""
    for name, web in (("power law", power_law(10_000_000, 0)), ("weblike", weblike(10_000_000, 0))):
        slices = MemorySlices(web)
        with crew_for(web.links, None) as crew:
            solver = SliceSolver(slices, Values(web.pages, np.float64), 0.85, crew, 0)
            solver.begin()
            solver.iterate()
            seconds = shortest(solver.iterate, REPEATS)
            parts = np.array_split(slices.words, crew.parts)
            add_up(slices.words[:1])  # compiled outside the clock
            stream = shortest(partial(add_up_all, crew, parts), REPEATS)
        label = f"one pass over {web.links / 1e6:.0f} M links, {name}"
        yield Figure(label, seconds, "s", "at most", 0.3)
        yield Figure("  over reading the words of the links alone", seconds / stream, "times")


MEMORY = """
import json, sys
from pathlib import Path
import numpy as np
from centime.model.graph import graph_from_links
from centime.graphs.files import read_graph
from centime.rank.pagerank import pagerank
def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
tiny = Path(sys.argv[2])
tiny.write_text("0 1\\n1 0\\n")
pagerank(read_graph(tiny), error=1e-6, threads=2)
before = peak()
web = read_graph(sys.argv[1])
pagerank(web, error=1e-8)
print(json.dumps({"bytes": peak() - before, "links": web.links}))
"""


def file_to_scores(path: Path | None) -> Iterator[Figure]:
    """Peak memory above the interpreter with its libraries, from a WebGraph file to scores, and the speed of reading
    it."""
    if path is None or path.suffix != ".graph":
        return
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", MEMORY, str(path), str(Path(folder) / "tiny.txt")]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    yield Figure(f"{path.stem} from file to scores", found["bytes"] / found["links"], "bytes/link", "at most", 12.0)
    read_graph(path)
    yield Figure("  reading", found["links"] / shortest(lambda: read_graph(path), REPEATS), "links/s", "at least", 20e6)


def generated() -> Iterator[Figure]:
    """A web of a million pages with locality, templates and dangling pages."""
    return solving("weblike", weblike(1_000_000, 0, links=20.0))


def real(path: Path | None) -> Iterator[Figure]:
    """The real graph of a path."""
    if path is not None:
        yield from solving(path.stem, read_graph(path))
