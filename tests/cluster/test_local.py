"""A crawl in partitions as processes of this machine: it is the crawl that one folder would be."""

import os
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from centime.cluster import coordinator
from centime.cluster.beginning import cluster_run
from centime.cluster.checking import check_any
from centime.cluster.coordinator import Coordinator
from centime.cluster.folder import partition_folders, read_about
from centime.cluster.parts import Parts, parts_of
from centime.crawl.engine.loop import STOPPED, Engine, Limits
from centime.crawl.engine.opening import open_writer
from centime.crawl.engine.reader import CrawlReader, read_crawl
from centime.crawl.report.graph import crawl_graph
from centime.lab.webbox import WebBox, serve_in_process
from centime.lab.webbox.process import Served
from centime.ledger.certificate import certified
from centime.model.address import partition_of
from centime.model.errors import BadInput, BadSetting, InUse, UnknownPage
from centime.model.ids import PageId
from centime.shard.transfers.exchanging import transfers_of

BOX = WebBox(
    hosts=6, pages=80, traps=False, feeds=False, crawl_delay_seconds=0.0, delay_seconds=0.0, changes_per_day=1e-6
)
GIVEN: dict[str, Any] = {"allow-network": ["127.0.0.0/8"], "scope": "any", "delay": 0.0, "workers": 1}
KEPT = GIVEN | {"keep": "all"}
MOST_TRIES = 50
View = Callable[[Coordinator, float], None]


def nothing(crawl: Coordinator, now: float) -> None:
    """Does not look."""


@dataclass(frozen=True)
class Crawled:
    """A web, and the folders of a crawl of it in one piece and in partitions."""

    seed: str
    plain: Path
    cluster: Path
    ending: str
    error: float


@contextmanager
def spread_web() -> Iterator[Served]:
    """The web at a port with which every partition, of 2 or 3, owns some of its hosts, and 0 and 1 several."""
    for _ in range(MOST_TRIES):
        with serve_in_process(BOX) as served:
            urls = [f"http://site{number}.localhost:{served.port}/" for number in range(BOX.hosts)]
            owners = [Counter(partition_of(url, count) for url in urls) for count in (2, 3)]
            if len(owners[0]) == 2 and len(owners[1]) == 3 and min(owners[0].values()) > 1:
                yield served
                return
    raise AssertionError("no port will do")


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    room = tmp_path_factory.mktemp("local")
    with spread_web() as served:
        with open_writer(room / "plain", [served.seed_url], KEPT) as opened:
            Engine(opened).run()
        with cluster_run(room / "cluster", [served.seed_url], KEPT, Limits(), partitions=3) as crawl:
            ending = crawl.run()
            error = crawl.statistics(crawl.now())["certified_error"]
        yield Crawled(served.seed_url, room / "plain", room / "cluster", ending, error)


@contextmanager
def readers(path: Path) -> Iterator[list[CrawlReader]]:
    opened = [read_crawl(folder) for folder in partition_folders(path)]
    yield opened
    for one in opened:
        one.close()


def urls_of(reader: CrawlReader) -> list[str]:
    return [reader.shard.pages.texts.get(page) for page in range(reader.shard.pages.count)]  # type: ignore[arg-type]


def must_be_whole(seed: str, plain: Path, cluster: Path) -> None:
    """All pages of the plain crawl are in the partition that owns them, and were read there once."""
    with readers(cluster) as parts:
        one = read_crawl(plain)
        expected = sorted(urls_of(one))
        assert sorted(url for part in parts for url in urls_of(part)) == expected
        for number, part in enumerate(parts):
            assert {partition_of(url, len(parts)) for url in urls_of(part)} <= {number}
            transfers_of(part.shard).check(part.shard.pages.table.fingerprints)
        assert sum(part.shard.read_count for part in parts) == one.shard.read_count
        assert sum(part.shard.ledger.links or 0 for part in parts) == one.shard.ledger.links
        one.close()


def test_partitions_know_and_read_what_a_crawl_in_one_folder_does(crawled: Crawled) -> None:
    assert crawled.ending.startswith("everything known was read")
    must_be_whole(crawled.seed, crawled.plain, crawled.cluster)


def test_importance_is_that_of_one_folder_within_the_certified_errors(crawled: Crawled) -> None:
    with readers(crawled.cluster) as parts:
        certificate = certified([transfers_of(part.shard).report() for part in parts])
        assert certificate.shown <= 1.1e-6
        assert crawled.error == pytest.approx(certificate.shown, abs=1e-6)
        one = read_crawl(crawled.plain)
        truth = dict(zip(urls_of(one), one.shard.ledger.importance().tolist(), strict=True))
        error = certificate.shown + (one.shard.ledger.error() or 0.0)
        off = 0.0
        for part in parts:
            transfers = transfers_of(part.shard)
            others = [transfers_of(other.shard).ledger.sums for other in parts if other is not part]
            transfers.ledger.hear(others[0].plus(others[1]))
            off += sum(
                abs(truth[url] - x)
                for url, x in zip(urls_of(part), part.shard.ledger.importance().tolist(), strict=True)
            )
        assert off / len(truth) <= error
        one.close()


def both(crawled: Crawled) -> tuple[Parts, Parts]:
    return parts_of(crawled.plain), parts_of(crawled.cluster)


def facts_of(rows: list[dict[str, Any]], *without: str) -> list[dict[str, Any]]:
    """Rows without what two crawls of one web differ in, in one order."""
    return sorted(
        ({name: row[name] for name in row.keys() - set(without)} for row in rows), key=lambda row: row["host"]
    )


def test_the_top_of_all_partitions_is_that_of_one_folder(crawled: Crawled) -> None:
    plain, cluster = both(crawled)
    for site, name in ((False, "url"), (True, "host")):
        found, every = cluster.top(12, site=site), plain.top(1000, site=site)
        assert [row["rank"] for row in found["top"]] == list(range(1, 1 + len(found["top"])))
        truth = {row[name]: row["importance"] for row in every["top"]}
        importance = [row["importance"] for row in found["top"]]
        assert importance == pytest.approx([truth[row[name]] for row in found["top"]], abs=2e-4)
        assert importance == pytest.approx([row["importance"] for row in every["top"][:12]], abs=2e-4)
        assert found["certified_error"] <= 1.1e-6
        assert found["known"] == every["known"]
    failing = [[row["url"] for row in parts.top(9, "errors")["top"]] for parts in (plain, cluster)]
    assert failing[0] == failing[1]


def test_counts_and_hosts_are_those_of_one_folder(crawled: Crawled) -> None:
    plain, cluster = both(crawled)
    expected, found = plain.statistics(2e9), cluster.statistics(2e9)
    assert found["partitions"] == 3
    for name in ("known", "read", "visits", "hosts", "links", "outcomes", "kinds", "statuses", "body_bytes"):
        assert found[name] == expected[name], name
    differ = "ready", "latency_seconds", "wire_bytes"
    assert facts_of(cluster.hosts(9)["top"], *differ) == facts_of(plain.hosts(9)["top"], *differ)
    assert [row["known"] for row in cluster.hosts(3)["top"]] == [row["known"] for row in plain.hosts(3)["top"]]


def test_a_page_is_explained_with_the_links_of_all_partitions(crawled: Crawled) -> None:
    plain, cluster = both(crawled)
    expected, found = (parts.page(crawled.seed, now=2e9) for parts in (plain, cluster))
    for name in ("url", "rank", "known", "links_in", "links_out", "kind"):
        assert found[name] == expected[name], name
    for name in ("importance", "received_along_links", "received_from_virtual_page", "pays_each_link"):
        assert found[name] == pytest.approx(expected[name], abs=1e-4), name
    for name in ("paid_by", "links_to"):
        value = "contribution" if name == "paid_by" else "importance"
        assert [row[value] for row in found[name]] == pytest.approx([row[value] for row in expected[name]], abs=1e-4)
    with pytest.raises(UnknownPage):
        cluster.page(f"{crawled.seed}nowhere", now=2e9)


def test_changes_come_newest_first_from_all_partitions(crawled: Crawled) -> None:
    plain, cluster = both(crawled)
    expected, found = plain.changes(0.0, 2e10), cluster.changes(0.0, 2e10)
    assert len(found) == len(expected)
    rows = list(found.newest_first("", None, sentences=True))
    assert {row["url"] for row in rows} == {row["url"] for row in expected.newest_first("", None)}
    assert [row["seen_seconds"] for row in rows] == sorted((row["seen_seconds"] for row in rows), reverse=True)
    assert len(list(found.newest_first("", 5))) == 5
    assert "What changed in cluster" in "".join(found.atom(iter(rows[:1]), ""))


def test_exports_have_the_pages_and_links_of_all_partitions(crawled: Crawled, tmp_path: Path) -> None:
    links, tables = [], []
    for parts in both(crawled):
        graph = crawl_graph(parts.linked)
        urls = [url for some in parts.linked.urls() for url in some]
        sources = np.repeat(np.arange(graph.graph.pages), np.diff(graph.graph.offsets)).tolist()
        ends = zip(sources, graph.graph.targets.tolist(), strict=True)
        links.append({(urls[source], urls[target]) for source, target in ends})
        parts.export("parquet", tmp_path / "pages.parquet", lambda done: None)
        table = pq.read_table(tmp_path / "pages.parquet").to_pylist()
        assert [row["page"] for row in table] == list(range(parts.known))
        leads = {row["url"]: row["leads_to"] is not None and table[row["leads_to"]]["url"] for row in table}
        tables.append({row["url"]: (row["links_in"], row["links_out"], row["outcome"]) for row in table})
        assert all(not url or url in tables[-1] for url in leads.values())
        texts = parts.export("jsonl", tmp_path / "texts.jsonl", lambda done: None)
        assert texts["pages"] == len((tmp_path / "texts.jsonl").read_text().splitlines()) > 60
    assert links[0] == links[1]
    assert tables[0] == tables[1]
    with pytest.raises(BadInput, match="takes one folder"):
        parts.export("git", tmp_path / "all.git", lambda done: None)


def test_a_search_finds_the_pages_of_all_partitions(crawled: Crawled) -> None:
    plain, cluster = both(crawled)
    word = plain.readers[0].shard.pages.texts.get(PageId(0)).split("/")[2].split(".")[0]
    counts = []
    for parts in (plain, cluster):
        assert sum(update.added for update in parts.update_index(rebuild=False, step=lambda done: None)) > 60
        found = parts.search(word, site="", since=None, kind="", most=5)
        counts.append((found.matches, found.changed_since, len(found.pages)))
        assert [page.score for page in found.pages] == sorted((page.score for page in found.pages), reverse=True)
    assert counts[0] == counts[1]


def test_a_check_verifies_all_partitions_and_what_they_told_each_other(crawled: Crawled, tmp_path: Path) -> None:
    found = check_any(crawled.cluster)
    assert found.problems == []
    proven = {one["part"]: one["count"] for one in found.proven}
    assert proven["channels"] >= 4
    copy = tmp_path / "c"
    shutil.copytree(crawled.cluster, copy)
    with open_writer(copy / "partitions" / "00", [], {}) as opened:  # one that goes on alone, and loses what it says
        transfers = transfers_of(opened.shard)
        for channel in transfers.outgoing.values():
            channel.forget(channel.number)
            channel.number += 1
        opened.close()
    assert any("neither applied nor kept" in problem.what for problem in check_any(copy).problems)


def test_a_partition_that_is_killed_or_frozen_is_started_again_and_nothing_is_lost(
    crawled: Crawled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coordinator, "FROZEN_SECONDS", 1.0)
    done: list[int] = []

    def disturb(crawl: Coordinator, now: float) -> None:
        if len(done) < 2 and crawl.run_facts.visits > 15 * (len(done) + 1):
            os.kill(crawl.pids[len(done)], signal.SIGKILL if not done else signal.SIGSTOP)
            done.append(1)

    assert run(crawled.seed, tmp_path / "c", disturb, rate="60/s").startswith("everything known was read")
    assert min(read_about(tmp_path / "c").incarnations) > 1
    must_be_whole(crawled.seed, crawled.plain, tmp_path / "c")


@pytest.mark.long
def test_a_partition_that_is_lost_with_its_disk_goes_on_from_its_replica(crawled: Crawled, tmp_path: Path) -> None:
    lost: list[set[str]] = []

    def lose(crawl: Coordinator, now: float) -> None:
        standing = crawl.standing_of(1)
        if not lost and standing is not None and standing.visits > 5:  # its own: others may be far ahead
            os.kill(crawl.pids[1], signal.SIGKILL)
            reader = read_crawl(tmp_path / "c" / "replicas" / "01")
            read = np.flatnonzero(reader.shard.pages.were_read(np.arange(reader.shard.pages.count)))
            lost.append({urls_of(reader)[page] for page in read.tolist()})
            reader.close()
            shutil.rmtree(tmp_path / "c" / "partitions" / "01")

    assert run(crawled.seed, tmp_path / "c", lose, replicas=1, rate="60/s").startswith("everything known was read")
    assert lost[0]
    must_be_whole(crawled.seed, crawled.plain, tmp_path / "c")
    with readers(tmp_path / "c") as parts:
        records = parts[1].shard.pages.records
        visits = {url: len(list(records.history(PageId(page)))) for page, url in enumerate(urls_of(parts[1]))}
        assert {visits[url] for url in lost[0]} == {1}, "what the replica had was not visited again"
    assert check_any(tmp_path / "c").problems == []


@pytest.mark.long
def test_a_run_that_is_stopped_goes_on_where_it_was(crawled: Crawled, tmp_path: Path) -> None:
    def stop(crawl: Coordinator, now: float) -> None:
        if crawl.run_facts.visits > 10:
            crawl.stop()

    assert run(crawled.seed, tmp_path / "c", stop, rate="40/s") == STOPPED
    with readers(tmp_path / "c") as parts:
        assert 10 < sum(part.shard.read_count for part in parts) < 70
    assert run("", tmp_path / "c", rate="none").startswith("everything known was read")
    must_be_whole(crawled.seed, crawled.plain, tmp_path / "c")


@pytest.mark.long
def test_a_run_whose_processes_are_all_killed_goes_on_where_it_was(crawled: Crawled, tmp_path: Path) -> None:
    def die(crawl: Coordinator, now: float) -> None:
        if crawl.run_facts.visits > 20:
            os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if not child:
        try:
            run(crawled.seed, tmp_path / "c", die, rate="50/s")
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert run("", tmp_path / "c", rate="none").startswith("everything known was read")
    must_be_whole(crawled.seed, crawled.plain, tmp_path / "c")


def test_all_partitions_together_visit_as_many_pages_as_asked_for(crawled: Crawled, tmp_path: Path) -> None:
    ending = run(crawled.seed, tmp_path / "c", pages=23)
    assert ending == "read the 23 pages asked for"
    with readers(tmp_path / "c") as parts:
        assert sum(sum(part.shard.outcomes.values()) for part in parts) == 23


def test_what_the_folder_does_not_allow_is_refused_before_anything_is_written(crawled: Crawled, tmp_path: Path) -> None:
    for seeds, given, partitions, cluster, refused in (
        ([], {}, None, None, BadInput),
        ([crawled.seed], {"want": "xml"}, None, None, BadSetting),
        ([crawled.seed], {"rate": "many"}, None, None, BadSetting),
        ([crawled.seed], {}, 1, None, BadSetting),
        ([crawled.seed], {}, None, "ray://elsewhere", BadSetting),
    ):
        with (
            pytest.raises(refused),
            cluster_run(tmp_path / "c", seeds, given, Limits(), partitions=partitions, cluster=cluster),
        ):
            pass
        assert not (tmp_path / "c").exists()
    with (
        pytest.raises(BadInput, match="has 3 partitions"),
        cluster_run(crawled.cluster, [], {}, Limits(), partitions=4),
    ):
        pass
    with pytest.raises(BadInput, match="one folder"), cluster_run(crawled.plain, [], {}, Limits()):
        pass
    with pytest.raises(BadInput, match="takes one of them"):
        read_crawl(crawled.cluster)
    with (
        cluster_run(crawled.cluster, [], {}, Limits()),
        pytest.raises(InUse),
        cluster_run(crawled.cluster, [], {}, Limits()),
    ):
        pass


def run(
    seed: str, path: Path, view: View = nothing, *, pages: int | None = None, replicas: int = 0, **given: Any
) -> str:
    limits = Limits(pages=pages)
    with cluster_run(
        path, [seed] if seed else [], GIVEN | given, limits, cluster="local:2", partitions=2, replicas=replicas
    ) as crawl:
        return crawl.run(view)
