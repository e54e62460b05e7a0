"""Stored versions: the list of those of a page, and their bodies."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from xxhash import xxh3_128_digest

from centime.model.address import fingerprint
from centime.model.errors import DamagedFile, UnknownPage
from centime.store.versions.chain import unpacked
from centime.store.versions.database import Database, opened_to_read
from centime.store.versions.dictionary import dictionaries_of

MANY = 500  # pages that are read at a time
LEAST_ID = -(1 << 63)

_COLUMNS = "version.number, version.time, version.digest, version.size, version.type, version.status, length(frame)"
_ALL = f"SELECT before_seen, {_COLUMNS} FROM version WHERE document = ? ORDER BY number"
_NEWEST = (
    f"SELECT id, url, seen, {_COLUMNS} FROM document JOIN version ON document = id AND number = newest"
    " WHERE id >= ? ORDER BY id LIMIT ?"
)
_FRAME = "SELECT number, steps, digest, size, frame FROM version WHERE document = ? AND number = ?"
_FRAMES_BEFORE = (
    "SELECT number, steps, digest, size, frame FROM version WHERE document = ? AND number >= ? AND number < ?"
    " ORDER BY number"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredVersion:
    """One version of a page, without its body."""

    url: str
    number: int
    time: float  # when it was seen first
    seen: float  # when it was seen last
    digest: str  # xxh3-128 of its body, in hexadecimal digits
    size: int
    content_type: str
    status: int
    packed: int  # bytes of its frame

    @property
    def timestamp(self) -> str:
        """When it was seen first: YYYYMMDDhhmmss, UTC."""
        return timestamp_of(self.time)


def timestamp_of(time: float) -> str:
    """A time as YYYYMMDDhhmmss, UTC."""
    return datetime.fromtimestamp(time, UTC).strftime("%Y%m%d%H%M%S")


def document_id(url: str) -> int:
    """The number of a page in the database: its fingerprint, with a sign."""
    number = int(fingerprint(url))
    return number - (1 << 64) if number >= 1 << 63 else number


def versions_of(folder: Path, url: str) -> list[StoredVersion]:
    """The versions of a URL, oldest first; none if it has none."""
    with opened_to_read(folder) as database:
        return _versions(database, document_id(url), url) if database is not None else []


def every_newest(folder: Path) -> Iterator[StoredVersion]:
    """The newest version of every page. It reads many at a time, so that it never holds up a crawl for long."""
    first = LEAST_ID
    while True:
        with opened_to_read(folder) as database:
            found = [] if database is None else database.execute(_NEWEST, (first, MANY)).fetchall()
        for _, url, seen, *facts in found:
            yield _stored(url, seen, facts)
        if len(found) < MANY:
            return
        first = found[-1][0] + 1


def every_version(folder: Path) -> Iterator[StoredVersion]:
    """All versions of every page, page by page."""
    for newest in every_newest(folder):
        yield from versions_of(folder, newest.url)


def body_of_version(folder: Path, version: StoredVersion) -> bytes:
    """The body of a version; DamagedFile if it cannot be restored, UnknownPage if it was removed meanwhile."""
    with opened_to_read(folder) as database:
        if database is not None:
            return restored(database, folder, version.url, version.number)
    raise UnknownPage(f"{version.url}: its versions are not there any more")


def bytes_of_versions(folder: Path) -> tuple[int, int, int]:
    """How many pages and versions there are, and the bytes of their bodies."""
    with opened_to_read(folder) as database:
        if database is None:
            return 0, 0, 0
        (pages,) = database.execute("SELECT count(*) FROM document").fetchone()
        versions, size = database.execute("SELECT count(*), coalesce(sum(size), 0) FROM version").fetchone()
        return int(pages), int(versions), int(size)


def _versions(database: Database, document: int, url: str) -> list[StoredVersion]:
    found = database.execute(_ALL, (document,)).fetchall()
    (last,) = database.execute("SELECT seen FROM document WHERE id = ?", (document,)).fetchone() or (0.0,)
    seen = [before for before, *_ in found[1:]] + [last]
    return [_stored(url, until, facts) for until, (_, *facts) in zip(seen, found, strict=bool(found))]


def _stored(url: str, seen: float, facts: list[Any]) -> StoredVersion:
    number, time, digest, size, content_type, status, packed = facts
    return StoredVersion(
        url=url,
        number=number,
        time=time,
        seen=max(seen, time),
        digest=digest.hex(),
        size=size,
        content_type=content_type,
        status=status,
        packed=packed,
    )


def restored(database: Database, folder: Path, url: str, number: int) -> bytes:
    """The body of a version, from its key frame on."""
    document, place = document_id(url), f"{folder}: version {number} of {url}"
    last = database.execute(_FRAME, (document, number)).fetchone()
    if last is None:
        raise UnknownPage(f"{url}: there is no version {number} any more; --retain says what is kept")
    rows, steps = [last], last[1]
    if steps:
        rows = [*database.execute(_FRAMES_BEFORE, (document, number - steps, number)), last]
    if len(rows) != steps + 1:
        raise DamagedFile(f"{place} cannot be restored: a version before it is missing")
    body: bytes | None = None
    try:
        for _, _, _, size, frame in rows:
            body = unpacked(frame, body, size, dictionaries_of(database))
    except (DamagedFile, TypeError) as trouble:
        raise DamagedFile(f"{place} cannot be restored: {trouble}") from trouble
    if body is None or xxh3_128_digest(body) != last[2]:
        raise DamagedFile(f"{place} is damaged: its body has another digest")
    return body
