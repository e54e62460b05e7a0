"""The newest visits say where a page redirects to, whether or not that is followed."""

import asyncio
import time
from pathlib import Path

import pytest

from centime.crawl.engine.opening import open_writer
from centime.crawl.report.newest import visits_since
from tests.crawl.test_volatile import LIVE, read_all
from tests.fetch.hostile import Server, answer, run


@pytest.mark.parametrize(
    ("location", "leads_to"), [("/login", "{}/login"), ("ftp://a.example/", "'ftp://a.example/': it is not the URL")]
)
def test_a_redirect_says_where_it_leads(tmp_path: Path, location: str, leads_to: str) -> None:
    async def respond(writer: asyncio.StreamWriter) -> None:
        writer.write(answer(status="302 Found", location=location))
        await writer.drain()

    async def work() -> None:
        async with Server({"/": respond}) as server:
            with open_writer(tmp_path / "c", [f"{server.url}/"], LIVE) as opened:
                begin = opened.shard.pages.records.end
                await read_all(opened, time.time(), 1)
                visits, changes, _ = visits_since(opened.shard, begin, 10)
                assert (visits[0]["outcome"], visits[0]["status"], changes) == ("moved temporarily", 302, [])
                assert visits[0]["leads_to"].startswith(leads_to.format(server.url))

    run(work())
