"""The stored bodies of a page, in the archive or as versions: all of them, or the one at a time."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from centime.crawl.engine.damage import damage_closes
from centime.crawl.imports.elsewhere import read_elsewhere
from centime.crawl.report.opening import folder_of
from centime.discover.canonical import canonical
from centime.discover.exact import exact
from centime.model.errors import BadInput, UnknownPage
from centime.store.archives.captures import Capture, every_capture, find_bodies, mime_of, read_typed
from centime.store.folder import CrawlFolder
from centime.store.versions.stored import (
    StoredVersion,
    body_of_version,
    every_newest,
    every_version,
    timestamp_of,
    versions_of,
)

TIMESTAMP = "%Y%m%d%H%M%S"
EARLIEST = "00010101000000"  # completes a shorter time

Stored: TypeAlias = Capture | StoredVersion
_Stored = TypeVar("_Stored", Capture, StoredVersion, Stored)


def captures_of(path: Path, url: str) -> list[Stored]:
    """All stored bodies of a URL, oldest first; UnknownPage if there is none."""
    return captures_in(folder_of(path), url)


def captures_in(folder: CrawlFolder, url: str) -> list[Stored]:
    """The same, of a folder that is open."""
    name = canonical(url)
    if name is None:
        raise BadInput(f"{url}: this is not the URL of a page (http or https)")
    with damage_closes(folder.path):
        captures = _stored(folder, name) or _stored(folder, exact(url, url) or name)
    if captures:
        return captures
    kept = folder.settings.get("keep", "none")
    why = (
        "this crawl keeps no bodies (--keep none)"
        if kept == "none"
        else f"this crawl keeps {kept}; see centime page for its visits"
    )
    raise UnknownPage(f"{name}: no body is stored: {why}")


def _stored(folder: CrawlFolder, url: str) -> list[Stored]:
    """All stored bodies of a URL; a crawl has both kinds if its --keep was changed."""
    captures, versions = find_captures(folder, url), versions_of(folder.versions, url)
    found: list[Stored] = [*captures, *versions, *_returned(captures, versions)]
    return sorted(found, key=lambda one: one.timestamp)


def find_captures(folder: CrawlFolder, url: str) -> list[Capture]:
    """The captures of a URL in the archive, and of imported bodies that stay where they are, oldest first."""
    found = [*find_bodies(folder.bodies, url), *find_bodies(folder.imported, url)]
    return sorted(found, key=lambda capture: capture.timestamp)


def _captures(folder: CrawlFolder) -> Iterator[Capture]:
    """All captures, in the archive and elsewhere."""
    return chain(every_capture(folder.bodies), every_capture(folder.imported))


def _returned(captures: list[Capture], versions: list[StoredVersion]) -> Iterator[StoredVersion]:
    """Versions that were seen again after the archive had another body: the database has them once, since the first
    time. The time when they came back is not known, only when they were last seen.
    """
    for version in versions:
        if any(version.timestamp < capture.timestamp < timestamp_of(version.seen) for capture in captures):
            yield replace(version, time=version.seen)


def capture_at(captures: list[_Stored], time: str | None) -> _Stored:
    """The last body, or the last one at or before a time; a time given as a day or a minute is its end."""
    if time is None:
        return captures[-1]
    digits = digits_of(time)
    earlier = [capture for capture in captures if capture.timestamp[: len(digits)] <= digits]
    if not earlier:
        raise UnknownPage(f"{captures[0].url}: the first body was stored at {when(captures[0])}, after {time}")
    return earlier[-1]


def digits_of(time: str) -> str:
    """The digits of a time, from the year on; BadInput if it is not a time."""
    digits = re.sub(r"[-:T Z]", "", time)
    if not is_time(digits):
        raise BadInput(f"a time is written like 2026-01-31, 2026-01-31T12:00:00Z or 20260131120000, not {time!r}")
    return digits


def is_time(digits: str) -> bool:
    """Whether digits are a time, from the year on, that may leave out its end."""
    if not re.fullmatch(r"[0-9]{4,14}", digits) or len(digits) % 2:
        return False
    try:
        datetime.strptime(digits + EARLIEST[len(digits) :], TIMESTAMP).replace(tzinfo=UTC)
    except ValueError:
        return False
    return True


def body_of(path: Path, stored: Stored) -> bytes:
    """A stored body."""
    return typed_body_of(path, stored)[0]


def typed_body_of(path: Path, stored: Stored) -> tuple[bytes, str]:
    """The same, and the Content-Type that came with it, with its charset."""
    with damage_closes(path):
        return read_stored(folder_of(path), stored)


def read_stored(folder: CrawlFolder, stored: Stored) -> tuple[bytes, str]:
    """A stored body of an open folder, and its Content-Type."""
    if isinstance(stored, StoredVersion):
        return body_of_version(folder.versions, stored), stored.content_type
    return read_elsewhere(stored) if stored.elsewhere else read_typed(folder.bodies, stored)


def every_stored(folder: CrawlFolder) -> Iterator[Stored]:
    """All stored bodies, file by file and page by page; not the visits that found the same body again."""
    yield from (capture for capture in _captures(folder) if capture.document)
    yield from every_version(folder.versions)


def newest_of_all(folder: CrawlFolder) -> Iterator[Stored]:
    """The newest body of every page, in an order in which they are quick to read."""
    last: dict[str, Capture] = {}
    known: dict[tuple[str, str], Capture] = {}
    for capture in _captures(folder):
        if capture.document:
            known[capture.url, capture.digest] = capture
        if (capture.document or capture.revisit) and _order(capture) >= _order(last.get(capture.url, capture)):
            last[capture.url] = capture
    bodies = [known.get((url, capture.digest), capture) for url, capture in last.items()]
    for version in every_newest(folder.versions):
        archived = last.get(version.url)
        if archived is None or archived.timestamp <= timestamp_of(version.seen):
            last.pop(version.url, None)
            yield version
    yield from sorted((one for one in bodies if one.url in last), key=lambda one: (one.filename, one.offset))


def _order(capture: Capture) -> tuple[str, str, int]:
    return capture.timestamp, capture.filename, capture.offset


def when(stored: Stored) -> str:
    """When a body was stored, in ISO 8601."""
    return iso(stored.timestamp)


def first_seen(stored: Stored) -> float:
    """When a body was stored, in seconds; captures know whole seconds."""
    if isinstance(stored, StoredVersion):
        return stored.time
    return seconds_of(stored.timestamp)


def seconds_of(timestamp: str) -> float:
    """The seconds of a time of 14 digits."""
    return datetime.strptime(timestamp, TIMESTAMP).replace(tzinfo=UTC).timestamp()


def last_seen(stored: Stored) -> str:
    """When the page was last seen with this body, as far as the stored body shows."""
    return iso(timestamp_of(stored.seen)) if isinstance(stored, StoredVersion) else when(stored)


def last_seen_seconds(stored: Stored) -> float:
    """The same in seconds."""
    return stored.seen if isinstance(stored, StoredVersion) else seconds_of(stored.timestamp)


def iso(timestamp: str) -> str:
    """A timestamp in ISO 8601."""
    t = timestamp
    return f"{t[:4]}-{t[4:6]}-{t[6:8]}T{t[8:10]}:{t[10:12]}:{t[12:14]}Z"


def capture_facts(stored: Stored) -> dict[str, Any]:
    """The facts of a stored body, for a report: both kinds have the same names, and None for what is not known."""
    made: dict[str, Any] = {"time": when(stored), "last_seen": None, "version": None, "status": stored.status or None}
    made |= {"mime": None, "digest": stored.digest, "bytes": None, "file": None, "offset": None}
    if isinstance(stored, StoredVersion):
        made |= {"last_seen": last_seen(stored), "version": stored.number, "mime": mime_of(stored.content_type)}
        return made | {"bytes": stored.size, "packed_bytes": stored.packed}
    made["mime"] = "the same body as before" if stored.revisit else stored.mime
    made |= {"file": stored.filename, "offset": stored.offset}
    return made | ({"bytes": stored.length} if stored.elsewhere else {"packed_bytes": stored.length})
