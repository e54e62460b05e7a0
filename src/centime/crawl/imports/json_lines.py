"""Items of spiders as JSON lines, as Scrapy exports them (`scrapy crawl site -O items.jsonl`): an object for each page.

    {"url": ..., "time": ..., "status": 200, "links": [...], "body": "<html>..."}

Only `url` is needed. Names that people use are known (NAMES). The time is a number of seconds or a date; without one,
the page was as the item says when the file was written. An item with a body counts like a record of an archive; one
with links, like a record of a WAT file; one with neither only says that the page was there. `links` are texts, or
objects with a `url`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import xxhash

from centime.crawl.imports.decoding import NotJson, decoder_of
from centime.crawl.imports.finding import Finding, Item, Trouble, moment_of
from centime.crawl.imports.lines import Lines

NAMES = {
    "url": ("url", "uri", "link", "page", "loc"),
    "time": ("time", "timestamp", "date", "fetched_at", "crawled_at", "scraped_at", "fetch_time", "last_seen"),
    "status": ("status", "status_code", "http_status"),
    "links": ("links", "outlinks", "hrefs", "out_links"),
    "body": ("body", "html", "raw_html", "content"),
    "type": ("content_type", "mime", "type"),
}
MILLISECONDS = 1e11  # larger numbers are not seconds
NO_TIME = 1e18  # larger numbers are not times, and may not even be floats
_decode = decoder_of(object)


class JsonSource:
    """The pages of a file of JSON lines."""

    format = "jsonl"

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._written = path.stat().st_mtime
        self._lines = Lines(path)
        self.size = self._lines.size

    def items(self, position: int) -> Iterator[tuple[int, Item]]:
        """The pages behind a position."""
        for end, line in self._lines.read(position):
            yield end, line if isinstance(line, Trouble) else self._finding(line)

    def place(self) -> int:
        """How far the file was read."""
        return self._lines.at

    def _finding(self, line: bytes) -> Item:
        line = line.strip().rstrip(b",").strip()  # a JSON array with an item in each line is accepted too
        if line in (b"", b"[", b"]"):
            return None
        try:
            item = _decode(line)
        except NotJson as wrong:
            return Trouble(f"a line is not valid JSON ({wrong}): {line[:80].decode(errors='replace')!r}")
        if not isinstance(item, dict):
            return Trouble(f"a line is not an object: {line[:80].decode(errors='replace')!r}")
        url = _first(item, "url")
        if not isinstance(url, str):
            return Trouble(f"an item has no url: {line[:80].decode(errors='replace')!r}")
        status, kind, body = _first(item, "status"), _first(item, "type"), _first(item, "body")
        return Finding(
            url,
            _time(_first(item, "time")) or self._written,
            status if isinstance(status, int) else 200,
            (("content-type", kind),) if isinstance(kind, str) and "/" in kind else (),
            body.encode(errors="replace") if isinstance(body, str) and body.lstrip().startswith("<") else None,
            hrefs=_links(_first(item, "links")),
            digest=xxhash.xxh3_128_hexdigest(msgspec.json.encode(_content(item), order="sorted")),
            size=len(line),
        )


def _first(item: dict[str, Any], field: str) -> Any:
    return next((item[name] for name in NAMES[field] if item.get(name) is not None), None)


def _content(item: dict[str, Any]) -> dict[str, Any]:
    """The content of an item without its time, to compare two items."""
    return {name: value for name, value in item.items() if name not in NAMES["time"]}


def _time(value: object) -> float:
    match value:
        case bool():
            return 0.0
        case int() | float() if abs(value) < NO_TIME:
            return float(value) / (1000.0 if value > MILLISECONDS else 1.0)
        case int() | float():
            return NO_TIME
        case str():
            return moment_of(value)
        case _:
            return 0.0


def _links(value: object) -> tuple[str, ...] | None:
    if not isinstance(value, list):
        return None
    found = (one.get("url") or one.get("href") if isinstance(one, dict) else one for one in value)
    return tuple(one for one in found if isinstance(one, str))
