"""Runs the faults and prints what survived them."""

import argparse
import sys
import tempfile
from pathlib import Path
from random import Random
from time import perf_counter

from rich.console import Console
from rich.table import Table

from bench.faults.campaign import ENDED, Campaign
from bench.faults.worlds import REFUSED, Tally, recorded, refusals, worlds
from centime.lab.webbox import WebBox, serve_in_process

BOX = WebBox(
    hosts=10, pages=1_500, traps=False, feeds=False, crawl_delay_seconds=0.0, delay_seconds=0.02, changes_per_day=1e-6
)
BATCH = 1_000
RATE = "600/s"  # slower than it could, so that a crawl lasts long enough to be hurt several times


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.faults", description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="how many faults (default: 200)")
    parser.add_argument("--seed", type=int, default=1, help="of the chance that decides when and where (default: 1)")
    parser.add_argument("--keep", action="store_true", help="one in two crawls keeps its bodies in WARC files")
    parser.add_argument("--worlds", type=int, default=0, help="simulate this many faults of a disk instead")
    chosen = parser.parse_args()
    console = Console()
    if chosen.worlds:
        return _worlds(console, chosen.worlds, chosen.seed)
    started = perf_counter()
    with (
        tempfile.TemporaryDirectory(prefix="faults-", ignore_cleanup_errors=True) as folder,
        serve_in_process(BOX) as served,
    ):
        options = ("--rate", RATE, *(("--keep", "all") if chosen.keep else ()))
        campaign = Campaign(served.seed_url, Path(folder), Random(chosen.seed), options)
        with console.status("an undisturbed crawl ...") as status:
            campaign.run(
                chosen.kills,
                lambda kind: status.update(f"{sum(each.count for each in campaign.tallies.values())}: {kind} ..."),
            )
    failed = list(campaign.failures())
    table = Table(title=f"faults ({perf_counter() - started:.0f} s)", title_justify="left", box=None)
    for title in ("fault", "times", "recovered", "worst reopening", "failures"):
        table.add_column(title, justify="left" if title == "fault" else "right")
    for kind, tally in sorted(campaign.tallies.items(), key=lambda item: (item[0] == ENDED, item[0])):
        seconds = "" if kind == ENDED else f"{tally.worst_seconds:.3f} s"
        table.add_row(kind, str(tally.count), str(tally.recovered), seconds, str(len(tally.failures)))
    console.print(table)
    for failure in failed[:50]:
        console.print(failure, style="red", markup=False, highlight=False)
    return 1 if failed else 0


def _worlds(console: Console, count: int, seed: int) -> int:
    """Simulates faults, a thousand at a time, and prints a table of kinds and outcomes."""
    started = perf_counter()
    tallies: dict[str, Tally] = {}
    with recorded() as (history, room), console.status("recording a crawl ...") as status:
        for begin in range(0, count, BATCH):
            done = worlds(history, room, min(BATCH, count - begin), f"{seed}.{begin}")
            for kind, tally in done.items():
                tallies.setdefault(kind, Tally()).add(tally)
            status.update(f"{begin + BATCH} worlds ...")
        tallies[REFUSED] = refusals(room, max(10, count // 100), seed)
    table = Table(title=f"simulated faults ({perf_counter() - started:.0f} s)", title_justify="left", box=None)
    for title in (
        "fault",
        "worlds",
        "opened as promised",
        "said",
        "repairs",
        "right",
        "longest",
        "silent or wrong",
    ):
        table.add_column(title, justify="left" if title == "fault" else "right")
    for kind, tally in tallies.items():
        row = (tally.count, tally.opened, tally.said, tally.tried, tally.repaired)
        table.add_row(kind, *map(str, row), f"{tally.seconds:.2f} s", str(len(tally.wrong)))
    console.print(table)
    wrong = [sentence for tally in tallies.values() for sentence in tally.wrong]
    for sentence in wrong[:50]:
        console.print(sentence, style="red", markup=False, highlight=False)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
