"""Partitions of a crawl: what links of one carry to another arrives there, once; replays and snapshots agree."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import numpy as np
import pytest

from bench.cluster.web import Web
from centime.cluster.global_rows import GlobalRows
from centime.crawl.check.check import check_crawl
from centime.crawl.engine.opening import open_writer
from centime.crawl.engine.reader import read_crawl
from centime.crawl.engine.state import rows_of
from centime.crawl.engine.writer import CrawlWriter
from centime.crawl.report.page import about_page
from centime.ledger.accounts import Sums
from centime.ledger.certificate import certified
from centime.ledger.partial import OUTSIDE
from centime.model.address import fingerprint, partition_of
from centime.model.errors import BadSetting, LedgerImbalance, StoreBroken, TransferBroken
from centime.model.outcome import Outcome, PageKind
from centime.shard.joining import fingerprints_of
from centime.shard.message import Returned, Seeded, Visit, pack
from centime.shard.shard import Shard
from centime.shard.transfers.batch import Batch, Name, Needed, pack_batch, unpack_batch
from centime.shard.transfers.exchanging import transfers_of
from tests.shard.test_shard import same

PARTITIONS = 2
WEB = Web(PARTITIONS)


@contextmanager
def partitions(room: Path, **given: Any) -> Iterator[list[CrawlWriter]]:
    """Both partitions of a crawl, opened."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(
                open_writer(
                    room / f"{number}",
                    [] if (room / f"{number}").exists() else WEB.seeds[number],
                    {"scope": "any", "delay": 0.0, "refresh-after": 0.5}
                    | {"partition": number, "partitions": PARTITIONS}
                    | given,
                )
            )
            for number in range(PARTITIONS)
        ]


def crawl(opened: CrawlWriter, chance: Random, turns: int = 6, now: float = 1000.0) -> None:
    for turn in range(turns):
        leases = opened.shard.lease(now + turn, 4)
        opened.shard.record(now + turn, [WEB.visit(lease, now, chance) for lease in leases])


def exchange(sender: Shard, receiver: Shard) -> int:
    """Sends all that is unsent; returns the number of batches."""
    to, came = transfers_of(receiver).partition, transfers_of(sender).partition
    while sender.flush(1000.0, to):
        pass
    channel = transfers_of(sender).outgoing[to]
    batches = dict(channel.outbox)
    for number, closed in batches.items():
        receiver.receive(1000.0, came, number, closed.packed)
        channel.forget(number)
    return len(batches)


@pytest.fixture
def both(tmp_path: Path) -> Iterator[list[CrawlWriter]]:
    """Two partitions that have crawled and told each other."""
    with partitions(tmp_path) as opened:
        chance = Random(3)
        for _ in range(3):
            for one, other in (opened, opened[::-1]):
                crawl(one, chance)
                exchange(one.shard, other.shard)
        yield opened


def test_pages_of_other_partitions_become_known_to_their_owners_alone(both: list[CrawlWriter]) -> None:
    texts = [list(one.shard.pages.texts.every()) for one in both]
    assert all(partition_of(url, PARTITIONS) == number for number, urls in enumerate(texts) for url in urls)
    assert sorted(texts[0] + texts[1]) == sorted(set(texts[0] + texts[1]))
    linked = transfers_of(both[0].shard).table.fingerprints
    assert len(linked) > 5
    assert (both[1].shard.pages.table.find(linked) >= 0).all()


def test_the_certificate_of_both_falls_when_they_settle_and_tell(both: list[CrawlWriter]) -> None:
    before = certified([transfers_of(one.shard).report() for one in both])
    for _ in range(30):
        for one, other in (both, both[::-1]):
            one.shard.settle(1e-9, 1000)
            exchange(one.shard, other.shard)
    after = certified([transfers_of(one.shard).report() for one in both])
    assert after.error < 1e-3 < before.error
    importance = [one.shard.ledger.importance().sum() for one in both]
    assert sum(importance) == pytest.approx(after.sums.pages, rel=1e-3)


def test_replaying_the_journal_gives_the_same_partition_bit_for_bit(both: list[CrawlWriter]) -> None:
    for one in both:
        one.shard.settle(1e-6, 100)
        one.shard.journal.flush()
        again = read_crawl(one.folder.path).shard
        kept = transfers_of(again)
        for channel in kept.outgoing.values():
            channel.outbox.clear()  # acknowledgements are no frames
        same(one.shard, again)


def test_a_snapshot_holds_batches_that_are_not_acknowledged(tmp_path: Path) -> None:
    with partitions(tmp_path) as opened:
        first, second = opened
        crawl(first, Random(1))
        assert first.shard.flush(1000.0, 1)
        channel = transfers_of(first.shard).outgoing[1]
        first._start()
        first._finish()
        crawl(first, Random(2), now=1010.0)
        assert first.shard.flush(1010.0, 1)
        first.shard.journal.flush()
        again = transfers_of(read_crawl(first.folder.path).shard).outgoing[1]
        assert list(channel.outbox) == [1, 2]
        assert again.outbox == channel.outbox
        exchange(first.shard, second.shard)
        for one in opened:
            one.close()
    with partitions(tmp_path) as opened:
        assert opened[1].folded == 0
        assert transfers_of(opened[1].shard).incoming[0].number >= 2
        crawl(opened[0], Random(4), now=1020.0)
        exchange(opened[0].shard, opened[1].shard)
        for one in opened:
            one.shard.ledger.check()
            transfers_of(one.shard).check(one.shard.pages.table.fingerprints)


def test_check_finds_every_law_of_a_partition_kept(both: list[CrawlWriter]) -> None:
    for one in both:
        one.close()
        findings = check_crawl(one.folder.path)
        assert findings.problems == []
        assert "transfers" in [fact["part"] for fact in findings.proven]


def test_a_unit_or_a_page_that_is_where_it_does_not_belong_is_noticed(both: list[CrawlWriter]) -> None:
    shard = both[0].shard
    transfers, fingerprints = transfers_of(shard), shard.pages.table.fingerprints
    transfers.check(fingerprints)
    transfers.outgoing[1].signed += 1
    with pytest.raises(LedgerImbalance, match="money sent to partition 1"):
        transfers.check(fingerprints)
    transfers.outgoing[1].signed -= 1
    transfers.incoming[1].signed -= 1
    with pytest.raises(LedgerImbalance, match="money that arrived"):
        transfers.check(fingerprints)
    transfers.incoming[1].signed += 1
    with pytest.raises(StoreBroken, match="belongs to another partition"):
        transfers.check(both[1].shard.pages.table.fingerprints)


def test_a_batch_that_is_not_the_next_one_is_refused_and_changes_nothing(both: list[CrawlWriter]) -> None:
    first, second = both[0].shard, both[1].shard
    crawl(both[0], Random(9), now=1100.0)
    assert first.flush(1100.0, 1)
    [(number, closed)] = transfers_of(first).outgoing[1].outbox.items()
    batch, frames = unpack_batch(closed.packed), second.frame
    away = next(url for url in WEB.urls if partition_of(url, PARTITIONS) == 0)
    for wrong, why in (
        ((number + 1, closed.packed), "came after batch"),
        ((number - 1, closed.packed), "came after batch"),
        ((number, pack_batch(Batch(batch.chain ^ 1, batch.sums, batch.names, batch.entries))), "a different history"),
        ((number, pack_batch(Batch(batch.chain, batch.sums, [Name(away, 1)], b""))), "a page of another partition"),
        ((number, pack_batch(Batch(batch.chain, batch.sums, [], b"\xff\xff\x7f\x02"))), "damaged, or names a page"),
        ((number, b""), "not a batch"),
    ):
        with pytest.raises(TransferBroken, match=why):
            second.receive(1100.0, 0, *wrong)
    assert second.frame == frames
    second.receive(1100.0, 0, number, closed.packed)


def test_a_page_that_its_owner_refuses_keeps_its_money_and_waits_nowhere(tmp_path: Path) -> None:
    with partitions(tmp_path, **{"pages-per-host": 2}) as opened:
        chance = Random(5)
        for _ in range(4):
            for one, other in (opened, opened[::-1]):
                crawl(one, chance)
                exchange(one.shard, other.shard)
        for one in opened:
            shard = one.shard
            outside = np.flatnonzero(shard.pages.origins.every()["focus"] == OUTSIDE)
            assert len(outside) == shard.bounds.dropped > 0
            assert shard.ledger.importance(outside).min() >= 0
            assert shard.placement.idle(outside).all()
            shard.bound(2000.0, 1_000_000)
            assert shard.placement.idle(outside).all(), "more memory admits nothing that a limit refused"
            one.close()
            assert check_crawl(one.folder.path).problems == []


def test_reports_of_a_partition_list_its_own_pages(both: list[CrawlWriter]) -> None:
    shard = both[0].shard
    all_links = sum(int(lengths.sum()) for _, lengths, _ in rows_of(shard, remote=True))
    own = [(int(lengths.sum()), targets) for _, lengths, targets in rows_of(shard)]
    assert sum(count for count, _ in own) < all_links
    assert max(targets.max() for _, targets in own) < shard.pages.count
    rows = shard.pages.rows.gather(np.arange(shard.pages.count))
    page = int(np.argmax(rows.lengths))
    facts = about_page(both[0], shard.pages.texts.get_many(np.array([page]))[0], now=1000.0)
    assert facts["links_out"] == rows.lengths[page] > len(facts["links_to"])


def test_a_crawl_of_its_own_has_no_transfers_and_a_partition_no_other_ledger(tmp_path: Path) -> None:
    with open_writer(tmp_path / "own", WEB.seeds[0], {"scope": "any"}) as opened:
        assert opened.shard.transfers is None
        with pytest.raises(TransferBroken, match="not a partition"):
            opened.shard.flush(1000.0, 1)
    for given in ({"ledger": "opic"}, {"want": "xml"}):
        with (
            pytest.raises(BadSetting, match="leave out"),
            open_writer(tmp_path / "no", WEB.seeds[0], {"scope": "any", "partitions": 2} | given),
        ):
            pass
    with partitions(tmp_path) as opened_again:
        opened_again[0].close()
    with (
        pytest.raises(BadSetting, match="the partition of a crawl cannot change"),
        open_writer(tmp_path / "0", [], {"partition": 1}),
    ):
        pass


def test_a_seed_of_another_partition_is_sent_to_its_owner(tmp_path: Path) -> None:
    with partitions(tmp_path) as opened:
        url = WEB.seeds[1][0].replace("/p", "/elsewhere")
        opened[0].shard.seed(Seeded(1000.0, url.encode()))
        exchange(opened[0].shard, opened[1].shard)
        assert opened[0].shard.pages.table.find_one(fingerprint(url)) is None
        assert opened[1].shard.pages.table.find_one(fingerprint(url)) is not None


def needing(opened: CrawlWriter, needed: list[str], links: list[str], now: float = 1000.0) -> str:
    """Records a visit to a page that needs and links to these URLs; returns its own."""
    lease = opened.shard.lease(now, 1)[0]
    prints = np.array([fingerprint(url) for url in links], dtype=np.uint64).tobytes()
    visit = Visit(
        page=lease.page,
        outcome=Outcome.READ,
        kind=PageKind.HTML,
        asked_at=now,
        digest=b"d" * 16,
        links=prints,
        fresh=prints,
        texts="\n".join(links).encode(),
        shapes=b"",
        needed="\n".join(needed).encode(),
    )
    opened.shard.record(now, [pack(visit)])
    return lease.url


def test_what_a_page_needs_elsewhere_is_a_requisite_of_its_owner_until_a_link_leads_to_it(tmp_path: Path) -> None:
    near, far = (WEB.seeds[number][0].replace("/p0", "/style.css") for number in (0, 1))
    also = far.replace("style", "linked")
    with partitions(tmp_path) as opened:
        one, other = opened
        parent = needing(one, [near, far, also], [also])
        one.shard.ledger.check()
        one._start()
        one._finish()
        one.shard.journal.flush()
        again = read_crawl(one.folder.path).shard
        same(one.shard, again)
        assert [told.url for told in transfers_of(again).outgoing[1].needed] == [far]
        assert exchange(one.shard, other.shard) >= 1
        pages = other.shard.pages.table.find(fingerprints_of([far, also]))
        assert other.shard.requisites.nesting(pages).tolist() == [1, 0]
        beyond = GlobalRows([one.shard, other.shard])
        facts = about_page(other, far, now=1000.0, beyond=beyond)
        assert (facts["requisite_of"], facts["nesting"]) == (parent, 1)
        assert about_page(other, far, now=1000.0)["requisite_of"] is None
        facts = about_page(one, parent, now=1000.0, beyond=beyond)
        assert {row["url"] for row in facts["requisites"]} == {near, far}
        leased = {lease.url: lease.nesting for lease in other.shard.lease(1000.0, 100)}
        assert leased[far] == 1
        other.shard.returned(Returned(1001.0, [], all=True))  # it waits again as a requisite
        other._start()
        other._finish()
        same(other.shard, read_crawl(other.folder.path).shard)
        needing(one, [far], [far], now=1001.0)
        exchange(one.shard, other.shard)
        assert other.shard.requisites.nesting(pages).tolist() == [0, 0]
        assert (other.shard.requisites.became_pages, other.shard.pages.table.find_one(fingerprint(far))) == (
            1,
            pages[0],
        )
        for shard in (one.shard, other.shard):
            transfers_of(shard).check(shard.pages.table.fingerprints)
            shard.requisites.check(shard.pages.count, shard.pages.origins.every()["host"])


def test_a_batch_without_requisites_is_packed_as_before_there_were_any() -> None:
    batch = Batch(7, Sums(), [Name("http://a.example/", 1)], b"")
    assert pack_batch(batch) == msgspec.msgpack.encode((7, Sums(), batch.names, b""))
    needed = [Needed("http://a.example/a.css", 1, 1, 5, 0.5, 2)]
    assert unpack_batch(pack_batch(Batch(7, Sums(), [], b"", needed))).needed == needed
