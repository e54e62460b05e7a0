"""Prints the figures of a divided ledger, then simulates crashes of clusters and kills real ones."""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from time import perf_counter

from rich.console import Console

from bench.cluster.budgets import budgets
from bench.cluster.figures import entries, levels, memory, rate, transfers
from bench.cluster.hosts import hosts
from bench.cluster.nodes import nodes
from bench.cluster.ranking import ranking
from bench.cluster.real import real
from bench.cluster.real_nodes import real_nodes
from bench.cluster.world import FAULTS
from bench.cluster.worlds import room_for_worlds, worlds
from bench.figure import Figure
from bench.report import report
from centime.model.kernel import compile_at_once

CRASHES = 10_000
FAULTED = 200
TURNS = 24  # of a world here: more faults for each folder that is opened
EACH = 20  # worlds between two lines of progress


def crashes(wanted: int, first: int) -> Iterator[Figure]:
    """Worlds until partitions were opened again so often; an exception ends it, if a law does not hold."""
    total: Counter[str] = Counter()
    console = Console(stderr=True)
    began = perf_counter()
    with room_for_worlds() as room, console.status("crashes ...") as status:
        for begin in count(first, EACH):
            if total["crashes"] >= wanted:
                break
            total += worlds(room, range(begin, begin + EACH), turns=TURNS)
            status.update(f"{total['crashes']} crashes, {perf_counter() - began:.0f} s ...")
    yield Figure("crashes with every law kept", float(total["crashes"]), "", "at least", float(wanted))
    for name in ("worlds", *FAULTS, "no room", "fenced", "batches", "messages", "requests", "certificates", "events"):
        yield Figure(f"  {name}", float(total[name]), "")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.cluster", description=__doc__)
    parts = (
        "levels",
        "transfers",
        "entries",
        "memory",
        "rate",
        "budgets",
        "crashes",
        "real",
        "real-nodes",
        "nodes",
        "hosts",
        "ranking",
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"which: {', '.join(parts)} (default: all)")
    parser.add_argument("--graph", type=Path, help="a real link graph beside the generated ones")
    parser.add_argument("--crashes", type=int, default=CRASHES, help=f"how many to simulate (default: {CRASHES})")
    parser.add_argument("--faults", type=int, default=FAULTED, help=f"of real processes (default: {FAULTED})")
    parser.add_argument("--seed", type=int, default=0, help="of the first simulated cluster (default: 0)")
    parser.add_argument("--json", action="store_true", help="one JSON object and nothing else")
    chosen = parser.parse_args()
    if unknown := set(chosen.parts) - set(parts):
        parser.error(f"no part is called {', '.join(sorted(unknown))}")
    compile_at_once()
    return report(
        {
            "levels": lambda: levels(chosen.graph),
            "transfers": lambda: transfers(chosen.graph),
            "entries": entries,
            "memory": memory,
            "rate": rate,
            "budgets": budgets,
            "crashes": lambda: crashes(chosen.crashes, chosen.seed),
            "real": lambda: real(chosen.faults, chosen.seed),
            "real-nodes": lambda: real_nodes(chosen.faults, chosen.seed),
            "nodes": nodes,
            "hosts": hosts,
            "ranking": lambda: ranking(chosen.graph),
        },
        chosen.parts or parts,
        as_json=chosen.json,
    )


if __name__ == "__main__":
    sys.exit(main())
