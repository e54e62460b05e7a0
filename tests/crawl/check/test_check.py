import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from centime.crawl.check.check import check_crawl
from centime.crawl.check.findings import Findings
from centime.crawl.check.state import check_state
from centime.crawl.engine.reader import CrawlReader, read_crawl
from centime.crawl.report.page import find_page
from centime.ledger.exact import ExactLedger
from centime.model.errors import BadInput
from centime.model.ids import PageId
from centime.model.outcome import Presence
from centime.model.row_batch import NO_WEIGHTS, RowBatch
from centime.store.journal import HEAD_BYTES
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
    """All files of the state: the lock, the signature of the owner and milestones, which reports read, are none."""
    others = ("lock", "owner")
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and path.name not in others and path.parent.name != "milestones" and path.stat().st_size
    )


def files_alike(folder: Path) -> list[list[Path]]:
    """The files of the state, those that hold the same of each snapshot together: a check of all is not for free."""
    together: dict[Path, list[Path]] = {}
    for path in files_of(folder):
        parts = path.relative_to(folder).parts
        together.setdefault(Path(*parts[2:]) if parts[0] == "snapshots" else path, []).append(path)
    return list(together.values())


def named(findings: Findings) -> set[str]:
    return {problem.file for problem in findings.problems}


def test_all_parts_of_an_intact_crawl_are_verified(folder: Path) -> None:
    findings = check_crawl(folder)
    assert findings.problems == []
    assert findings.notes == []
    counts = {(row["part"], row["proven"]): row["count"] for row in findings.proven}
    parts = {
        "snapshot",
        "state",
        "journal",
        "replay",
        "ledger",
        "frontier",
        "url table",
        "refused links",
        "requisites",
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


@pytest.mark.parametrize("share", [0.0, 0.999])
def test_a_flipped_byte_in_any_file_is_found_and_the_file_named(share: float, broken: Path) -> None:
    for paths in files_alike(broken):
        kept = [path.read_bytes() for path in paths]
        for path, data in zip(paths, kept, strict=True):
            flip(path, int(len(data) * share))
        assert set(map(str, paths)) <= named(check_crawl(broken))
        for path, data in zip(paths, kept, strict=True):
            path.write_bytes(data)
    assert check_crawl(broken).problems == []


def test_every_damaged_file_is_named_not_just_the_first(broken: Path) -> None:
    paths = [
        path for path in files_of(broken) if path.parent.name in ("state", "journal") and "snapshots/" not in str(path)
    ]
    arrays = [path for path in files_of(broken / "snapshots" / "000002") if path.name != "manifest.json"]
    for path in [*paths[-5:], *arrays]:
        flip(path, path.stat().st_size // 2)
    assert {*map(str, paths[-5:]), *map(str, arrays)} <= named(check_crawl(broken))


def test_a_damaged_file_is_reported_once_however_many_snapshots_describe_it(broken: Path) -> None:
    for path in sorted((broken / "state").iterdir()):
        kept = path.read_bytes()
        for damage in (lambda path: flip(path, 40), lambda path: path.write_bytes(path.read_bytes()[:40]), Path.unlink):
            damage(path)
            findings = check_crawl(broken)
            assert [problem.file for problem in findings.problems] == [str(path)]
            assert not [row for row in findings.proven if row["part"] == "state"]
            path.write_bytes(kept)


def test_damage_in_two_segments_of_the_journal_is_reported_with_the_byte_of_each(tmp_path: Path) -> None:
    with hand_made(tmp_path / "crawl") as opened:
        opened.shard.journal.rotate()
        opened.shard.settle(1e-3, 100)
        opened.shard.journal.rotate()
        opened.shard.journal.sync()
        for segment in ("000001", "000002"):
            flip(tmp_path / "crawl" / "journal" / f"{segment}.log", HEAD_BYTES + 30)
        reported = {
            Path(problem.file).name: problem.what
            for problem in check_crawl(tmp_path / "crawl").problems
            if problem.part == "journal"
        }
    assert set(reported) == {"000001.log", "000002.log"}
    assert all(f"at byte {HEAD_BYTES} is damaged" in what for what in reported.values())


def test_a_missing_or_shortened_file_is_named(broken: Path) -> None:
    for paths in files_alike(broken):
        kept = [path.read_bytes() for path in paths]
        if paths[0].suffix == ".log" and len(kept[0]) == HEAD_BYTES:
            continue  # a segment without frames, whose loss is no loss
        for path, data in zip(paths, kept, strict=True):
            path.write_bytes(data[: len(data) // 2])
        assert set(map(str, paths)) <= named(check_crawl(broken))
        for path in paths:
            path.unlink()
        # nothing but the folder is left of the journal
        where = [path.parent if path.parent.name == "journal" else path for path in paths]
        assert set(map(str, where)) <= named(check_crawl(broken))
        for path, data in zip(paths, kept, strict=True):
            path.write_bytes(data)


def test_an_unfinished_frame_at_the_end_of_the_journal_is_a_note_and_no_problem(broken: Path) -> None:
    last = sorted((broken / "journal").glob("*.log"))[-1]
    last.write_bytes(last.read_bytes() + b"\x10\x00\x00\x00\x02half")
    findings = check_crawl(broken)
    assert findings.problems == []
    assert findings.notes == [
        "9 bytes at the end of the journal are a frame that was never finished; the next run removes them"
    ]


def test_a_crawl_is_verified_while_its_writer_is_open(tmp_path: Path) -> None:
    with hand_made(tmp_path / "crawl") as opened:
        findings = check_crawl(tmp_path / "crawl")
        assert findings.problems == []
        replayed = next(row["count"] for row in findings.proven if row["part"] == "replay")
        assert replayed == opened.shard.journal.next_index


def test_a_real_crawl_is_verified_while_it_runs_and_afterwards(tmp_path_factory: pytest.TempPathFactory) -> None:
    found = crawled(tmp_path_factory.getbasetemp())
    assert found.seen
    assert [findings.problems for _, findings in found.seen] == [[]] * len(found.seen)
    assert all(known > 1 for known, _ in found.seen)
    findings = check_crawl(found.folder)
    assert findings.problems == []
    assert {row["part"] for row in findings.proven} >= {"bodies", "replay"}


def _lose(opened: CrawlReader) -> None:
    opened.shard.placement.frontier.remove(np.array([find_page(opened, LATE[0])[0]]))


def _twice(opened: CrawlReader) -> None:
    opened.shard.placement.retries.add(find_page(opened, LATE[0])[0], 1.0)


def _forget_retry(opened: CrawlReader) -> None:
    opened.shard.placement.retries.remove(find_page(opened, f"{A}/failing")[0])


def _miscount(opened: CrawlReader) -> None:
    opened.shard.hosts.all[0].known += 1
    opened.shard.hosts.all[1].known -= 1


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


def _contradict(opened: CrawlReader) -> None:
    last = opened.shard.pages.last(PageId(0))
    assert last is not None
    opened.shard.pages.records.append(replace(last, presence=Presence.GONE))


@pytest.mark.parametrize(
    ("damage", "part", "what"),
    [
        (_lose, "schedule", "page 8 was never visited and waits nowhere"),
        (_twice, "schedule", "page 8 is in frontier and retries"),
        (_forget_retry, "schedule", "ended with server_error, was not given up and waits nowhere"),
        (_miscount, "counts", f"host {A}: 8 pages are counted, but there are 7"),
        (_steal, "ledger", "should be"),
        (_lose_visit, "records", "visits are recorded: 6, should be 7"),
        (_mix_up, "url table", f"page 0: the fingerprint of '{ROOT}' is not the stored one"),
        (_lead_nowhere, "rows", "page 0 links to page 999; known are 0 to 9"),
        (_contradict, "records", "page 0 is recorded as gone, but its visits show present"),
        (_misread, "counts", "pages that were present: 3, should be 4"),
    ],
)
def test_a_broken_law_is_found_and_reported(
    damage: Callable[[CrawlReader], None], part: str, what: str, folder: Path
) -> None:
    opened = read_crawl(folder)
    damage(opened)
    findings = Findings()
    check_state(opened, findings, lambda done: None)
    assert [problem for problem in findings.problems if problem.part == part and what in problem.what], (
        findings.problems
    )


def test_a_path_without_a_crawl_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for path, sentence in (
        (tmp_path / "none", "no such folder"),
        (file, "this is a file"),
        (tmp_path, "this is not a crawl"),
    ):
        with pytest.raises(BadInput, match=sentence):
            check_crawl(path)
