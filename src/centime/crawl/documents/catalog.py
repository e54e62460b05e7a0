"""The catalog of XML documents: the state and the facts of each, in `documents/documents.sqlite`.

It is derived: it can be deleted, and each command that needs it brings it up to date first. A document is loaded again
if its body has changed, or if it waits for parts.
"""

import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from centime.crawl.documents.examiner import Examiner, examiner
from centime.crawl.documents.examining import Examined, Task
from centime.crawl.engine.state import CrawlState
from centime.crawl.report.bodies import captures_of
from centime.crawl.report.page import find_page
from centime.crawl.report.visits import last_found
from centime.crawl.worker.chain import MOST_HOPS
from centime.files.disk import create_file, make_folder
from centime.model.errors import CentimeError, DamagedFile, FileGone, UnknownPage
from centime.model.ids import page_ids
from centime.model.outcome import PageKind
from centime.store.record import NO_PAGE
from centime.store.versions.database import keeping_open, naming_trouble
from centime.warehouse.loader import MOST_PARTS, State

FOLDER, FILE = "documents", "documents.sqlite"
FORMAT = 2
_SCHEMA = (
    "CREATE TABLE document (url TEXT PRIMARY KEY, digest TEXT NOT NULL, state TEXT NOT NULL, loaded TEXT NOT NULL)"
)


@dataclass(frozen=True, slots=True)
class Entry:
    """An XML document in the catalog."""

    url: str
    state: State
    importance: float
    bytes: int
    error: str
    wanted: list[str]
    facts: dict[str, Any]


def xml_pages(opened: CrawlState) -> list[tuple[str, float, int]]:
    """URL, importance and bytes of every page that was XML when it was last found, the most important first."""
    found = last_found(opened.shard.pages, "kind", "body_bytes")
    pages = (found["kind"] == PageKind.XML).nonzero()[0]
    importance = opened.shard.ledger.importance(pages)
    urls = opened.shard.pages.texts.get_many(pages)
    rows = zip(urls, importance.tolist(), found["body_bytes"][pages].tolist(), page_ids(pages), strict=True)
    ordered = sorted(rows, key=lambda row: (-row[1], row[3]))
    return [(url, x, size) for url, x, size, _ in ordered]


def updated_catalog(
    opened: CrawlState, step: Callable[[int], None] = lambda done: None, catalogs: Sequence[Path] = ()
) -> Iterator[Entry]:
    """Every XML document that is stored, the most important first; loads those that are new or have changed, or lack
    parts. `catalogs` are XML catalogs in which parts are looked for.
    """
    named = tuple(str(path.absolute()) for path in catalogs)
    folder = opened.folder.path
    with _opened(folder / FOLDER) as database, examiner(folder) as loading, keeping_open():
        for url, importance, size in xml_pages(opened):
            step(1)
            with suppress(UnknownPage):  # it was read before the crawl kept bodies
                loaded = _known_or_loaded(opened, database, loading, url, named)
                yield Entry(url, State(loaded.state), importance, size, loaded.error, loaded.wanted, loaded.facts)


def document_facts(opened: CrawlState, url: str) -> dict[str, Any] | None:
    """State and facts of the stored document of a page; None if none is stored."""
    folder = opened.folder.path
    with _opened(folder / FOLDER) as database, examiner(folder) as loading, suppress(UnknownPage):
        loaded = _known_or_loaded(opened, database, loading, url, ())
        return {"state": loaded.state, "problem": loaded.error, "wanted": loaded.wanted, **loaded.facts}
    return None


def _known_or_loaded(
    opened: CrawlState, database: sqlite3.Connection, loading: Examiner, url: str, catalogs: tuple[str, ...]
) -> Examined:
    """A document as the catalog has it, or loaded; UnknownPage if its body is not stored."""
    digest = captures_of(opened.folder.path, url)[-1].digest
    known = database.execute("SELECT digest, state, loaded FROM document WHERE url = ?", (url,)).fetchone()
    if known is not None and known[0] == digest:
        error, wanted, facts = json.loads(known[2])
        if not wanted:
            return Examined(url, known[1], error, wanted, facts)
    loaded = _loaded(opened, loading, url, catalogs)
    database.execute(
        "INSERT OR REPLACE INTO document VALUES (?, ?, ?, ?)",
        (url, digest, loaded.state, json.dumps([loaded.error, loaded.wanted, loaded.facts])),
    )
    return loaded


def _loaded(opened: CrawlState, loading: Examiner, url: str, catalogs: tuple[str, ...]) -> Examined:
    """A document, loaded with its parts; redirects that the crawl has seen are followed. If a part redirects out of the
    crawl's scope, the document is given up, and tried again the next time.
    """
    ends: dict[str, str] = {}
    while True:
        loaded = loading.examine(Task(url, ends=ends, catalogs=catalogs))
        found = {part: end for part in loaded.wanted if part not in ends and (end := _end_of(opened, part)) != part}
        if not found or len(ends) > MOST_PARTS:
            break
        ends |= found  # these may name further parts
    for part in loaded.wanted:
        if trouble := _leads_away(opened, ends.get(part, part)):
            return msgspec.structs.replace(loaded, state=State.GIVEN_UP, error=trouble)
    return loaded


def _leads_away(opened: CrawlState, url: str) -> str:
    """Why a part will never be fetched: it redirects out of the crawl's scope; "" if it may be fetched."""
    try:
        page, _ = find_page(opened, url)
    except CentimeError:
        return ""
    last = opened.shard.pages.last(page)
    if last is None or not last.outcome.redirect or last.redirect != NO_PAGE:
        return ""
    return f"{url}, which it needs, redirects to where the crawl does not go: {last.detail or 'out of its scope'}"


def _end_of(opened: CrawlState, url: str) -> str:
    """The URL to which the redirects of a page lead; the URL itself if there are none, or too many."""
    known = opened.shard.pages
    try:
        page, _ = find_page(opened, url)
    except CentimeError:
        return url
    for hop in range(MOST_HOPS):
        last = known.last(page)
        if last is None or last.redirect == NO_PAGE:
            return known.texts.get(page) if hop else url
        page = last.redirect
    return url


@contextmanager
def _opened(folder: Path) -> Iterator[sqlite3.Connection]:
    """The catalog, created again if it is damaged or of another version; in memory if it cannot be written."""
    database = _connected(folder)
    try:
        with naming_trouble(folder / FILE):
            yield database
    finally:
        database.close()


def _connected(folder: Path) -> sqlite3.Connection:
    with suppress(OSError, CentimeError):
        make_folder(folder)
        for _ in range(2):
            os.close(create_file(folder / FILE, os.O_RDWR))
            try:
                with naming_trouble(folder / FILE):
                    return _prepared(sqlite3.connect(folder / FILE, isolation_level=None, timeout=60.0))
            except (DamagedFile, FileGone):
                (folder / FILE).unlink()
    return _prepared(sqlite3.connect(":memory:", isolation_level=None))


def _prepared(database: sqlite3.Connection) -> sqlite3.Connection:
    try:
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version != FORMAT:
            database.execute("DROP TABLE IF EXISTS document")
            database.execute(_SCHEMA)
            database.execute(f"PRAGMA user_version = {FORMAT}")
        database.execute("PRAGMA synchronous = OFF")  # documents that are lost are loaded again
        database.execute("SELECT count(*) FROM document").fetchone()
    except BaseException:
        database.close()
        raise
    return database


def filtered(
    entries: Iterator[Entry], *, states: Sequence[str] = (), dtd: str = "", root: str = "", namespace: str = ""
) -> Iterator[Entry]:
    """The entries with one of these states, and with this DTD (a part of its identifiers), root and namespace."""
    for entry in entries:
        facts = entry.facts
        if states and entry.state not in states:
            continue
        if dtd and not any(dtd in facts.get(name, "") for name in ("public_id", "system_id")):
            continue
        if root and facts.get("root") != root:
            continue
        if namespace and namespace not in facts.get("namespaces", ()):
            continue
        yield entry
