"""Checks the versions of pages: the database is whole, and every version has the body that it says."""

import sqlite3
from pathlib import Path

from centime.crawl.check.findings import Findings
from centime.model.errors import CentimeError
from centime.store.versions.database import FILE, opened_to_read
from centime.store.versions.walk import page_trouble, pages_of, walk

PART = "versions"
MOST_TOLD = 20  # problems of the database itself


def check_versions(folder: Path, findings: Findings) -> None:
    """Adds what holds for the versions of a crawl, and what does not."""
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


def _check_database(database: sqlite3.Connection, path: Path, findings: Findings) -> None:
    for (sentence,) in database.execute(f"PRAGMA integrity_check({MOST_TOLD})"):
        if sentence != "ok":
            findings.wrong(PART, f"the database is damaged: {sentence}", path)
    ((stray,),) = database.execute("SELECT count(*) FROM version WHERE document NOT IN (SELECT id FROM document)")
    if stray:
        findings.wrong(PART, f"{stray} versions belong to no page", path)
