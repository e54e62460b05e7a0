"""Ranking beside its peers on graphs of all kinds: `python -m bench.suite`.

Each cell is a graph, a damping and an error. Each solver has the least effort (iterations or a tolerance) whose *true*
L1 error, |x - x*|_1 / N, is at most that of the cell, found outside the clock (`effort.py`); x* is certified to 1e-13
or to what rounding allows. Then the solvers take turns, and the least of some repeats counts. Ours starts from rows of
outgoing links and includes the certificate, which no peer has. Peers start from their own graph object. Three of them
need the links reversed, and are shown twice: with the reversal outside the clock, and ("from rows") on it, as it is for
us, by the fastest of two ways (scipy's and ours).

With `--cores 1` figures are seconds of CPU of one thread; with `--cores 2` seconds on the clock of two. Ratios are a
peer's seconds over ours: above 1 we are ahead. Cells that are in the file of `--out` are not measured again. After
`--minutes` no further cell begins. By default the small graphs, one core and the three fastest peers are measured;
`--all` measures everything.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from math import inf
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from bench.effort import TOLERANCES, Contender, contenders, least_effort
from bench.peers import PEERS, Vector
from bench.suite_graphs import suite
from centime.model.graph import Graph
from centime.rank.pagerank import LEAST_DAMPING, Method, pagerank

DAMPINGS, ERRORS = (0.5, 0.85, 0.95, 0.99), (1e-4, 1e-6, 1e-10)
METHODS: tuple[Method, ...] = ("push", "sliced", "jacobi", "gauss-seidel")
OURS = "centime"
LARGE = ("r-mat-20M",)
QUICK = ("scipy", "simple pull", "simple Gauss-Seidel")
"""The fastest peers; these also need reversed links."""
LONG_SECONDS = 3.0
"""A solver that takes longer has one turn."""
PATIENCE_SECONDS = 20.0
"""A peer that takes longer for one run is left out of a cell."""
FROM_ROWS = ", from rows"
Cell = dict[str, Any]


def method_of(web: Graph, method: Method, damping: float, threads: int) -> Callable[[float], Vector]:
    return lambda error: pagerank(web, damping=damping, error=error, method=method, threads=threads).scores


def solvers_of(web: Graph, damping: float, threads: int, peers: list[str], *, methods: bool) -> list[Contender]:
    exact = pagerank(web, damping=damping, error=1e-13).scores
    found = [one for one in contenders(web, exact, damping, threads, [OURS, *peers]) if isinstance(one, Contender)]
    if methods and damping >= LEAST_DAMPING:
        found += [
            Contender(f"centime {one}", method_of(web, one, damping, threads), exact, TOLERANCES, damping)
            for one in METHODS
        ]
    return found


def reversal_of(web: Graph, repeats: int, clock: Callable[[], float]) -> float:
    """The least seconds to reverse all links."""
    matrix = csr_array((np.ones(web.links), web.targets, web.offsets), shape=(web.pages, web.pages))
    best = inf
    for reverse in (web.transpose, matrix.tocsc):
        for _ in range(repeats):
            started = clock()
            reverse()
            best = min(best, clock() - started)
    return best


def seconds_of(solvers: list[Contender], error: float, repeats: int, clock: Callable[[], float]) -> dict[str, float]:
    """The least seconds of each solver that reaches the error."""
    levels = {one.name: least_effort(one, error, PATIENCE_SECONDS) for one in solvers}
    best: dict[str, float] = {}
    for _ in range(repeats):
        for one in solvers:
            level = levels[one.name]
            if isinstance(level, str) or best.get(one.name, 0.0) > LONG_SECONDS:
                continue
            started = clock()
            one.solve(level)
            best[one.name] = min(best.get(one.name, inf), clock() - started)
    return best


def measured(chosen: argparse.Namespace, done: list[Cell]) -> Iterator[Cell]:
    """The cells that are not done, one by one, until the time is over."""
    known = {(one["graph"], one["damping"], one["error"], one["cores"]) for one in done}
    ends = time.monotonic() + 60 * chosen.minutes
    webs = {name: make for name, make in suite(chosen.graph).items() if not chosen.graphs or name in chosen.graphs}
    for cores in chosen.cores:
        clock = time.process_time if cores == 1 else time.perf_counter
        for name, make in webs.items():
            web: Graph | None = None
            for damping in chosen.dampings:
                wanted = [error for error in chosen.errors if (name, damping, error, cores) not in known]
                if not wanted:
                    continue
                if time.monotonic() > ends:
                    print(f"{chosen.minutes:g} minutes are over; go on with the same --out", file=sys.stderr)
                    return
                if web is None:
                    web = make()
                    reversal = reversal_of(web, chosen.repeats, clock)
                print(f"{name}: {web.pages} pages, {web.links} links, damping {damping}", file=sys.stderr, flush=True)
                solvers = solvers_of(web, damping, cores, chosen.peers, methods=chosen.methods)
                for error in wanted:
                    seconds = seconds_of(solvers, error, chosen.repeats, clock)
                    seconds |= {f"{one}{FROM_ROWS}": seconds[one] + reversal for one in QUICK if one in seconds}
                    yield {"graph": name, "damping": damping, "error": error, "cores": cores, "seconds": seconds}


def ratios_of(cell: Cell) -> dict[str, float]:
    """The seconds of each solver over ours."""
    seconds = cell["seconds"]
    return {one: seconds[one] / seconds[OURS] for one in seconds if one != OURS} if OURS in seconds else {}


def line_of(cell: Cell, names: list[str]) -> str:
    ratios = ratios_of(cell)
    figures = "".join(f" {ratios[one]:.2f} |" if one in ratios else " |" for one in names)
    ours = 1000 * cell["seconds"].get(OURS, inf)
    return f"| {cell['graph']} | {cell['damping']:g} | {cell['error']:.0e} | {ours:.1f} |{figures}"


def report(cells: list[Cell]) -> None:
    """Prints ratios by cell, and the worst, the median and the share of cells that we win of each solver."""
    names = list(dict.fromkeys(one for cell in cells for one in ratios_of(cell)))
    print(f"| graph | damping | error | ours, ms | {' | '.join(names)} |")
    print("|---" * (4 + len(names)) + "|")
    for cell in cells:
        print(line_of(cell, names))
    columns = {one: [ratio[one] for ratio in map(ratios_of, cells) if one in ratio] for one in names}
    for title, measure in (("worst", min), ("median", median), ("share ahead", ahead)):
        print(f"| {title} | | | |{''.join(f' {measure(columns[one]):.2f} |' for one in names)}")


def ahead(ratios: list[float]) -> float:
    """The share of ratios above 1."""
    return sum(ratio > 1.0 for ratio in ratios) / len(ratios)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.suite",
        description=__doc__.split("\n")[0],
        epilog="example: python -m bench.suite --graphs r-mat grid --peers scipy --out suite.jsonl",
    )
    peers = [one for one in PEERS if one != OURS]
    parser.add_argument("--all", action="store_true", help="all graphs, peers and our methods, on one core and on two")
    parser.add_argument("--graph", type=Path, help="a real link graph to add")
    parser.add_argument("--graphs", nargs="+", help=f"only these: {', '.join(suite(None))}, or the name of --graph")
    parser.add_argument("--dampings", nargs="+", type=float, default=DAMPINGS)
    parser.add_argument("--errors", nargs="+", type=float, default=ERRORS)
    parser.add_argument("--peers", nargs="+", choices=peers, help="only these")
    parser.add_argument("--methods", action="store_true", help="measure each method of ours beside `auto` too")
    parser.add_argument("--cores", nargs="+", type=int, choices=(1, 2), help="how many, one after the other")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=20.0, help="after these no further cell begins")
    parser.add_argument("--out", type=Path, help="a file of cells, one JSON object per line; goes on where it ends")
    chosen = parser.parse_args()
    chosen.peers = chosen.peers or (peers if chosen.all else list(QUICK))
    chosen.cores = chosen.cores or ([1, 2] if chosen.all else [1])
    chosen.methods = chosen.methods or chosen.all
    if not chosen.graphs and not chosen.all:
        chosen.graphs = [name for name in suite(chosen.graph) if name not in LARGE]
    cells: list[Cell] = []
    if chosen.out is not None and chosen.out.exists():
        cells = [json.loads(line) for line in chosen.out.read_text().splitlines()]
    try:
        for cell in measured(chosen, list(cells)):
            cells.append(cell)
            print(line_of(cell, list(ratios_of(cell))), file=sys.stderr, flush=True)
            if chosen.out is not None:
                with chosen.out.open("a") as file:
                    file.write(json.dumps(cell) + "\n")
    except KeyboardInterrupt:
        print("stopped; what was measured is below", file=sys.stderr)
    for cores in sorted({one["cores"] for one in cells}):
        print("\nseconds of CPU, one thread\n" if cores == 1 else "\nseconds on two cores\n")
        report([one for one in cells if one["cores"] == cores])
    return 0


if __name__ == "__main__":
    sys.exit(main())
