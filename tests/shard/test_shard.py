"""The shard: state is the fold of the journal, the best page of a ready host comes first, nothing is lost.

Over 400 lines: all cases compare the state of a shard with that of its replay.
"""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from centime.crawl.engine.assembly import shard_state
from centime.crawl.engine.reader import read_crawl
from centime.files.appended import AppendedFile
from centime.ledger.exact import ExactLedger
from centime.model.errors import BadInput, BadSetting, DamagedFile, JournalMismatch
from centime.model.ids import PageId
from centime.model.outcome import Outcome, PageKind
from centime.shard.fold import GRANTED, fold
from centime.shard.message import Granted, Lease, Returned
from centime.shard.shard import Shard
from centime.shard.state import ShardState
from tests.crawl.world import HOSTS, SEED, World, advance, crawl, url_of


def same(one: ShardState, other: ShardState) -> None:
    """Both shards are the same, bit for bit."""
    facts, arrays = shard_state(one)
    facts_again, arrays_again = shard_state(other)
    assert facts == facts_again
    assert arrays.keys() == arrays_again.keys()
    # a reader has the ends of these files in memory
    files = {f"pages_{name}" for name in ("texts", "text_ends", "origins", "rows", "records")}
    assert [name for name in arrays.keys() - files if not np.array_equal(arrays[name], arrays_again[name])] == []
    for ours, theirs in zip(files_of(one), files_of(other), strict=True):
        assert np.array_equal(np.concatenate([ours.base, ours.tail]), np.concatenate([theirs.base, theirs.tail]))


def hosts_of(shard: ShardState, leases: list[Lease]) -> list[int]:
    hosts: list[int] = shard.hosts_of_pages(np.array([lease.page for lease in leases], dtype=np.int64)).tolist()
    return hosts


def files_of(shard: ShardState) -> list[AppendedFile]:
    pages = shard.pages
    return [pages.texts.texts, pages.texts.ends, pages.origins.file, pages.rows.file, pages.records.file]


@pytest.mark.parametrize("ledger", ["exact", "opic", "interpolation", "variable"])
def test_replaying_the_journal_gives_the_same_state_bit_for_bit(tmp_path: Path, ledger: str) -> None:
    with crawl(tmp_path / "c", ledger=ledger, focus=["p1=4"]) as opened:
        world = World()
        world.outcomes = {
            3: Outcome.GONE,
            5: Outcome.MOVED,
            7: Outcome.TIMED_OUT,
            9: Outcome.BUSY,
            11: Outcome.DISALLOWED,
            13: Outcome.LOST,
        }
        advance(opened, world, 60)
        opened.shard.settle(1e-6, 1000)
        opened.shard.journal.flush()
        again = read_crawl(tmp_path / "c")
        assert again.folded > 60
        same(opened.shard, again.shard)
        again.shard.ledger.check()
        again.shard.placement.frontier.check()


def test_a_snapshot_and_the_frames_after_it_give_the_same_state(tmp_path: Path) -> None:
    world = World()
    with crawl(tmp_path / "c") as opened:
        now = advance(opened, world, 20)
        opened._start()
        opened._finish()
        advance(opened, world, 20, start=now)
        opened.shard.journal.flush()
        again = read_crawl(tmp_path / "c")
        assert 0 < again.folded < 45
        same(opened.shard, again.shard)


def test_after_a_clean_stop_nothing_is_replayed(tmp_path: Path) -> None:
    with crawl(tmp_path / "c") as opened:
        advance(opened, World(), 30)
        before = opened.shard.ledger.importance()
        opened.close()
    with crawl(tmp_path / "c") as opened:
        assert opened.folded == 0
        assert np.array_equal(opened.shard.ledger.importance(), before)
        opened.close()


def test_a_crawl_whose_only_snapshot_is_damaged_is_rebuilt_from_its_journal(tmp_path: Path) -> None:
    with crawl(tmp_path / "c") as opened:
        advance(opened, World(), 30)
        before = opened.shard.ledger.importance()
        opened.close()
    manifest = tmp_path / "c" / "snapshots" / "000001" / "manifest.json"
    manifest.write_bytes(manifest.read_bytes()[:-40])
    assert np.array_equal(read_crawl(tmp_path / "c").shard.ledger.importance(), before)
    with crawl(tmp_path / "c") as opened:
        assert len(opened.damaged) == 1
        assert np.array_equal(opened.shard.ledger.importance(), before)
        opened.close()


def test_a_snapshot_after_another_may_be_damaged_if_the_crawl_was_opened_in_between(tmp_path: Path) -> None:
    world = World()
    with crawl(tmp_path / "c") as opened:
        advance(opened, world, 10)
        for _ in range(3):
            advance(opened, world, 2, start=2000.0)
            opened._start()
            opened._finish()
        assert opened.shard.journal.first_index > 0
    visits = sum(opened.shard.outcomes.values())
    for _ in range(4):
        newest = max(path for path in (tmp_path / "c" / "snapshots").glob("[0-9]*") if path.name.isdigit())
        (newest / "frontier_keys.bin").write_bytes(b"no")
        with crawl(tmp_path / "c") as opened:
            assert len(opened.damaged) == 1
            assert sum(opened.shard.outcomes.values()) == visits


def test_a_damaged_row_is_named_and_never_followed(tmp_path: Path) -> None:
    with crawl(tmp_path / "c") as opened:
        advance(opened, World(), 30)
        opened.close()
    [path] = (tmp_path / "c" / "state").glob("rows-*.bin")
    whole = path.read_bytes()
    found = 0
    for at in range(16, len(whole), 7):
        path.write_bytes(whole)
        reader = read_crawl(tmp_path / "c")
        with path.open("r+b") as file:  # while it is open; otherwise nothing damaged is opened
            file.seek(at)
            file.write(bytes([whole[at] ^ 255]))
        for page in range(60):
            try:
                rows = reader.shard.pages.rows.gather(np.array([page]))
            except DamagedFile:
                found += 1
            else:
                assert rows.targets.min(initial=0) >= 0
                assert rows.targets.max(initial=0) < 60
        reader.close()
    assert found > 10


def test_no_page_of_a_ready_host_is_more_important_than_the_one_leased(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Checked on the journal: every lease is compared with all pages that could have been leased then."""
    with crawl(tmp_path / "c", focus=["p2=3", "p3=0.5"]) as opened:
        advance(opened, World(200), 150, batch=3)
        opened.shard.journal.flush()
        frames = list(opened.shard.journal.frames(0))
    with crawl(tmp_path / "d", focus=["p2=3", "p3=0.5"]) as again:
        shard = again.shard
        monkeypatch.setattr(shard.journal, "append", lambda kind, payload: 0)
        compared = 0
        for _, kind, payload in frames[1:]:
            if kind == GRANTED:
                granted = msgspec.msgpack.decode(payload, type=Granted)
                compared += check_order(shard, granted)
            fold(shard, kind, payload)
        assert compared > 1000


def check_order(shard: Shard, granted: Granted) -> int:
    """Asserts that the granted pages are the best of all pages, one after the other; returns the comparisons made."""
    assert isinstance(shard.ledger, ExactLedger)
    importance = shard.ledger.importance()
    host_of = shard.pages.origins.every()["host"]
    waiting = set(np.flatnonzero(shard.placement.frontier.contains(np.arange(shard.pages.count))).tolist())
    busy = {int(host_of[page]) for page in shard.placement.leases.held().tolist()}
    ready = {number for number, host in enumerate(shard.hosts.all) if host.next_time <= granted.now} - busy
    compared = 0
    for page in granted.pages:
        could = [other for other in waiting if host_of[other] in ready]
        assert page in could
        assert all(importance[other] <= importance[page] * (1 + 1e-6) for other in could)
        compared += len(could)
        waiting.discard(page)
        ready.discard(int(host_of[page]))
    if len(granted.pages) < granted.count:
        assert not [other for other in waiting if host_of[other] in ready], "no page that could be leased was held back"
    return compared


def test_a_host_has_one_lease_at_a_time_and_none_before_its_time(tmp_path: Path) -> None:
    with crawl(tmp_path / "c", delay=2.0) as opened:
        world, now, leased_at = World(100), 0.0, dict[int, float]()
        for _ in range(300):
            leases = opened.shard.lease(now, 10)
            hosts = hosts_of(opened.shard, leases)
            assert len(set(hosts)) == len(hosts)
            for host in hosts:
                assert now - leased_at.get(host, -10.0) >= 2.0
                leased_at[host] = now
            opened.shard.record(now, [world.visit(lease, now) for lease in leases])
            now += 0.1
        assert len(leased_at) == HOSTS


def test_everything_reachable_is_read_once(tmp_path: Path) -> None:
    with crawl(tmp_path / "c") as opened:
        world = World(60)
        advance(opened, world, 120)
        shard = opened.shard
        assert shard.pages.count == 60
        assert shard.read_count == 60
        assert shard.outcomes[Outcome.READ] == 60
        assert len(shard.placement.frontier) == len(shard.placement.leases) == len(shard.placement.retries) == 0


def test_a_page_that_fails_transiently_is_retried_and_given_up_in_the_end(tmp_path: Path) -> None:
    with crawl(tmp_path / "c") as opened:
        world = World(10)
        world.outcomes = {4: Outcome.SERVER_ERROR}
        now = advance(opened, world, 60)
        shard = opened.shard
        page = shard.pages.texts.get_many(np.arange(10)).index(url_of(4))
        assert len(shard.placement.retries) == 1
        for _ in range(20):
            now = advance(opened, world, 3, start=now + 120)
        record = shard.pages.last(PageId(page))
        assert record is not None
        assert (record.visits, record.failures, record.kind) == (5, 5, PageKind.DEAD)
        assert len(shard.placement.retries) == len(shard.placement.frontier) == 0


def test_a_page_that_comes_back_is_not_counted_as_failing(tmp_path: Path) -> None:
    with crawl(tmp_path / "c") as opened:
        world = World(10)
        world.outcomes = {4: Outcome.TIMED_OUT}
        now = advance(opened, world, 60)
        world.outcomes = {}
        advance(opened, world, 60, start=now + 200)
        assert opened.shard.read_count == 10
        assert len(opened.shard.placement.retries) == 0


def test_a_busy_host_keeps_its_pages(tmp_path: Path) -> None:
    with crawl(tmp_path / "c") as opened:
        world = World(10)
        world.outcomes = {4: Outcome.BUSY}
        now = advance(opened, world, 60)
        world.outcomes = {}
        advance(opened, world, 60, start=now + 4000)
        assert opened.shard.read_count == 10


def test_leases_of_a_dead_fetcher_come_back_and_a_late_visit_is_ignored(tmp_path: Path) -> None:
    with crawl(tmp_path / "c") as opened:
        shard, world = opened.shard, World(10)
        lost = shard.lease(1.0, 5)
        shard.returned(Returned(2.0, [lease.page for lease in lost]))
        assert shard.lease(3.5, 5) == [], "the last request of the dead fetcher may still be on its way"
        again = shard.lease(4.0, 5)
        assert again == lost
        assert len(shard.record(4.5, [world.visit(lease, 4.5) for lease in again])) == 1
        assert shard.record(5.0, [world.visit(lease, 5.0) for lease in lost]) == []
        assert shard.late_visits == 1
        assert shard.outcomes[Outcome.READ] == 1


def test_a_lease_that_is_never_ended_expires(tmp_path: Path) -> None:
    with crawl(tmp_path / "c") as opened:
        lost = opened.shard.lease(1.0, 5)
        assert opened.shard.lease(500.0, 5) == []
        assert opened.shard.lease(602.0, 5) == lost


def test_pages_are_read_again_only_when_refresh_after_is_over(tmp_path: Path) -> None:
    with crawl(tmp_path / "c", **{"refresh-after": 1000.0}) as opened:
        world = World(10)
        now = advance(opened, world, 40)
        assert opened.shard.outcomes[Outcome.READ] == 10
        world.version = 2
        now = advance(opened, world, 40, start=now + 1000)
        assert opened.shard.outcomes[Outcome.READ] == 20
        record = opened.shard.pages.last(PageId(0))
        assert record is not None
        assert (record.visits, record.changes) == (2, 1)
        advance(opened, world, 10, start=now)
        assert opened.shard.outcomes[Outcome.READ] == 20


def test_an_index_page_with_the_content_of_its_folder_links_to_it_alone(tmp_path: Path) -> None:
    from centime.model.address import fingerprint
    from centime.shard.message import Seeded, Visit, pack

    with crawl(tmp_path / "c") as opened:
        shard = opened.shard
        folder, index = "http://h0.example/a/", "http://h1.example/a/index.html"
        shard.seed(Seeded(1.0, f"{folder}\n{index}".encode()))
        links = np.array([fingerprint(SEED), fingerprint(folder)], dtype=np.uint64).tobytes()
        now = 10.0
        for url in (folder, index):
            page = int(shard.pages.table.find(np.array([fingerprint(url)], dtype=np.uint64))[0])
            while page not in [lease.page for lease in shard.lease(now, 3)]:
                shard.returned(Returned(now, [], all=True))
                now += 10.0
                shard.placement.frontier.remove(np.array([0]))
            index_of = fingerprint(folder) if url == index else 0
            visit = Visit(
                page=PageId(page),
                outcome=Outcome.READ,
                kind=PageKind.HTML,
                digest=b"x" * 16,
                signature=9,
                links=links,
                index_of=index_of,
            )
            shard.record(now, [pack(visit)])
        rows = shard.pages.rows.gather(np.array([1, 2]))
        assert rows.lengths.tolist() == [2, 1]
        assert rows.targets[2] == 1


def test_a_replay_that_grants_other_pages_is_reported(tmp_path: Path) -> None:
    with crawl(tmp_path / "c") as opened, pytest.raises(JournalMismatch):
        fold(opened.shard, GRANTED, msgspec.msgpack.encode(Granted(1.0, 3, [PageId(17)])))


def test_a_crawl_without_a_seed_or_with_another_ledger_is_refused(tmp_path: Path) -> None:
    from centime.crawl.engine.opening import open_writer

    with pytest.raises(BadInput, match="seed"), open_writer(tmp_path / "c", [], {}):
        pass
    with crawl(tmp_path / "c") as opened:
        opened.close()
    with pytest.raises(BadSetting, match="ledger"), crawl(tmp_path / "c", ledger="opic"):
        pass


def test_settings_are_remembered_and_changed_by_the_next_opening(tmp_path: Path) -> None:
    with crawl(tmp_path / "c", exclude=["x"]) as opened:
        opened.close()
    with crawl(tmp_path / "c", delay=3.0) as opened:
        assert opened.settings.exclude == ("x",)
        assert opened.settings.delay == 3.0
        opened.close()
    reread = read_crawl(tmp_path / "c")
    assert reread.settings.delay == 3.0


def test_garbage_of_rows_is_removed_and_nothing_changes(tmp_path: Path) -> None:
    given: dict[str, Any] = {"refresh-after": 10.0}
    with crawl(tmp_path / "c", **given) as opened:
        world = World(30)
        now = 1000.0
        for round_ in range(6):
            world.links = {page: [(page + round_ + 1) % 30, (page + 1) % 30] for page in range(30)}
            now = advance(opened, world, 60, start=now + 20)
        assert opened.shard.pages.rows.garbage > 0.5
        before = opened.shard.ledger.importance()
        opened.close()
    with crawl(tmp_path / "c", **given) as opened:
        assert opened.shard.pages.rows.generation == 2
        assert np.array_equal(opened.shard.ledger.importance(), before)
        opened.shard.ledger.check()
        opened.close()
    assert len(list((tmp_path / "c" / "state").glob("rows-*"))) <= 2


def test_hosts_of_one_public_address_have_one_lane_and_are_kept_apart(tmp_path: Path) -> None:
    """Two fetchers never send requests to one address at once. Loopback addresses have no delay."""
    with crawl(tmp_path / "c", delay=1.0) as opened:
        shard, world = opened.shard, World(40)
        world.address = "192.0.2.7"
        advance(opened, world, 20)
        leases = [lease for now in (2000.0, 2000.001) for lease in shard.lease(now, 5)]
        assert len(set(shard.lanes_of(leases))) == 1
        assert len(set(hosts_of(shard, leases))) > 1


def test_a_response_to_an_earlier_request_does_not_end_the_pause_of_a_busy_host(tmp_path: Path) -> None:
    from centime.shard.message import Seeded, Visit, pack

    with crawl(tmp_path / "c", delay=0.0) as opened:
        shard = opened.shard
        shard.seed(Seeded(1.0, "\n".join(f"http://h0.example/p{page}" for page in range(1, 6)).encode()))
        first, second, *rest = shard.lease(10.0, 3)
        assert rest, "without a delay several pages of a host are leased at once"
        shard.record(10.2, [pack(Visit(page=first.page, outcome=Outcome.BUSY, asked_at=10.1, retry_after=30.0))])
        shard.record(
            10.3, [pack(Visit(page=second.page, outcome=Outcome.READ, kind=PageKind.HTML, asked_at=10.1, signature=1))]
        )
        assert shard.lease(11.0, 5) == []
        assert shard.lease(40.0, 5) == []
        assert shard.lease(40.2, 5)


def test_a_host_that_was_asked_during_the_visit_of_another_waits_for_its_delay(tmp_path: Path) -> None:
    from centime.shard.message import Seeded, Visit, pack

    with crawl(tmp_path / "c", delay=2.0) as opened:
        shard = opened.shard
        shard.seed(Seeded(1.0, b"http://a.example/x"))
        (lease,) = [one for one in shard.lease(10.0, 9) if "a.example" in one.url]
        shard.seed(Seeded(11.0, b"http://b.example/y"))
        visit = Visit(
            page=lease.page,
            outcome=Outcome.READ,
            kind=PageKind.HTML,
            asked_at=12.0,
            signature=1,
            elsewhere=(("http://b.example", 11.9), ("http://unknown.example", 11.9)),
        )
        shard.record(12.0, [pack(visit)])
        assert not [one for one in shard.lease(13.8, 9) if "b.example" in one.url]
        assert [one for one in shard.lease(13.95, 9) if "b.example" in one.url]
