"""The archived bodies of a page: which there are, and the one that the page had at a time."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from centime.crawl.engine.damage import damage_closes
from centime.crawl.report.opening import folder_of
from centime.discover.canonical import canonical
from centime.discover.exact import exact
from centime.model.errors import BadInput, UnknownPage
from centime.store.captures import Capture, find_bodies, read_body

TIMESTAMP = "%Y%m%d%H%M%S"
EARLIEST = "00010101000000"  # what a shorter time leaves out


def captures_of(path: Path, url: str) -> list[Capture]:
    """All captures of a URL, oldest first; UnknownPage if there is none."""
    folder = folder_of(path)
    name = canonical(url)
    if name is None:
        raise BadInput(f"{url}: this is not the URL of a page (http or https)")
    with damage_closes(path):
        captures = find_bodies(folder.bodies, name) or find_bodies(folder.bodies, exact(url, url) or name)
    if captures:
        return captures
    kept = folder.settings.get("keep", "none")
    why = (
        "this crawl keeps no bodies (--keep none)"
        if kept == "none"
        else f"this crawl keeps {kept}; see centime page for its visits"
    )
    raise UnknownPage(f"{name}: no body is archived: {why}")


def capture_at(captures: list[Capture], time: str | None) -> Capture:
    """The last capture, or the last one at or before a time; a day or a minute means its end."""
    if time is None:
        return captures[-1]
    digits = re.sub(r"[-:T Z]", "", time)
    if not re.fullmatch(r"[0-9]{4,14}", digits) or len(digits) % 2 or not _is_time(digits + EARLIEST[len(digits) :]):
        raise BadInput(f"a time is written like 2026-01-31, 2026-01-31T12:00:00Z or 20260131120000, not {time!r}")
    earlier = [capture for capture in captures if capture.timestamp[: len(digits)] <= digits]
    if not earlier:
        raise UnknownPage(f"{captures[0].url}: the first body was archived at {when(captures[0])}, after {time}")
    return earlier[-1]


def _is_time(timestamp: str) -> bool:
    try:
        datetime.strptime(timestamp, TIMESTAMP).replace(tzinfo=UTC)
    except ValueError:
        return False
    return True


def body_of(path: Path, capture: Capture) -> bytes:
    """The body of a capture."""
    with damage_closes(path):
        return read_body(folder_of(path).bodies, capture)


def when(capture: Capture) -> str:
    """The time of a capture, in ISO 8601."""
    t = capture.timestamp
    return f"{t[:4]}-{t[4:6]}-{t[6:8]}T{t[8:10]}:{t[10:12]}:{t[12:14]}Z"


def capture_facts(capture: Capture) -> dict[str, Any]:
    """The facts of a capture, for a report."""
    return {
        "time": when(capture),
        "status": capture.status or None,
        "mime": "the same body as before" if capture.revisit else capture.mime,
        "digest": capture.digest,
        "file": capture.filename,
        "offset": capture.offset,
        "packed_bytes": capture.length,
    }
