"""A continuous crawl: it discovers pages, then refreshes pages that are worth it, and carries out commands.

Over 400 lines: all cases share the changing world and the ways to command a crawl at the top."""

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pytest

from centime.crawl.check.check import check_crawl
from centime.crawl.engine.reader import read_crawl
from centime.crawl.engine.writer import CrawlWriter
from centime.crawl.report.page import about_page
from centime.frontier.kind import DEADLINE, PUBLISHED, REFRESH
from centime.model.address import fingerprint
from centime.model.errors import BadSetting, CentimeError
from centime.model.ids import PageId
from centime.model.outcome import Outcome, PageKind
from centime.shard.message import CLAIM, Lease, Returned, Seeded, Visit, pack, unpack_visit
from centime.shard.people.command import (
    Command,
    PublishCommand,
    SetCommand,
    SubscribeCommand,
    UnsubscribeCommand,
    new_id,
)
from centime.shard.people.notices import Change
from centime.shard.people.subscriptions import Subscription
from centime.shard.refreshing import Refreshing
from centime.shard.state import RULES
from tests.crawl.changing import DAY, FOREVER, HOUR, START, ChangingWorld, live
from tests.crawl.world import crawl, url_of
from tests.shard.test_shard import same


def page_of(opened: CrawlWriter, number: int) -> int:
    return int(opened.shard.pages.table.find(np.array([fingerprint(url_of(number))], dtype=np.uint64))[0])


def command(opened: CrawlWriter, now: float, given: Command) -> Command:
    assert opened.shard.command(now, given)
    assert not opened.shard.command(now, given), "a command is carried out once"
    return given


def publish(opened: CrawlWriter, now: float, *numbers: int, **more: Any) -> Command:
    urls = "\n".join(map(url_of, numbers)).encode()
    return command(opened, now, PublishCommand(id=new_id(), time=now, urls=urls, **more))


def test_it_discovers_and_then_reads_again_and_its_journal_gives_the_same_state(tmp_path: Path) -> None:
    world = ChangingWorld()
    with crawl(tmp_path / "c", **FOREVER) as opened:
        shard = opened.shard
        now = live(opened, world, START + 2 * HOUR)
        assert shard.read_count == world.pages
        now = live(opened, world, START + 4 * HOUR, start=now)
        opened._start()
        opened._finish()
        live(opened, world, START + 18 * HOUR, start=now)
        leased = shard.placement.frontier.statistics()["leased"]
        assert leased[5] == world.pages
        assert leased[4] > 500
        shard.refreshing.book.check(shard.ledger.importance)
        shard.placement.frontier.check()
        shard.journal.flush()
        again = read_crawl(tmp_path / "c")
        assert again.folded > 500
        same(shard, again.shard)


@pytest.mark.long
def test_pages_that_change_more_often_are_estimated_so_and_the_budget_is_kept(tmp_path: Path) -> None:
    world = ChangingWorld(pages=20)
    with crawl(tmp_path / "c", **FOREVER) as opened:
        live(opened, world, START + 1.5 * DAY)
        pages = np.array([page_of(opened, number) for number in range(world.pages) if number != 7])
        mean, low, high = opened.shard.refreshing.book.rates(pages)
        true = np.array([1 / ((number % 10 + 1) * HOUR) for number in range(world.pages) if number != 7])
        assert np.median(np.abs(np.log(mean / true))) < 0.4
        assert np.mean((low < true) & (true < high)) > 0.7
        spent = len(world.read) / (1.5 * DAY)
        assert 0.7 * FOREVER["rate"] < spent <= FOREVER["rate"]
        facts = about_page(opened, url_of(3), now=START + 1.5 * DAY)
        assert (
            facts["changes_per_day_90_percent"][0] < facts["changes_per_day"] < facts["changes_per_day_90_percent"][1]
        )
        assert facts["change_pattern"] in ("chance", "unknown")
        assert not facts["irregular"]
        assert 0 < facts["probably_fresh"] <= 1
        assert facts["worth_needed"] > 0


@pytest.mark.long
def test_once_the_dates_of_a_host_are_reliable_that_of_the_first_read_counts_too(tmp_path: Path) -> None:
    def rates(folder: str, *, dated: bool) -> npt.NDArray[np.float64]:
        """The believed rates of pages that never change, and were dated hours ago when they were read first."""
        world = ChangingWorld(pages=200, period=HOUR / 4, dated=dated)
        for page in range(100, 200):
            world.changes[page] = np.array([START + 1000 * DAY])
        with crawl(tmp_path / folder, **FOREVER | {"rate": 0.05}) as opened:
            live(opened, world, START + DAY / 3, step=20.0)
            counts = Counter(page for _, page in world.read)
            quiet = [page for page in range(100, 200) if counts[page] > 1]
            assert len(quiet) > 50
            pages = np.array([page_of(opened, page) for page in quiet])
            shapes, scales = opened.shard.refreshing.book.beliefs(pages, opened.shard.ledger.importance(pages))
            return shapes / scales

    assert np.median(rates("dated", dated=True)) < 0.5 * np.median(rates("undated", dated=False))


@pytest.mark.long
def test_a_page_that_changes_on_the_hour_is_read_just_after(tmp_path: Path) -> None:
    world = ChangingWorld(pages=8, period=40 * HOUR)
    world.changes[7] = np.arange(0, 4000) * DAY + START + 600.0
    with crawl(tmp_path / "c", **FOREVER | {"rate": 0.0007}) as opened:
        live(opened, world, START + 25 * DAY, step=1200.0)
        page = page_of(opened, 7)
        assert opened.shard.refreshing.beats[PageId(page)].rhythm.period == DAY
        late = [(now - START - 600.0) % DAY for now, number in world.read if number == 7 and now > START + 15 * DAY]
        assert len(late) >= 8
        assert np.median(late) < 2 * HOUR, "and not twelve hours, as by chance"


def test_a_published_change_comes_before_due_pages_and_a_liar_loses_its_credit(tmp_path: Path) -> None:
    world = ChangingWorld(period=1000 * HOUR)
    with crawl(tmp_path / "c", **FOREVER | {"least_interval": 30 * DAY}) as opened:
        shard = opened.shard
        now = live(opened, world, START + 2 * HOUR)
        numbers = [page_of(opened, number) for number in (1, 2, 3)]
        publish(opened, now, 1, 2, 3, publisher="liar")
        assert shard.placement.frontier.levels(np.array(numbers)).tolist() == [PUBLISHED] * 3
        now = live(opened, world, now + 1000.0, start=now)
        assert {page for _, page in world.read[-3:]} == {1, 2, 3}
        assert shard.requests.publishers.credit("liar") == pytest.approx(1 / 5)
        publish(opened, now, *range(4, 40), publisher="liar")
        announced = np.array([page_of(opened, number) for number in range(4, 40)])
        urgent = announced[shard.placement.frontier.levels(announced) == PUBLISHED]
        assert 0 < len(urgent) <= 3, "a few, by which it can earn its credit back"
        assert page_of(opened, 4) not in urgent, "its announcements are ignored"
        publish(opened, now, 4, publisher="somebody")
        assert shard.placement.frontier.levels(np.array([page_of(opened, 4)])).tolist() == [PUBLISHED]
        world.changes[4] = np.array([now])
        live(opened, world, now + 1000.0, start=now)
        assert shard.requests.publishers.credit("somebody") == pytest.approx(2 / 3)
        shard.journal.flush()
        same(shard, read_crawl(tmp_path / "c").shard)


def test_a_cluster_is_read_one_page_after_the_other_and_new_pages_of_it_are_known(tmp_path: Path) -> None:
    world = ChangingWorld(period=1000 * HOUR)
    world.links[41], world.links[42] = [], []
    world.changes |= {41: np.empty(0), 42: np.empty(0)}
    with crawl(tmp_path / "c", **FOREVER | {"least_interval": 30 * DAY}) as opened:
        now = live(opened, world, START + 2 * HOUR)
        publish(opened, now, 30, 31, 32, 33)
        publish(opened, now, 11, 12, 41, 42, cluster="catalogue", publisher="shop")
        live(opened, world, now + 2000.0, start=now)
        read_after = [page for _, page in world.read[-8:]]
        places = [read_after.index(page) for page in (11, 12, 41, 42)]
        assert max(places) - min(places) == 3


def test_pages_that_a_sitemap_reports_as_changed_are_read_unless_the_copy_is_newer(tmp_path: Path) -> None:
    world = ChangingWorld(period=1000 * HOUR)
    with crawl(tmp_path / "c", **FOREVER | {"least_interval": 30 * DAY}) as opened:
        shard = opened.shard
        now = live(opened, world, START + 2 * HOUR)
        listed = [(url_of(5), now), (url_of(6), START - DAY), ("http://h0.example/unknown", now)]
        world.claims = np.array([(fingerprint(url), time, DAY) for url, time in listed], dtype=CLAIM).tobytes()
        before = shard.refreshing.book.rates(np.array([page_of(opened, 6)]))[0]
        publish(opened, now, 0)
        live(opened, world, now + 50.0, start=now)
        assert shard.placement.frontier.levels(np.array([page_of(opened, 5), page_of(opened, 6)])).tolist() == [
            PUBLISHED,
            6,
        ]
        assert shard.refreshing.book.rates(np.array([page_of(opened, 6)]))[0] != before, (
            "a published frequency is evidence"
        )


def test_a_subscriber_is_notified_of_changes_and_its_pages_are_read_in_time(tmp_path: Path) -> None:
    world = ChangingWorld(period=6 * HOUR)
    with crawl(tmp_path / "c", **FOREVER | {"rate": 1e-6, "least_interval": 30 * DAY}) as opened:
        shard = opened.shard
        now = live(opened, world, START + 2 * HOUR)
        watch = Subscription("watch", r"/p1\d$", 4 * HOUR, "file:/dev/null")
        command(opened, now, SubscribeCommand(id=new_id(), time=now, subscription=watch))
        world.read.clear()
        now = live(opened, world, now + 2 * DAY, start=now)
        read = Counter(page for _, page in world.read)
        assert set(read) == set(range(10, 20))
        assert min(read.values()) >= 10
        assert shard.placement.frontier.statistics()["leased"][DEADLINE] == sum(read.values())
        [batch] = shard.requests.subscriptions.due(now)
        assert {notice.change for notice in batch.notices} == {Change.CHANGED}
        shard.delivered(now, "watch", batch.up_to)
        assert shard.requests.subscriptions.due(now) == []
        command(opened, now, UnsubscribeCommand(id=new_id(), time=now, name="watch"))
        shard.journal.flush()
        same(shard, read_crawl(tmp_path / "c").shard)


def test_a_subscription_that_needs_more_than_the_budget_has_its_pages_read_in_turn(tmp_path: Path) -> None:
    world = ChangingWorld(period=6 * HOUR)
    with crawl(tmp_path / "c", **FOREVER) as opened:
        now = live(opened, world, START + 2 * HOUR)
        # 40 pages every quarter of an hour, while the budget allows 9
        watch = Subscription("watch", ".", HOUR / 4, "file:/dev/null")
        command(opened, now, SubscribeCommand(id=new_id(), time=now, subscription=watch))
        live(opened, world, now + HOUR, start=now)
        world.read.clear()
        live(opened, world, now + 11 * HOUR, start=now + HOUR)
        read = Counter(page for _, page in world.read)
        assert set(read) == set(range(world.pages))
        del read[7]  # it changes on the hour, and is read just after
        assert max(read.values()) - min(read.values()) <= 3


def test_cache_headers_neither_hide_changes_nor_leave_the_budget_unspent(tmp_path: Path) -> None:
    world = ChangingWorld(max_age=365 * DAY)
    with crawl(tmp_path / "c", **FOREVER | {"first_rate": 1 / HOUR}) as opened:
        now = live(opened, world, START + 2 * HOUR)
        world.read.clear()
        live(opened, world, now + 6 * HOUR, start=now)
        assert len(world.read) > 0.8 * FOREVER["rate"] * 6 * HOUR


def test_the_budget_the_discovery_and_the_bans_change_while_it_runs(tmp_path: Path) -> None:
    world = ChangingWorld()
    with crawl(tmp_path / "c", **FOREVER) as opened:
        shard = opened.shard
        now = live(opened, world, START + DAY / 2)
        before = shard.refreshing.book.threshold
        command(
            opened,
            now,
            SetCommand(
                id=new_id(),
                time=now,
                values={"rate": "0.001", "alpha": 0.5, "discovery": "30%", "ban": ["http://h1.example"]},
            ),
        )
        assert shard.settings.rate == 0.001
        assert shard.settings.alpha == 0.5
        assert shard.refreshing.discovery() == 0.0, "shares decide now"
        world.read.clear()
        live(opened, world, now + 2 * HOUR, start=now)
        assert shard.refreshing.book.threshold > before
        assert {page % 5 for _, page in world.read} & {1} == set()
        assert shard.requests.banned == {shard.hosts.find("http://h1.example")}
        command(opened, now, SetCommand(id=new_id(), time=now, values={"ban": []}))
        assert shard.requests.banned == set()
        with pytest.raises(BadSetting, match="delay of 0"):
            shard.command(now, SetCommand(id=new_id(), time=now, values={"delay": "0"}))


def test_unread_pages_and_due_ones_are_weighed_against_each_other(tmp_path: Path) -> None:
    def shares(folder: str, weight: float) -> Counter[int]:
        world = ChangingWorld(pages=400, period=HOUR)
        with crawl(tmp_path / folder, **FOREVER | {"discovery_weight": weight}) as opened:
            live(opened, world, START + 8 * HOUR)
            return Counter(opened.shard.placement.frontier.statistics()["leased"])

    little, much = shares("little", 1e-6), shares("much", 100.0)
    assert much[REFRESH] == 0
    assert little[REFRESH] > 15


def test_a_flood_of_publications_neither_stalls_nor_crowds_a_host(tmp_path: Path) -> None:
    with crawl(tmp_path / "c", **FOREVER) as opened:
        shard = opened.shard
        urls = [f"http://h{number % 50}.example/q{number}" for number in range(100_000)]
        for begin in range(0, len(urls), 25_000):
            text = "\n".join(urls[begin : begin + 25_000]).encode()
            command(opened, START, PublishCommand(id=new_id(), time=START, urls=text, publisher="flood"))
        leases = shard.lease(START, 1000)
        assert len(leases) == 50, "one of each host"
        assert len({lease.url.split("/")[2] for lease in leases}) == 50
        shard.placement.frontier.check()


def test_a_flood_is_judged_by_a_sample_and_leaves_others_their_turn(tmp_path: Path) -> None:
    with crawl(tmp_path / "c", **FOREVER | {"delay": 0.0}) as opened:
        shard = opened.shard
        gone = Visit(page=PageId(0), outcome=Outcome.GONE, kind=PageKind.DEAD, asked_at=START)
        for part in range(3):
            urls = "\n".join(f"http://h{number % 50}.example/lie{part}-{number}" for number in range(10_000)).encode()
            command(opened, START, PublishCommand(id=new_id(), time=START, urls=urls, publisher="flood"))
        command(
            opened, START, PublishCommand(id=new_id(), time=START, urls=b"http://h9.example/true", publisher="shop")
        )
        leases = shard.lease(START, 50)
        assert "http://h9.example/true" in [lease.url for lease in leases]
        for turn in range(20):
            now = START + 10.0 * turn
            shard.record(now, [pack(msgspec.structs.replace(gone, page=lease.page)) for lease in leases])
            leases = shard.lease(now, 100)
        facts = shard.requests.publishers.facts()
        assert facts["flood"]["wrong"] > 20
        assert facts["flood"]["credit"] < 0.1
        assert 20_000 < facts["flood"]["unverified"] < 30_000
        assert facts["shop"]["unverified"] == 0
        shard.journal.flush()
        same(shard, read_crawl(tmp_path / "c").shard)


@pytest.mark.parametrize("rule", ["a=0.01", "a=nan", "zzz=1e308", "b=0", "b=-1", "(=2"])
def test_a_command_that_is_refused_changes_nothing(tmp_path: Path, rule: str) -> None:
    with crawl(tmp_path / "c", **FOREVER) as opened:
        live(opened, ChangingWorld(), START + HOUR)
        frames = opened.shard.journal.next_index
        with pytest.raises(BadSetting, match="focus"):
            opened.shard.command(START, SetCommand(id=new_id(), time=START, values={"focus": [rule]}))
        assert opened.shard.journal.next_index == frames
        assert opened.shard.settings.focus == ()


def test_a_new_focus_holds_for_pages_found_from_now_on_also_after_a_kill(tmp_path: Path) -> None:
    world = ChangingWorld()
    with crawl(tmp_path / "c", **FOREVER) as opened:
        now = live(opened, world, START + 500.0)
        command(opened, now, SetCommand(id=new_id(), time=now, values={"focus": ["p1=4"]}))
        now = live(opened, world, START + 2 * HOUR, start=now)
        later = opened.shard.pages.origins_of(np.arange(opened.shard.pages.count))["focus"]
        assert set(later.tolist()) == {0, 1}
        command(opened, now, SetCommand(id=new_id(), time=now, values={"focus": ["p1=8"]}))
        opened.shard.ledger.check()
        opened.shard.journal.flush()
        same(opened.shard, read_crawl(tmp_path / "c").shard)


def test_a_redirect_that_leads_elsewhere_is_a_change_and_a_page_that_is_gone_is_read_no_more(tmp_path: Path) -> None:
    world = ChangingWorld(period=1000 * HOUR)
    world.outcomes = {5: Outcome.MOVED}
    with crawl(tmp_path / "c", **FOREVER) as opened:
        book = opened.shard.refreshing.book
        now = live(opened, world, START + 2 * HOUR)
        page, gone = np.array([page_of(opened, 5)]), np.array([page_of(opened, 6)])
        book = opened.shard.refreshing.book
        before = book.rates(page)[0][0]
        world.links[5] = [9, 10]
        world.outcomes[6] = Outcome.GONE
        publish(opened, now, 5, 6)
        live(opened, world, now + 500.0, start=now)
        assert book.rates(page)[0][0] > before
        assert not book.contains(gone)[0]


def test_a_page_that_was_gone_or_never_read_is_read_when_it_is_published(tmp_path: Path) -> None:
    world = ChangingWorld(period=1000 * HOUR)
    world.outcomes = {6: Outcome.GONE}
    with crawl(tmp_path / "c", **FOREVER | {"least_interval": 30 * DAY}) as opened:
        now = live(opened, world, START + 500.0)
        unread = next(
            number
            for number in range(world.pages)
            if page_of(opened, number) >= 0 and number not in dict(world.read).values()
        )
        publish(opened, now, unread)
        now = live(opened, world, now + 50.0, start=now)
        assert world.read[-1][1] == unread
        now = live(opened, world, START + 2 * HOUR, start=now)
        assert not opened.shard.refreshing.book.contains(np.array([page_of(opened, 6)]))[0]
        del world.outcomes[6]
        publish(opened, now, 6)
        live(opened, world, now + 150.0, start=now)
        assert world.read[-1][1] == 6
        assert opened.shard.refreshing.book.contains(np.array([page_of(opened, 6)]))[0]


@pytest.mark.long
def test_a_fixed_share_for_discovery_is_kept_while_the_web_grows(tmp_path: Path) -> None:
    world = ChangingWorld(pages=1500, period=DAY)
    with crawl(tmp_path / "c", **FOREVER | {"discovery": "20%", "rate": 0.1, "delay": 0.0}) as opened:
        now = live(opened, world, START + 5_000.0, step=10.0)
        before = Counter(opened.shard.placement.frontier.statistics()["leased"])
        live(opened, world, now + 4_000.0, start=now, step=10.0)
        leased = Counter(opened.shard.placement.frontier.statistics()["leased"])
        leased.subtract(before)
        assert 0.15 < leased[5] / sum(leased.values()) < 0.3
        assert opened.shard.read_count < world.pages, "there was more to discover"


def test_a_crawl_without_a_budget_cannot_go_on_for_ever(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="budget"), crawl(tmp_path / "c", continuous=True):
        raise AssertionError
    with pytest.raises(BadSetting, match="one of them"), crawl(tmp_path / "c", **FOREVER, refresh_after=10.0):
        raise AssertionError


def test_transient_failures_are_no_evidence_of_changes(tmp_path: Path) -> None:
    world = ChangingWorld(period=1000 * HOUR)
    with crawl(tmp_path / "c", **FOREVER) as opened:
        now = live(opened, world, START + 2 * HOUR)
        page = np.array([page_of(opened, 8)])
        book = opened.shard.refreshing.book
        importance = opened.shard.ledger.importance(page)
        before, read = book.beliefs(page, importance), book.read_times(page)[0]
        world.outcomes[8] = Outcome.TIMED_OUT
        publish(opened, now, 8)
        live(opened, world, now + 150.0, start=now)
        assert book.read_times(page)[0] == read
        assert np.array_equal(np.concatenate(book.beliefs(page, importance)), np.concatenate(before))


def test_a_page_that_was_gone_for_a_while_is_found_again_and_one_that_stays_gone_costs_little(tmp_path: Path) -> None:
    class Interrupted(ChangingWorld):
        gone = float("inf")  # from the first read of page 3 after three hours on

        def visit(self, lease: Lease, now: float) -> bytes:
            number = int(lease.url.rsplit("p", 1)[1])
            visit = unpack_visit(super().visit(lease, now))
            if number == 3 and now >= START + 3 * HOUR:
                self.gone = min(self.gone, now)
            if (number == 3 and self.gone <= now < self.gone + 2 * HOUR) or (number == 5 and now >= self.gone):
                visit = Visit(page=visit.page, outcome=Outcome.GONE, kind=PageKind.DEAD, status=404)
            return pack(visit)

    world = Interrupted(pages=16)
    with crawl(tmp_path / "c", **FOREVER | {"rate": 0.004}) as opened:
        live(opened, world, START + 1.25 * DAY, step=250.0)
        reads = [now for now, number in world.read if number == 3]
        gone, back = world.gone, world.gone + 2 * HOUR
        assert min(now for now in reads if now >= back) < back + 2.5 * HOUR, "the waits double"
        last = opened.shard.pages.last(PageId(page_of(opened, 3)))
        assert last is not None
        assert last.outcome is Outcome.READ
        dead = [now for now, number in world.read if number == 5 and now >= gone]
        assert 5 < len(dead) < 15
        assert PageId(page_of(opened, 5)) in opened.shard.placement.retries
        opened.shard.journal.flush()
        same(opened.shard, read_crawl(tmp_path / "c").shard)


def test_a_first_fill_exceeds_the_budget_which_refreshing_keeps_and_ends_for_good(tmp_path: Path) -> None:
    world = ChangingWorld(pages=200)
    given = FOREVER | {"rate": 0.001, "fill_rate": 0.5, "least_interval": 60.0}
    with crawl(tmp_path / "c", **given) as opened:
        shard = opened.shard
        now = live(opened, world, START + 60.0, step=2.0)
        assert shard.is_filling
        assert 0 < shard.visited_count < 200
        shard.journal.flush()
        same(shard, read_crawl(tmp_path / "c").shard)
        now = live(opened, world, now + 1000.0, start=now, step=2.0)
        assert not shard.is_filling
        assert shard.visited_count >= 0.95 * shard.pages.count
        repeated = len(world.read) - shard.visited_count
        assert repeated <= 20, "the threshold of refreshing is that of the budget"
        shard.seed(Seeded(now, b"\n".join(url_of(number).encode() for number in range(1000, 1200))))
        assert not shard.is_filling, "pages that are found later come out of the budget"
        opened._start()
        opened._finish()
    with crawl(tmp_path / "c") as opened:
        assert not opened.shard.is_filling


def test_an_xpath_is_evaluated_at_once_in_pages_read_before_and_the_first_change_after_it_is_told(
    tmp_path: Path,
) -> None:
    world = ChangingWorld(pages=5, period=1000 * DAY)
    with crawl(tmp_path / "c", **FOREVER | {"least_interval": 100 * DAY}) as opened:
        shard = opened.shard
        now = live(opened, world, START + HOUR)
        assert {page for _, page in world.read} == set(range(5))
        world.read.clear()
        wanted = Subscription("price", "p[123]$", 30 * DAY, "file:a", "//b")
        command(opened, now, SubscribeCommand(id=new_id(), time=now, subscription=wanted))
        world.changes[2] = np.array([now])  # changed before the XPath was ever evaluated
        leases = []
        for step in range(20):
            leases += [(lease, now + 100 * step) for lease in shard.lease(now + 100 * step, 1)]
            for lease, at in leases[-1:]:
                page = int(lease.url.rsplit("p", 1)[1])
                fetched = unpack_visit(world.visit(lease, at + 1))
                found = (("price", 10 * page, f"{page} euros"),) if lease.watch else ()
                shard.record(at + 1, [pack(msgspec.structs.replace(fetched, watched=found))])
        watched = {int(lease.url.rsplit("p", 1)[1]) for lease, _ in leases if lease.watch}
        assert watched == {1, 2, 3}, "at once, and not in 30 days"
        assert all(not lease.etag and not lease.modified for lease, _ in leases if lease.watch)
        (batch,) = shard.requests.subscriptions.due(now + 10_000)
        assert [(one.url, one.old, one.new) for one in batch.notices] == [(url_of(2), None, "2 euros")]
        shard.journal.flush()
        same(shard, read_crawl(tmp_path / "c").shard)


@pytest.mark.parametrize("rules", [RULES - 1, RULES])
def test_a_journal_of_other_rules_is_replayed_as_it_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rules: int
) -> None:
    world = ChangingWorld(pages=60, period=HOUR / 4)
    with monkeypatch.context() as other:
        other.setattr("centime.shard.shard.RULES", rules)
        other.setattr(Refreshing, "discovery", lambda self: 1e-9)  # refreshes first, where we would discover
        with crawl(tmp_path / "c", **FOREVER) as opened:
            opened.shard.returned(Returned(START, [], all=True))
            now = live(opened, world, START + 6 * HOUR)
            assert opened.shard.lease(now, 3), "and some pages are being fetched when it is killed"
            opened.shard.journal.sync()
            shutil.copytree(tmp_path / "c", tmp_path / "killed")
            records = [opened.shard.pages.last(PageId(page)) for page in range(opened.shard.pages.count)]
    if rules == RULES:
        with pytest.raises(CentimeError, match="grants"):
            read_crawl(tmp_path / "killed")
        return
    with crawl(tmp_path / "killed", **FOREVER) as again:
        shard = again.shard
        assert [shard.pages.last(PageId(page)) for page in range(shard.pages.count)] == records
        assert shard.placement.uncounted
        shard.placement.check(shard.hosts_of_pages)
        shard.returned(Returned(now, [], all=True))
        assert not shard.placement.uncounted
        live(again, world, now + 2 * HOUR, start=now)
        shard.placement.check(shard.hosts_of_pages)
        again.close()
    assert check_crawl(tmp_path / "killed").problems == []
