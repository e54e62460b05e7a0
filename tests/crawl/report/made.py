"""Two crawls for reports: one made by hand, of which everything is known, and one of the simulated web over HTTP."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from centime.crawl.check.check import check_crawl
from centime.crawl.check.findings import Findings
from centime.crawl.engine.loop import Engine, Limits
from centime.crawl.engine.opening import open_writer
from centime.crawl.engine.writer import CrawlWriter
from centime.crawl.report.opening import look_at
from centime.lab.webbox import WebBox, serve_in_process
from centime.model.address import fingerprint
from centime.model.ids import PageId
from centime.model.outcome import Outcome, PageKind
from centime.processes.clock import RunClock
from centime.shard.message import Visit, pack

NOW = 1_800_000_000.0
A, B = "http://a.example", "http://b.example"
ROOT = f"{A}/"
LINKS = [f"{A}/one", f"{A}/two", f"{A}/gone", f"{A}/refused", f"{A}/failing", f"{A}/old", f"{B}/leased"]
LATE = [f"{B}/late", f"{B}/later"]  # found last, so they wait


def clock() -> RunClock:
    """The clock of the runs: a few hours after everything that happens in them."""
    return RunClock(wall=lambda: NOW + 10_000.0, boot="")


def visit(page: int, outcome: Outcome = Outcome.READ, links: Sequence[str] = (), **more: Any) -> bytes:
    """A visit as a fetcher packs it."""
    prints = np.array([fingerprint(url) for url in links], dtype=np.uint64).tobytes()
    said: dict[str, Any] = {
        "kind": PageKind.HTML,
        "status": 200,
        "signature": 7,
        "digest": bytes(16),
        "asked_at": NOW,
        "seconds": 0.25,
    }
    if outcome is not Outcome.READ:
        said |= {"kind": PageKind.ERROR, "signature": 0, "status": 0}
    said |= {"wire_bytes": 1000, "links": prints, "fresh": prints, "texts": "\n".join(links).encode()}
    return pack(Visit(page=PageId(page), outcome=outcome, **(said | more)))


ANSWERS: dict[str, dict[str, Any]] = {
    f"{A}/one": {
        "links": [ROOT, f"{A}/two"],
        "etag": '"1"',
        "modified": "Sun, 06 Nov 1994 08:49:37 GMT",
        "content_type": "text/html",
    },
    f"{A}/two": {"links": [ROOT, *LATE]},
    f"{A}/gone": {"outcome": Outcome.GONE, "kind": PageKind.DEAD, "status": 404},
    f"{A}/refused": {"outcome": Outcome.DISALLOWED},
    f"{A}/failing": {"outcome": Outcome.SERVER_ERROR, "status": 500, "detail": "it said no"},
    f"{A}/old": {"outcome": Outcome.MOVED, "status": 301, "links": [f"{A}/two"]},
}


@contextmanager
def hand_made(folder: Path, **settings: Any) -> Iterator[CrawlWriter]:
    """An open crawl of ten pages on two hosts: read, gone, disallowed, failing, moved, leased, changed and waiting."""
    with open_writer(folder, [ROOT], {"delay": 0.0, "scope": "any", **settings}, clock=clock()) as opened:
        shard = opened.shard
        (root,) = shard.lease(NOW, 100)
        shard.record(NOW, [visit(root.page, links=LINKS)])
        leases = {lease.url: lease.page for lease in shard.lease(NOW + 1, 100)}
        assert sorted(leases) == sorted(LINKS)
        shard.record(NOW + 2, [visit(leases[url], **answer) for url, answer in ANSWERS.items()])
        shard.journal.sync()
        yield opened


def refreshed(opened: CrawlWriter) -> None:
    """Visits the pages that are due much later: the root has changed, the first page has not, the others are leased."""
    shard = opened.shard
    leases = {lease.url: lease.page for lease in shard.lease(NOW + 5000, 100)}
    same: dict[str, Any] = {"outcome": Outcome.UNCHANGED, "status": 304, "etag": '"1"'}
    shard.record(NOW + 5001, [visit(leases[ROOT], links=LINKS, signature=8), visit(leases[f"{A}/one"], **same)])
    shard.journal.sync()


def closed_twice(folder: Path) -> Path:
    """The crawl made by hand with two snapshots, closed."""
    with hand_made(folder) as opened:
        opened.close()
    with open_writer(folder, [], {}, clock=clock()) as opened:
        opened.close()
    return folder


@dataclass(frozen=True)
class Crawled:
    """A crawl of the simulated web, and what was seen of it while it ran."""

    folder: Path
    seen: list[tuple[int, Findings]]
    """The number of known pages, and the findings of a check."""


@cache
def crawled(place: Path) -> Crawled:
    """A crawl of a simulated web over real HTTP on loopback, made once for all tests in a folder of pytest's own."""
    folder = place / "webbox"
    seen: list[tuple[int, Findings]] = []

    with serve_in_process(WebBox(hosts=8, pages=300)) as served:
        given = {
            "scope": "any",
            "delay": 0.0,
            "workers": 1,
            "allow-network": ["127.0.0.0/8"],
            "keep": "all",
            "rate": 200.0,
        }
        with open_writer(folder, [served.seed_url], given) as opened:
            crawl = Engine(opened, Limits(pages=200))
            crawl.start()
            while crawl.step():
                if len(seen) < 2 and crawl.run_facts.visits > 50 * len(seen):
                    seen.append((look_at(folder).shard.pages.count, check_crawl(folder)))
            crawl.finish()
    return Crawled(folder, seen)
