"""Runs benchmarks and shows each figure beside what was promised: a table for each benchmark, or one JSON object."""

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from math import isnan
from time import perf_counter

from rich.console import Console
from rich.table import Table

from bench.figure import Figure

Benchmarks = Mapping[str, Callable[[], Iterator[Figure]]]


def run_parts(program: str, title: str, parts: Benchmarks, about: Mapping[str, str]) -> int:
    """The exit code of the parts that the command line names, all if it names none: 1 if a promise is not kept."""
    listed = "; ".join(f"{name}: {text}" for name, text in about.items())
    parser = argparse.ArgumentParser(prog=f"python -m {program}", description=f"{title}. {listed}.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"which: {', '.join(parts)} (default: all)")
    parser.add_argument("--json", action="store_true", help="one JSON object and nothing else")
    chosen = parser.parse_args()
    if unknown := set(chosen.parts) - set(parts):
        parser.error(f"no part is called {', '.join(sorted(unknown))}")
    return report(parts, chosen.parts or parts, as_json=chosen.json)


def report(benchmarks: Benchmarks, names: Iterable[str], *, as_json: bool) -> int:
    """The exit code of those benchmarks, each shown as soon as it is done: 1 if a promise is not kept."""
    console = Console(quiet=as_json)
    found: dict[str, list[Figure]] = {}
    for name in names:
        started = perf_counter()
        with console.status(f"{name} ..."):
            found[name] = list(benchmarks[name]())
        console.print(_table(f"{name} ({perf_counter() - started:.0f} s)", found[name]))
    if as_json:
        print(json.dumps({name: [_facts(figure) for figure in figures] for name, figures in found.items()}))
    return 1 if any(figure.kept is False for figures in found.values() for figure in figures) else 0


def _table(title: str, figures: list[Figure]) -> Table:
    table = Table(title=title, title_justify="left", box=None, show_header=False, min_width=110)
    for figure in figures:
        promise = "" if figure.limit is None else f"{figure.kind} {_shown(figure.limit)}"
        verdict = {True: "[green]kept", False: "[red]missed", None: ""}[figure.kept]
        table.add_row(figure.name, f"{_shown(figure.value)} {figure.unit}", promise, verdict)
    return table


def _shown(value: float) -> str:
    if value >= 10_000 or (value >= 1_000 and value == int(value)):
        return f"{value:,.0f}".replace(",", " ")
    return "" if isnan(value) else f"{value:.3g}"


def _facts(figure: Figure) -> dict[str, object]:
    return {**asdict(figure), "value": None if isnan(figure.value) else figure.value, "kept": figure.kept}
