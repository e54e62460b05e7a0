"""Repairs the versions of pages: every version that can still be restored is copied into a new database, and the
damaged one is set aside. A page whose newest version is lost is read again, because the crawl sees that it lacks it.
"""

import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from centime.crawl.check.findings import Findings
from centime.crawl.check.versions import DATABASE, check_versions
from centime.crawl.repair.place import free_name
from centime.crawl.repair.report import Repaired
from centime.files.disk import make_folder, read_file, room_for, sync_folder
from centime.store.versions.chain import packed
from centime.store.versions.database import BESIDE, FILE, naming_trouble, open_to_write, transaction
from centime.store.versions.stored import document_id
from centime.store.versions.walk import Page, Row, page_trouble, walk_rows

FRESH, TORN = "versions.repaired", "torn.sqlite"
HEAD_BYTES = 100  # of a database
MOST_PADDED = 1_000  # times the length that is left: what is more is a damaged header


def repair_versions(folder: Path, damaged: Path, report: Repaired, *, write: bool = True) -> None:
    """Copies what is whole, if the versions are damaged; without `write`, says only what it would do."""
    path = folder / FILE
    findings = Findings()
    check_versions(folder, findings)
    if not findings.problems:
        return
    fresh = folder.with_name(FRESH)
    _remove(fresh)
    try:
        kept, lost = _copy_whole(_padded(path, fresh), fresh)
        report.restored.append(f"{path}: its {kept} whole versions; what is damaged in it was set aside")
        if not kept:
            report.lost.append(f"{path}: all versions; {findings.problems[0].what}")
        elif lost:
            report.lost.append(f"{path}: at least {lost} versions; {findings.problems[0].what}")
        elif any(DATABASE in one.what for one in findings.problems):
            report.lost.append(f"{path}: perhaps versions of which nothing is left; the next visits store pages again")
        if write:
            _put_in_place(folder, fresh, damaged)
    finally:
        _remove(fresh)


def _padded(path: Path, fresh: Path) -> Path:
    """The database, or a copy as long as its header says if it was cut: SQLite refuses one that is too short."""
    head = read_file(path)[:HEAD_BYTES] if path.is_file() else b""
    if len(head) < HEAD_BYTES or not head.startswith(b"SQLite format 3\0"):
        return path
    size = int.from_bytes(head[16:18], "big")
    length = (65_536 if size == 1 else size) * int.from_bytes(head[28:32], "big")
    if path.stat().st_size >= length or length > MOST_PADDED * max(1, path.stat().st_size):
        return path
    make_folder(fresh)
    copy = fresh / TORN
    with room_for(copy):
        shutil.copyfile(path, copy)
        os.truncate(copy, length)
        for ending in BESIDE:
            with suppress(FileNotFoundError):
                shutil.copyfile(path.with_name(path.name + ending), copy.with_name(copy.name + ending))
    return copy


def _copy_whole(path: Path, fresh: Path) -> tuple[int, int]:
    """Copies all versions that can be restored; returns how many these are, and how many are there and cannot."""
    kept = lost = 0
    with closing(sqlite3.connect(path, isolation_level=None)) as old, closing(open_to_write(fresh)) as copy:
        old.text_factory = lambda raw: raw.decode(errors="replace")
        pages, places = _saved(old)
        with naming_trouble(fresh / FILE), transaction(copy):
            for document, found in groupby(sorted(places), key=itemgetter(0)):
                page, newest, before, damaged = pages.pop(document, None), None, 0, 0
                for one in walk_rows(_rows(old, [places[place] for place in found])):
                    if one.trouble or page is None:
                        damaged += 1
                        continue
                    follows = one.row.steps > 0 and before == one.row.number - 1
                    row = one.row if follows else one.row._replace(steps=0, frame=packed(one.body, None))
                    copy.execute("INSERT INTO version VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
                    newest, before, kept = one.row, one.row.number, kept + 1
                lost += max(damaged, page.newest - before if page is not None and isinstance(page.newest, int) else 0)
                if page is not None and newest is not None:
                    seen = newest.time if page_trouble(page, newest) else page.seen
                    known = Page(page.id, page.url, newest.number, newest.digest, seen)
                    copy.execute("INSERT INTO document VALUES (?, ?, ?, ?, ?)", known)
        lost += len(pages)  # whose versions cannot even be seen
    return kept, lost


def _saved(old: sqlite3.Connection) -> tuple[dict[int, Page], dict[tuple[int, int], int]]:
    """The pages that can be read, and where each version is that can: without the frames, which may be many."""
    pages = {page.id: page for page in map(Page._make, _each(old, "*", "document")) if _has_its_url(page)}
    places = {
        (document, number): place
        for place, document, number in _each(old, "rowid, document, number", "version")
        if isinstance(document, int) and isinstance(number, int)
    }
    return pages, places


def _has_its_url(page: Page) -> bool:
    return isinstance(page.url, str) and document_id(page.url) == page.id


def _each(old: sqlite3.Connection, columns: str, table: str) -> Iterator[Any]:
    """The rows of a table from both ends, because what is damaged may lie between."""
    for order in ("ASC", "DESC"):
        with suppress(sqlite3.Error):
            yield from old.execute(f"SELECT {columns} FROM {table} NOT INDEXED ORDER BY rowid {order}")


def _rows(old: sqlite3.Connection, places: Sequence[int]) -> Iterator[Row]:
    for place in places:
        with suppress(sqlite3.Error):
            yield from map(Row._make, old.execute("SELECT * FROM version NOT INDEXED WHERE rowid = ?", (place,)))


def _put_in_place(folder: Path, fresh: Path, damaged: Path) -> None:
    make_folder(damaged)
    for name in (FILE, *(FILE + ending for ending in BESIDE)):
        with suppress(FileNotFoundError):
            (folder / name).rename(free_name(damaged / name))
    (fresh / FILE).rename(folder / FILE)
    sync_folder(damaged)
    sync_folder(folder)


def _remove(fresh: Path) -> None:
    for file in (FILE, TORN):
        for name in (file, *(file + ending for ending in BESIDE)):
            (fresh / name).unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        fresh.rmdir()
