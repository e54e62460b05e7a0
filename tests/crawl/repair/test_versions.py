"""Damaged versions: what is whole stays, the rest is said, and the versions are right again."""

import sqlite3
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from centime.crawl.check.findings import Findings
from centime.crawl.check.versions import check_versions
from centime.crawl.repair.report import Repaired
from centime.crawl.repair.versions import repair_versions
from centime.store.versions.database import FILE
from centime.store.versions.stored import body_of_version, every_version, versions_of
from centime.store.versions.writer import VersionWriter
from tests.store.versions.test_versions import START, keep

PAGES, VERSIONS = 12, 6


@cache
def whole() -> bytes:
    """A file with pages that have some versions each."""
    with TemporaryDirectory() as folder:
        writer = VersionWriter(Path(folder))
        for number in range(VERSIONS):
            for page in range(PAGES):
                body = f"<p>page {page}</p>".encode() * (40 + page * 30) + b"%d" % number
                keep(writer, body, START + number * 100 + page, f"http://a.example/{page}")
        writer.close()
        assert problems(Path(folder)) == []
        return (Path(folder) / FILE).read_bytes()


def made(folder: Path) -> Path:
    """Such a file in a folder."""
    (folder / "versions").mkdir()
    (folder / "versions" / FILE).write_bytes(whole())
    return folder / "versions"


def problems(versions: Path) -> list[str]:
    findings = Findings()
    check_versions(versions, findings)
    if not findings.problems:
        assert [one["part"] for one in findings.proven] == ["versions", "versions"]
    return [one.what for one in findings.problems]


def bodies(versions: Path) -> dict[tuple[str, int], bytes]:
    return {(one.url, one.number): body_of_version(versions, one) for one in every_version(versions)}


def repaired(versions: Path) -> Repaired:
    foreseen, report = Repaired(), Repaired()
    repair_versions(versions, versions.parent / "damaged", foreseen, write=False)
    assert not (versions.parent / "damaged").exists()
    repair_versions(versions, versions.parent / "damaged", report)
    assert foreseen == report, "what a dry run says is what happens"
    assert problems(versions) == []
    return report


def execute(statement: str) -> Callable[[Path], object]:
    def change(path: Path) -> None:
        database = sqlite3.connect(path, isolation_level=None)
        database.execute(statement)
        database.close()

    return change


PAGE_7 = "(SELECT id FROM document WHERE url LIKE '%/7')"


@pytest.mark.parametrize(
    ("damage", "said", "lost"),
    [
        (f"UPDATE version SET frame = x'00' WHERE document = {PAGE_7} AND number = 3", "/7: version 3: a frame", 4),
        (f"UPDATE version SET digest = x'00' WHERE document = {PAGE_7} AND number = 6", "another digest", 1),
        (f"UPDATE version SET size = 'many' WHERE document = {PAGE_7} AND number = 6", "facts are damaged", 1),
        (f"UPDATE version SET steps = 77 WHERE document = {PAGE_7} AND number = 6", "facts are damaged", 1),
        (f"DELETE FROM version WHERE document = {PAGE_7} AND number = 4", "which is missing", 3),
        (f"DELETE FROM document WHERE id = {PAGE_7}", "6 versions belong to no page", 6),
        (f"DELETE FROM version WHERE document = {PAGE_7}", "/7 has no version", 1),
        (f"UPDATE document SET newest = 2 WHERE id = {PAGE_7}", "does not know its newest version, 6", 0),
        (f"UPDATE document SET seen = 'now' WHERE id = {PAGE_7}", "does not know when it was last seen", 0),
        (f"UPDATE document SET url = 'http://b.example/' WHERE id = {PAGE_7}", "the URL of page", 6),
    ],
)
def test_what_is_damaged_is_named_and_all_other_versions_stay(
    damage: str, said: str, lost: int, tmp_path: Path
) -> None:
    versions = made(tmp_path)
    before = bodies(versions)
    execute(damage)(versions / FILE)
    assert said in "\n".join(problems(versions))
    report = repaired(versions)
    after = bodies(versions)
    assert after.items() <= before.items()
    assert {url for url, _ in before.keys() - after.keys()} <= {"http://a.example/7"}
    assert bool(report.lost) == bool(lost)
    if lost:
        assert f"at least {lost} versions" in report.lost[0]
    assert FILE in [path.name for path in (tmp_path / "damaged").iterdir()]


def test_whole_versions_are_left_alone(tmp_path: Path) -> None:
    versions = made(tmp_path)
    report = Repaired()
    repair_versions(versions, tmp_path / "damaged", report)
    repair_versions(tmp_path / "nowhere", tmp_path / "damaged", report)
    assert not report.changed
    assert not (tmp_path / "damaged").exists()


def test_a_version_after_a_lost_one_can_be_read_and_the_chain_goes_on(tmp_path: Path) -> None:
    versions = made(tmp_path)
    url = "http://a.example/7"
    execute(f"UPDATE version SET steps = 0, frame = x'00' WHERE document = {PAGE_7} AND number = 1")(versions / FILE)
    repaired(versions)
    assert versions_of(versions, url) == []
    writer = VersionWriter(versions)
    keep(writer, b"anew", START + 5000, url)
    keep(writer, b"anew and anew", START + 5001, url)
    assert [body_of_version(versions, one) for one in versions_of(versions, url)] == [b"anew", b"anew and anew"]


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_whatever_bytes_are_damaged_a_repair_leaves_whole_versions_and_only_such_as_there_were(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    versions = made(tmp_path_factory.mktemp("damaged"))
    before = bodies(versions)
    content = bytearray((versions / FILE).read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    noise = data.draw(st.binary(min_size=1, max_size=3000))
    content[at : at + len(noise)] = noise[: len(content) - at]
    (versions / FILE).write_bytes(content)
    if not problems(versions):
        return
    report = repaired(versions)
    after = bodies(versions)
    assert after.items() <= before.items()
    assert report.lost or after == before, "what is lost is told"


@pytest.mark.parametrize("left", [0.9, 0.999])
def test_of_a_file_that_was_cut_the_rest_is_restored_and_the_loss_is_told(left: float, tmp_path: Path) -> None:
    versions = made(tmp_path)
    before = bodies(versions)
    content = (versions / FILE).read_bytes()
    (versions / FILE).write_bytes(content[: int(len(content) * left)])
    assert problems(versions)
    report = repaired(versions)
    after = bodies(versions)
    assert len(after) > 0.3 * left * len(before)
    assert after.items() <= before.items()
    assert bool(report.lost) or after == before


@pytest.mark.parametrize("content", [b"nothing of ours" * 1000, b"SQLite format 3\0" + bytes(5000)])
def test_a_file_of_which_nothing_is_left_is_set_aside(content: bytes, tmp_path: Path) -> None:
    versions = made(tmp_path)
    (versions / FILE).write_bytes(content)
    assert "damaged" in problems(versions)[0]
    report = repaired(versions)
    assert "all versions" in report.lost[0]
    assert bodies(versions) == {}
