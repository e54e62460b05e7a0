import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from centime.crawl.check.check import check_crawl
from centime.crawl.check.findings import Proof
from centime.crawl.check.state import check_state
from centime.crawl.engine.reader import CrawlReader, read_crawl
from centime.crawl.report.page import find_page
from centime.ledger.exact import ExactLedger
from centime.model.errors import BadInput
from centime.model.row_batch import NO_WEIGHTS, RowBatch
from tests.crawl.report.made import LATE, ROOT, A, closed_twice, crawled, hand_made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return closed_twice(tmp_path_factory.mktemp("checked") / "crawl")


@pytest.fixture
def broken(folder: Path, tmp_path: Path) -> Path:
    """A copy to be damaged."""
    return Path(shutil.copytree(folder, tmp_path / "copy"))


def flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 0xFF
    path.write_bytes(data)


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "lock" and path.stat().st_size)


def named(proof: Proof) -> set[str]:
    return {problem.file for problem in proof.problems}


def test_a_sound_crawl_is_proven_in_all_its_parts(folder: Path) -> None:
    proof = check_crawl(folder)
    assert proof.problems == []
    assert proof.notes == []
    counts = {(row["part"], row["proven"]): row["count"] for row in proof.proven}
    parts = {
        "snapshot",
        "state",
        "journal",
        "replay",
        "ledger",
        "frontier",
        "url table",
        "counts",
        "rows",
        "records",
        "schedule",
        "change rates",
    }
    assert {part for part, _ in counts} == parts
    assert counts["rows", "links lead to known pages"] == 13
    assert counts["records", "visits are recorded"] == 7
    assert counts["schedule", "pages are in one of frontier, leases and retries"] == 4


@pytest.mark.parametrize("share", [0.0, 0.5, 0.999])
def test_a_flipped_byte_in_any_file_is_found_and_the_file_named(share: float, broken: Path) -> None:
    for path in files_of(broken):
        kept = path.read_bytes()
        flip(path, int(len(kept) * share))
        assert str(path) in named(check_crawl(broken)), path
        path.write_bytes(kept)
    assert check_crawl(broken).problems == []


def test_every_damaged_file_is_named_not_just_the_first(broken: Path) -> None:
    paths = [path for path in files_of(broken) if path.name != "centime.json" and "snapshots/" not in str(path)]
    arrays = [path for path in files_of(broken / "snapshots" / "000002") if path.name != "manifest.json"]
    for path in [*paths[-5:], *arrays]:
        flip(path, path.stat().st_size // 2)
    assert {*map(str, paths[-5:]), *map(str, arrays)} <= named(check_crawl(broken))


def test_a_damaged_file_is_told_once_however_many_snapshots_know_it(broken: Path) -> None:
    for path in sorted((broken / "state").iterdir()):
        kept = path.read_bytes()
        for damage in (lambda path: flip(path, 40), lambda path: path.write_bytes(path.read_bytes()[:40]), Path.unlink):
            damage(path)
            proof = check_crawl(broken)
            assert [problem.file for problem in proof.problems] == [str(path)]
            assert not [row for row in proof.proven if row["part"] == "state"]
            path.write_bytes(kept)


def test_damage_in_two_segments_of_the_journal_is_told_with_the_byte_of_each(tmp_path: Path) -> None:
    with hand_made(tmp_path / "crawl") as opened:
        opened.shard.journal.rotate()
        opened.shard.settle(1e-3, 100)
        opened.shard.journal.rotate()
        opened.shard.journal.sync()
        for segment in ("000001", "000002"):
            flip(tmp_path / "crawl" / "journal" / f"{segment}.log", 50)
        told = {
            Path(problem.file).name: problem.what
            for problem in check_crawl(tmp_path / "crawl").problems
            if problem.part == "journal"
        }
    assert set(told) == {"000001.log", "000002.log"}
    assert all("at byte 32 is damaged" in what for what in told.values())


def test_a_missing_or_shortened_file_is_named(broken: Path) -> None:
    for path in files_of(broken):
        if path.name == "centime.json" or path.parent.name == "journal":
            continue
        kept = path.read_bytes()
        path.write_bytes(kept[: len(kept) // 2])
        assert str(path) in named(check_crawl(broken)), path
        path.unlink()
        assert str(path) in named(check_crawl(broken)), path
        path.write_bytes(kept)


def test_a_torn_tail_of_the_journal_is_no_problem_but_told(broken: Path) -> None:
    last = sorted((broken / "journal").glob("*.log"))[-1]
    last.write_bytes(last.read_bytes() + b"\x10\x00\x00\x00\x02half")
    proof = check_crawl(broken)
    assert proof.problems == []
    assert proof.notes == [
        "9 bytes at the end of the journal are a frame that was never finished: cut at the next opening"
    ]


def test_a_crawl_is_proven_while_its_writer_goes_on(tmp_path: Path) -> None:
    with hand_made(tmp_path / "crawl") as opened:
        proof = check_crawl(tmp_path / "crawl")
        assert proof.problems == []
        replayed = next(row["count"] for row in proof.proven if row["part"] == "replay")
        assert replayed == opened.shard.journal.next_index


def test_a_real_crawl_is_proven_while_it_runs_and_afterwards(tmp_path_factory: pytest.TempPathFactory) -> None:
    found = crawled(tmp_path_factory.getbasetemp())
    assert found.seen
    assert [proof.problems for _, proof in found.seen] == [[]] * len(found.seen)
    assert all(known > 1 for known, _ in found.seen)
    proof = check_crawl(found.folder)
    assert proof.problems == []
    assert {row["part"] for row in proof.proven} >= {"bodies", "replay"}


def _lose(opened: CrawlReader) -> None:
    opened.shard.placement.frontier.remove(np.array([find_page(opened, LATE[0])[0]]))


def _twice(opened: CrawlReader) -> None:
    opened.shard.placement.retries.add(find_page(opened, LATE[0])[0], 1.0)


def _forget_retry(opened: CrawlReader) -> None:
    opened.shard.placement.retries.remove(find_page(opened, f"{A}/failing")[0])


def _miscount(opened: CrawlReader) -> None:
    opened.shard.hosts[0].known += 1
    opened.shard.hosts[1].known -= 1


def _steal(opened: CrawlReader) -> None:
    assert isinstance(opened.shard.ledger, ExactLedger)
    opened.shard.ledger._accounts.books.money[0, 0] += 1


def _lose_visit(opened: CrawlReader) -> None:
    opened.shard.pages.records.record_at[0] = 0


def _mix_up(opened: CrawlReader) -> None:
    opened.shard.pages.table.fingerprints[[0, 1]] = opened.shard.pages.table.fingerprints[[1, 0]]


def _lead_nowhere(opened: CrawlReader) -> None:
    row = RowBatch(np.array([0]), np.array([1]), np.array([999], dtype=np.int32), NO_WEIGHTS)
    opened.shard.pages.rows.replace(np.array([0]), row)


def _misread(opened: CrawlReader) -> None:
    opened.shard.read_count += 1


@pytest.mark.parametrize(
    ("damage", "part", "what"),
    [
        (_lose, "schedule", "page 8 was never visited and waits nowhere"),
        (_twice, "schedule", "page 8 is in frontier and retries"),
        (_forget_retry, "schedule", "ended with server_error, was not given up and waits nowhere"),
        (_miscount, "counts", f"host {A}: 8 pages are counted, 7 are there"),
        (_steal, "ledger", "should be"),
        (_lose_visit, "records", "visits are recorded: 6, should be 7"),
        (_mix_up, "url table", f"page 0: the fingerprint of '{ROOT}' is not the one kept"),
        (_lead_nowhere, "rows", "page 0 links to page 999; known are 0 to 9"),
        (_misread, "counts", "pages that were there: 3, should be 4"),
    ],
)
def test_a_broken_law_is_found_and_told(
    damage: Callable[[CrawlReader], None], part: str, what: str, folder: Path
) -> None:
    opened = read_crawl(folder)
    damage(opened)
    proof = Proof()
    check_state(opened, proof, lambda done: None)
    assert [problem for problem in proof.problems if problem.part == part and what in problem.what], proof.problems


def test_where_no_crawl_can_be_nothing_is_checked(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for path, sentence in (
        (tmp_path / "none", "no such folder"),
        (file, "this is a file"),
        (tmp_path, "this is not a crawl"),
    ):
        with pytest.raises(BadInput, match=sentence):
            check_crawl(path)
