"""A crawl in partitions as processes of this machine: it is the crawl that one folder would be."""

import errno
import logging
import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import count, pairwise
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from typer.testing import CliRunner

from centime.cli.main import app
from centime.cluster import coordinator
from centime.cluster.beginning import cluster_run
from centime.cluster.coordinator import Coordinator
from centime.cluster.folder import partition_folders, read_about
from centime.cluster.member import Member
from centime.cluster.opening import refuse_part
from centime.cluster.replicas import keeper
from centime.cluster.report.checking import check_any
from centime.cluster.status import PartitionStatus, read_status
from centime.crawl.check.check import check_crawl
from centime.crawl.engine.loop import STOPPED, Limits
from centime.crawl.engine.opening import open_writer
from centime.crawl.engine.reader import CrawlReader, read_crawl
from centime.files.disk import write_whole
from centime.ledger.certificate import certified
from centime.model.address import partition_of
from centime.model.errors import BadInput, BadSetting, CentimeError, InUse, NoRoom
from centime.model.ids import PageId
from centime.shard.transfers.exchanging import transfers_of
from centime.store.archives.captures import date_of, every_capture
from tests.cluster.crawled import GIVEN, Crawled

View = Callable[[Coordinator, float], None]


def nothing(crawl: Coordinator, now: float) -> None:
    """Does not look."""


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


def test_a_partition_is_no_crawl_of_its_own(crawled: Crawled) -> None:
    refuse_part(crawled.plain)
    refuse_part(crawled.cluster)
    with pytest.raises(BadInput, match=r"01: this is partition 1 of a crawl; use centime crawl .*cluster"):
        refuse_part(partition_folders(crawled.cluster)[1])


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
            transfers.ledger.receive_sums(others[0].plus(others[1]))
            off += sum(
                abs(truth[url] - x)
                for url, x in zip(urls_of(part), part.shard.ledger.importance().tolist(), strict=True)
            )
        assert off / len(truth) <= error
        one.close()


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


def _partitions(folder: Path) -> list[PartitionStatus]:
    status = read_status(folder)
    assert status is not None
    return status.partitions


def test_a_process_that_does_nothing_is_frozen_after_the_patience_however_much_it_worked_before() -> None:
    process = Mock()
    process.cpu_seconds.return_value = 100.0
    silent = Member(0, 1, process)
    assert not any(silent.is_frozen(50.0 + passed, 50.0, 10.0) for passed in range(11))
    assert silent.is_frozen(60.1, 50.0, 10.0)
    process.cpu_seconds.side_effect = count(100.0).__next__  # it works whenever it is looked at
    busy = Member(0, 1, process)
    assert not any(busy.is_frozen(50.0 + passed, 50.0, 10.0) for passed in range(201))
    assert busy.is_frozen(50.0 + 211.0, 50.0, 10.0)
    late = Member(0, 1, process)
    assert not late.is_frozen(80.0, 50.0, 10.0), "who looks only now cannot know whether it worked"


def test_a_partition_that_is_killed_or_frozen_is_started_again_and_nothing_is_lost(
    crawled: Crawled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(coordinator, "FROZEN_SECONDS", 1.0)
    counted: list[int] = []
    done: list[int] = []

    def disturb(crawl: Coordinator, now: float) -> None:
        if len(done) < 2 and crawl.run_facts.visits > 15 * (len(done) + 1):
            os.kill(crawl.pids[len(done)], signal.SIGKILL if not done else signal.SIGSTOP)
            done.append(1)
        counted[:] = [crawl.run_facts.visits, crawl.statistics(now)["visits"] if crawl.has_facts else 0]

    assert run(crawled.seed, tmp_path / "c", disturb, rate="60/s").startswith("everything known was read")
    assert counted[0] == counted[1] > 30, "visits of lost processes count"
    lost = [record for record in caplog.records if record.msg == "a partition was lost"]
    assert [record.levelno for record in lost[:2]] == [logging.WARNING] * 2
    whys = [one.why.partition(" ")[2] for one in sorted(_partitions(tmp_path / "c"), key=lambda one: one.partition)]
    assert whys[0] == "process died"
    assert whys[1].startswith("process neither answered nor worked")
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
def test_a_partition_whose_folder_is_deleted_under_its_process_goes_on_from_its_replica(
    crawled: Crawled, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lost: list[int] = []

    def lose(crawl: Coordinator, now: float) -> None:
        standing = crawl.standing_of(1)
        if not lost and standing is not None and standing.visits > 5:
            lost.append(crawl.pids[1])
            shutil.rmtree(tmp_path / "c" / "partitions" / "01")

    assert run(crawled.seed, tmp_path / "c", lose, replicas=1, rate="60/s").startswith("everything known was read")
    whys = [record.facts["why"] for record in caplog.records if record.msg == "a partition was lost"]  # type: ignore[attr-defined]
    assert whys[0].startswith("its folder is gone")
    must_be_whole(crawled.seed, crawled.plain, tmp_path / "c")
    assert check_any(tmp_path / "c").problems == []


@pytest.mark.long
def test_a_replica_that_is_deleted_under_its_keeper_is_made_again_and_serves(
    crawled: Crawled, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    done: list[str] = []

    def attack(crawl: Coordinator, now: float) -> None:
        standing, replica = crawl.standing_of(1), tmp_path / "c" / "replicas" / "01"
        if not done and standing is not None and standing.visits > 5:
            done.append("replica")
            shutil.rmtree(replica)
        is_back = (replica / "centime.json").exists() and not (replica / ".behind").exists()
        if done == ["replica"] and is_back and standing is not None and standing.visits > 15:
            done.append("partition")
            os.kill(crawl.pids[1], signal.SIGKILL)
            shutil.rmtree(tmp_path / "c" / "partitions" / "01")

    ending = run(crawled.seed, tmp_path / "c", attack, replicas=1, rate="60/s", keep="all")
    assert ending.startswith("everything known was read")
    assert done == ["replica", "partition"]
    whys = [record.facts["why"] for record in caplog.records if record.msg == "a replica could not be kept"]  # type: ignore[attr-defined]
    assert "moved or deleted" in whys[0]
    must_be_whole(crawled.seed, crawled.plain, tmp_path / "c")
    assert check_any(tmp_path / "c").problems == []
    for part in partition_folders(tmp_path / "c"):
        assert check_crawl(tmp_path / "c" / "replicas" / part.name).problems == []


@pytest.mark.long
def test_a_run_whose_replicas_have_no_room_ends_and_says_so_and_the_same_command_goes_on(
    crawled: Crawled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(handle: int, data: bytes, at: int, path: Path) -> None:
        if at > 9_000 and path.suffix == ".log":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write_whole(handle, data, at, path)

    with monkeypatch.context() as patched:
        patched.setattr(keeper, "write_whole", write)  # keepers are forked from this process
        with pytest.raises(
            NoRoom,
            match=r"replica of partition \d cannot be kept: .*full.* the same command"
            " continues",
        ):
            run(crawled.seed, tmp_path / "c", replicas=1)
    assert run("", tmp_path / "c", replicas=1).startswith("everything known was read")
    must_be_whole(crawled.seed, crawled.plain, tmp_path / "c")
    assert check_any(tmp_path / "c").problems == []


@pytest.mark.long
def test_a_partition_that_cannot_go_on_while_the_run_ends_does_not_hold_up_the_others(
    crawled: Crawled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coordinator, "VIEW_SECONDS", 0.01)  # so that it sees the end before it is over
    lost: list[int] = []

    def lose(crawl: Coordinator, now: float) -> None:
        if not lost and crawl.run_facts.ending:
            lost.append(1)
            shutil.rmtree(tmp_path / "c" / "partitions" / "01")

    with pytest.raises(CentimeError, match=r"moved or deleted|is gone|No such file"):
        run(crawled.seed, tmp_path / "c", lose, pages=30)
    assert lost


@pytest.mark.long
def test_requests_to_an_address_that_hosts_of_all_partitions_share_are_its_delay_apart(
    crawled: Crawled, tmp_path: Path
) -> None:
    given: dict[str, Any] = {"keep": "all", "workers": 4, "address-delay": 0.05}
    run(crawled.seed, tmp_path / "c", **given)  # to the end: each partition has pages of its own
    archives = [folder / "bodies" for folder in partition_folders(tmp_path / "c")]
    moments = [(date_of(one, capture), one) for one in archives for capture in every_capture(one)]
    times = sorted((datetime.fromisoformat(date).timestamp(), one) for date, one in moments)
    pairs = list(pairwise(times))
    assert min(after - before for (before, _), (after, _) in pairs) > 0.045
    assert any(one != other for (_, one), (_, other) in pairs), "they take turns"


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
    with pytest.raises(BadInput, match="a single folder"), cluster_run(crawled.plain, [], {}, Limits()):
        pass
    with pytest.raises(BadInput, match="takes one of them"):
        read_crawl(crawled.cluster)
    with (
        cluster_run(crawled.cluster, [], {}, Limits()),
        pytest.raises(InUse),
        cluster_run(crawled.cluster, [], {}, Limits()),
    ):
        pass


def test_the_command_shows_how_it_goes_from_the_first_moment_on(
    crawled: Crawled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("centime.cli.crawl.view.LINE_SECONDS", 0.0)  # also before a partition has told anything
    shutil.copytree(crawled.cluster, tmp_path / "c")
    result = CliRunner().invoke(app, ["crawl", str(tmp_path / "c")])
    assert result.exit_code == 0, result.output
    assert "everything known was read" in result.output
    assert re.search(r"\d+ visits .* known", result.output)


def run(
    seed: str, path: Path, view: View = nothing, *, pages: int | None = None, replicas: int = 0, **given: Any
) -> str:
    limits = Limits(pages=pages)
    with cluster_run(
        path, [seed] if seed else [], GIVEN | given, limits, cluster="local:2", partitions=2, replicas=replicas
    ) as crawl:
        return crawl.run(view)
