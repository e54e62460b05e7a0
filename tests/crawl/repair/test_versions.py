"""Damaged versions: what is whole stays, the rest is said, and the versions are right again."""

import random
import shutil
import sqlite3
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from centime.crawl.check.findings import Findings
from centime.crawl.check.versions import check_versions
from centime.crawl.repair.report import Repaired
from centime.crawl.repair.versions import repair_versions
from centime.store.versions.database import BESIDE, FILE, PAGE_BYTES, keeping_open
from centime.store.versions.leaf import BRANCH, LEAF, cells_of
from centime.store.versions.pruning import prune_all
from centime.store.versions.retention import Retention
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


@cache
def large() -> bytes:
    """A file whose tables have pages between root and leaves, and rows that go on in overflow pages."""
    with TemporaryDirectory() as folder:
        writer = VersionWriter(Path(folder), gathers=True)
        draw = random.Random(1)
        for number in range(3):
            for page in range(150):
                body = b"<p>%d</p>" % page * 40 + draw.randbytes(20_000 if page % 40 == 0 else 300)
                keep(writer, body, START + number * 100 + page, f"http://a.example/{page}")
            writer.flush()
        writer.close()
        return (Path(folder) / FILE).read_bytes()


def made(folder: Path, content: bytes | None = None) -> Path:
    """Such a file in a folder, or one with other content."""
    (folder / "versions").mkdir()
    (folder / "versions" / FILE).write_bytes(whole() if content is None else content)
    return folder / "versions"


def spoiled(content: bytes, begin: int, end: int) -> bytes:
    """The content with noise in some of its bytes."""
    return content[:begin] + random.Random(begin).randbytes(end - begin) + content[end:]


def problems(versions: Path) -> list[str]:
    findings = Findings()
    check_versions(versions, findings)
    if not findings.problems:
        assert [one["part"] for one in findings.proven] == ["versions", "versions"]
    return [one.what for one in findings.problems]


def bodies(versions: Path) -> dict[tuple[str, int], bytes]:
    with keeping_open():
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


HEAD = [
    (byte, byte + 1) for byte in (0, 15, 16, 18, 19, 20, 21, 24, 28, 31, 44, 47, 52, 59, 60, 63, 68, 92, 100, 103, 108)
]


@pytest.mark.parametrize(("begin", "end"), [*HEAD, (0, 16), (16, 100), (0, 100), (100, 4096), (4096, 8192), (0, 8192)])
def test_damage_to_the_first_page_loses_nothing(begin: int, end: int, tmp_path: Path) -> None:
    versions = made(tmp_path)
    before = bodies(versions)
    (versions / FILE).write_bytes(spoiled(whole(), begin, end))
    if problems(versions):
        assert repaired(versions).lost == []
    else:
        assert end - begin == 1, "SQLite does not need this byte"
    assert bodies(versions) == before


@settings(max_examples=40, deadline=None)
@given(bit=st.integers(0, 8 * 100 - 1) | st.integers(8 * 100, 8 * PAGE_BYTES - 1))
@example(bit=8 * PAGE_BYTES - 1)  # SQLite quotes a schema that is no UTF-8
def test_a_flipped_bit_in_the_first_page_loses_nothing(tmp_path_factory: pytest.TempPathFactory, bit: int) -> None:
    content = bytearray(whole())
    content[bit // 8] ^= 1 << bit % 8
    versions = made(tmp_path_factory.mktemp("flipped"), bytes(content))
    if problems(versions):
        assert repaired(versions).lost == []
    assert len(bodies(versions)) == PAGES * VERSIONS


def test_a_damaged_page_costs_the_rows_on_it_and_no_others(tmp_path: Path) -> None:
    versions = made(tmp_path, large())
    before, content = bodies(versions), large()
    pages = [content[begin : begin + PAGE_BYTES] for begin in range(0, len(content), PAGE_BYTES)]
    harmless = 0
    for number, page in [*enumerate(pages)][:9] + [*enumerate(pages)][9::9]:
        (versions / FILE).write_bytes(spoiled(content, number * PAGE_BYTES, (number + 1) * PAGE_BYTES))
        if not problems(versions):
            continue
        report = Repaired()
        repair_versions(versions, tmp_path / "damaged", report)
        after = bodies(versions)
        assert after.items() <= before.items()
        assert report.lost or after == before
        rows = len(cells_of(page)) if page[0] == LEAF else page[0] == 0  # one, if it is an overflow page
        assert len(after) >= len(before) - 3 * rows, "a page whose row is lost has three versions"
        harmless += after == before
    assert harmless >= 5, "first page, pointer map, root of versions, and the index are not needed"


def test_versions_whose_urls_are_lost_have_them_from_the_crawl(tmp_path: Path) -> None:
    versions = made(tmp_path, large())
    before, content = bodies(versions), large()
    urls = {url for url, _ in before}
    lost = 0
    for begin in range(PAGE_BYTES, len(content), PAGE_BYTES):
        if content[begin] == LEAF and b"http://" in content[begin : begin + PAGE_BYTES]:
            (versions / FILE).write_bytes(spoiled(content, begin, begin + PAGE_BYTES))
            repair_versions(versions, tmp_path / "damaged", Repaired(), lambda: ["http://no.page/", *urls])
            assert bodies(versions) == before
            assert problems(versions) == []
            lost += 1
    assert lost


def test_what_is_in_the_log_of_a_killed_crawl_is_restored_though_the_head_is_damaged(tmp_path: Path) -> None:
    versions = made(tmp_path, large())
    writer = VersionWriter(versions)
    keep(writer, b"before the kill", START + 5000, "http://a.example/7")
    killed = tmp_path / "killed" / "versions"
    shutil.copytree(versions, killed)
    before = bodies(versions)
    assert before["http://a.example/7", 4] == b"before the kill"
    writer.close()
    assert (killed / (FILE + BESIDE[0])).stat().st_size
    content = (killed / FILE).read_bytes()
    for begin in range(0, len(content), PAGE_BYTES):
        if begin == 0 or content[begin] == BRANCH:
            content = spoiled(content, begin, begin + PAGE_BYTES)
    (killed / FILE).write_bytes(content)
    assert problems(killed), "the log has the first page, and not the root of the table"
    repaired(killed)
    assert bodies(killed) == before


def test_versions_that_were_removed_do_not_come_back(tmp_path: Path) -> None:
    versions = made(tmp_path, large())
    assert prune_all(versions, lambda url: Retention(most=1), START + 9999).versions
    before = bodies(versions)
    (versions / FILE).write_bytes(spoiled((versions / FILE).read_bytes(), 0, PAGE_BYTES))
    assert repaired(versions).lost == []
    assert bodies(versions) == before


def test_a_stored_body_that_looks_like_rows_of_the_database_is_not_taken_for_them(tmp_path: Path) -> None:
    """An overflow page begins with the number of the next one; behind it, a page of the web has any bytes."""
    forged = next(
        page
        for begin in range(PAGE_BYTES, len(whole()), PAGE_BYTES)
        if (page := whole()[begin : begin + PAGE_BYTES])[0] == LEAF and b"text/html" in page
    )
    content = large()
    overflow = next(at for at in range(2 * PAGE_BYTES, len(content), PAGE_BYTES) if content[at : at + 3] == bytes(3))
    versions = made(tmp_path, large())
    before = bodies(versions)
    changed = content[: overflow + 1] + forged[1:] + content[overflow + PAGE_BYTES :]
    (versions / FILE).write_bytes(spoiled(changed, 0, PAGE_BYTES))
    report = repaired(versions)
    assert report.lost
    assert bodies(versions).items() < before.items()
