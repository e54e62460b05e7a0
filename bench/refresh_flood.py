"""A million pages published at once to a running crawl: it continues to fetch, and respects the delay of every host.

The server's log shows both: the longest time without a request, and the shortest time between two requests to one host.
The crawl is slow enough (200 hosts, a delay of half a second each) that any silence comes from the crawl itself. It
follows no sitemaps: those of the box list the same million pages, and its only fetcher would read them meanwhile."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from bench.figure import Figure
from centime.crawl.commands.inbox import CommandInbox
from centime.crawl.engine.reader import read_crawl
from centime.lab.webbox import WebBox, serve_in_process
from centime.shard.people.command import publications

PAGES, HOSTS = 1_000_000, 200
DELAY = 0.5
BEFORE, AFTER = 20.0, 100.0  # seconds
CLOCKS_APART = 0.002


def flood() -> Iterator[Figure]:
    """A publication of a million URLs."""
    box = WebBox(hosts=HOSTS, pages=PAGES, traps=False, feeds=False, crawl_delay_seconds=0.0, delay_seconds=0.01)
    with tempfile.TemporaryDirectory(prefix="flood-") as place, serve_in_process(box) as served:
        folder = Path(place) / "crawl"
        options = [
            "--scope",
            "any",
            "--delay",
            str(DELAY),
            "--allow-network",
            "127.0.0.0/8",
            "--workers",
            "1",
            "--no-sitemaps",
            "--json",
        ]
        forever = ["--continuous", "--rate", "1000/s", "--for", f"{BEFORE + AFTER:g}s"]
        program = [sys.executable, "-m", "centime", "crawl", str(folder), served.seed_url, *options, *forever]
        with subprocess.Popen(program, stdout=subprocess.DEVNULL) as crawl:
            while not (folder / "centime.json").exists() or not served.requests():
                time.sleep(0.2)
            time.sleep(BEFORE)
            inbox, began = CommandInbox(folder), time.time()
            for command in publications(served.webbox.urls(), time=began, publisher="flood"):
                inbox.put(command)
            while inbox.waiting():
                time.sleep(0.2)
            taken = time.time() - began
            crawl.wait()
        requests = sorted(served.requests())
        opened = read_crawl(folder)
        known = opened.shard.pages.count
        opened.close()
    during = [seen.time for seen in requests if began - 5.0 <= seen.time <= began + taken + 5.0]
    by_host: dict[str, list[float]] = {}
    for seen in requests:
        by_host.setdefault(seen.host, []).append(seen.time)
    closest = min(after - before for times in by_host.values() for before, after in pairwise(times))
    yield Figure("a million pages published: known afterwards", float(known), "")
    yield Figure("taken in", taken, "s")
    yield Figure("requests per second meanwhile", len(during) / (during[-1] - during[0]), "")
    yield Figure(
        "longest silence meanwhile", max(after - before for before, after in pairwise(during)), "s", "at most", 2.0
    )
    yield Figure(f"closest requests to one host (delay {DELAY:g} s)", closest + CLOCKS_APART, "s", "at least", DELAY)
