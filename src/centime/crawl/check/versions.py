"""Checks the versions of pages: the database is whole, and every version has the body that its digest names."""

import sqlite3
from pathlib import Path

import numpy as np

from centime.crawl.check.findings import Findings
from centime.crawl.engine.reader import CrawlReader
from centime.crawl.report.visits import are_present, last_visits
from centime.model.errors import CentimeError
from centime.model.ids import PageId
from centime.store.record import Mark
from centime.store.versions.database import FILE, opened_to_read, owner_of
from centime.store.versions.dictionary import troubles_in
from centime.store.versions.walk import page_trouble, pages_of, walk

PART = "versions"
MOST_REPORTED = 20  # problems of the database itself


def check_versions(folder: Path, findings: Findings) -> None:
    """Adds to the findings what holds for the versions of a crawl, and what does not."""
    before = len(findings.problems)
    pages = versions = 0
    try:
        with opened_to_read(folder) as database:
            if database is None:
                return
            _check_database(database, folder / FILE, findings)
            for page in pages_of(database):
                newest = None
                for one in walk(database, page.id):
                    newest, versions = one.row, versions + 1
                    if one.trouble:
                        findings.wrong(PART, f"{page.url}: {one.trouble}", folder / FILE)
                if trouble := page_trouble(page, newest):
                    findings.wrong(PART, trouble, folder / FILE)
                pages += 1
    except (CentimeError, OSError) as trouble:
        findings.caught(PART, trouble, folder / FILE)
        return
    findings.holds(PART, "pages know their newest version", pages, before)
    findings.holds(PART, "versions can be restored, and match their digests", versions, before)


def check_against(opened: CrawlReader, findings: Findings) -> None:
    """Compares the versions with what the crawl has read: whether they are its own, and which pages have none.

    Versions of pages that the crawl does not know are no damage: a fetcher stores a version before the journal is on
    the disk, so a power failure may lose the frame in which the page was found, and keep its version.
    """
    path = opened.folder.versions / FILE
    pages = opened.shard.pages
    found = last_visits(pages, "kind", "marks")
    lacks = are_present(found["kind"]) & ((found["marks"] & Mark.NOARCHIVE) == 0)
    strange = 0
    try:
        with opened_to_read(opened.folder.versions) as database:
            owner = None if database is None else owner_of(database)
            if owner not in (None, opened.folder.identity):
                findings.wrong(PART, "these are the versions of another crawl", path)
                return
            for page in pages_of(database) if database is not None else ():
                number = pages.table.find_one(page.id % (1 << 64))
                if number is None:
                    strange += 1
                else:
                    lacks[number] = False
    except (CentimeError, OSError):
        return  # `check_versions` has reported it
    if strange:
        findings.notes.append(
            f"{strange} pages have stored versions, but their visits were lost in a crash: the crawl reads them again"
            " when it finds links to them"
        )
    count = int(np.count_nonzero(lacks))
    if count and opened.settings.keep == "versions":
        url = pages.texts.get(PageId(int(np.flatnonzero(lacks)[0])))
        findings.notes.append(
            f"{count} pages that were read have no stored version, such as {url}: their next visits store them"
        )


def _check_database(database: sqlite3.Connection, path: Path, findings: Findings) -> None:
    for (sentence,) in database.execute(f"PRAGMA integrity_check({MOST_REPORTED})"):
        if sentence != "ok":
            findings.wrong(PART, f"the database is damaged: {sentence}", path)
    for sentence in troubles_in(database):
        findings.wrong(PART, sentence, path)
    ((stray,),) = database.execute("SELECT count(*) FROM version WHERE document NOT IN (SELECT id FROM document)")
    if stray:
        findings.wrong(PART, f"{stray} versions belong to no page", path)
