"""A crawl in partitions as processes of this machine: it is the crawl that one folder would be."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from centime.cluster.beginning import cluster_run
from centime.cluster.coordinator import Coordinator
from centime.cluster.folder import partition_folders, read_about
from centime.crawl.check.check import check_crawl
from centime.crawl.engine.loop import STOPPED, Engine, Limits
from centime.crawl.engine.opening import open_writer
from centime.crawl.engine.reader import CrawlReader, read_crawl
from centime.lab.webbox import WebBox, serve_in_process
from centime.ledger.certificate import certified
from centime.model.address import partition_of
from centime.model.errors import BadInput, BadSetting, InUse
from centime.shard.transfers.exchanging import transfers_of

BOX = WebBox(
    hosts=6, pages=80, traps=False, feeds=False, crawl_delay_seconds=0.0, delay_seconds=0.0, changes_per_day=1e-6
)
GIVEN: dict[str, Any] = {"allow-network": ["127.0.0.0/8"], "scope": "any", "delay": 0.0, "workers": 1}
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


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    room = tmp_path_factory.mktemp("local")
    with serve_in_process(BOX) as served:
        with open_writer(room / "plain", [served.seed_url], GIVEN) as opened:
            Engine(opened).run()
        with cluster_run(room / "cluster", [served.seed_url], GIVEN, Limits(), partitions=3) as crawl:
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


def test_every_partition_passes_the_check(crawled: Crawled) -> None:
    for folder in partition_folders(crawled.cluster):
        assert check_crawl(folder).problems == []


def test_a_partition_that_is_killed_is_started_again_and_nothing_is_lost(crawled: Crawled, tmp_path: Path) -> None:
    killed: list[int] = []

    def kill(crawl: Coordinator, now: float) -> None:
        if len(killed) < 2 and crawl.run_facts.visits > 15 * (len(killed) + 1):
            killed.append(crawl.pids[len(killed)])
            os.kill(killed[-1], signal.SIGKILL)

    ending = run(crawled.seed, tmp_path / "c", kill, rate="60/s")
    assert killed
    assert ending.startswith("everything known was read")
    assert sum(read_about(tmp_path / "c").incarnations) == 3 + len(killed)
    must_be_whole(crawled.seed, crawled.plain, tmp_path / "c")


def test_a_run_that_is_stopped_goes_on_where_it_was(crawled: Crawled, tmp_path: Path) -> None:
    def stop(crawl: Coordinator, now: float) -> None:
        if crawl.run_facts.visits > 10:
            crawl.stop()

    assert run(crawled.seed, tmp_path / "c", stop, rate="40/s") == STOPPED
    with readers(tmp_path / "c") as parts:
        assert 10 < sum(part.shard.read_count for part in parts) < 70
    assert run("", tmp_path / "c", rate="none").startswith("everything known was read")
    must_be_whole(crawled.seed, crawled.plain, tmp_path / "c")


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
    with (
        cluster_run(crawled.cluster, [], {}, Limits()),
        pytest.raises(InUse),
        cluster_run(crawled.cluster, [], {}, Limits()),
    ):
        pass


def run(seed: str, path: Path, view: View = nothing, *, pages: int | None = None, **given: Any) -> str:
    limits = Limits(pages=pages)
    with cluster_run(path, [seed] if seed else [], GIVEN | given, limits, partitions=3) as crawl:
        return crawl.run(view)
