"""What it costs to divide a crawl: pages per second of CPU on four nodes of this machine, beside one folder.

Both crawl the same web of many hosts, so that most pages are the first of theirs, with as many fetchers. The CPU is
that of all processes but the web's, their start included.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.cluster.nodes import cpu_of
from bench.figure import Figure
from centime.cluster.beginning import cluster_run
from centime.crawl.engine.fetchers import spare_fetchers
from centime.crawl.engine.loop import Engine, Limits
from centime.crawl.engine.opening import open_writer
from centime.lab.webbox import WebBox, serve_in_process

HOSTS, PAGES = 10_000, 12_000
NODES = 4
BOX = WebBox(
    hosts=HOSTS,
    pages=PAGES,
    traps=False,
    feeds=False,
    crawl_delay_seconds=0.0,
    delay_seconds=0.0,
    changes_per_day=1e-6,
)
GIVEN: dict[str, Any] = {"allow-network": ["127.0.0.0/8"], "scope": "any", "delay": 0.0, "workers": NODES}


def hosts() -> Iterator[Figure]:
    """Pages per second of CPU, in one folder and on nodes."""
    with TemporaryDirectory() as room, serve_in_process(BOX) as served:
        place, seeds = Path(room), [served.seed_url]

        def plain() -> int:
            with (
                spare_fetchers(NODES) as spares,
                open_writer(place / "plain", seeds, GIVEN) as opened,
            ):
                engine = Engine(opened, Limits(), spares=spares)
                engine.run()
                return engine.run_facts.visits

        def divided() -> int:
            with cluster_run(
                place / "divided", seeds, GIVEN, Limits(), cluster=f"local:{NODES}", partitions=NODES
            ) as crawl:
                crawl.run()
                return crawl.run_facts.visits

        one, many = (cpu_of(way, place / "log") for way in (plain, divided))
    for name, found in (("one folder", one), (f"local:{NODES}", many)):
        yield Figure(f"{HOSTS} hosts, {name}: pages per CPU-second", 1 / found, "")
    yield Figure(f"  local:{NODES} over one folder, on {os.cpu_count()} cores", one / many, "", "at least", 0.8)
