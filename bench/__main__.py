"""Runs the benchmarks asked for, or all the quick ones, and prints each figure beside what was promised."""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from math import isnan
from pathlib import Path
from time import perf_counter

from rich.console import Console
from rich.table import Table

from bench.beyond import beyond, huge
from bench.error import changing_error, static_error
from bench.exactness import exactness
from bench.figure import Figure
from bench.memory import memory
from bench.ranking import file_to_scores, generated, one_pass, real
from bench.settling import settling
from bench.speed import speed
from bench.start import start

RANKING = ("rank-real", "rank-generated", "rank-pass", "rank-memory", "rank-beyond")
LONG = ("exactness", "rank-huge")


def benchmarks(graph: Path | None) -> Mapping[str, Callable[[], Iterator[Figure]]]:
    return {
        "start": start,
        "memory": memory,
        "speed": lambda: speed(100_000, 2_500_000),
        "speed-large": lambda: speed(10_000_000, 700_000),
        "settling": lambda: settling(graph),
        "static-error": static_error,
        "changing-error": changing_error,
        "exactness": exactness,
        "rank-real": lambda: real(graph),
        "rank-generated": generated,
        "rank-pass": one_pass,
        "rank-memory": lambda: file_to_scores(graph),
        "rank-beyond": beyond,
        "rank-huge": huge,
    }


def shown(value: float) -> str:
    if value >= 10_000:
        return f"{value:,.0f}".replace(",", " ")
    return "" if isnan(value) else f"{value:.3g}"


def as_json(figure: Figure) -> dict[str, object]:
    return {**asdict(figure), "value": None if isnan(figure.value) else figure.value, "kept": figure.kept}


def main() -> int:
    names = list(benchmarks(None))
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__, epilog="example: python -m bench speed start --json")
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"which: {', '.join(names)} , or `rank` for all of ranking (default: all the others but {', '.join(LONG)})",
    )
    parser.add_argument("--graph", type=Path, help="a real link graph to settle (default: a generated one)")
    parser.add_argument("--json", action="store_true", help="one JSON object and nothing else")
    chosen = parser.parse_args()
    if "rank" in chosen.names:
        chosen.names = [name for name in chosen.names if name != "rank"] + list(RANKING)
    if unknown := set(chosen.names) - set(names):
        parser.error(f"no benchmark is called {', '.join(sorted(unknown))}")
    console = Console(quiet=chosen.json)
    found: dict[str, list[Figure]] = {}
    for name in chosen.names or [name for name in names if name not in LONG + RANKING]:
        started = perf_counter()
        with console.status(f"{name} ..."):
            found[name] = list(benchmarks(chosen.graph)[name]())
        table = Table(title=f"{name} ({perf_counter() - started:.0f} s)", title_justify="left", box=None, show_header=False, min_width=110)
        for figure in found[name]:
            promise = "" if figure.limit is None else f"{figure.kind} {shown(figure.limit)}"
            verdict = {True: "[green]kept", False: "[red]missed", None: ""}[figure.kept]
            table.add_row(figure.name, f"{shown(figure.value)} {figure.unit}", promise, verdict)
        console.print(table)
    if chosen.json:
        print(json.dumps({name: [as_json(figure) for figure in figures] for name, figures in found.items()}))
    return 1 if any(figure.kept is False for figures in found.values() for figure in figures) else 0


if __name__ == "__main__":
    sys.exit(main())
