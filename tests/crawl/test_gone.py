"""Pages that are gone are looked for again: on a schedule that doubles, and at once if a link to them appears anew."""

import asyncio
import shutil
from copy import deepcopy
from pathlib import Path

import pytest

from centime.crawl.engine.opening import open_writer
from centime.crawl.engine.reader import read_crawl
from centime.crawl.engine.writer import CrawlWriter
from centime.crawl.report.planning.plan import plan
from centime.crawl.worker.fetching import FetchingProcess
from centime.crawl.worker.visit import visit
from centime.model.address import fingerprint
from centime.model.ids import PageId
from centime.model.outcome import Outcome, PageKind
from centime.settings.crawl import fetcher_settings
from centime.shard.message import Lease, Visit, pack, unpack_visit
from tests.crawl.changing import DAY, FOREVER, HOUR, START, ChangingWorld, live
from tests.crawl.served import html
from tests.crawl.world import crawl, url_of
from tests.fetch.hostile import HERE, Server, answer, run
from tests.shard.test_shard import same

LATE = START + 4 * DAY  # when a link appears: page 5 was looked for at 64, and not yet at 128 hours after it was gone


class Dying(ChangingWorld):
    """Page 5 is gone from its second read on, until `back`."""

    def __init__(self, back: float = float("inf")) -> None:
        super().__init__(pages=12)
        self.back = back
        self.links = {page: sorted({0, (page + 1) % 12} - {5}) for page in range(12)} | {4: [5, 6]}

    def visit(self, lease: Lease, now: float) -> bytes:
        seen = unpack_visit(super().visit(lease, now))
        number = int(lease.url.rsplit("p", 1)[1])
        if number == 5 and START + HOUR < now < self.back:
            return pack(Visit(page=seen.page, outcome=Outcome.GONE, kind=PageKind.DEAD, status=404))
        return pack(seen)

    def looks(self, after: float) -> list[float]:
        return [now for now, number in self.read if number == 5 and now > after]


def number_of(opened: CrawlWriter, number: int) -> PageId:
    found = opened.shard.pages.table.find_one(fingerprint(url_of(number)))
    assert found is not None
    return found


def test_a_page_that_stays_gone_is_looked_for_after_the_least_interval_and_then_twice_as_late(tmp_path: Path) -> None:
    world = Dying()
    with crawl(tmp_path / "c", **FOREVER | {"rate": 0.001, "least_interval": HOUR}) as opened:
        live(opened, world, START + 5 * DAY, step=500.0)
        died, *looks = world.looks(START + HOUR)
        waits = [(later - sooner) / HOUR for sooner, later in zip([died, *looks], looks, strict=False)]
        assert waits == pytest.approx([1, 2, 4, 8, 16, 32], abs=0.5)
        assert opened.shard.refreshing.mortality.deaths == 1.0, "a page dies once"
        assert plan(opened, now=START + 5 * DAY)["deaths_per_page_and_day"] > 0.0


def test_a_crawl_that_begins_to_refresh_looks_for_the_pages_that_were_gone_before(tmp_path: Path) -> None:
    world = Dying()
    with crawl(tmp_path / "c", exclude=["elsewhere"]) as opened:
        live(opened, world, START + HOUR + 700.0, start=START + HOUR + 1.0, step=10.0)
        last = opened.shard.pages.last(number_of(opened, 5))
        assert last is not None
        assert last.outcome is Outcome.GONE
        assert number_of(opened, 5) not in opened.shard.placement.retries
        opened.shard.journal.flush()
    world.back = START + HOUR + 1000.0
    with crawl(tmp_path / "c", **FOREVER | {"least_interval": HOUR}) as opened:
        assert number_of(opened, 5) in opened.shard.placement.retries
        live(opened, world, START + 5 * HOUR, start=START + HOUR + 1000.0)
        found = opened.shard.pages.last(number_of(opened, 5))
        assert found is not None
        assert found.outcome is Outcome.READ
        opened.shard.journal.flush()
        same(opened.shard, read_crawl(tmp_path / "c").shard)


@pytest.fixture(scope="module")
def until_late(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Dying, float]:
    """A crawl until a link appears, its world and the time."""
    folder, world = tmp_path_factory.mktemp("gone") / "c", Dying(back=LATE)
    with crawl(folder, **FOREVER | {"rate": 0.001, "least_interval": HOUR}) as opened:
        now = live(opened, world, LATE, step=500.0)
        opened.close()
    return folder, world, now


@pytest.mark.parametrize("anew", [True, False])
def test_a_new_link_on_a_page_that_was_read_before_is_followed_at_once(
    until_late: tuple[Path, Dying, float], tmp_path: Path, anew: bool
) -> None:
    folder, world, now = deepcopy(until_late)
    shutil.copytree(folder, tmp_path / "c")
    with crawl(tmp_path / "c") as opened:
        planned = opened.shard.placement.retries.time(number_of(opened, 5))
        assert planned > LATE + 10 * HOUR
        linking = 9 if anew else 4  # page 4 has linked to it all the time
        world.links[9] = [0, 5] if linking == 9 else world.links[9]
        world.changes[linking] = world.changes[linking][world.changes[linking] < LATE]
        now = live(opened, world, LATE + 10 * HOUR, start=now, step=250.0)
        looks = world.looks(LATE)
        if not anew:
            assert not looks, "a link that was always there is no news"
        else:
            linked = min(time for time, number in world.read if number == 9 and time > LATE)
            assert linked < looks[0] < linked + 0.5 * HOUR
            last = opened.shard.pages.last(number_of(opened, 5))
            assert last is not None
            assert last.outcome is Outcome.READ
            assert opened.shard.refreshing.mortality.deaths == 0.0, "it was not dead"
        opened.shard.journal.flush()
        same(opened.shard, read_crawl(tmp_path / "c").shard)


def test_a_menu_with_a_dead_link_on_every_new_page_costs_few_looks(tmp_path: Path) -> None:
    world = Dying()
    world.pages = 600
    world.links |= {page: [5, page + 1] for page in range(12, 599)} | {599: [0], 11: [12]}
    world.changes |= dict.fromkeys(range(12, 600), world.changes[3])
    with crawl(tmp_path / "c", **FOREVER | {"rate": 0.01, "least_interval": HOUR, "discovery_weight": 1e3}) as opened:
        live(opened, world, START + DAY)
        assert opened.shard.visited_count > 500
        assert 3 < len(world.looks(START + HOUR)) < 14


def test_over_http_a_page_that_is_gone_is_back_as_soon_as_another_page_links_to_it(tmp_path: Path) -> None:
    async def work() -> None:
        async with Server({}) as server:
            gone, dated = answer(b"<p>nothing", status="410 Gone"), {"Content_Type": "text/html"}
            server.routes.update({"/": html("/a", "/b"), "/a": gone, "/b": answer(b"<p>first", **dated)})
            given = {"delay": 0.0, "allow-network": list(HERE), "continuous": True, "rate": 1.0, "least-interval": 60.0}
            with open_writer(tmp_path / "c", [server.url + "/"], given) as opened:
                process = FetchingProcess(
                    fetcher_settings(opened.settings, opened.settings.fetch_settings(), "test", opened.folder)
                )
                now = opened.clock()

                async def go(until: float, step: float) -> float:
                    time = now
                    while time < until:
                        leases = opened.shard.lease(time, 8)
                        visits = await asyncio.gather(
                            *(
                                visit(one, process.chains, process.links, process.archive, process.hook)
                                for one in leases
                            )
                        )
                        opened.shard.record(time, [pack(one) for one in visits])
                        time += step
                    return time

                now = await go(now + 3 * HOUR, 30.0)
                looks = server.asked.count("/a")
                assert 7 <= looks <= 9, "after 1, 2, 4 ... 64 minutes; the next one comes after 255"
                server.routes.update({"/a": answer(b"<p>back", **dated), "/b": html("/a", "/new")})
                now = await go(now + 30 * 60.0, 30.0)
                assert server.asked.count("/a") > looks
                url = server.url + "/a"
                page = opened.shard.pages.table.find_one(fingerprint(url))
                assert page is not None
                last = opened.shard.pages.last(page)
                assert last is not None
                assert last.outcome.present
                await process.chains.close()

    run(work())
