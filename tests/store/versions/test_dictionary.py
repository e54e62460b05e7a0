"""Key frames that are compressed with a dictionary: they take less room, and come back whatever copy of it is left."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from centime.crawl.check.findings import Findings
from centime.crawl.check.versions import check_versions
from centime.crawl.repair.report import Repaired
from centime.crawl.repair.versions import repair_versions
from centime.model.errors import DamagedFile
from centime.store.versions import writer as writing
from centime.store.versions.chain import Dictionary
from centime.store.versions.change_log import ChangeLog, VersionCopy, seen_since
from centime.store.versions.database import FILE, PAGE_BYTES, open_to_write
from centime.store.versions.dictionary import (
    LONG,
    SHORT,
    TABLES,
    add_dictionary,
    dictionary_in,
    newest_dictionary,
    trained,
)
from centime.store.versions.stored import body_of_version, every_newest
from centime.store.versions.writer import VersionWriter
from tests.store.versions.test_versions import START, keep

FIRST, PAGES = 40, 100
TEMPLATE = "".join(f"<li class='entry'><a href='/{one * 3}'>{one}</a></li>" for one in ("tea", "scone", "jam", "cake"))


def body(number: int) -> bytes:
    return f"<html><ul>{TEMPLATE}</ul><p>page {number} of {number * number}, {hash((number, 7))}</p></html>".encode()


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A file of pages that have a dictionary in common, as its bytes."""
    folder = tmp_path_factory.mktemp("versions")
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(writing, "FIRST_AFTER", FIRST)
        writer = VersionWriter(folder, gathers=True)
        for number in range(PAGES):
            keep(writer, body(number), START + number, f"http://a.example/{number}")
            if number % 10 == 9:
                writer.flush()
        writer.close()
    return (folder / FILE).read_bytes()


@pytest.fixture
def folder(stored: bytes, tmp_path: Path) -> Path:
    (tmp_path / "versions").mkdir()
    (tmp_path / "versions" / FILE).write_bytes(stored)
    return tmp_path / "versions"


def damage(folder: Path, *tables: str, statement: str = "UPDATE {} SET content = zeroblob(99)") -> None:
    with closing(sqlite3.connect(folder / FILE, isolation_level=None)) as database:
        for table in tables:
            database.execute(statement.format(table))


def problems(folder: Path) -> list[str]:
    findings = Findings()
    check_versions(folder, findings)
    return [one.what for one in findings.problems]


def bodies(folder: Path) -> dict[str, bytes]:
    return {one.url: body_of_version(folder, one) for one in every_newest(folder)}


EVERY = {f"http://a.example/{number}": body(number) for number in range(PAGES)}


def test_pages_that_come_after_the_dictionary_take_less_room(folder: Path) -> None:
    sizes = {version.url: version.packed for version in every_newest(folder)}
    before, after = (
        [sizes[f"http://a.example/{number}"] for number in pages] for pages in (range(FIRST), range(FIRST, PAGES))
    )
    assert max(after) < min(before) / 2
    assert bodies(folder) == EVERY
    assert problems(folder) == []


@pytest.mark.parametrize("lost", TABLES)
@pytest.mark.parametrize("statement", ["UPDATE {} SET content = zeroblob(99)", "DELETE FROM {}", "DROP TABLE {}"])
def test_one_copy_of_a_dictionary_is_enough_and_check_says_that_the_other_is_lost(
    folder: Path, lost: str, statement: str
) -> None:
    damage(folder, lost, statement=statement)
    assert bodies(folder) == EVERY
    (said,) = problems(folder)
    assert said.startswith("1 of the 2 copies of dictionary")
    report = Repaired()
    repair_versions(folder, folder.parent / "damaged", report)
    assert not report.lost
    assert bodies(folder) == EVERY
    assert problems(folder) == []


def test_damage_to_the_page_of_a_copy_loses_no_version_though_the_head_is_damaged_too(
    folder: Path, stored: bytes
) -> None:
    with closing(sqlite3.connect(folder / FILE)) as database:
        found = database.execute("SELECT rootpage FROM sqlite_schema WHERE name IN (?, ?)", TABLES).fetchall()
    for begin in [(root - 1) * PAGE_BYTES for (root,) in found]:
        changed = stored[:begin] + random.Random(begin).randbytes(PAGE_BYTES) + stored[begin + PAGE_BYTES :]
        for first in (stored[:1], b"X"):
            (folder / FILE).write_bytes(first + changed[1:])
            assert problems(folder)
            repair_versions(folder, folder.parent / "damaged", Repaired())
            assert bodies(folder) == EVERY
            assert problems(folder) == []


def test_without_any_copy_the_pages_that_need_it_are_lost_and_no_others(folder: Path) -> None:
    damage(folder, *TABLES)
    newest = {version.url: version for version in every_newest(folder)}
    assert body_of_version(folder, newest["http://a.example/1"]) == body(1)
    with pytest.raises(DamagedFile, match="which it needs, is lost"):
        body_of_version(folder, newest[f"http://a.example/{FIRST}"])
    repair_versions(folder, folder.parent / "damaged", Repaired())
    assert bodies(folder) == {url: found for url, found in EVERY.items() if int(url.rpartition("/")[2]) < FIRST}


def test_all_processes_use_the_dictionary_that_was_stored_first(tmp_path: Path) -> None:
    made = [trained(body(number) for number in range(first, first + 60)) for first in (0, 600)]
    assert made[0] is not None
    assert made[1] is not None
    assert made[0].number != made[1].number
    with closing(open_to_write(tmp_path)) as one, closing(open_to_write(tmp_path)) as other:
        assert newest_dictionary(one) is None
        assert add_dictionary(one, made[0], FIRST).number == made[0].number
        assert add_dictionary(other, made[1], FIRST).number == made[0].number
        assert add_dictionary(other, made[1], 16 * FIRST).number == made[1].number
        assert dictionary_in(one, made[1].number).content == made[1].content
        found = newest_dictionary(one)
        assert found is not None
        assert found.number == made[1].number


def test_pages_that_have_nothing_in_common_have_no_dictionary() -> None:
    assert trained([]) is None
    assert trained([b"", b""]) is None
    with pytest.raises(DamagedFile):
        Dictionary(b"no dictionary at all", SHORT)


def test_a_dictionary_is_for_long_pages_only_if_they_have_much_in_common() -> None:
    draw = random.Random(1)
    words = ["".join(draw.choices("abcdefghij", k=draw.randint(2, 9))) for _ in range(5_000)]
    template = " ".join(draw.choices(words, k=3_000))
    for alike, longest in ((template, LONG), ("", SHORT)):
        pages = [f"{alike} {' '.join(draw.choices(words, k=300 if alike else 3_300))}".encode() for _ in range(60)]
        assert min(map(len, pages)) > SHORT
        made = trained(pages)
        assert made is not None
        assert made.longest == longest


@pytest.mark.parametrize("damaged", [(), ("dictionary",)])
def test_copies_of_versions_have_the_dictionaries_that_these_need(
    folder: Path, tmp_path: Path, damaged: tuple[str, ...]
) -> None:
    damage(folder, *damaged)
    log, replica = ChangeLog(folder), VersionCopy(tmp_path / "replica")
    position = log.begin(None)
    while (part := log.part(position)) is not None:
        replica.take(part)
        position = part.position
    with closing(VersionWriter(folder)) as writer:
        keep(writer, body(PAGES), START + PAGES, "http://a.example/new")
    position = log.begin(position)  # the sender was started again
    later = log.part(position)
    assert later is not None
    replica.take(later)
    assert log.part(later.position) is None
    replica.close()
    gathered = VersionCopy(tmp_path / "gathered")
    for part in seen_since(folder, 0.0):
        gathered.take(part)
    gathered.close()
    for place in ("replica", "gathered"):
        assert len(bodies(tmp_path / place)) == PAGES + 1
        assert bodies(tmp_path / place) == bodies(folder)
        assert problems(tmp_path / place) == []
