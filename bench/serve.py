"""The window over a crawl of a million pages: how soon it answers, how much, to how many, and what the crawl loses.

    make bench-serve        python -m bench.serve [PART ...] [--json]

The crawl is made up by `crawl_shard.MadeUp` and is not fetched; it is made once and kept in the cache of the benches.
The server runs in a process of its own, and this one asks it over loopback, so both share the cores of this machine. A
part `live` records visits in a third process while the window is asked 500 times a second, and compares the CPU that
a visit costs with that of a time in which nobody asks.

Latencies are those of whole answers over connections that stay open. A list is asked in ten forms, one after the other,
at ten requests a second, while the crawl stands still: every answer is worked out again when it is HOLDS seconds old.
"""

import asyncio
import json
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from bench.crawl_server import CACHE, UNPACKED, NotToBeHad, free_port, running, unpack
from bench.crawl_shard import MadeUp
from bench.figure import Figure
from bench.replay_browser import chromium
from bench.report import Benchmarks, run_parts
from centime import Crawl
from centime.crawl.engine.opening import open_writer
from centime.testing import webbox

PAGES, VISITS = 1_000_000, 150_000
SETTINGS: dict[str, Any] = {
    "scope": "any",
    "delay": 0.0,
    "workers": 1,
    "continuous": True,
    "rate": 50.0,
    "keep": "none",
}
LISTS = (
    "pages",
    "pages?by=recent",
    "pages?by=change",
    "pages?by=errors",
    "pages?kind=html",
    "pages?match=article-1",
    "hosts",
    "next",
    "changes",
    "plan",
)
CLIENTS, RATE, SECONDS = 1_000, 500, 10.0


def made() -> Path:
    """The folder of the crawl."""
    folder = CACHE / f"window-{PAGES}"
    if not (folder / "ready").exists():
        with open_writer(folder, ["https://seed.example/"], SETTINGS) as opened:
            crawl = MadeUp(opened)
            crawl.grow(PAGES)
            crawl.crawl(VISITS)
            opened.close()
        (folder / "ready").touch()
    return folder


@contextmanager
def served(folder: Path) -> Iterator[tuple[int, int]]:
    """The port and the process of a server."""
    command = [sys.executable, "-m", "centime", "serve", str(folder), "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        found = re.search(r":(\d+)/", process.stderr.readline())
        if found is None:
            raise NotToBeHad("the server did not start")
        try:
            yield int(found[1]), process.pid
        finally:
            process.terminate()


class Client:
    """A connection that stays open."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def get(self, path: str) -> tuple[int, float]:
        """The status and the seconds of an answer."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        begun = time.perf_counter()
        writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        if length is not None:
            await reader.readexactly(int(length[1]))
        return int(head[9:12]), time.perf_counter() - begun

    def close(self) -> None:
        """Closes it."""
        if self._streams is not None:
            self._streams[1].close()


def _address(folder: Path, path: str) -> str:
    return f"/c/{folder.name}/{path}"


async def _latencies(port: int, paths: list[str], seconds: float, pause: float) -> list[float]:
    client = Client(port)
    for path in paths:
        status, _ = await client.get(path)
        assert status == 200, path
    found = []
    until, number = time.perf_counter() + seconds, 0
    while time.perf_counter() < until:
        status, took = await client.get(paths[number % len(paths)])
        assert status == 200
        found.append(took)
        number += 1
        await asyncio.sleep(pause)
    client.close()
    return found


async def _load(port: int, path: str, rate: float, seconds: float) -> tuple[int, list[float]]:
    """Asks at a rate; the number of answers in time, and their latencies."""
    clients = [Client(port) for _ in range(20)]
    found: list[float] = []
    begun = time.perf_counter()

    async def work(number: int, client: Client) -> None:
        turn = 0
        while (due := (turn * len(clients) + number) / rate) < seconds:
            await asyncio.sleep(max(0.0, begun + due - time.perf_counter()))
            status, took = await client.get(path)
            assert status == 200
            found.append(took)
            turn += 1

    await asyncio.gather(*(work(number, client) for number, client in enumerate(clients)))
    took = time.perf_counter() - begun
    for client in clients:
        client.close()
    return round(len(found) / took), found


def _memory(process: int) -> int:
    """The bytes of a process that are its own."""
    status = Path(f"/proc/{process}/smaps_rollup").read_text()
    return 1024 * sum(int(size) for size in re.findall(r"^Private_\w+:\s+(\d+)", status, re.MULTILINE))


def _p95(found: list[float]) -> float:
    return float(np.percentile(found, 95)) * 1000


def answers() -> Iterator[Figure]:
    """How soon pages are answered, and what memory the server takes."""
    folder = made()
    with served(folder) as (port, process):
        overview = asyncio.run(_latencies(port, [_address(folder, "overview")], SECONDS, 0.05))
        yield Figure("overview, p95", _p95(overview), "ms", "at most", 50.0)
        lists = [_address(folder, path) for path in LISTS]
        for path in lists:
            took = asyncio.run(_latencies(port, [path], 2.0, 0.05))
            yield Figure(f"{path.rpartition('/')[2]}, p95", _p95(took), "ms", "at most", 100.0)
        found = asyncio.run(_latencies(port, lists, 3 * SECONDS, 0.1))
        yield Figure("any list, p95", _p95(found), "ms", "at most", 100.0)
        yield Figure("any list, slowest", max(found) * 1000, "ms")
        rate, took = asyncio.run(_load(port, f"/api/v1/crawls/{folder.name}/pages", 2 * RATE, SECONDS))
        yield Figure("answers of the API", rate, "a second", "at least", float(RATE))
        yield Figure("their p95", _p95(took), "ms")
        used = _memory(process)
    alone = [sys.executable, "-c", _READER, str(folder)]
    said = subprocess.run(alone, capture_output=True, text=True, check=True).stdout
    yield Figure("memory above a reader's", (used - int(said)) / 1e6, "MB", "at most", 300.0)


_READER = """
import os, sys
from pathlib import Path
from bench.serve import _memory
from centime.crawl.report import opening
reader = opening.look_at(Path(sys.argv[1]))
print(_memory(os.getpid()))
"""


def clients() -> Iterator[Figure]:
    """A thousand clients that listen to events."""
    folder = made()

    async def listen(port: int) -> tuple[int, float]:
        streams = []
        for _ in range(CLIENTS):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            path = f"/api/v1/crawls/{folder.name}/events?kinds=figures"
            writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            streams.append((reader, writer))
        begun = time.perf_counter()
        counts = [0] * CLIENTS

        async def read(number: int) -> None:
            while time.perf_counter() - begun < SECONDS:
                try:
                    data = await asyncio.wait_for(streams[number][0].read(65_536), 3.0)
                except TimeoutError:
                    continue
                counts[number] += data.count(b"event: figures")

        await asyncio.gather(*(read(number) for number in range(CLIENTS)))
        for _, writer in streams:
            writer.close()
        return sum(count >= 3 for count in counts), sum(counts) / CLIENTS / SECONDS

    with served(folder) as (port, _):
        asyncio.run(_latencies(port, [_address(folder, "overview")], 0.1, 0.0))
        told, rate = asyncio.run(listen(port))
    yield Figure("event clients that are told", told, "", "at least", float(CLIENTS))
    yield Figure("events to each", rate, "a second")


def live() -> Iterator[Figure]:
    """What a crawl loses while the window is asked."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "crawl"
        with open_writer(folder, ["https://seed.example/"], SETTINGS) as opened:
            crawl = MadeUp(opened)
            crawl.grow(100_000)
            opened.shard.journal.flush()
            with served(folder) as (port, _):
                path = f"/api/v1/crawls/{folder.name}/overview"
                asyncio.run(_latencies(port, [path], 0.1, 0.0))
                alone, beside = [], []
                for _ in range(5):
                    alone.append(crawl.crawl(2_000))
                    asking = subprocess.Popen(
                        [sys.executable, "-m", "bench.serve", "--ask", str(port), path], stdout=subprocess.PIPE
                    )
                    time.sleep(1.5)
                    beside.append(crawl.crawl(2_000))
                    said, _ = asking.communicate()
                    rate = json.loads(said)
            opened.close()
    loss = 100 * (1 - float(np.median(beside)) / float(np.median(alone)))
    yield Figure("visits per CPU-second alone", float(np.median(alone)), "")
    yield Figure("requests a second beside", rate, "", "at least", 0.95 * RATE)
    yield Figure("pages per CPU-second lost", loss, "%", "at most", 3.0)


def paint() -> Iterator[Figure]:
    """When Chromium first paints the overview."""
    folder = made()
    with served(folder) as (port, _), chromium() as browser:
        asyncio.run(_latencies(port, [_address(folder, "overview")], 0.1, 0.0))
        tab = browser.tab(f"http://127.0.0.1:{port}{_address(folder, 'overview')}")
        tab.picture()
        entries = "performance.getEntriesByName('first-contentful-paint')"
        if not tab.wait_until(f"{entries}.length"):
            raise NotToBeHad("Chromium does not say when it painted")
        found = tab.ask(f"{entries}[0].startTime")
        tab.close()
    yield Figure("first paint", found, "ms", "at most", 1000.0)


def metrics() -> Iterator[Figure]:
    """What Debian's promtool says of the metrics, and what a real Prometheus scrapes."""
    folder = made()
    unpack("prometheus")
    with served(folder) as (port, _), tempfile.TemporaryDirectory() as place:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answered:
            text = answered.read()
        said = subprocess.run([UNPACKED / "usr/bin/promtool", "check", "metrics"], input=text, capture_output=True)
        yield Figure(
            "complaints of promtool", len(said.stdout.splitlines() + said.stderr.splitlines()), "", "at most", 0.0
        )
        target = f"static_configs: [{{targets: ['127.0.0.1:{port}']}}]"
        (Path(place) / "prometheus.yml").write_text(
            f"global: {{scrape_interval: 1s}}\nscrape_configs: [{{job_name: centime, {target}}}]\n"
        )
        own = free_port()
        command: list[str | Path] = [UNPACKED / "usr/bin/prometheus", f"--config.file={place}/prometheus.yml"]
        with running([*command, f"--storage.tsdb.path={place}/data", f"--web.listen-address=127.0.0.1:{own}"]):
            yield Figure("crawls that Prometheus sees", _scraped(own), "", "at least", 1.0)


def _scraped(port: int) -> int:
    """How many crawls a Prometheus has found to be up, after half a minute at most."""
    for _ in range(60):
        time.sleep(0.5)
        try:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{port}/api/v1/query?query=centime_up", timeout=5
            ) as answered:
                found = json.load(answered)["data"]["result"]
        except OSError:
            continue
        if found:
            return sum(row["value"][1] == "1" for row in found)
    return 0


SHOWN = ("overview?over=hour", "pages", "hosts", "next", "changes?diff=true", "plan?times=4", "communities", "orders")
PICTURES = ("overview?over=hour", "changes?diff=true", "plan?times=4")
SERIOUS = """axe.run(document, {iframes: false}).then(found => found.violations
    .filter(one => one.impact === "serious" || one.impact === "critical").length)"""


def shown() -> Iterator[Figure]:
    """What axe-core finds on every page, at two widths; and the pictures of the documentation."""
    place = CACHE / "axe"
    place.mkdir(parents=True, exist_ok=True)
    try:
        if not (place / "package").exists():
            subprocess.run(["npm", "pack", "axe-core", "--silent"], cwd=place, check=True, capture_output=True)
            subprocess.run(["tar", "xzf", next(place.glob("*.tgz"))], cwd=place, check=True)
    except (OSError, subprocess.SubprocessError, StopIteration) as error:
        raise NotToBeHad(f"axe-core could not be had: {error}") from error
    axe = (place / "package/axe.min.js").read_text()
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work) / "museum"
        with webbox(hosts=6, pages=150, seed=3, speed=2 * 86_400) as web:
            settings = web.settings | {"keep": "versions", "continuous": True, "rate": "60/s", "least_interval": "1s"}
            with Crawl(folder, web.seed_url, **settings) as crawl:
                crawl.run(seconds=45.0)
        with served(folder) as (port, _), chromium() as browser:
            serious = 0
            for path in SHOWN:
                for width, dark in ((1200, False), (360, True)):
                    tab = browser.tab(f"http://127.0.0.1:{port}{_address(folder, path)}", width=width, dark=dark)
                    tab.ask(f"{axe};0")
                    serious += int(tab.ask(SERIOUS))
                    if path in PICTURES and not dark:
                        name = re.split(r"[^a-z]", path)[0]
                        Path(f"docs/pictures/window-{name}.png").write_bytes(tab.picture())
                    tab.close()
    yield Figure(f"serious findings of axe-core on {len(SHOWN)} pages", serious, "", "at most", 0.0)


PARTS: Benchmarks = {
    "shown": shown,
    "answers": answers,
    "clients": clients,
    "live": live,
    "metrics": metrics,
    "paint": paint,
}
ABOUT = {
    "answers": "latency of pages and lists, requests a second, memory",
    "clients": "a thousand clients of events",
    "live": "what a crawl loses while the window is asked",
    "shown": "axe-core on every page, and the pictures of the documentation",
    "metrics": "metrics by promtool and a real Prometheus",
    "paint": "first paint in Chromium",
}

if __name__ == "__main__":
    if sys.argv[1:2] == ["--ask"]:
        print(json.dumps(asyncio.run(_load(int(sys.argv[2]), sys.argv[3], RATE, 6.0))[0]))
        sys.exit(0)
    sys.exit(run_parts("bench.serve", "The window over a crawl of a million pages", PARTS, ABOUT))
