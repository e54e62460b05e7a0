"""Runs faults, simulated or real, and prints what became of them. A campaign that is interrupted (Ctrl-C) goes on where
it stopped when the same command is run again."""

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter

from rich.console import Console
from rich.table import Table

from bench.faults.history import recorded
from bench.faults.parts import Kept, carry_out
from bench.faults.tally import Tallies, Tally
from bench.faults.worlds import KINDS, worlds
from centime.model.kernel import compile_at_once

WORLDS = 100_000
BATCH = 500  # worlds of one part
KEPT = Path("build/faults")
TELL_SECONDS = 60.0  # between two lines of progress if they do not replace each other
MOST_SHOWN = 50
WIDTH = 160  # of a table that goes to a file


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.faults", description=__doc__)
    parser.add_argument("--worlds", type=int, help=f"simulate this many faults of a disk (default: {WORLDS})")
    parser.add_argument("--seed", type=int, default=1, help="of the chance that decides when and where (default: 1)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one for each core)")
    parser.add_argument("--fresh", action="store_true", help="begin anew instead of going on")
    chosen = parser.parse_args()
    compile_at_once()
    return _worlds(chosen.worlds or WORLDS, chosen)


def _worlds(count: int, chosen: argparse.Namespace) -> int:
    """Simulates faults, and prints a table of kinds and outcomes."""
    about = {"seed": chosen.seed, "worlds of a part": BATCH, "kinds": list(dict.fromkeys(KINDS))}
    kept = Kept(KEPT / f"worlds-{chosen.seed}.json", about, fresh=chosen.fresh)
    parts = {begin // BATCH: range(begin, min(begin + BATCH, count)) for begin in range(0, count, BATCH)}
    with recorded(chosen.seed) as (history, room):
        warm = tuple(dict.fromkeys(KINDS))
        worlds(history, room / "warm", range(2 * len(warm)), chosen.seed, kinds=warm)  # loads all kernels, before forks
        _carry_out(
            kept,
            {number: len(part) for number, part in parts.items()},
            lambda number: worlds(history, room / f"{number}", parts[number], chosen.seed),
            chosen.jobs,
            "worlds",
        )
    columns: dict[str, Callable[[Tally], object]] = {
        "worlds": lambda tally: tally.count,
        "opened as promised": lambda tally: tally.right,
        "said": lambda tally: tally.said,
        "repairs": lambda tally: tally.repairs,
        "right": lambda tally: tally.repaired,
        "longest opening": lambda tally: f"{tally.reopening_seconds:.2f} s",
        "longest repair": lambda tally: f"{tally.repair_seconds:.2f} s",
        "silent or wrong": lambda tally: len(tally.wrong),
    }
    return _print("simulated faults", kept.total(), columns)


def _carry_out(kept: Kept, sizes: Mapping[int, int], work: Callable[[int], Tallies], jobs: int, what: str) -> None:
    """Does what is left of a campaign, and tells how far it is."""
    console = Console(stderr=True)
    wanted, before = sum(sizes.values()), sum(min(kept.done(number), size) for number, size in sizes.items())
    left = [number for number, size in sizes.items() if kept.done(number) < size]
    started = told = perf_counter()

    def done(number: int, part: Tallies) -> None:
        nonlocal told
        kept.add(number, part)
        finished = sum(min(kept.done(number), size) for number, size in sizes.items())
        rate = (finished - before) / (perf_counter() - started)
        line = f"{finished} of {wanted} {what}, {rate:.1f}/s, {(wanted - finished) / rate / 60:.1f} minutes left"
        status.update(f"{line} ...")
        if not console.is_terminal and perf_counter() - told > TELL_SECONDS:
            told = perf_counter()
            console.print(line, highlight=False)

    with console.status(f"{before} of {wanted} {what} ...") as status:
        if not carry_out(work, left, jobs, done):
            console.print("interrupted; the same command goes on")
    if len(left):
        console.print(f"{perf_counter() - started:.0f} s in this run", highlight=False)


def _print(title: str, tallies: Tallies, columns: Mapping[str, Callable[[Tally], object]]) -> int:
    """Prints a table and what went wrong; returns the exit code."""
    console = Console()
    if not console.is_terminal:
        console.width = WIDTH
    table = Table(title=title, title_justify="left", box=None)
    table.add_column("fault", no_wrap=True)
    for name in columns:
        table.add_column(name, justify="right")
    for kind, tally in tallies.items():
        table.add_row(kind, *(str(value(tally)) for value in columns.values()))
    console.print(table)
    wrong = [sentence for tally in tallies.values() for sentence in tally.wrong]
    for sentence in wrong[:MOST_SHOWN]:
        console.print(sentence, style="red", markup=False, highlight=False)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
