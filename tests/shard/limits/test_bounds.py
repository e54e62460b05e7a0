"""Bounds: never more pages than allowed, the most valuable first, and every decision again in a replay."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from centime.crawl.check.check import check_crawl
from centime.crawl.engine.reader import read_crawl
from centime.crawl.engine.writer import CrawlWriter
from centime.model.address import fingerprint
from centime.model.ids import PageId
from centime.shard import host_table
from centime.shard.host_table import Hosts
from centime.shard.limits import bounds
from centime.shard.limits.bounds import Bounds, Room
from centime.shard.message import Lease
from centime.shard.people import publishers
from centime.shard.people.command import SetCommand, new_id, publications
from centime.shard.people.publishers import Publishers
from tests.crawl.world import SEED, World, advance, crawl, url_of
from tests.shard.test_shard import same


class Endless(World):
    """Every page links to four new ones, to a new host and to a page that all link to."""

    def visit(self, lease: Lease, now: float) -> bytes:
        number = int(lease.url.rsplit("p", 1)[1])
        new = [1 + xxhash.xxh3_64_intdigest(f"{number}-{link}".encode()) % 2**48 for link in range(4)]
        self.links = {number: [0, *new]}
        return super().visit(lease, now)


def settled(opened: CrawlWriter) -> None:
    """The state is right, and a replay leads to it."""
    shard = opened.shard
    shard.settle(1e-6, 40 * shard.pages.count)
    error = shard.ledger.error()
    assert error is not None
    assert error <= 1e-6
    shard.ledger.check()
    shard.placement.check(shard.hosts_of_pages)
    shard.journal.flush()
    again = read_crawl(opened.folder.path)
    same(shard, again.shard)
    again.close()


def known(opened: CrawlWriter, url: str) -> int:
    return int(opened.shard.pages.table.find(np.array([fingerprint(url)], dtype=np.uint64))[0])


@pytest.mark.parametrize(("ledger", "most"), [("exact", 1), ("exact", 2), ("exact", 37), ("exact", 500), ("opic", 80)])
def test_no_more_pages_are_known_than_allowed_and_a_replay_knows_the_same(
    tmp_path: Path, ledger: str, most: int
) -> None:
    with crawl(tmp_path / "c", most_pages=most, ledger=ledger, delay=0.0) as opened:
        now = 1000.0
        for _ in range(60):
            now = advance(opened, Endless(), 5, start=now)
            assert opened.shard.pages.count <= most
        facts = opened.statistics(now)
        assert facts["known"] == opened.shard.pages.count > most * 0.85 - 1
        assert (facts["most_pages"], facts["refused"]["most-pages"] > 0) == (most, True)
        if ledger == "exact":
            settled(opened)
        opened.close()
    assert not check_crawl(tmp_path / "c").problems


def test_a_flood_of_equal_urls_takes_half_of_the_room_above_the_mark_and_better_ones_find_the_rest() -> None:
    limits = Bounds(given=64_000)
    room, pages = Room(64_000), 64_000 * 4 // 5
    names, is_known = ["h"] * 1000, np.ones(1000, dtype=np.bool_)
    for _ in range(200):
        pages += len(limits.admitted(np.full(1000, 0.5), names, is_known, pages, 1))
    assert abs(room.top - pages - (room.top - room.mark) // 2) <= 1
    assert limits.refused == 200_000 - (pages - room.mark)
    better = limits.admitted(np.array([0.5, 5.0, 0.5]), names[:3], is_known[:3], pages, 1)
    assert better.tolist() == [1]


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=50), st.integers(1, 300), st.integers(0, 300))
def test_the_most_valuable_are_admitted_first_and_never_beyond_the_top(
    values: list[float], bound: int, used: int
) -> None:
    room = Room(bound)
    offered = np.array(values)
    taken = room.worth_it(offered, used, float(offered.mean()))
    assert len(taken) <= max(0, room.top - used)
    assert used + len(taken) <= max(used, bound)
    left = np.setdiff1d(np.arange(len(offered)), taken)
    assert not len(taken) or not len(left) or offered[taken].min() >= offered[left].max()
    if used + len(offered) <= room.mark:
        assert len(taken) == len(offered)


def test_a_url_that_several_pages_link_to_is_worth_the_sum(tmp_path: Path) -> None:
    with crawl(tmp_path / "c", most_pages=40, delay=0.0) as opened:
        advance(opened, Endless(), 60)
        before = opened.shard.pages.count
        limits = opened.shard.bounds
        alone, twice = np.array([1.0, 1.0]), np.array([2.0])
        limits.mean = 1.0
        price = (Room(40).top - Room(40).mark) / (Room(40).top - before) - 1
        assert 1.0 < price <= 2.0, "the price lies between one link and two"
        assert not len(Room(40).worth_it(alone, before, 1.0))
        assert len(Room(40).worth_it(twice, before, 1.0)) == 1


def test_hosts_have_a_bound_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "LEAST_HOSTS", 20)

    class Wild(World):
        def visit(self, lease: Lease, now: float) -> bytes:
            number = int(lease.url.rsplit("p", 1)[1])
            self.links = {number: [10 * number + link for link in range(6)]}
            return super().visit(lease, now)

    monkeypatch.setattr("bench.faults.small_world.url_of", lambda number: f"http://h{number}.example/p{number}")
    with crawl(tmp_path / "c", most_pages=300, delay=0.0) as opened:
        advance(opened, Wild(), 60)
        assert 16 <= len(opened.shard.hosts) <= 20
        assert opened.shard.bounds.refused > 0
        settled(opened)


def test_a_lower_bound_drops_the_least_important_unread_pages_and_a_higher_one_returns_them(tmp_path: Path) -> None:
    with crawl(tmp_path / "c", delay=0.0) as opened:
        now = advance(opened, Endless(), 40)
        count, waiting = opened.shard.pages.count, len(opened.shard.placement.frontier)
        opened.close()
    with crawl(tmp_path / "c", most_pages=count - 100) as opened:
        shard = opened.shard
        assert (shard.pages.count, shard.bounds.dropped) == (count, 100)
        assert len(shard.placement.frontier) == waiting - 100
        unread = np.flatnonzero(~shard.pages.records.visited(np.arange(count)))
        inside = shard.placement.frontier.contains(unread)
        assert len(unread[~inside]) == 100
        assert shard.ledger.inflow(unread[~inside]).max() <= shard.ledger.inflow(unread[inside]).min()
        advance(opened, Endless(), 3, start=now)
        assert shard.pages.count == count, "no page joins while there are too many"
        settled(opened)
        opened.close()
    assert not check_crawl(tmp_path / "c").problems
    with crawl(tmp_path / "c", most_pages="none") as opened:
        shard = opened.shard
        assert shard.bounds.dropped == 0
        unread = np.flatnonzero(~shard.pages.records.visited(np.arange(count)))
        assert shard.placement.frontier.contains(unread).all()
        settled(opened)
        opened.close()
    assert not check_crawl(tmp_path / "c").problems


def test_only_pages_that_were_never_visited_leased_or_published_are_dropped(tmp_path: Path) -> None:
    with crawl(tmp_path / "c", delay=0.0) as opened:
        now = advance(opened, Endless(), 10)
        shard = opened.shard
        for command in publications([url_of(2**40), url_of(2**41)], time=now):
            shard.command(now, command)
        leased = [lease.page for lease in shard.lease(now, 3)]
        shard.command(now, SetCommand(id=new_id(), time=now, values={"most-pages": 1.0}))
        kept = np.flatnonzero(shard.placement.frontier.contains(np.arange(shard.pages.count))).tolist()
        published = [known(opened, url_of(2**40)), known(opened, url_of(2**41))]
        assert set(kept) | set(leased) >= set(published)
        assert shard.bounds.dropped == shard.pages.count - len(set(kept) | set(leased)) - shard.read_count
        shard.record(now + 1, [Endless().visit(Lease(page, shard.pages.texts.get(page)), now) for page in leased])
        settled(opened)
        opened.close()
    assert not check_crawl(tmp_path / "c").problems


def test_a_dropped_page_that_is_published_waits_again(tmp_path: Path) -> None:
    with crawl(tmp_path / "c", delay=0.0) as opened:
        now = advance(opened, Endless(), 10)
        shard = opened.shard
        shard.bound(now, 1, 1)
        dropped = shard.bounds.dropped
        pages = np.arange(shard.pages.count)
        lost = int(pages[shard.placement.idle(pages) & ~shard.pages.records.visited(pages)][0])
        for command in publications([shard.pages.texts.get(PageId(lost))], time=now):
            shard.command(now, command)
        assert shard.bounds.dropped == dropped - 1
        assert shard.placement.frontier.contains(np.array([lost])).all()
        settled(opened)
        opened.close()
    assert not check_crawl(tmp_path / "c").problems


def test_seeds_are_always_admitted_and_published_urls_up_to_the_bound(tmp_path: Path) -> None:
    with crawl(tmp_path / "c", most_pages=64, delay=0.0) as opened:
        now = advance(opened, Endless(), 80)
        shard = opened.shard
        assert shard.pages.count <= 63, "a place is kept for what people publish"
        for command in publications([url_of(2**40 + one) for one in range(100)], time=now):
            shard.command(now, command)
        assert shard.pages.count == 64
        settled(opened)
        opened.close()
    with crawl(tmp_path / "c") as opened:
        opened.close()
    from centime.crawl.engine.opening import open_writer

    with open_writer(tmp_path / "c", ["http://h7.example/p7000"], {}) as opened:
        assert known(opened, "http://h7.example/p7000") == 64
        opened.close()


def test_a_crawl_whose_seeds_exceed_the_bound_says_so_and_reads_them(tmp_path: Path) -> None:
    with crawl(tmp_path / "c", most_pages=1, delay=0.0) as opened:
        assert known(opened, SEED) == 0
        advance(opened, World(10), 3)
        assert (opened.shard.read_count, opened.shard.pages.count) == (1, 1)
        opened.close()


@given(st.lists(st.sampled_from("abcdefgh"), max_size=40))
def test_addresses_and_publishers_are_bounded(names: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(host_table, "MOST_ADDRESSES", 3)
        patch.setattr(publishers, "MOST_PUBLISHERS", 3)
        hosts, announcing = Hosts(), Publishers()
        for page, name in enumerate(names):
            number = hosts.address_number(name)
            assert 0 <= number < 3
            assert hosts.address_number(name) == number
            announcing.announce(name, [PageId(page)])
            if page % 3 == 0:
                announcing.judge(PageId(page - 3), right=True)
        again: Any = Hosts.from_state(hosts.state())
        assert [again.address_number(name) for name in names] == [hosts.address_number(name) for name in names]
        assert len(announcing.facts()) <= 3
        assert Publishers.from_state(announcing.state()).facts() == announcing.facts()
