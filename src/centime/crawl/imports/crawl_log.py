"""The crawl log of Heritrix: a line for each visit, without links.

    2026-05-01T10:00:00.123Z 200 5120 http://a.example/ L http://b.example/ text/html #2 20260501100000000+80 sha1:...

The time is that of the fetch (ninth field) if it is there. Codes below 1 are failures of the crawler, not of
pages: they are left out and counted.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from centime.crawl.imports.finding import FAILED, Finding, Item, Trouble, moment_of, moment_of_digits, number_of
from centime.crawl.imports.lines import Lines

LINE = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z?\s+-?\d+\s+(?:-|\d+)\s+\S+")


class CrawlLogSource:
    """The visits of a crawl log."""

    format = "heritrix"

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._lines = Lines(path)
        self.size = self._lines.size

    def items(self, position: int) -> Iterator[tuple[int, Item]]:
        """The visits behind a position."""
        for end, line in self._lines.read(position):
            yield end, line if isinstance(line, Trouble) else _finding(line)

    def place(self) -> int:
        """How far the file was read."""
        return self._lines.at


def _finding(line: bytes) -> Item:
    if not line.strip():
        return None
    try:
        fields = line.decode().split()
    except UnicodeDecodeError:
        return Trouble(f"a line is not UTF-8: {line[:80]!r}")
    if not LINE.match(line):
        return Trouble(f"a line is not one of a crawl log: {line[:80].decode(errors='replace')!r}")
    fields += ["-"] * (10 - len(fields))
    logged, status, size, url, _, _, mime, _, fetched, digest = fields[:10]
    if not url.startswith(("http://", "https://")):
        return None
    code = number_of(status)
    if not code:
        return FAILED
    began = fetched.partition("+")[0]
    time = moment_of_digits(began) if began.isdigit() else 0.0
    time = time or moment_of(logged)
    if not time:
        return Trouble(f"a line has no time: {url[:80]!r}")
    kind = (("content-type", mime),) if "/" in mime else ()
    return Finding(
        url,
        time,
        code,
        kind,
        digest=digest if ":" in digest else "",
        size=number_of(size),
    )
