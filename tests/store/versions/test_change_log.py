"""The log of changes: a copy is whole after every part, whatever writes, prunes or dies meanwhile."""

import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random
from unittest.mock import patch

import pytest

from centime.store.versions import change_log
from centime.store.versions.change_log import ChangeLog, Position, VersionCopy, end_log
from centime.store.versions.database import FILE, Database, open_to_write, transaction
from centime.store.versions.pruning import prune_all
from centime.store.versions.retention import Retention
from centime.store.versions.stored import document_id, every_version
from centime.store.versions.walk import page_trouble, pages_of, walk
from centime.store.versions.writer import VersionWriter
from tests.store.versions.test_versions import START, bodies_of, keep

URLS = [f"http://a.example/{number}" for number in range(6)]


def rows(folder: Path) -> list[list[tuple[object, ...]]]:
    with closing(sqlite3.connect(folder / FILE)) as database:
        return [
            database.execute("SELECT * FROM document ORDER BY id").fetchall(),
            database.execute("SELECT * FROM version ORDER BY document, number").fetchall(),
        ]


def must_be_whole(folder: Path) -> None:
    """Every page has the newest version that it says, and every version can be restored."""
    with closing(sqlite3.connect(folder / FILE, factory=Database)) as database:
        for page in pages_of(database):
            found = list(walk(database, page.id))
            assert [one.trouble for one in found if one.trouble] == []
            assert not page_trouble(page, found[-1].row)


@pytest.mark.parametrize("seed", range(4))
def test_a_copy_is_whole_after_every_part_and_the_same_in_the_end(tmp_path: Path, seed: int) -> None:
    random, at = Random(seed), START
    writer = VersionWriter(tmp_path / "v", lambda url: Retention(most=3))
    log, copy = ChangeLog(tmp_path / "v"), VersionCopy(tmp_path / "copy")
    position = log.begin(copy.position())
    with patch.object(change_log, "MOST_ROWS", 5), patch.object(change_log, "PART_BYTES", 400):
        for _ in range(60):
            for _ in range(random.randrange(4)):
                at += 1.0
                keep(writer, random.randbytes(random.randrange(300)), at, random.choice(URLS))
            if random.random() < 0.3 and (part := log.part(position)) is not None:
                copy.take(part)
                position = part.position
                must_be_whole(tmp_path / "copy")
            if random.random() < 0.1:  # the process of the copy, or of the log, dies
                copy.close()
                log = ChangeLog(tmp_path / "v")
                position = log.begin(copy.position())
            if random.random() < 0.1:
                log.forget(position)
        while (part := log.part(position)) is not None:
            copy.take(part)
            position = part.position
            must_be_whole(tmp_path / "copy")
    writer.close()
    copy.close()
    assert rows(tmp_path / "copy") == rows(tmp_path / "v")
    assert log.begin(VersionCopy(tmp_path / "copy").position()) == position, "nothing is sent again"


def test_what_is_pruned_or_deleted_goes_from_the_copy_too(tmp_path: Path) -> None:
    writer = VersionWriter(tmp_path / "v")
    for number in range(10):
        keep(writer, b"%d" % number * 50, START + number, URLS[number % 2])
    log, copy = ChangeLog(tmp_path / "v"), VersionCopy(tmp_path / "copy")
    position = copied(log, copy, log.begin(None))
    prune_all(tmp_path / "v", lambda url: Retention(most=2), START + 100)
    with closing(open_to_write(tmp_path / "v")) as database, transaction(database):
        database.execute("DELETE FROM version WHERE document = ?", (document_id(URLS[1]),))
        database.execute("DELETE FROM document WHERE id = ?", (document_id(URLS[1]),))
    copied(log, copy, position)
    copy.close()
    assert bodies_of(tmp_path / "copy", URLS[0]) == [b"6" * 50, b"8" * 50]
    assert {one.url for one in every_version(tmp_path / "copy")} == {URLS[0]}


def test_a_copy_of_another_past_begins_anew_and_a_log_can_end(tmp_path: Path) -> None:
    writer = VersionWriter(tmp_path / "v")
    keep(writer, b"one", START)
    log, copy = ChangeLog(tmp_path / "v"), VersionCopy(tmp_path / "copy")
    first = copied(log, copy, log.begin(None))
    assert log.begin(first) == first
    for other in (first._replace(identity="of another"), first._replace(sequence=first.sequence + 1)):
        assert log.begin(other).scanned is not None
    keep(writer, b"two", START + 1)
    log.forget(copied(log, copy, first))
    assert log.begin(first).scanned is not None, "what it lacks was forgotten"
    end_log(tmp_path / "v")
    end_log(tmp_path / "none")
    keep(writer, b"three", START + 2)
    assert ChangeLog(tmp_path / "v").begin(first).identity != first.identity


def copied(log: ChangeLog, copy: VersionCopy, position: Position) -> Position:
    """Brings a copy up to date; returns where it is then."""
    while (part := log.part(position)) is not None:
        copy.take(part)
        position = part.position
    return position
