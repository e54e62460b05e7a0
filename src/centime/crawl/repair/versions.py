"""Repairs the versions of pages: every version that can still be restored is copied into a new database, and the
damaged one is set aside. A page whose newest version is lost is read again, because the crawl sees that it lacks it.

Rows are read from the leaves of the database (`leaves.py`), so damage to its head, its schema or the pages that lead to
the leaves costs no version. Versions whose URL is lost get it from the crawl, which knows it too: their number is its
fingerprint.
"""

import shutil
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from centime.crawl.check.findings import Findings
from centime.crawl.check.versions import check_versions
from centime.crawl.repair.place import free_name
from centime.crawl.repair.report import Repaired
from centime.files.disk import make_folder, read_file, room_for, sync_folder
from centime.files.listing import not_a_file
from centime.model.errors import DamagedFile
from centime.store.versions.chain import packed
from centime.store.versions.database import BESIDE, FILE, PAGE_BYTES, naming_trouble, open_to_write, transaction
from centime.store.versions.leaves import Leaves, leaves_of
from centime.store.versions.stored import document_id
from centime.store.versions.walk import Page, page_trouble, walk_rows

FRESH, MERGED = "versions.repaired", "merged.sqlite"


def repair_versions(
    folder: Path, damaged: Path, report: Repaired, urls: Callable[[], Iterable[str]] = tuple, *, write: bool = True
) -> None:
    """Copies the whole versions, if the database is damaged; without `write`, only reports what it would do. If any URL
    is missing, `urls` gives those that the crawl knows.
    """
    path = folder / FILE
    findings = Findings()
    check_versions(folder, findings)
    if not findings.problems or not_a_file(path):  # a repair has set this aside before; a rehearsal has not
        return
    fresh = folder.with_name(FRESH)
    _remove(fresh)
    try:
        with leaves_of(_with_its_log(path, fresh)) as leaves:
            _name_from(leaves, urls)
            kept, lost = _copy_whole(leaves, fresh)
        report.restored.append(f"{path}: its {kept} whole versions; what is damaged in it was set aside")
        if not kept:
            report.lost.append(f"{path}: all versions; {findings.problems[0].what}")
        elif lost:
            report.lost.append(f"{path}: at least {lost} versions; {findings.problems[0].what}")
        elif leaves.unread:
            report.lost.append(f"{path}: perhaps versions that left no trace; the next visits store pages again")
        if write:
            _put_in_place(folder, fresh, damaged)
    finally:
        _remove(fresh)


def _with_its_log(path: Path, fresh: Path) -> Path:
    """The database, or a copy that includes its write-ahead log. The copy begins with the first page of a new
    database, whatever is left of its own: SQLite needs one to open it, and the leaves do not.
    """
    log = path.with_name(path.name + BESIDE[0])
    if not log.is_file() or not log.stat().st_size:
        return path
    open_to_write(fresh).close()
    copy = fresh / MERGED
    with room_for(copy):
        shutil.copyfile(path, copy)
        shutil.copyfile(log, copy.with_name(copy.name + BESIDE[0]))
        with copy.open("r+b") as file:
            file.write(read_file(fresh / FILE)[:PAGE_BYTES])
    with suppress(DamagedFile), naming_trouble(copy, writing=True), closing(sqlite3.connect(copy)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return copy


def _name_from(leaves: Leaves, urls: Callable[[], Iterable[str]]) -> None:
    """Gives pages whose row is lost the URL that the crawl has for them."""
    nameless = {document for document, _ in leaves.versions} - leaves.pages.keys()
    for url in urls() if nameless else ():
        if (document := document_id(url)) in nameless:
            leaves.pages[document] = Page(document, url, 0, b"", 0.0)


def _copy_whole(leaves: Leaves, fresh: Path) -> tuple[int, int]:
    """Copies all versions that can be restored; returns how many these are, and how many are there and cannot."""
    kept = lost = 0
    pages, places = leaves.pages, leaves.versions
    with closing(open_to_write(fresh)) as copy, naming_trouble(fresh / FILE), transaction(copy):
        for document, found in groupby(sorted(places), key=itemgetter(0)):
            page, newest, before, damaged = pages.pop(document, None), None, 0, 0
            for one in walk_rows(leaves.rows(places[place] for place in found), leaves.dictionary):
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
    return kept, lost + len(pages)  # and those whose versions cannot even be seen


def _put_in_place(folder: Path, fresh: Path, damaged: Path) -> None:
    make_folder(damaged)
    for name in (FILE, *(FILE + ending for ending in BESIDE)):
        with suppress(FileNotFoundError):
            (folder / name).rename(free_name(damaged / name))
    (fresh / FILE).rename(folder / FILE)
    sync_folder(damaged)
    sync_folder(folder)


def _remove(fresh: Path) -> None:
    for file in (FILE, MERGED):
        for name in (file, *(file + ending for ending in BESIDE)):
            (fresh / name).unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        fresh.rmdir()
