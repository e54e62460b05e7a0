"""A web that was crawled in one folder and in partitions, for all tests that compare the two."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from centime.cluster.beginning import cluster_run
from centime.crawl.engine.loop import Engine, Limits
from centime.crawl.engine.opening import open_writer
from centime.lab.webbox import WebBox, serve_in_process
from centime.lab.webbox.process import Served
from centime.model.address import partition_of

BOX = WebBox(
    hosts=6, pages=80, traps=False, feeds=False, crawl_delay_seconds=0.0, delay_seconds=0.0, changes_per_day=1e-6
)
GIVEN: dict[str, Any] = {"allow-network": ["127.0.0.0/8"], "scope": "any", "delay": 0.0, "workers": 1}
KEPT = GIVEN | {"keep": "all"}
MOST_TRIES = 50


@dataclass(frozen=True)
class Crawled:
    """A web, and the folders of a crawl of it in one piece and in partitions."""

    seed: str
    plain: Path
    cluster: Path
    ending: str
    error: float


@contextmanager
def spread_web() -> Iterator[Served]:
    """The web at a port with which every partition, of 2 or 3, owns some of its hosts, and 0 and 1 several."""
    for _ in range(MOST_TRIES):
        with serve_in_process(BOX) as served:
            urls = [f"http://site{number}.localhost:{served.port}/" for number in range(BOX.hosts)]
            owners = [Counter(partition_of(url, count) for url in urls) for count in (2, 3)]
            if len(owners[0]) == 2 and len(owners[1]) == 3 and min(owners[0].values()) > 1:
                yield served
                return
    raise AssertionError("no port will do")


@contextmanager
def crawled_twice(room: Path) -> Iterator[Crawled]:
    """The web, crawled in both ways."""
    with spread_web() as served:
        with open_writer(room / "plain", [served.seed_url], KEPT) as opened:
            Engine(opened).run()
        with cluster_run(room / "cluster", [served.seed_url], KEPT, Limits(), partitions=3) as crawl:
            ending = crawl.run()
            error = crawl.statistics(crawl.now())["certified_error"]
        yield Crawled(served.seed_url, room / "plain", room / "cluster", ending, error)
