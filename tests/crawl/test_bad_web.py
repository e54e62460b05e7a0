"""The hostile host of the webbox among ordinary ones: it costs bounded memory and time, and never stops the others."""

import asyncio
import os
import re
import time
from pathlib import Path

import pytest

from centime.crawl.check.check import check_crawl
from centime.crawl.engine.loop import Engine, Limits
from centime.crawl.engine.opening import open_writer
from centime.crawl.worker.fetching import TITLE
from centime.fetch.watch import STANDSTILL_SECONDS, Attempt, Watch
from centime.lab.webbox import WebBox, serve_in_process
from centime.lab.webbox.hostile import NAMES
from centime.model.address import fingerprint
from centime.model.ids import PageId
from centime.model.outcome import Outcome
from centime.shard import state
from centime.store.record import Record

TIMEOUT = 5.0  # seconds for a page
MOST_SECONDS = 120.0  # on busy cores; it takes ten
GOOD = (Outcome.READ, Outcome.DISALLOWED)
MOST_GROWTH = 250 << 20  # bytes of memory above those of the fetcher without the hostile host
BOMBS = ("bomb.gz", "bomb.br", "bomb.zst")  # no link to such a name is followed: they are given as seeds
PRIVATE = {"http://10.0.0.1/", "http://[::ffff:a00:1]/", "http://169.254.169.254/latest/meta-data/", "http://[::1]/"}


class Watched(Engine):
    """A crawl that observes the memory of its fetchers, and ends when it has visited the expected pages."""

    peaks: dict[int, int]
    ordinary: set[str]  # still to be read
    strange: set[str]  # still to be visited

    def look(self, crawl: Engine, now: float) -> None:
        """Updates the peak memory of each fetcher, and the pages still to be visited."""
        self.ordinary = {url for url in self.ordinary if self._outcome(url) not in GOOD}
        self.strange = {url for url in self.strange if self._outcome(url) is None}
        if not self.ordinary and not self.strange:
            self.stop()
        children = Path("/proc/self/task") / str(os.getpid()) / "children"
        self.peaks = {
            process: _peak(process) for process in map(int, children.read_text().split()) if _is_fetcher(process)
        } or getattr(self, "peaks", {})  # a fetcher has its name once it has started

    def _outcome(self, url: str) -> Outcome | None:
        pages = self.opened.shard.pages
        page = pages.table.find_one(fingerprint(url))
        return _outcome(pages.last(page)) if page is not None else None


def _is_fetcher(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/comm").read_text().strip() == TITLE
    except FileNotFoundError:
        return False


def _peak(process: int) -> int:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    return int(found[1]) << 10 if found else 0


@pytest.mark.long
@pytest.mark.timeout(240)
def test_a_hostile_host_costs_bounded_memory_and_time_and_never_stops_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # all hostile pages at once; with fewer leases, the back-off of the host would take too long
    monkeypatch.setattr(state, "LEASES_WITHOUT_DELAY", 90)
    box = WebBox(hosts=4, pages=150, traps=False, feeds=False, crawl_delay_seconds=0.0, hostile=True, seed=2)
    given = {
        "scope": "any",
        "delay": 0.0,
        "workers": 2,
        "timeout": TIMEOUT,
        "most-page-bytes": 2 << 20,
        "pages-per-host": 200,
        "allow-network": ["127.0.0.0/8"],
    }
    with serve_in_process(box) as served:
        hostile = f"http://hostile.localhost:{served.port}/"
        with open_writer(
            tmp_path / "c", [hostile, *(hostile + name for name in BOMBS), served.seed_url], given
        ) as opened:
            crawl = Watched(opened, Limits(seconds=MOST_SECONDS))
            crawl.ordinary = {url for page, url in enumerate(served.webbox.urls()) if served.webbox.form(page) <= 1}
            crawl.strange = {hostile + name for name in NAMES if name != "million-links"} | PRIVATE
            started = time.monotonic()
            crawl.run(crawl.look)
            assert time.monotonic() - started < MOST_SECONDS + 3 * TIMEOUT + 5
            urls = list(opened.shard.pages.texts.every())
            records = {url: opened.shard.pages.last(PageId(page)) for page, url in enumerate(urls)}
            assert opened.shard.outcomes[Outcome.LOST] == 0
    assert (crawl.ordinary, crawl.strange) == (set(), set())
    assert len(crawl.peaks) == 2
    assert max(crawl.peaks.values()) - min(crawl.peaks.values()) < MOST_GROWTH
    assert {name: _outcome(records[hostile + name]) for name in EXPECTED} == EXPECTED
    assert {url: _outcome(records.get(url)) for url in PRIVATE} == dict.fromkeys(PRIVATE, Outcome.REFUSED_ADDRESS)
    assert not [url for url in urls if not url.startswith(("http://", "https://"))]
    assert sum(url.startswith(hostile) for url in urls) <= 200
    assert check_crawl(tmp_path / "c").problems == []


EXPECTED = {
    "endless": Outcome.READ,  # up to the limit of bytes
    "endless-chunks": Outcome.READ,
    "bomb.gz": Outcome.READ,
    "bomb.br": Outcome.READ,
    "bomb.zst": Outcome.READ,
    "nested": Outcome.READ,
    "laughs.xml": Outcome.READ,
    "quadratic.xml": Outcome.READ,
    "outside.xml": Outcome.READ,
    "invalid-utf-8": Outcome.READ,
    "drip": Outcome.TIMED_OUT,
    "silence": Outcome.TIMED_OUT,
    "large-header": Outcome.BAD_RESPONSE,
    "many-headers": Outcome.BAD_RESPONSE,
    "bad-chunks": Outcome.BAD_RESPONSE,
    "garbage": Outcome.BAD_RESPONSE,
    "reset": Outcome.NO_CONNECTION,
    "loop-1": Outcome.MOVED_TEMPORARILY,
    "self": Outcome.MOVED_TEMPORARILY,
    "to-private": Outcome.MOVED_TEMPORARILY,
    "to-file": Outcome.MOVED_TEMPORARILY,
}


def _outcome(record: Record | None) -> Outcome | None:
    return None if record is None else record.outcome


def test_time_in_which_a_fetcher_stood_still_does_not_count_against_a_server() -> None:
    async def attempt(silent: bool) -> str:
        loop = asyncio.get_running_loop()
        watch = Watch(tick_seconds=0.01, least_bytes_per_second=0.0, grace_seconds=1.0)
        answer = loop.create_future()
        task = asyncio.ensure_future(answer)
        watched = Attempt(task, time.monotonic(), 0.1, 0.1, 0.1)
        watch.add(watched, loop)
        time.sleep(STANDSTILL_SECONDS + 0.2)  # a page that is hard to parse, in the same loop
        if not silent:
            loop.call_later(0.03, answer.set_result, "received")
        try:
            return str(await task)
        except asyncio.CancelledError:
            return watched.expired.partition(" after")[0]
        finally:
            watch.drop(watched)
            watch.close()

    assert asyncio.run(attempt(silent=False)) == "received"
    assert asyncio.run(attempt(silent=True)) == "no connection"
