"""The real crawler on a web with a fast clock: the freshness that it realises over HTTP, and the forecast of its plan.

A day of the box lasts DAY_SECONDS. The crawl discovers the web from one seed and keeps it fresh with 0.3 reads per page
and day. After the warm-up its plan makes a forecast; then the reads are compared with the true changes: for every page
that was there, the time between a read and the next change, weighted by the true importance. The plan includes
redirects; those of the box never change.

With so many pages the plan misses its promise, probably because the fetcher is late with second reads: with this clock
half a second between two reads of a page is 36 minutes, and what differs counts as volatile (`change/noise.py`).
docs/refresh-benchmarks.md has what was measured of it."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench.figure import Figure
from centime.crawl.engine.loop import Engine, Limits
from centime.crawl.engine.opening import open_writer
from centime.crawl.engine.writer import CrawlWriter
from centime.crawl.report.planning.plan import plan
from centime.lab.webbox import WebBox, serve_in_process
from centime.lab.webbox.process import Served
from centime.model.ids import PageId

PAGES, HOSTS, SEED = 20_000, 200, 5
BUDGET = 0.3  # reads per page and day
DAY_SECONDS = 20.0
WARM_UP, MEASURED = 20.0, 8.0  # days


class Watch:
    """Makes the plan after the warm-up while the crawl continues: a day is so short that a pause would count."""

    def __init__(self, days: float) -> None:
        self.days = days
        self.forecast = self.began = 0.0
        self.visits = self.found = 0

    def show(self, crawl: Engine, now: float) -> None:
        """Called by the crawl twice a second."""
        if not self.began and now - crawl.run_facts.started >= WARM_UP * DAY_SECONDS:
            self.forecast = plan(crawl.opened, now=now, days=self.days)["budgets"][0]["fresh_in_the_coming_days"]
            self.began, self.visits, self.found = (
                now,
                crawl.run_facts.visits,
                crawl.opened.shard.placement.frontier.statistics()["leased"][5],
            )


def crawl_fresh() -> Iterator[Figure]:
    """A crawl over HTTP, its freshness and its plan."""
    box = WebBox(
        hosts=HOSTS,
        pages=PAGES,
        seed=SEED,
        traps=False,
        feeds=False,
        crawl_delay_seconds=0.0,
        speed=86_400.0 / DAY_SECONDS,
    )
    given = {
        "scope": "any",
        "delay": 0.0,
        "allow-network": ["127.0.0.0/8"],
        "sitemaps": False,
        "continuous": True,
        "rate": BUDGET * PAGES / DAY_SECONDS,
        "least-interval": DAY_SECONDS / 24,
        "first-rate": 0.1 / DAY_SECONDS,
        "workers": 1,
    }
    with (
        tempfile.TemporaryDirectory(prefix="fresh-") as folder,
        serve_in_process(box) as served,
        open_writer(Path(folder) / "crawl", [served.seed_url], given) as opened,
    ):
        watch = Watch(MEASURED * DAY_SECONDS / 86_400.0)
        crawl = Engine(opened, Limits(seconds=(WARM_UP + MEASURED) * DAY_SECONDS))
        crawl.run(watch.show)
        began, ended = watch.began, crawl.run_facts.started + (WARM_UP + MEASURED) * DAY_SECONDS
        visits = crawl.run_facts.visits - watch.visits
        spent = visits / (ended - began) * DAY_SECONDS / PAGES
        found = opened.shard.placement.frontier.statistics()["leased"][5] - watch.found
        fresh, pages = realised(opened, served, began, ended)
    yield Figure("over HTTP, 0.3 reads per page and day: pages that were there", float(pages), "")
    yield Figure("reads per page and day", spent, "")
    yield Figure("of them for discovery", 100 * found / visits, "%")
    yield Figure("importance-weighted freshness, realised", fresh, "")
    yield Figure("forecast of the plan minus realised", 100 * abs(watch.forecast - fresh), "points", "at most", 2.0)


def realised(opened: CrawlWriter, served: Served, began: float, ended: float) -> tuple[float, int]:
    """The importance-weighted share of the time between two moments during which copies were fresh, and the number of
    pages."""
    box = served.webbox
    ahead = served.time() - box.speed * time.time()  # box time minus our time at the speed of the box

    def in_box(moments: np.ndarray) -> np.ndarray:
        return ahead + box.speed * moments

    shard, importance = opened.shard, box.importance()
    begin, end = in_box(np.array([began, ended]))
    total = weight = 0.0
    pages = 0
    for page, url in enumerate(shard.pages.texts.get_many(np.arange(shard.pages.count, dtype=np.int64))):
        number = box.page(url)
        visits = list(shard.pages.records.history(PageId(page)))
        times = [record.time for record in visits if record.outcome.present or record.outcome.redirect]
        if number is None or not times:
            continue
        reads = in_box(np.array(times[::-1]))
        changes = np.append([] if visits[0].outcome.redirect else box.changes(number, float(end)), np.inf)
        until = np.minimum(changes[np.searchsorted(changes, reads, side="right")], np.append(reads[1:], end))
        fresh = np.clip(until, begin, end) - np.clip(reads, begin, end)
        total += importance[number] * float(fresh.sum()) / float(end - begin)
        weight += importance[number]
        pages += 1
    return total / weight, pages
