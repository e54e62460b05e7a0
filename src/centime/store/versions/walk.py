"""All versions one after the other, whatever state they are in: for checks, repairs and copies."""

import sqlite3
from collections.abc import Iterator
from typing import Any, NamedTuple

from xxhash import xxh3_128_digest

from centime.model.errors import DamagedFile
from centime.store.versions.chain import KEY_EVERY, Dictionaries, unpacked
from centime.store.versions.database import Database
from centime.store.versions.dictionary import dictionaries_of
from centime.store.versions.stored import LEAST_ID, MANY, document_id


class Page(NamedTuple):
    """A row of `document`."""

    id: int
    url: str
    newest: int
    digest: bytes
    seen: float


class Row(NamedTuple):
    """A row of `version`."""

    document: int
    number: int
    time: float
    before_seen: float | None
    digest: bytes
    size: int
    steps: int
    type: str
    status: int
    frame: bytes


class Walked(NamedTuple):
    """A version with its body, or with the reason why that cannot be restored."""

    row: Row
    body: bytes = b""
    trouble: str = ""


def pages_of(database: sqlite3.Connection) -> Iterator[Page]:
    """All pages that have versions."""
    first = LEAST_ID
    while True:
        found = database.execute("SELECT * FROM document WHERE id >= ? ORDER BY id LIMIT ?", (first, MANY)).fetchall()
        yield from map(Page._make, found)
        if len(found) < MANY:
            return
        first = found[-1][0] + 1


def walk(database: Database, document: int) -> Iterator[Walked]:
    """The versions of a page, oldest first."""
    found = database.execute("SELECT * FROM version WHERE document = ? ORDER BY number", (document,))
    return walk_rows(map(Row._make, found), dictionaries_of(database))


def walk_rows(rows: Iterator[Row], dictionaries: Dictionaries) -> Iterator[Walked]:
    """The same of rows that are in order."""
    before: Walked | None = None
    for row in rows:
        before = _walked(row, before, dictionaries)
        yield before


def _walked(row: Row, before: Walked | None, dictionaries: Dictionaries) -> Walked:
    if trouble := _strange(row):
        return Walked(row, trouble=trouble)
    if row.steps:
        if before is None or before.row.number != row.number - 1 or before.row.steps != row.steps - 1:
            return Walked(row, trouble=f"version {row.number} needs the one before it, which is missing")
        if before.trouble:
            return Walked(row, trouble=f"version {row.number} needs the one before it, which is damaged")
    try:
        body = unpacked(row.frame, before.body if row.steps and before is not None else None, row.size, dictionaries)
    except DamagedFile as trouble:
        return Walked(row, trouble=f"version {row.number}: {trouble}")
    if xxh3_128_digest(body) != row.digest:
        return Walked(row, trouble=f"version {row.number}: its body has another digest")
    return Walked(row, body)


def _strange(row: Row) -> str:
    """Why a row cannot be ours; SQLite lets every column hold any type."""
    kinds: tuple[Any, ...] = (int, int, float, (float, type(None)), bytes, int, int, str, int, bytes)
    if not all(isinstance(value, kind) for value, kind in zip(row, kinds, strict=True)):
        return f"version {row.number!r}: its facts are damaged"
    if not 0 <= row.steps < KEY_EVERY or row.number < 1 or row.size < 0:
        return f"version {row.number}: its facts are damaged"
    return ""


def page_trouble(page: Page, newest: Row | None) -> str:
    """What is wrong with the row of a page, or ""."""
    if not (isinstance(page.url, str) and document_id(page.url) == page.id):
        return f"the URL of page {page.id} is damaged"
    if newest is None:
        return f"{page.url} has no version"
    if (page.newest, page.digest) != (newest.number, newest.digest):
        return f"{page.url} does not know its newest version, {newest.number}"
    return "" if isinstance(page.seen, float) else f"{page.url} does not know when it was last seen"
