"""Subscriptions with a condition end to end: a real server whose shop changes, stored versions, and what is told."""

import asyncio
from pathlib import Path
from typing import Any

from centime.crawl.engine.opening import open_writer
from centime.crawl.notify.differences import add_differences
from centime.crawl.worker.fetching import FetchingProcess
from centime.crawl.worker.visit import visit
from centime.settings.crawl import fetcher_settings
from centime.shard.message import pack
from centime.shard.people.command import SubscribeCommand, new_id
from centime.shard.people.notices import When
from centime.shard.people.subscriptions import Subscription
from tests.crawl.test_kept_versions import BASE
from tests.fetch.hostile import Server, answer, run

SUBSCRIPTIONS = [
    Subscription("cheap", ".", 1.0, "file:/x", "//item[number(price) < 100]", when=When.APPEARS),
    Subscription("items", ".", 1.0, "file:/x", "//item"),
    Subscription("sold", ".", 1.0, "file:/x", words='"sold out"'),
    Subscription("all", ".", 1.0, "file:/x"),
]
Told = dict[str, list[Any]]


class Shop:
    """A server with one XML document, or a redirect in its place."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.server = Server({})
        self.seed: list[str] = []

    def sells(self, note: str = "", **prices: int) -> None:
        items = "".join(f"<item><name>{name}</name><price>{price}</price></item>" for name, price in prices.items())
        body = f"<?xml version='1.0'?><shop><note>{note}</note>{items}</shop>".encode()
        self.server.routes["/shop.xml"] = answer(body, content_type="application/xml")

    async def visited(self, subscribe: bool = False) -> Told:
        """Visits the document once; returns what each subscriber is told."""
        with open_writer(self.folder, [f"{self.server.url}/shop.xml"], BASE | {"keep": "versions"}) as opened:
            await asyncio.sleep(0.05)
            if subscribe:
                for one in SUBSCRIPTIONS:
                    opened.shard.command(opened.clock(), SubscribeCommand(id=new_id(), time=1.0, subscription=one))
            given = fetcher_settings(opened.settings, opened.settings.fetch_settings(), "test", opened.folder)
            process = FetchingProcess(given)
            try:
                leases = opened.shard.lease(opened.clock(), 9)
                assert len(leases) == 1
                found = [await visit(one, process.chains, process.links, process.archive) for one in leases]
                opened.shard.record(opened.clock(), [pack(one) for one in found])
            finally:
                await process.chains.close()
                assert process.archive is not None
                process.archive.close()
            told: Told = {}
            for batch in opened.shard.requests.subscriptions.due(opened.clock() + 1e6):
                facts = batch.facts()
                add_differences(self.folder, facts, batch)
                told |= {batch.name: facts["changes"]} if facts["changes"] else {}
                opened.shard.delivered(opened.clock(), batch.name, batch.up_to)
            opened.close()
            return told


def test_subscribers_are_told_from_the_first_change_on_what_became_of_nodes_and_words(tmp_path: Path) -> None:
    async def work() -> None:
        shop = Shop(tmp_path / "c")
        async with shop.server:
            shop.sells(cup=120, pot=300)
            assert await shop.visited() == {}
            shop.sells(cup=90, pot=300)
            told = await shop.visited(subscribe=True)
            assert sorted(told) == ["all", "cheap", "items"]
            assert told["cheap"][0]["nodes"] == [
                {
                    "change": "matches",
                    "path": "/shop/item[1]",
                    "old": "<item><name>cup</name><price>120</price></item>",
                    "new": "<item><name>cup</name><price>90</price></item>",
                }
            ]
            assert (told["all"][0]["status"], told["all"][0]["nodes"]) == (200, None)
            shop.sells(cup=80, pot=300)
            assert sorted(await shop.visited()) == ["all", "items"], "it is as cheap as before"
            shop.sells(note="cups are sold out", pot=300)
            told = await shop.visited()
            assert sorted(told) == ["all", "items", "sold"]
            assert (told["sold"][0]["old"], told["sold"][0]["new"]) == ("", "cups are sold out")
            assert [node["change"] for node in told["items"][0]["nodes"]] == ["gone"]
            shop.sells(note="new cups", pot=300)
            told = await shop.visited()
            assert sorted(told) == ["all", "sold"]
            assert (told["sold"][0]["old"], told["sold"][0]["new"]) == ("cups are sold out", "")
            shop.server.routes["/shop.xml"] = answer(status="301 Moved", location="/other.xml")
            told = await shop.visited()
            assert sorted(told) == ["all", "items"]
            (moved,) = told["all"]
            assert (moved["change"], moved["status"], moved["diff"]) == ("moved", 301, None)
            assert moved["moved_to"] == f"{shop.server.url}/other.xml"

    run(work())
