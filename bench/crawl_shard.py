"""The shard alone, without a network: how quickly it takes in URLs, and what ten million of them cost.

Visits are made up: 64 links each, to pages of 10 000 hosts, eight hosts a visit. They are packed outside the clock, as
fetchers pack them; what is measured is `Shard.record` (and `Shard.lease`) with the journal handed to the system, in
seconds of this process's CPU.

The rate of a whole crawl at ten million known pages over that at 100 000 is worked out, not crawled: ten million pages
that can be fetched are not to be had here. All of this is measured in the same run:

    c           CPU that a page costs all processes of a real crawl with one fetcher, without start-up
                (`crawl_pages.page_cost`)
    s, S        CPU of the shard a visit, lease and record, with 100 000 and with ten million pages known
    f = c - s   what a page costs outside the shard, taken as the same for both
    rate at ten million over rate at 100 000  =  (f + s) / (f + S)  =  c / (c + S - s)

Traps: c is of pages of 26 KB; shorter pages cost less, and the ratio is lower. And f is the same only as far as
fetchers remember links as well as in that crawl: their memories hold some 100 000 links, which is all of a small crawl
and little of a large one. What a link costs that is not remembered is measured too (m), and the ratio is given again
for a quarter of the links forgotten, c / (c + S - s + 16 m).

    python -m bench.crawl_shard FOLDER PAGES     builds a crawl, says what it takes, and waits to be killed
    python -m bench.crawl_shard FOLDER           opens it, says how long that took, and closes it
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from bench.crawl_pages import page_cost
from bench.figure import Figure
from centime.crawl.engine.opening import open_writer
from centime.crawl.engine.writer import CrawlWriter
from centime.crawl.worker.outlinks import LinkReader
from centime.discover.scope import Scope
from centime.model.document import Document
from centime.model.ids import PageId
from centime.model.outcome import Outcome, PageKind
from centime.shard.message import Lease, Visit, pack

HOSTS, LINKS, HOSTS_PER_VISIT, BATCH = 10_000, 64, 8, 64
SMALL, LARGE = 100_000, 10_000_000
PLACES_BYTES = 8  # where a page's row and its last record lie, once it was visited
SETTINGS: dict[str, Any] = {"scope": "any", "delay": 0.0, "workers": 1}


class MadeUp:
    """Visits that nobody made, and the CPU that recording them took."""

    def __init__(self, opened: CrawlWriter, xml_every: int = 0) -> None:
        self.opened = opened
        self.xml_every = xml_every  # one page in so many is XML; 0: none
        self.shard = opened.shard
        self.now = 1.8e9
        self.serial = 0
        self.random = np.random.default_rng(4)

    def grow(self, pages: int) -> float:
        """Visits pages with new links until so many are known; URLs taken in a second of CPU."""
        before, cpu = self.shard.pages.count, 0.0
        while self.shard.pages.count < pages:
            leases = self._lease()
            packed = [self._visit(lease, *self._new_links()) for lease in leases]
            cpu += self._record(packed)
            self.opened.keep_snapshots()
        return (self.shard.pages.count - before) / cpu

    def crawl(self, visits: int) -> float:
        """Visits pages that link to pages known; visits a second of CPU, leases included."""
        done, cpu = 0, 0.0
        while done < visits:
            started = time.process_time()
            leases = self._lease()
            cpu += time.process_time() - started
            packed = [self._visit(lease, self._known_links(lease.page), b"", b"") for lease in leases]
            cpu += self._record(packed)
            done += len(leases)
        return done / cpu

    def _lease(self) -> list[Lease]:
        self.now += 1.0
        return self.shard.lease(self.now, BATCH)

    def _record(self, packed: list[bytes]) -> float:
        started = time.process_time()
        self.shard.record(self.now, packed)
        self.shard.journal.flush()
        return time.process_time() - started

    def _known_links(self, page: int) -> bytes:
        """Links three in four of which lead to pages found near this one, as on the web, where most stay at home;
        the rest anywhere."""
        known = self.shard.pages.table.fingerprints
        near = np.clip(page + self.random.integers(-512, 512, LINKS * 3 // 4), 0, len(known) - 1)
        links: bytes = known[np.concatenate([near, self.random.integers(0, len(known), LINKS - len(near))])].tobytes()
        return links

    def _new_links(self) -> tuple[bytes, bytes, bytes]:
        urls = new_urls(self.random, self.serial)
        self.serial += LINKS
        links = np.array([xxhash.xxh3_64_intdigest(url) for url in map(str.encode, urls)], dtype=np.uint64).tobytes()
        return links, links, "\n".join(urls).encode()

    def _visit(self, lease: Lease, links: bytes, fresh: bytes, texts: bytes) -> bytes:
        return pack(
            Visit(
                page=lease.page,
                outcome=Outcome.READ,
                kind=PageKind.XML if self.xml_every and lease.page % self.xml_every == 0 else PageKind.HTML,
                status=200,
                asked_at=self.now,
                seconds=0.05,
                wire_bytes=20_000,
                body_bytes=60_000,
                signature=lease.page + 1,
                digest=bytes(16),
                etag='"5e1f-60a1"',
                modified="Tue, 15 Nov 1994 12:45:26 GMT",
                content_type="text/html",
                address="127.0.0.1",
                links=links,
                fresh=fresh,
                texts=texts,
            )
        )


def new_urls(random: np.random.Generator, first: int) -> list[str]:
    """The links of a visit, to pages that nobody has seen."""
    hosts = random.integers(0, HOSTS, HOSTS_PER_VISIT).repeat(LINKS // HOSTS_PER_VISIT).tolist()
    numbers = range(first, first + LINKS)
    return [
        f"https://www.host{host}.example/section/{one}/article-{one * 7919 % 1000003}.html"
        for host, one in zip(hosts, numbers, strict=True)
    ]


def forgotten_link() -> float:
    """Seconds of CPU that a link costs a fetcher which does not remember it, above what one costs that it does."""
    random = np.random.default_rng(4)
    written = [tuple(new_urls(random, LINKS * visit)) for visit in range(1_000)]
    pages = [Document(kind=PageKind.HTML, hrefs=hrefs, flags=bytes(LINKS)) for hrefs in written]
    lease, seconds = Lease(PageId(0), "https://www.host0.example/", 0), []
    for _ in range(3):
        reader = LinkReader(Scope(kind="any", seeds=frozenset()), None)
        for _ in range(2):
            started = time.process_time()
            for page in pages:
                reader.of_page(lease, page, nofollow=False)
            seconds.append(time.process_time() - started)
    return (min(seconds[::2]) - min(seconds[1::2])) / (len(pages) * LINKS)


def ingest() -> Iterator[Figure]:
    """How quickly links to new URLs become pages."""
    folder = Path(tempfile.mkdtemp(prefix="ingest-"))
    try:
        with open_writer(folder / "crawl", ["https://www.host0.example/"], SETTINGS) as opened:
            made = MadeUp(opened)
            made.grow(SMALL)
            best = max(made.grow((2 + repeat) * 2 * SMALL) for repeat in range(3))
            yield Figure(
                "new URLs into a shard, all of them with host, queue, money and text",
                best,
                "URLs/CPU-s",
                "at least",
                150_000.0,
            )
    finally:
        shutil.rmtree(folder)


def size() -> Iterator[Figure]:
    """What ten million known URLs take, and how quickly they are there again."""
    cost, whose = page_cost()
    forgotten = forgotten_link()
    folder = Path(tempfile.mkdtemp(prefix="size-"))
    try:
        command = [sys.executable, "-m", "bench.crawl_shard", str(folder / "crawl")]
        with subprocess.Popen([*command, str(LARGE)], stdout=subprocess.PIPE, text=True) as builder:
            assert builder.stdout is not None
            said = json.loads(builder.stdout.readline() or "{}")
            builder.kill()
        killed = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        opens = [
            json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(3)
        ]
        clean = min(opens, key=lambda one: one["seconds"])
    finally:
        shutil.rmtree(folder)
    yield Figure(
        "new URLs up to ten million, snapshots on the way", said["ingest"], "URLs/CPU-s", "at least", 150_000.0
    )
    visited = said["bytes"] - said["parts"]["places of rows and records"] + PLACES_BYTES
    yield Figure("memory of the process above that of an empty one", said["bytes"], "bytes/page")
    yield Figure("... were every page visited", visited, "bytes/page", "at most", 64.0)
    for name, share in said["parts"].items():
        yield Figure(f"... {name}, with the room taken ahead", share, "bytes/page")
    yield Figure("lease and record, 100 000 known", said["small"], "visits/CPU-s")
    yield Figure("lease and record, 10 million known", said["large"], "visits/CPU-s")
    yield Figure("... the second over the first, the shard alone", said["large"] / said["small"], "")
    yield Figure(f"a page of a whole crawl, {whose}", cost * 1e6, "µs of CPU")
    growth = 1 / said["large"] - 1 / said["small"]
    yield Figure("... by how much the shard's part of it grows", growth * 1e6, "µs of CPU")
    yield Figure("crawl rate at 10 million known over that at 100 000", cost / (cost + growth), "", "at least", 0.8)
    yield Figure("... a link that its fetcher has forgotten costs more", forgotten * 1e6, "µs of CPU")
    yield Figure(
        "... the rate, were a quarter of the links forgotten", cost / (cost + growth + LINKS / 4 * forgotten), ""
    )
    yield Figure(f"open after a kill, {killed['frames']} frames to fold", killed["seconds"], "s", "at most", 15.0)
    yield Figure("... seconds of CPU of it", killed["cpu"], "s")
    yield Figure("open after a clean stop", clean["seconds"], "s", "at most", 5.0)
    yield Figure("... seconds of CPU of it", clean["cpu"], "s")


def own_memory() -> int:
    """Bytes that are this process's alone; pages of mapped files are not."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("RssAnon:")[2].split()[0]) * 1024


def _parts(opened: CrawlWriter) -> dict[str, float]:
    shard, count = opened.shard, opened.shard.pages.count
    sizes = {
        "URL table": shard.pages.table.nbytes,
        "places of rows and records": shard.pages.rows.nbytes + shard.pages.records.nbytes,
        "ledger": shard.ledger.nbytes,
        "frontier": shard.placement.frontier.statistics()["bytes"],
    }
    return {name: taken / count for name, taken in sizes.items()}


def _build(folder: Path, pages: int) -> None:
    with open_writer(folder, ["https://www.host0.example/"], SETTINGS) as opened:
        made = MadeUp(opened)
        made.grow(2_000)
        made.crawl(200)
        empty = own_memory()
        made.grow(SMALL)
        small = max(made.crawl(2_000) for _ in range(3))
        speed = made.grow(pages)
        # a snapshot under way would be measured too: memory that two processes share is copied when one writes to it
        opened._finish()
        large = max(made.crawl(2_000) for _ in range(3))
        taken = (own_memory() - empty) / opened.shard.pages.count
        said = {"ingest": speed, "bytes": taken, "parts": _parts(opened), "small": small, "large": large}
        print(json.dumps(said), flush=True)
        time.sleep(3600)


def _open(folder: Path) -> None:
    started, worked = time.perf_counter(), time.process_time()
    with open_writer(folder, [], {}) as opened:
        seconds, cpu, frames = time.perf_counter() - started, time.process_time() - worked, opened.folded
        opened.close()
    print(json.dumps({"seconds": seconds, "cpu": cpu, "frames": frames}))


if __name__ == "__main__":
    if len(sys.argv) > 2:
        _build(Path(sys.argv[1]), int(sys.argv[2]))
    else:
        _open(Path(sys.argv[1]))
