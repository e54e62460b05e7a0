"""Who watches a page is never left believing that nothing changes: a part that counts as volatile from now on is told
once, and what a person has selected is told for ever.
"""

import asyncio
import time
from pathlib import Path

import pytest

from centime.change.part import ComparedPart
from centime.crawl.engine.opening import open_writer
from centime.crawl.report.newest import visits_since
from centime.crawl.worker.chain import Chains
from centime.crawl.worker.outlinks import LinkReader
from centime.crawl.worker.visit import visit
from centime.discover.scope import Scope
from centime.fetch.fetcher import Fetcher
from centime.shard.message import pack
from centime.shard.people.command import SubscribeCommand, new_id
from centime.shard.people.subscriptions import Subscription
from tests.crawl.test_volatile import HOUR, LIVE
from tests.fetch.hostile import Server, answer, run, settings

PRICE = "<h1>A lamp</h1><p class=price>{} euro</p>"
NOTHING = "<h1>A lamp</h1><p class=sold>sold out</p>"


def told(folder: Path, pages: list[str], select: tuple[str, ...] = (), xpath: str = "") -> tuple[list[str], list[str]]:
    """The changes of a page, read hour by hour, that the terminal tells and that a subscriber is notified of."""
    shown: list[str] = []
    notified: list[str] = []

    async def work() -> None:
        served: list[str] = []

        async def respond(writer: asyncio.StreamWriter) -> None:
            writer.write(answer(served[-1].encode(), content_type="text/html"))
            await writer.drain()

        async with Server({"/": respond}) as server:
            fetcher = Fetcher(settings())
            links = LinkReader(Scope.of([], kind="page"), None)
            chains = Chains(fetcher, links.scope.admits)
            with open_writer(folder, [f"{server.url}/"], LIVE) as opened:
                shard, now = opened.shard, time.time()
                all_of_it = Subscription("all", ".", HOUR, "file:/dev/null", xpath)
                shard.command(now, SubscribeCommand(id=new_id(), time=now, subscription=all_of_it))
                seen = shard.pages.records.end
                for page in pages:
                    served.append(page)
                    now += HOUR
                    for lease in shard.lease(now, 1):
                        shard.record(now, [pack(await visit(lease, chains, links, None, part=ComparedPart(select)))])
                    _, changes, seen = visits_since(shard, seen, 100)
                    shown.extend(change["change"] for change in changes)
                    for batch in shard.requests.subscriptions.due(now):
                        notified.extend(notice.change.value for notice in batch.notices)
                        shard.delivered(now, "all", batch.up_to)
            await fetcher.close()

    run(work())
    return shown, notified


RISING = [PRICE.format(number) for number in range(24)]


def test_every_change_of_what_was_selected_is_told(tmp_path: Path) -> None:
    assert told(tmp_path / "c", RISING, ("css:.price",)) == (["new"] + ["changed"] * 23,) * 2


def test_that_a_place_counts_as_volatile_is_told_once(tmp_path: Path) -> None:
    shown, notified = told(tmp_path / "c", RISING)
    assert shown == notified
    assert shown[0] == "new"
    assert shown[-1] == "volatile"
    assert set(shown[1:-1]) == {"changed"}


def test_what_an_xpath_finds_is_told_although_its_place_is_volatile(tmp_path: Path) -> None:
    _, notified = told(tmp_path / "c", RISING, xpath="//p")
    assert notified == ["new"] + ["changed"] * 23


def test_a_second_place_that_becomes_volatile_is_told_too(tmp_path: Path) -> None:
    both = [page + f"<p class=stock>{max(number, 20)} left</p>" for number, page in enumerate(RISING + RISING)]
    shown, _ = told(tmp_path / "c", both)
    assert shown.count("volatile") == 2


@pytest.mark.parametrize("times", [1, 2])
def test_a_selected_part_that_vanishes_and_returns_is_told_each_time(tmp_path: Path, times: int) -> None:
    pages = [PRICE.format(7), NOTHING] * times
    assert told(tmp_path / "c", pages, ("css:.price",))[0] == ["new"] + ["changed"] * (2 * times - 1)


def test_a_difference_beside_what_was_selected_is_not_told(tmp_path: Path) -> None:
    pages = [f"<p class=price>7 euro</p><p>{number} visitors</p>" for number in range(9)]
    assert told(tmp_path / "c", pages, ("css:.price",))[0] == ["new"]
