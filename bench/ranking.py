"""Off-line scores beside the peers: seconds to a true error, one pass over many links, memory from file to scores, reading."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench.figure import Figure, shortest
from bench.peers import OWN_TRUTH, built, effort
from centime.lab.graphs import power_law, weblike
from centime.model.graph import Graph
from centime.model.kernel import kernel
from centime.rank.crew import crew_for
from centime.rank.files import read_graph
from centime.rank.memory_slices import MemorySlices
from centime.rank.pagerank import pagerank
from centime.rank.sliced import SliceSolver, Values

REPEATS = 5
PROMISED = {"scipy": 2.0, "igraph": 2.0, "networkit": 2.0, "scikit-network": 2.0, "networkx": 2.0, "simple pull": 1.5}


def solving(name: str, web: Graph) -> Iterator[Figure]:
    """Seconds of the quickest of five interleaved runs, to a true error of 1e-6 and of 1e-10."""
    exact = pagerank(web, error=1e-14).scores
    peers = list(built(web))
    truth = {peer: solve(OWN_TRUTH[peer]) if peer in OWN_TRUTH else exact for peer, solve, _ in peers}
    for error in (1e-6, 1e-10):
        efforts = {peer: effort(solve, levels, truth[peer], error) for peer, solve, levels in peers}
        best = dict.fromkeys(efforts, float("inf"))
        for _ in range(REPEATS):
            for peer, solve, _levels in peers:
                level = efforts[peer]
                if level is not None:
                    best[peer] = min(best[peer], shortest(lambda solve=solve, level=level: solve(level), 1))  # type: ignore[misc]
        ours = best.pop("centime")
        yield Figure(f"{name}, {web.pages:,} pages, {web.links:,} links, true error {error:g}: centime".replace(",", " "), ours, "s")
        for peer, seconds in best.items():
            if efforts[peer] is None:
                yield Figure(f"  {peer}: does not reach it", float("nan"), "")
                continue
            least = PROMISED[peer] if error == 1e-6 or peer == "simple pull" else 1.0
            yield Figure(f"  {peer} ({seconds:.3g} s) over centime", seconds / ours, "times", "at least", least)


@kernel
def add_up(words: "np.ndarray[tuple[int], np.dtype[np.uint32]]") -> int:
    total = np.uint64(0)
    for word in words:
        total += word
    return int(total)


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
            crew.do(lambda part, parts=parts: add_up(parts[part][:1]))  # type: ignore[misc]
            stream = shortest(lambda crew=crew, parts=parts: crew.do(lambda part: add_up(parts[part])), REPEATS)  # type: ignore[misc]
        label = f"one pass over {web.links / 1e6:.0f} M links, {name}"
        yield Figure(label, seconds, "s", "at most", 0.3)
        yield Figure("  over reading the words of the links alone", seconds / stream, "times")


MEMORY = """
import json, sys
from pathlib import Path
import numpy as np
from centime.model.graph import graph_from_links
from centime.rank.files import read_graph
from centime.rank.pagerank import pagerank
def peak():
    return next(int(line.split()[1]) * 1024 for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
tiny = Path(sys.argv[2])
tiny.write_text("0 1\\n1 0\\n")
pagerank(read_graph(tiny), error=1e-6, threads=2)
before = peak()
web = read_graph(sys.argv[1])
pagerank(web, error=1e-8)
print(json.dumps({"bytes": peak() - before, "links": web.links}))
"""


def file_to_scores(path: Path | None) -> Iterator[Figure]:
    """Peak memory above the interpreter with its libraries, from a WebGraph file to scores, and the speed of reading it."""
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
