"""Ranking beside its peers on graphs of all kinds: `python -m bench.suite`.

Each cell is a graph, a damping and an error. Each solver has the least effort (iterations or a tolerance) whose *true*
L1 error, |x - x*|_1 / N, is at most that of the cell, found outside the clock (`effort.py`); x* is certified to 1e-13
or to what rounding allows. Then the solvers take turns, and the least of some repeats counts. Each starts from its own
graph object in memory: ours from rows of outgoing links, with everything that a method builds of them (transposition,
slices) on the clock; peers from what their library wants, built outside the clock. Ours includes the final iteration
that certifies the error, which no peer makes.

With `--cores 1` figures are seconds of CPU of one thread; with `--cores 2` seconds on the clock of two. Ratios are a
peer's seconds over ours: above 1 we are ahead. Cells that are in the file of `--out` are not measured again.
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

from bench.effort import TOLERANCES, Contender, contenders, least_effort
from bench.peers import PEERS, Vector
from bench.suite_graphs import suite
from centime.model.graph import Graph
from centime.rank.pagerank import LEAST_DAMPING, Method, pagerank

DAMPINGS, ERRORS = (0.5, 0.85, 0.95, 0.99), (1e-4, 1e-6, 1e-10)
METHODS: tuple[Method, ...] = ("push", "sliced", "jacobi", "gauss-seidel")
OURS = "centime"
LONG_SECONDS = 3.0
"""A solver that takes longer has one turn."""
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


def seconds_of(solvers: list[Contender], error: float, repeats: int, clock: Callable[[], float]) -> dict[str, float]:
    """The least seconds of each solver that reaches the error."""
    levels = {one.name: least_effort(one, error) for one in solvers}
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
    """The cells that are not done, one by one."""
    clock = time.process_time if chosen.cores == 1 else time.perf_counter
    known = {(one["graph"], one["damping"], one["error"], one["cores"]) for one in done}
    for name, make in suite(chosen.graph).items():
        if chosen.graphs and name not in chosen.graphs:
            continue
        web: Graph | None = None
        for damping in chosen.dampings:
            wanted = [error for error in chosen.errors if (name, damping, error, chosen.cores) not in known]
            if not wanted:
                continue
            web = make() if web is None else web
            print(f"{name}: {web.pages} pages, {web.links} links, damping {damping} ...", file=sys.stderr, flush=True)
            solvers = solvers_of(web, damping, chosen.cores, chosen.peers, methods=chosen.methods)
            for error in wanted:
                seconds = seconds_of(solvers, error, chosen.repeats, clock)
                yield {"graph": name, "damping": damping, "error": error, "cores": chosen.cores, "seconds": seconds}


def line_of(cell: Cell, names: list[str]) -> str:
    seconds = cell["seconds"]
    ours = seconds.get(OURS, inf)
    ratios = (f"{seconds[one] / ours:>14.2f}" if one in seconds else f"{'-':>14}" for one in names)
    return f"{cell['graph']:16}{cell['damping']:>6}{cell['error']:>8.0e}{1000 * ours:>10.1f}{''.join(ratios)}"


def report(cells: list[Cell]) -> None:
    """Prints ratios by cell, and the worst and the median of each solver."""
    names = list(dict.fromkeys(one for cell in cells for one in cell["seconds"] if one != OURS))
    titles = "".join(f"{one[-13:]:>14}" for one in names)
    print(f"{'graph':16}{'d':>6}{'error':>8}{'ours, ms':>10}{titles}")
    for cell in cells:
        print(line_of(cell, names))
    ratios = {
        one: [cell["seconds"][one] / cell["seconds"][OURS] for cell in cells if {one, OURS} <= set(cell["seconds"])]
        for one in names
    }
    for title, measure in (("worst", min), ("median", median)):
        figures = "".join(f"{measure(ratios[one]):>14.2f}" if ratios[one] else f"{'-':>14}" for one in names)
        print(f"{title:40}{figures}")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.suite",
        description=__doc__.split("\n")[0],
        epilog="example: python -m bench.suite --graphs r-mat grid --peers scipy --out suite.jsonl",
    )
    peers = [one for one in PEERS if one != OURS]
    parser.add_argument("--graph", type=Path, help="a real link graph to add")
    parser.add_argument("--graphs", nargs="+", help=f"only these: {', '.join(suite(None))}, or the name of --graph")
    parser.add_argument("--dampings", nargs="+", type=float, default=DAMPINGS)
    parser.add_argument("--errors", nargs="+", type=float, default=ERRORS)
    parser.add_argument("--peers", nargs="+", choices=peers, default=peers)
    parser.add_argument("--methods", action="store_true", help="measure each method of ours beside `auto` too")
    parser.add_argument("--cores", type=int, choices=(1, 2), default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, help="a file of cells, one JSON object per line; goes on where it ends")
    chosen = parser.parse_args()
    cells: list[Cell] = []
    if chosen.out is not None and chosen.out.exists():
        cells = [json.loads(line) for line in chosen.out.read_text().splitlines()]
    try:
        for cell in measured(chosen, list(cells)):
            cells.append(cell)
            print(line_of(cell, [one for one in cell["seconds"] if one != OURS]), file=sys.stderr, flush=True)
            if chosen.out is not None:
                with chosen.out.open("a") as file:
                    file.write(json.dumps(cell) + "\n")
    except KeyboardInterrupt:
        print("stopped; what was measured is below", file=sys.stderr)
    report([one for one in cells if one["cores"] == chosen.cores])
    return 0


if __name__ == "__main__":
    sys.exit(main())
