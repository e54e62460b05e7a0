"""Partitions that weigh links: what a link to another partition is, is known from its URL when it is found."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from shutil import copytree

import msgspec
import numpy as np
import pytest

from centime import pagerank
from centime.cluster.global_rows import GlobalRows
from centime.crawl.check.check import check_crawl
from centime.crawl.engine.letting_in import let_in
from centime.crawl.engine.opening import open_writer
from centime.crawl.engine.reader import read_crawl
from centime.crawl.engine.writer import CrawlWriter
from centime.crawl.report.graph import LinkedPages, crawl_graph
from centime.discover.refusal import Reason
from centime.ledger.accounts import PROXY
from centime.model.address import fingerprint, partition_of
from centime.model.errors import BadSetting, StoreBroken
from centime.model.outcome import Outcome, PageKind
from centime.shard.message import TEXT_FOLLOWS, Visit, pack
from centime.shard.shard import Shard
from centime.shard.transfers.exchanging import transfers_of
from centime.shard.weights.weighing import check_link_weights
from tests.shard.test_shard import same
from tests.shard.transfers.test_transfers import PARTITIONS, exchange

HOSTS = next(  # two names; the schemes of the first are of different partitions
    (f"http://{name}.test", f"https://{name}.test", "http://z.test")
    for name in "abcdefghijklmnop"
    if partition_of(f"http://{name}.test/", PARTITIONS) != partition_of(f"https://{name}.test/", PARTITIONS)
)
URLS = [f"{HOSTS[number % 3]}/p{number}{'?q' if number % 7 == 0 else ''}" for number in range(18)]
WEIGHTS = "internal=0.3,external=2,nofollow=0.5,dynamic=0.5"
GIVEN = {"scope": "any", "delay": 0.0, "follow-nofollow": True}


def opened_at(
    path: Path, number: int, weights: str | None = WEIGHTS, **given: object
) -> AbstractContextManager[CrawlWriter]:
    own = [url for url in URLS[:3] if partition_of(url, PARTITIONS) == number]
    which = {"partition": number, "partitions": PARTITIONS} | ({} if weights is None else {"link-weight": weights})
    return open_writer(path / f"{number}", [] if (path / f"{number}").exists() else own, GIVEN | which | given)


def targets_of(number: int) -> list[str]:
    """What a page links to; the last of them asks not to be followed."""
    return [URLS[at % len(URLS)] for at in dict.fromkeys([number + 1, number + 2, 5 * number + 3, 2 * number + 7])]


def visit_all(shard: Shard, now: float) -> None:
    """Reads all pages that wait."""
    visits = []
    for lease in shard.lease(now, 100):
        urls = targets_of(URLS.index(lease.url))
        prints = np.array([fingerprint(url) for url in urls], dtype=np.uint64)
        visits.append(
            Visit(
                page=lease.page,
                outcome=Outcome.READ,
                kind=PageKind.HTML,
                asked_at=now,
                digest=b"d" * 16,
                links=prints.tobytes(),
                fresh=prints.tobytes(),
                texts="\n".join(urls).encode(),
                shapes=b"",
                unfollowed=prints[-1:].tobytes(),
            )
        )
    shard.record(now, [pack(visit) for visit in visits])


def settled(shards: list[Shard]) -> dict[str, float]:
    """The importance of all pages when nothing is owed or on its way."""
    for _ in range(60):
        for one, other in (shards, shards[::-1]):
            one.settle(1e-13, 10_000)
            exchange(one, other)
    return {
        url: float(x) for one in shards for url, x in zip(one.pages.texts.every(), one.ledger.importance(), strict=True)
    }


def linked(shards: list[Shard]) -> LinkedPages:
    rows = GlobalRows(shards)
    return LinkedPages("both", rows.count, rows.rows, rows.urls, kinds=rows.kinds if rows.have_kinds else None)


@pytest.fixture
def both(tmp_path: Path) -> Iterator[list[CrawlWriter]]:
    """Two partitions that have read all pages."""
    with opened_at(tmp_path, 0) as first, opened_at(tmp_path, 1) as second:
        for turn in range(12):
            for one, other in ((first.shard, second.shard), (second.shard, first.shard)):
                visit_all(one, 1000.0 + turn)
                exchange(one, other)
        yield [first, second]


def test_partitions_weigh_links_as_ranking_all_of_them_does(both: list[CrawlWriter]) -> None:
    shards = [one.shard for one in both]
    found = settled(shards)
    assert set(found) == set(URLS)
    named = crawl_graph(linked(shards))
    assert named.names is not None
    assert named.nofollow is not None
    assert named.graph.weights is not None
    urls = list(named.names)
    sources = np.repeat(np.arange(named.graph.pages), named.graph.out_degree).tolist()
    away = 0
    for source, target, weight, unfollowed in zip(
        sources, named.graph.targets.tolist(), named.graph.weights, named.nofollow, strict=True
    ):
        ends = urls[source], urls[target]
        internal = ends[0].split("/")[2] == ends[1].split("/")[2]
        away += internal and partition_of(ends[0], PARTITIONS) != partition_of(ends[1], PARTITIONS)
        expected = (0.3 if internal else 2.0) * (0.5 if unfollowed else 1.0) * (0.5 if "?" in ends[0] else 1.0)
        assert weight == pytest.approx(expected)
        assert unfollowed == (ends[1] == targets_of(URLS.index(ends[0]))[-1])
    assert away > 4
    scores = dict(zip(urls, pagerank(named, error=1e-12).scores, strict=True))
    assert [found[url] for url in urls] == pytest.approx([scores[url] for url in urls], abs=1e-5)
    plain = crawl_graph(linked(shards), weighed=False)
    kinds = {"internal": 0.3, "external": 2.0, "nofollow": 0.5}
    again = dict(zip(urls, pagerank(plain, link_weight=kinds, error=1e-12).scores, strict=True))
    assert [found[url] for url in urls] == pytest.approx([again[url] for url in urls], abs=1e-5)


def test_a_replay_a_snapshot_and_other_weights_keep_the_law(both: list[CrawlWriter], tmp_path: Path) -> None:
    for number, one in enumerate(both):
        one.shard.journal.flush()
        again = read_crawl(one.folder.path).shard
        for channel in transfers_of(again).outgoing.values():
            channel.outbox.clear()  # acknowledgements are no frames
        same(one.shard, again)
        one.close()
        assert check_crawl(one.folder.path).problems == []
        copytree(one.folder.path, tmp_path / "copy" / f"{number}")
        with opened_at(tmp_path / "copy", number, "internal=0.7,external=0.1") as opened:
            assert opened.folded == 0, "all is in the snapshot"
            check_link_weights(opened.shard)
            opened.shard.ledger.check()
            kinds = opened.shard.link_kinds
            assert kinds is not None
            kinds.join_proxies(["http://x.test/"])
            with pytest.raises(StoreBroken, match="proxies have a host name"):
                check_link_weights(opened.shard)


def test_weights_that_come_later_or_need_all_pages_of_a_name_are_refused(tmp_path: Path) -> None:
    with opened_at(tmp_path, 0, None) as opened:
        visit_all(opened.shard, 1000.0)
        opened.close()
    for weights, why in ((WEIGHTS, "from the start"), ("internal=1,template=0.5", "leave out template")):
        where = 0 if weights is WEIGHTS else 1
        with pytest.raises(BadSetting, match=why), opened_at(tmp_path, where, weights):
            pass
    assert not (tmp_path / "1").exists()


def test_a_link_that_is_let_in_later_is_weighed_and_paid_also_to_another_partition(tmp_path: Path) -> None:
    seed = URLS[0]
    number = partition_of(seed, PARTITIONS)
    away, near = f"{HOSTS[1]}/late", f"{HOSTS[0]}/late"
    with opened_at(tmp_path, number, exclude=["/late"]) as opened:
        shard = opened.shard
        lease = next(lease for lease in shard.lease(1000.0, 9) if lease.url == seed)
        links = np.array([fingerprint(URLS[2]), fingerprint(URLS[3])], dtype=np.uint64).tobytes()
        refused = np.array([fingerprint(away), fingerprint(near)], dtype=np.uint64).tobytes()
        visit = Visit(
            page=lease.page,
            outcome=Outcome.READ,
            kind=PageKind.HTML,
            asked_at=1000.0,
            digest=b"d" * 16,
            links=links,
            fresh=links,
            texts=f"{URLS[2]}\n{URLS[3]}".encode(),
            shapes=b"",
            refused=refused,
            refused_for=bytes([Reason.EXCLUDE | TEXT_FOLLOWS] * 2),
            refused_texts=f"{away}\n{near}".encode(),
        )
        shard.record(1000.0, [pack(visit)])
        shard.configure(1001.0, msgspec.structs.replace(shard.settings, exclude=()))
        let_in(shard, 1001.0)
        row = shard.pages.rows.gather(np.array([lease.page]))
        proxy = transfers_of(shard).table.find_one(fingerprint(away))
        assert proxy is not None
        assert {PROXY + proxy, shard.pages.table.find_one(fingerprint(near))} < set(row.links().tolist())
        check_link_weights(shard)
        shard.ledger.check()
