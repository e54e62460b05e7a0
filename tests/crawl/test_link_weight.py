"""A crawl that weighs links by what they are: the ledger pays by weight, and ranking off-line gives the same."""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from centime import pagerank
from centime.crawl.check.check import check_crawl
from centime.crawl.engine.reader import read_crawl
from centime.crawl.engine.writer import CrawlWriter
from centime.crawl.report.graph import crawl_graph, linked_pages, write_edge_list
from centime.crawl.report.payers import payers_of
from centime.crawl.sites.ranked import ranked_sites
from centime.model.address import fingerprint
from centime.model.errors import BadInput, BadSetting, StoreBroken
from centime.model.outcome import Outcome
from centime.settings.crawl import CrawlSettings
from centime.settings.reading import settings_from
from centime.shard.fold import configure, settle
from centime.shard.message import Lease, Settled, pack, unpack_visit
from centime.shard.weights.weighing import check_link_weights
from tests.crawl.world import SEED, World, advance, crawl
from tests.shard.test_shard import same

HOSTS = ("http://a.test", "https://a.test", "http://b.test")  # the first two are one host name
PAGES = 70


def url_of(number: int) -> str:
    return f"{HOSTS[number % 3]}/{'?q=' if number % 7 == 0 else ''}p{number}"


class Sites(World):
    """Two sites, one with two schemes. Every page links to page 1, most to page 2, and to three more, one of which asks
    not to be followed.
    """

    shift = 0

    def visit(self, lease: Lease, now: float) -> bytes:
        number = int(lease.url.rsplit("p", 1)[1])
        others = [(number * 5 + self.shift) % PAGES, (number + 3) % PAGES, (number * number + 1) % PAGES]
        targets = dict.fromkeys([1, *([2] if number % 4 else []), *others])
        prints = np.array([fingerprint(url_of(target)) for target in targets], dtype=np.uint64)
        texts = "\n".join(map(url_of, targets)).encode()
        visit = unpack_visit(super().visit(lease, now))
        if visit.outcome is Outcome.READ:
            links = {"links": prints.tobytes(), "fresh": prints.tobytes(), "texts": texts, "shapes": b""}
            visit = msgspec.structs.replace(visit, **links, unfollowed=prints[-1:].tobytes())
        return pack(visit)


def settled(opened: CrawlWriter) -> np.ndarray:
    opened.shard.settle(1e-12, 10**6)
    return opened.shard.ledger.importance()


def read_all(path: Path, weights: str | None, **given: Any) -> CrawlWriter:
    with crawl(path, link_weight=weights, follow_nofollow=True, delay=0.0, **given) as opened:
        advance(opened, Sites(PAGES), 40)
        settled(opened)
        opened.close()
    return opened


TEMPLATE = {url_of(1), url_of(2)}
WEIGHTS = "internal=0.3,external=2,template=0.25,nofollow=0.5,dynamic=0.5"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("weighed") / "c"
    read_all(path, WEIGHTS)
    return path


FACTOR = st.sampled_from([0.0, 0.1, 0.5, 1.0, 3.0])


@settings(max_examples=12)
@given(st.fixed_dictionaries({}, optional=dict.fromkeys(("internal", "external", "template", "nofollow"), FACTOR)))
def test_other_weights_give_the_importance_that_ranking_with_them_computes(
    folder: Path, weights: dict[str, float]
) -> None:
    text = ",".join(f"{kind}={weight}" for kind, weight in weights.items()) or "internal=1"
    reader = read_crawl(folder)
    shard = reader.shard
    configure(shard, 5000.0, msgspec.structs.replace(shard.settings, link_weight=text))
    settle(shard, Settled(1e-12, 10**6))
    shard.ledger.check()
    check_link_weights(shard)
    found = shard.ledger.importance()
    linked = linked_pages(reader)
    assert pagerank(crawl_graph(linked), error=1e-12).scores == pytest.approx(found, abs=1e-8)
    if weights:
        plain = crawl_graph(linked, weighed=False)
        assert pagerank(plain, link_weight=weights, error=1e-12).scores == pytest.approx(found, abs=1e-8)
    configure(shard, 6000.0, msgspec.structs.replace(shard.settings, link_weight=None))
    check_link_weights(shard)
    settle(shard, Settled(1e-12, 10**6))
    alike = pagerank(crawl_graph(linked_pages(reader)), error=1e-12).scores
    assert shard.ledger.importance() == pytest.approx(alike, abs=1e-8)
    reader.close()


def test_a_crawl_weighs_links_by_what_they_are(folder: Path, tmp_path: Path) -> None:
    assert check_crawl(folder).problems == []
    reader = read_crawl(folder)
    shard, linked = reader.shard, linked_pages(reader)
    assert shard.link_kinds is not None
    named = crawl_graph(linked)
    assert named.nofollow is not None
    assert named.nofollow.sum() > 40
    assert named.names is not None
    sources = np.repeat(np.arange(named.graph.pages), named.graph.out_degree)
    expected = [
        (0.3 if urlsplit(source).hostname == urlsplit(target).hostname else 2.0)
        * (0.25 if target in TEMPLATE and source != SEED else 1.0)  # which is the one page of its host
        * (0.5 if unfollowed else 1.0)
        * (0.5 if "?" in source else 1.0)
        for source, target, unfollowed in zip(
            [named.names[page] for page in sources.tolist()],
            [named.names[page] for page in named.graph.targets.tolist()],
            named.nofollow,
            strict=True,
        )
    ]
    assert named.graph.weights == pytest.approx(expected)
    targets = {int(pair) & 0xFFFFFFFF for pair in shard.link_kinds.templates.pairs}
    urls = shard.pages.texts.get_many(np.array(sorted(targets)))
    assert set(urls) == TEMPLATE
    path = tmp_path / "links.csv"
    write_edge_list(linked, path)
    assert pagerank(path, error=1e-12).scores == pytest.approx(shard.ledger.importance(), abs=1e-8)
    page = int(targets.pop())
    payers = payers_of(shard, page)
    virtual = shard.ledger.class_shares()[0] * shard.ledger.unit()
    assert payers.contributions.sum() + virtual == pytest.approx(shard.ledger.importance([page])[0], abs=1e-6)
    sites = ranked_sites(linked, 0.85)
    assert sites.importance == pytest.approx(pagerank(path, by="site", error=1e-12).scores, abs=1e-7)
    reader.close()


@pytest.mark.parametrize("ledger", ["exact", "opic"])
def test_a_replay_and_a_snapshot_give_the_same_weights_bit_for_bit(tmp_path: Path, ledger: str) -> None:
    world = Sites(PAGES)
    world.outcomes = {3: Outcome.GONE, 5: Outcome.MOVED, 9: Outcome.BUSY}
    with crawl(tmp_path / "c", link_weight=WEIGHTS, follow_nofollow=True, delay=0.0, ledger=ledger) as opened:
        now = advance(opened, world, 12)
        opened._start()
        opened._finish()
        world.shift = 1
        opened.shard.settle(1e-6, 1000)
        advance(opened, world, 20, start=now)
        opened.shard.journal.flush()
        again = read_crawl(tmp_path / "c")
        same(opened.shard, again.shard)
        check_link_weights(again.shard)
        assert again.shard.link_kinds is not None
        assert len(again.shard.link_kinds.templates.pairs)
        again.close()


def test_a_row_with_other_shares_than_those_of_its_kinds_is_found(folder: Path) -> None:
    reader = read_crawl(folder)
    kinds = reader.shard.link_kinds
    assert kinds is not None
    reader.shard.link_kinds = kinds.continued("internal=0.7,external=2,template=0.25,nofollow=0.5")
    with pytest.raises(StoreBroken, match="other weights than those of their kinds"):
        check_link_weights(reader.shard)
    reader.close()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"link_weight": "nofollow=0.2"}, "add --follow-nofollow"),
        ({"link_weight": "inner=1"}, "unknown kind of link 'inner'"),
        ({"link_weight": "template=0.5", "partitions": 2}, "leave out template or --cluster"),
    ],
)
def test_weights_that_a_crawl_cannot_have_are_refused(given: dict[str, Any], why: str) -> None:
    with pytest.raises(BadSetting, match=why):
        settings_from(given, where="test")
    assert settings_from({"link_weight": "dynamic=0.5"}, where="test") == CrawlSettings(link_weight="dynamic=0.5")


def test_a_crawl_that_does_not_keep_what_is_nofollow_cannot_be_ranked_by_it(tmp_path: Path) -> None:
    read_all(tmp_path / "c", None)
    reader = read_crawl(tmp_path / "c")
    with pytest.raises(BadInput, match="started with --follow-nofollow"):
        pagerank(crawl_graph(linked_pages(reader)), link_weight="nofollow=0")
    reader.close()
