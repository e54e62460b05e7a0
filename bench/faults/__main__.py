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
from centime.lab.webbox import WebBox, serve_in_process

BOX = WebBox(
    hosts=10, pages=1_500, traps=False, feeds=False, crawl_delay_seconds=0.0, delay_seconds=0.02, changes_per_day=1e-6
)
RATE = "600/s"  # slower than it could, so that a crawl lasts long enough to be hurt several times


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.faults", description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="how many faults (default: 200)")
    parser.add_argument("--seed", type=int, default=1, help="of the chance that decides when and where (default: 1)")
    parser.add_argument("--keep", action="store_true", help="one in two crawls keeps its bodies in WARC files")
    chosen = parser.parse_args()
    console = Console()
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


if __name__ == "__main__":
    sys.exit(main())
