"""Runs faults, simulated or real, and prints what became of them. A campaign that is interrupted (Ctrl-C) goes on where
it stopped when the same command is run again."""

import argparse
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from itertools import cycle, islice
from pathlib import Path
from random import Random
from time import perf_counter

from rich.console import Console
from rich.table import Table

from bench.faults.campaign import Continuous, Ending
from bench.faults.fault import CONTINUOUS, FAULTS
from bench.faults.history import recorded
from bench.faults.parts import Kept, carry_out
from bench.faults.tally import Tallies, Tally
from bench.faults.worlds import KINDS, worlds
from centime.lab.webbox import WebBox, serve_in_process
from centime.model.kernel import compile_at_once

WORLDS = 100_000
BATCH = 500  # worlds of one part
STILL = WebBox(
    hosts=10, pages=1_500, traps=False, feeds=False, crawl_delay_seconds=0.0, delay_seconds=0.02, changes_per_day=1e-6
)
CHANGING = WebBox(
    hosts=5, pages=100, traps=False, feeds=False, crawl_delay_seconds=0.0, delay_seconds=0.01, speed=86_400.0
)
RATE = "600/s"  # slower than it could, so that a crawl that ends lasts long enough to be hurt several times
KILLS_OF_A_CRAWL = 20  # that is continuous
FAULTS_OF_A_CRAWL = 8  # that ends; there is one of these for two continuous ones
KEPT = Path("build/faults")
TELL_SECONDS = 60.0  # between two lines of progress if they do not replace each other
MOST_SHOWN = 50
WIDTH = 160  # of a table that goes to a file


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.faults", description=__doc__)
    parser.add_argument("--worlds", type=int, help=f"simulate this many faults of a disk (default: {WORLDS})")
    parser.add_argument("--real", type=int, help="kill real continuous crawls so often, and hurt others beside them")
    parser.add_argument("--seed", type=int, default=1, help="of the chance that decides when and where (default: 1)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one for each core)")
    parser.add_argument("--fresh", action="store_true", help="begin anew instead of going on")
    chosen = parser.parse_args()
    compile_at_once()
    logging.getLogger("centime").setLevel(logging.ERROR)  # what a damaged crawl did without is not told each time
    code = 0
    if chosen.worlds or not chosen.real:
        code = _worlds(chosen.worlds or WORLDS, chosen)
    if chosen.real:
        code = max(code, _real(chosen.real, chosen))
    return code


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


def _real(count: int, chosen: argparse.Namespace) -> int:
    """Kills real crawls, and prints a table of kinds."""
    about = {"seed": chosen.seed, "kills of a crawl": KILLS_OF_A_CRAWL, "faults of a crawl": FAULTS_OF_A_CRAWL}
    kept = Kept(KEPT / f"real-{chosen.seed}.json", about, fresh=chosen.fresh)
    kinds = _kinds_of_crawls(count, chosen.seed)
    with (
        tempfile.TemporaryDirectory(prefix="faults-", ignore_cleanup_errors=True) as room,
        serve_in_process(STILL) as still,
        serve_in_process(CHANGING) as changing,
    ):
        ending = Ending(still.seed_url, Path(room), ("--rate", RATE, "--keep", "all"))
        ending.begin()

        def work(number: int) -> Tallies:
            folder = Path(room) / f"crawl-{number}"
            campaign = ending if number % 3 == 2 else Continuous(changing.seed_url)
            campaign.disturb(folder, kinds[number], Random(f"{chosen.seed} {number}"))
            for path in Path(room).glob(f"{folder.name}*"):
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()
            return campaign.tallies

        sizes = {number: len(each) + 1 for number, each in kinds.items()}
        _carry_out(kept, sizes, work, chosen.jobs, "faults")
    columns: dict[str, Callable[[Tally], object]] = {
        "times": lambda tally: tally.count,
        "recovered": lambda tally: tally.right,
        "worst reopening": lambda tally: f"{tally.reopening_seconds:.3f} s" if tally.reopening_seconds else "",
        "failures": lambda tally: len(tally.wrong),
    }
    return _print("real faults", dict(sorted(kept.total().items())), columns)


def _kinds_of_crawls(count: int, seed: int) -> dict[int, list[str]]:
    """The faults of each crawl by its number: so many kills of continuous crawls, and every third crawl one that
    ends."""
    kills, others = cycle(CONTINUOUS), cycle(FAULTS)
    kinds: dict[int, list[str]] = {}
    left = count
    while left > 0:
        number = len(kinds)
        if number % 3 == 2:
            kinds[number] = list(islice(others, FAULTS_OF_A_CRAWL))
        else:
            kinds[number] = list(islice(kills, min(left, KILLS_OF_A_CRAWL)))
            left -= KILLS_OF_A_CRAWL
        Random(f"{seed} {number}").shuffle(kinds[number])
    return kinds


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
