"""A crawl of an endless web for 72 hours: known pages and memory must stay flat, and what matters must still be found.

The web is made up and its links follow from the URL and the hour. A core of 1 000 pages on 20 hosts links to itself,
important pages more than others, and ten hubs link to a new page each in every hour. Every core page also links into
the endless part: a page of it links to eight new pages of its own host, to six new hosts, and to two core pages. The
engine runs over a transport without processes, with a clock of its own, so that hours pass in seconds; time, rates and
delays are those of the settings.

    python -m bench.endless                       all parts, and the curves
    python -m bench.endless curve --hours 24      a shorter one
    python -m bench.endless --picture FILE.svg    draws the curves, if matplotlib is there

Parts: `curve` (the same web with and without a bound on pages), `memory` (a bound on memory alone), `snapshot` (the
memory of all processes while a snapshot is written, over that before).
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from bench.crawl_shard import SETTINGS, MadeUp, own_memory
from bench.figure import Figure
from bench.report import Benchmarks, report
from centime.crawl.engine.loop import Engine, Limits
from centime.crawl.engine.memory import tree_memory
from centime.crawl.engine.opening import open_writer
from centime.crawl.engine.writer import CrawlWriter
from centime.model.address import fingerprint
from centime.model.ids import PageId
from centime.model.outcome import Outcome, PageKind
from centime.shard.message import Lease, Visit, pack

CORE, CORE_HOSTS, HUBS = 1_000, 20, 10
START = 1.8e9
MOST_PAGES = 100_000
RATE = 0.25  # pages per second
MOST_GROWTH = 112  # MiB; compiled code takes 60 of them
TICK = 4.0  # seconds that pass while the engine waits, at least
SNAPSHOT_PAGES = 2_000_000
SNAPSHOT_HOSTS = 500_000
NEWS = "/news/"


class Clock:
    """Time that passes when the engine waits."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        return self.now

    @property
    def hour(self) -> int:
        """Hours since the start."""
        return int((self.now - START) // 3600)


class EndlessWeb:
    """A transport that answers every lease, at a capacity of some 30 fetches at a time."""

    capacity = 32

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.held: dict[int, Lease] = {}

    @property
    def outstanding(self) -> int:
        """How many leases it holds."""
        return len(self.held)

    def hand_out(self, leases: list[Lease], lanes: list[int]) -> None:
        """Takes leases."""
        self.held |= {lease.page: lease for lease in leases}

    def receive(self, timeout: float) -> tuple[list[bytes], list[PageId]]:
        """The visits of all leases."""
        self.clock.now += max(timeout, TICK)
        return [self._visit(lease) for lease in self.held.values()], []

    def release(self, pages: list[PageId]) -> None:
        """Forgets leases."""
        for page in pages:
            self.held.pop(page, None)

    def close(self) -> None:
        """Nothing to end."""

    def links(self, url: str) -> list[str]:
        """The links of a page now."""
        seed = xxhash.xxh3_64_intdigest(url.encode())

        def some(kind: str, count: int) -> list[int]:
            return [xxhash.xxh3_64_intdigest(f"{kind}{seed}-{one}".encode()) for one in range(count)]

        def core(count: int) -> list[str]:
            return [core_url(int(CORE * (number / 2**64) ** 3)) for number in some("core", count)]

        if ".wild.example/" in url:
            host = url[: url.index("/", 8)]
            return [
                *(f"{host}/{number:x}" for number in some("page", 8)),
                *(f"http://h{number:x}.wild.example/" for number in some("host", 6)),
                *core(2),
            ]
        news = [news_url(self.clock.hour, hub) for hub in range(HUBS) if url == core_url(hub)]
        return [*core(8), *(f"http://h{number:x}.wild.example/" for number in some("host", 2)), *news]

    def _visit(self, lease: Lease) -> bytes:
        urls = list(dict.fromkeys(self.links(lease.url)))
        prints = np.array([fingerprint(url) for url in urls], dtype=np.uint64).tobytes()
        changing = any(lease.url == core_url(hub) for hub in range(HUBS))
        return pack(
            Visit(
                page=lease.page,
                outcome=Outcome.READ,
                kind=PageKind.HTML,
                status=200,
                asked_at=self.clock.now,
                seconds=0.05,
                wire_bytes=20_000,
                body_bytes=60_000,
                signature=1 + lease.page + (self.clock.hour << 32 if changing else 0),
                digest=bytes(16),
                content_type="text/html",
                links=prints,
                fresh=prints,
                texts="\n".join(urls).encode(),
            )
        )


def core_url(number: int) -> str:
    """A page of the core."""
    return f"http://core{number % CORE_HOSTS}.example/c{number}"


def news_url(hour: int, hub: int) -> str:
    """The page that a hub links to in an hour, and not later."""
    return f"http://core{hub % CORE_HOSTS}.example{NEWS}{hour}-{hub}"


@dataclass
class Curve:
    """What a crawl had at the end of each hour."""

    known: list[int] = field(default_factory=list)
    hosts: list[int] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)  # MiB above that of an empty crawl
    news: int = 0
    core: int = 0
    refused: int = 0
    dropped: int = 0
    ending: str = ""
    empty: float = 0.0

    def over(self, name: str, start: float) -> float:
        """The largest value over that at a share of the time."""
        values = getattr(self, name)
        return float(max(values) / max(1e-9, values[int(len(values) * start)]))


def crawl(hours: int, **settings: Any) -> Curve:
    """Crawls the web for so many hours, in this process."""
    shared = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="endless-", dir=shared if shared.is_dir() else None))
    clock, curve = Clock(), Curve()
    given = {"scope": "any", "continuous": True, "rate": RATE, "least-interval": 600.0, "first-rate": 1e-5} | settings
    try:
        with open_writer(folder / "crawl", [core_url(0)], given) as opened:
            engine = Engine(opened, Limits(seconds=hours * 3600.0), transport=lambda: EndlessWeb(clock), clock=clock)
            curve.empty = own_memory() / 2**20

            def note(engine: Engine, now: float) -> None:
                if clock.hour > len(curve.known):
                    curve.known.append(opened.shard.pages.count)
                    curve.hosts.append(len(opened.shard.hosts))
                    curve.memory.append(own_memory() / 2**20 - curve.empty)

            curve.ending = engine.run(note)
            curve.news = sum(NEWS in url for url in opened.shard.pages.texts.every())
            curve.core = sum(known_core(opened))
            curve.refused, curve.dropped = opened.shard.bounds.refused, opened.shard.bounds.dropped
            opened.shard.ledger.check()
    finally:
        shutil.rmtree(folder)
    return curve


def known_core(opened: CrawlWriter) -> list[bool]:
    """Which pages of the core are known."""
    prints = np.array([fingerprint(core_url(number)) for number in range(CORE)], dtype=np.uint64)
    known: list[bool] = (opened.shard.pages.table.find(prints) >= 0).tolist()
    return known


def run_apart(*arguments: str) -> Curve:
    """A crawl in a process of its own, so that its memory is its own."""
    command = [sys.executable, "-m", "bench.endless", "--one", *arguments]
    said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return Curve(**said)


def show_curve(title: str, curve: Curve) -> None:
    """Prints a curve as a table of some rows."""
    print(f"{title}\n{'hour':>6}{'known':>12}{'hosts':>10}{'MiB':>9}", file=sys.stderr)
    count = len(curve.known)
    for hour in sorted({0, *range(max(1, count // 12) - 1, count, max(1, count // 12)), count - 1}):
        print(
            f"{hour + 1:>6}{curve.known[hour]:>12,}{curve.hosts[hour]:>10,}{curve.memory[hour]:>9.1f}", file=sys.stderr
        )


def curves(hours: int, picture: str | None) -> Iterator[Figure]:
    """The same web with a bound on pages and without."""
    bounded = run_apart(str(hours), "most-pages", str(MOST_PAGES))
    free = run_apart(str(hours), "most-pages", str(2**31))
    show_curve(f"with --most-pages {MOST_PAGES}", bounded)
    show_curve("without a bound", free)
    if picture:
        draw({f"--most-pages {MOST_PAGES}": bounded, "no bound": free}, Path(picture))
    yield Figure("known pages at the end", bounded.known[-1], "pages", "at most", float(MOST_PAGES))
    yield Figure("... over those at a third of the time", bounded.over("known", 1 / 3), "", "at most", 1.2)
    yield Figure(
        "memory at its most over that at a third of the time", bounded.over("memory", 1 / 3), "", "at most", 1.2
    )
    yield Figure("memory at the end, above that of an empty crawl", bounded.memory[-1], "MiB")
    yield Figure("... without a bound", free.memory[-1], "MiB")
    yield Figure("known pages without a bound", free.known[-1], "pages")
    yield Figure("offers of URLs that were refused", bounded.refused, "offers")
    yield Figure("core pages known, of 1 000", bounded.core, "pages", "at least", 0.99 * free.core)
    yield Figure(f"news found, of {HUBS * hours}", bounded.news, "pages", "at least", 0.95 * free.news)
    yield Figure("... without a bound", free.news, "pages")


def memory(hours: int) -> Iterator[Figure]:
    """A bound on memory alone."""
    empty = run_apart("1", "most-memory", str(2**40)).empty
    most = int((empty + MOST_GROWTH) * 2**20)
    bound = run_apart(str(hours), "most-memory", str(most))
    show_curve(
        f"with --most-memory {most / 2**20:.0f}MiB, of which {bound.empty:.0f} MiB were in use at the start", bound
    )
    yield Figure(
        "memory at its most over --most-memory", (max(bound.memory) + bound.empty) * 2**20 / most, "", "at most", 1.0
    )
    yield Figure("known pages", bound.known[-1], "pages")
    yield Figure("offers of URLs that were refused", bound.refused, "offers")
    yield Figure("pages dropped", bound.dropped, "pages")
    yield Figure(f"hours until the run ended ({bound.ending})", len(bound.known), "h", "at least", float(hours))


def snapshot() -> Iterator[Figure]:
    """The memory of all processes while a snapshot is written, and while the crawl is closed."""
    for kind, what in (("pages", f"{SNAPSHOT_PAGES:,} pages of 10 000 hosts"), ("hosts", f"{SNAPSHOT_HOSTS:,} hosts")):
        command = [sys.executable, "-m", "bench.endless", "--snapshot", kind]
        said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        yield Figure(f"{what}: memory", said["before"] / 2**20, "MiB")
        yield Figure("... a page or host", said["each"], "bytes")
        yield Figure("... peak while a snapshot is written, over that", said["running"], "", "at most", 1.3)
        yield Figure("... peak while the crawl is closed, over that", said["closing"], "", "at most", 1.3)


class Peak:
    """The largest memory of this process and those below it, while it is watched."""

    def __enter__(self) -> "Peak":
        self.bytes, self._over = 0, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(0.02):
            self.bytes = max(self.bytes, tree_memory(0) or 0)


def measure_snapshot(kind: str) -> dict[str, float]:
    """Builds a crawl and measures its snapshots."""
    folder = Path(tempfile.mkdtemp(prefix="snapshot-"))
    try:
        with open_writer(folder / "crawl", ["https://www.host0.example/"], SETTINGS) as opened:
            made = MadeUp(opened) if kind == "pages" else ManyHosts(opened)
            made.grow(2_000)
            empty = own_memory()
            made.grow(SNAPSHOT_PAGES if kind == "pages" else SNAPSHOT_HOSTS)
            opened._finish()
            before = tree_memory(0) or 1
            with Peak() as running:
                opened._start()
                made.crawl(2_000)  # as the crawl goes on, it changes memory that it shares with the child
                opened._finish()
            steady = tree_memory(0) or 1
            with Peak() as closing:
                opened.close()
            count = opened.shard.pages.count
    finally:
        shutil.rmtree(folder)
    each = (before - empty) / count
    return {"before": before, "each": each, "running": running.bytes / before, "closing": closing.bytes / steady}


class ManyHosts(MadeUp):
    """Visits that lead to a new host with every link."""

    def _new_links(self) -> tuple[bytes, bytes, bytes]:
        urls = [f"http://h{self.serial + one}.wild.example/" for one in range(64)]
        self.serial += 64
        links = np.array([fingerprint(url) for url in urls], dtype=np.uint64).tobytes()
        return links, links, "\n".join(urls).encode()


def draw(shown: dict[str, Curve], path: Path) -> None:
    """Draws known pages and memory over time."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        print("matplotlib is missing: no picture", file=sys.stderr)
        return
    figure, (pages, octets) = pyplot.subplots(1, 2, figsize=(9, 3.2))
    for name, curve in shown.items():
        hours = range(1, len(curve.known) + 1)
        pages.plot(hours, [known / 1e6 for known in curve.known], label=name)
        octets.plot(hours, curve.memory, label=name)
    for axes, title in ((pages, "known pages, millions"), (octets, "memory, MiB")):
        axes.set_title(title)
        axes.set_xlabel("hours")
        axes.grid(alpha=0.3)
    pages.legend()
    figure.tight_layout()
    figure.savefig(path)


def main() -> int:
    """The exit code: 1 if a promise is not kept."""
    parser = argparse.ArgumentParser(prog="python -m bench.endless", description="An endless web for 72 hours.")
    parser.add_argument("parts", nargs="*", metavar="PART", help="which: curve, memory, snapshot (default: all)")
    parser.add_argument("--hours", type=int, default=72)
    parser.add_argument("--picture", metavar="FILE", help="draw the curves, if matplotlib is there")
    parser.add_argument("--json", action="store_true", help="one JSON object and nothing else")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--snapshot", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        hours, name, value = chosen.one
        started = time.perf_counter()
        curve = crawl(int(hours), **{name: int(value)})
        print(f"{time.perf_counter() - started:.0f} s", file=sys.stderr)
        print(json.dumps(curve.__dict__))
        return 0
    if chosen.snapshot:
        print(json.dumps(measure_snapshot(chosen.snapshot)))
        return 0
    parts: Benchmarks = {
        "curve": lambda: curves(chosen.hours, chosen.picture),
        "memory": lambda: memory(chosen.hours),
        "snapshot": snapshot,
    }
    if unknown := set(chosen.parts) - set(parts):
        parser.error(f"no part is called {', '.join(sorted(unknown))}")
    return report(parts, chosen.parts or parts, as_json=chosen.json)


if __name__ == "__main__":
    sys.exit(main())
