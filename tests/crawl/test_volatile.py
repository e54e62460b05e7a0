"""Crawls of a real server whose pages have noise and change: what every visit says, and that it survives a kill."""

import asyncio
import shutil
import time
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from centime.crawl.engine.opening import open_writer
from centime.crawl.engine.writer import CrawlWriter
from centime.crawl.repair.repair import repair_crawl
from centime.crawl.report.page import about_page
from centime.crawl.worker.chain import Chains
from centime.crawl.worker.outlinks import LinkReader
from centime.crawl.worker.visit import visit
from centime.discover.scope import Scope
from centime.fetch.fetcher import Fetcher
from centime.files.appended import BLOCK
from centime.model.ids import PageId
from centime.shard.filing import VOLATILE_SECONDS
from centime.shard.message import pack
from centime.shard.people.command import SubscribeCommand, new_id
from centime.shard.people.notices import Change
from centime.shard.people.subscriptions import Subscription
from centime.store.record import Mark, Record
from centime.store.records import UNIT
from centime.testing import webbox
from tests.fetch.hostile import Handler, Server, answer, run, settings

LIVE: dict[str, Any] = {"continuous": True, "rate": 100.0, "least_interval": 1.0, "delay": 0.0, "scope": "any"}
PAGES = 6
HOUR = 3600.0


class Site:
    """A site whose pages say what they are told to, beside a number that differs at every read."""

    def __init__(self) -> None:
        self.texts = ["opens at 10:00"] * PAGES
        self._reads = count()

    def route(self, number: int) -> Handler:
        """Answers with the page as it is written now."""

        async def respond(writer: asyncio.StreamWriter) -> None:
            writer.write(answer(self.body(number).encode(), content_type="text/html"))
            await writer.drain()

        return respond

    def body(self, number: int) -> str:
        """The page as it is written now."""
        links = "".join(f"<li><a href=/{page}>page {page}</a></li>" for page in range(PAGES))
        return (
            f"<title>Page {number}</title><main><h1>Page {number}</h1><p class=text>It {self.texts[number]} today.</p>"
            f"<ul>{links}</ul></main><p class=live>{next(self._reads)} people are watching</p>"
        )


async def read_all(opened: CrawlWriter, now: float, rounds: int, apart: float = HOUR) -> float:
    """Reads every page some times, so many seconds of the crawl's clock apart; returns the time of the last read."""
    fetcher = Fetcher(settings())
    links = LinkReader(Scope.of([], kind="any"), None)
    chains = Chains(fetcher, links.scope.admits)
    try:
        for _ in range(rounds):
            now += apart
            wanted = {page: opened.shard.pages.texts.get(PageId(page)) for page in range(opened.shard.pages.count)}
            while wanted and (leases := opened.shard.lease(now, 1)):
                for lease in leases:
                    wanted.pop(int(lease.page), None)
                    opened.shard.record(now, [pack(await visit(lease, chains, links, None))])
    finally:
        await fetcher.close()
    return now


def marks(opened: CrawlWriter) -> dict[str, Mark]:
    """What the last visit of each page says of its content, by its path."""
    kinds = Mark.CHANGED | Mark.MARKUP | Mark.VOLATILE
    found = {}
    for number in range(opened.shard.pages.count):
        record = opened.shard.pages.last(PageId(number))
        assert record is not None
        found[opened.shard.pages.texts.get(PageId(number)).rpartition("/")[2]] = record.marks & kinds
    return found


def known(opened: CrawlWriter) -> tuple[bytes, list[Record | None]]:
    """What a crawl knows about the noise of its hosts and the content of its pages."""
    noise = msgspec.msgpack.encode([host.noise for host in opened.shard.hosts.all])
    return noise, [opened.shard.pages.last(PageId(page)) for page in range(PAGES)]


def test_a_crawl_learns_noise_and_sees_a_change_beside_it_also_after_it_was_killed(tmp_path: Path) -> None:
    async def work() -> None:
        site = Site()
        async with Server({f"/{number}": site.route(number) for number in range(PAGES)}) as server:
            with open_writer(tmp_path / "c", [f"{server.url}/0"], LIVE) as opened:
                now = await read_all(opened, time.time(), 5)
                assert set(marks(opened).values()) == {Mark.VOLATILE}
                opened.shard.journal.sync()
                killed = known(opened)
                shutil.copytree(tmp_path / "c", tmp_path / "killed")
            with open_writer(tmp_path / "killed", [], LIVE) as opened:
                assert known(opened) == killed
                site.texts[2] = "opens at 09:00"
                await read_all(opened, now, 1)
                assert marks(opened) == {str(page): Mark.VOLATILE for page in range(PAGES)} | {"2": Mark.CHANGED}
                twins = sum(host.noise.twins for host in opened.shard.hosts.all if host.noise is not None)
                assert 1 <= twins <= 8
            assert len(server.asked) - 1 <= 6 * PAGES + twins + PAGES  # robots.txt, every read, and the twins

    run(work())


def test_a_crawl_that_refreshes_nothing_reads_no_page_twice(tmp_path: Path) -> None:
    async def work() -> None:
        site = Site()
        async with Server({f"/{number}": site.route(number) for number in range(PAGES)}) as server:
            with open_writer(tmp_path / "c", [f"{server.url}/0"], {"scope": "any", "delay": 0.0}) as opened:
                await read_all(opened, time.time(), 2)
            assert sorted(server.asked) == ["/0", "/1", "/2", "/3", "/4", "/5", "/robots.txt"]

    run(work())


class LyingServer:
    """A site that answers every conditional request with 304, whatever its page says."""

    def __init__(self) -> None:
        self.text = "version 1.0"
        self.lies = True
        self.conditional = 0

    def serve(self, server: Server) -> Handler:
        """Answers by the head of the last request."""

        async def respond(writer: asyncio.StreamWriter) -> None:
            conditional = b"if-none-match" in server.heads[-1].lower()
            self.conditional += conditional
            if conditional and self.lies:
                writer.write(answer(status="304 Not Modified", etag='"a"'))
            else:
                writer.write(answer(f"<p>It is {self.text}</p>".encode(), content_type="text/html", etag='"a"'))
            await writer.drain()

        return respond


def test_a_host_whose_304_was_a_lie_is_read_without_conditions(tmp_path: Path) -> None:
    async def work() -> None:
        site, server = LyingServer(), Server({})
        server.routes["/0"] = site.serve(server)
        async with server:
            with open_writer(tmp_path / "c", [f"{server.url}/0"], LIVE) as opened:
                now = await read_all(opened, time.time(), 2)
                host = opened.shard.hosts.all[0]
                assert (host.unmodified, host.lies) == (1, 0)  # the first 304 was checked and right
                site.text = "version 2.0"
                now = await read_all(opened, now, 1)
                assert (host.unmodified, host.lies) == (2, 1)  # the second was a lie
                assert marks(opened) == {"0": Mark.CHANGED}
                before = site.conditional
                for version in range(3, 10):
                    site.text = f"version {version}.0"
                    now = await read_all(opened, now, 1)
                    assert marks(opened) == {"0": Mark.CHANGED}
                assert site.conditional == before
                site.lies = False
                await read_all(opened, now, 40)
                assert host.lies == 1  # it sends the page itself now, so there is no 304 that could be right
                assert site.conditional > before

    run(work())


def test_the_volatile_parts_of_a_page_are_listed(tmp_path: Path) -> None:
    async def work() -> None:
        site = Site()
        async with Server({f"/{number}": site.route(number) for number in range(PAGES)}) as server:
            with open_writer(tmp_path / "c", [f"{server.url}/0"], LIVE) as opened:
                now = await read_all(opened, time.time(), 4)
                facts = about_page(opened, f"{server.url}/0", now=now)
                (part,) = facts["volatile_parts"]
                assert part["part"] == "words that differ in a text that stays"
                assert "people are watching" in part["sample"]
                assert 0 < facts["volatile_share_percent"] < 50
                assert facts["visits"][0]["changed"] == "minor: volatile parts"

    run(work())


def test_a_subscriber_hears_once_a_period_that_only_volatile_parts_of_a_page_differ(tmp_path: Path) -> None:
    async def work() -> None:
        site = Site()
        async with Server({f"/{number}": site.route(number) for number in range(PAGES)}) as server:
            with open_writer(tmp_path / "c", [f"{server.url}/0"], LIVE) as opened:
                subscriptions = opened.shard.requests.subscriptions
                now = await read_all(opened, time.time(), 4)
                began = {number: _last(opened, number).changed_time for number in range(PAGES)}
                watch = Subscription("watch", "/[0-3]$", HOUR, "file:/dev/null")
                assert opened.shard.command(now, SubscribeCommand(id=new_id(), time=now, subscription=watch))
                now = await read_all(opened, now, 12, apart=VOLATILE_SECONDS / 5)
                (batch,) = subscriptions.due(now)
                opened.shard.delivered(now, "watch", batch.up_to)
                assert {notice.change for notice in batch.notices} == {Change.VOLATILE}
                assert {notice.url.rpartition("/")[2] for notice in batch.notices} == set("0123")
                periods = [
                    (notice.page, int((notice.time - began[int(notice.page)]) // VOLATILE_SECONDS))
                    for notice in batch.notices
                ]
                assert all(period >= 1 for _, period in periods)
                assert len(periods) == len(set(periods))
                site.texts[1] = "is closed"
                now = await read_all(opened, now, 1)
                (batch,) = subscriptions.due(now)
                changed = [notice for notice in batch.notices if notice.change is Change.CHANGED]
                assert [notice.url.rpartition("/")[2] for notice in changed] == ["1"]

    run(work())


def _last(opened: CrawlWriter, number: int) -> Record:
    found = opened.shard.pages.last(PageId(number))
    assert found is not None
    return found


def test_a_crawl_of_a_noisy_web_box_calls_no_page_changed_once_it_has_learned(tmp_path: Path) -> None:
    async def work(seed: str) -> None:
        with open_writer(tmp_path / "c", [seed], LIVE) as opened:
            now = await read_all(opened, time.time(), 6)
            changed, read = 0, 0
            for _ in range(4):
                now = await read_all(opened, now, 1)
                found = Counter(marks(opened).values())
                changed, read = changed + found[Mark.CHANGED], read + found[Mark.VOLATILE]
            assert read > 40
            assert changed <= read // 20

    with webbox(pages=20, hosts=1, noise=True, speed=1e-6) as web:
        run(work(web.seed_url))


def test_a_repair_keeps_what_pages_are_compared_by_and_forgets_what_is_lost(tmp_path: Path) -> None:
    async def work() -> None:
        site = Site()
        folder = tmp_path / "c"
        async with Server({f"/{number}": site.route(number) for number in range(PAGES)}) as server:
            with open_writer(folder, [f"{server.url}/0"], LIVE) as opened:
                now = await read_all(opened, time.time(), 16)
                site.texts[3] = "is closed"
                now = await read_all(opened, now, 4)
                at = [_last(opened, number).state_at for number in range(PAGES)]
                states = [opened.shard.pages.compared_by(_last(opened, number)) for number in range(PAGES)]
                opened.close()
            data = bytearray((folder / "state" / "records.bin").read_bytes())
            block = min(at) * UNIT // BLOCK * BLOCK
            data[block : block + BLOCK] = bytes(BLOCK)
            (folder / "state" / "records.bin").write_bytes(data)
            for path in (folder / "journal").iterdir():  # from which all of it would be restored
                path.unlink()
            repair_crawl(folder)
            with open_writer(folder, [], LIVE) as opened:
                closed = at.index(max(at))
                assert 0 < _last(opened, closed).state_at < at[closed]
                kept = [opened.shard.pages.compared_by(_last(opened, number)) for number in range(PAGES)]
                assert kept[closed] == states[closed]
                assert b"" in kept
                assert all(one in (state, b"") for one, state in zip(kept, states, strict=True))
                before = _last(opened, closed)
                await read_all(opened, now, 4, apart=24 * HOUR)
                after = _last(opened, closed)
                assert after.visits > before.visits
                assert after.changes == before.changes

    run(work())
