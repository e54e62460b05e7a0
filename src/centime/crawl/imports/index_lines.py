"""Indexes of archives: CDXJ (pywb, Common Crawl) and CDX (Wayback, Heritrix). Each line is a visit without links.

    CDXJ    KEY TIMESTAMP {"url": ..., "mime": ..., "status": ..., "digest": ...}
    CDX     the columns that the first line names: " CDX N b a m s k r M S V g"; without it, the usual 11 or 9

A revisit has the digest of the body that it found again, so it counts as a read of that body.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from centime.crawl.imports.decoding import NotJson, decoder_of
from centime.crawl.imports.finding import FAILED, Finding, Item, Trouble, moment_of_digits, number_of
from centime.crawl.imports.lines import Lines

USUAL = {11: "N b a m s k r M S V g", 9: "N b a m s k r V g", 10: "N b a m s k r M V g"}
NO_STATUS = ("", "-")


class _Fields(msgspec.Struct, gc=False):
    url: str = ""
    mime: str = ""
    status: str | int = ""
    digest: str = ""
    length: str | int = 0
    redirect: str = ""


_decode = decoder_of(_Fields)


class IndexSource:
    """The visits of an index."""

    format = "cdx"

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._lines = Lines(path)
        self.size = self._lines.size

    def items(self, position: int) -> Iterator[tuple[int, Item]]:
        """The visits behind a position."""
        columns: list[str] = []
        for end, line in self._lines.read(0):
            if isinstance(line, Trouble):
                yield end, line
                continue
            if line.lstrip().startswith(b"CDX ") and end <= len(line) + 2:
                columns = line.decode(errors="replace").split()[1:]
            if end > position:
                yield end, _finding(line, columns)

    def place(self) -> int:
        """How far the file was read."""
        return self._lines.at


def _finding(line: bytes, columns: list[str]) -> Item:
    if not line.strip() or line.startswith((b"!", b" CDX", b"CDX ")):
        return None
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return Trouble(f"a line is not UTF-8: {line[:80]!r}")
    _, _, rest = text.partition(" ")
    timestamp, _, block = rest.partition(" ")
    if block.startswith("{"):
        try:
            found = _decode(block)
        except NotJson as wrong:
            return Trouble(f"a line is not valid CDXJ ({wrong}): {text[:80]!r}")
        return _made(found.url, timestamp, found.mime, str(found.status), found.digest, str(found.length))
    fields = text.split(" ")
    names = columns or USUAL.get(len(fields), "").split()
    if len(names) != len(fields):
        return Trouble(f"a line has {len(fields)} fields, not those of the index: {text[:80]!r}")
    named = dict(zip(names, fields, strict=True))
    get = named.get
    return _made(get("a", ""), get("b", ""), get("m", ""), get("s", ""), get("k", ""), get("S", ""))


def _made(url: str, timestamp: str, mime: str, status: str, digest: str, length: str) -> Item:
    time = moment_of_digits(timestamp)
    if not time or not url:
        return Trouble(f"a line has no URL or no time: {url[:80]!r} {timestamp[:20]!r}")
    revisit = mime == "warc/revisit"
    if not url.startswith(("http://", "https://")) or (status in NO_STATUS and not revisit):
        return None  # a record of no response
    number = 200 if revisit else number_of(status)
    if not number:
        return FAILED
    kind = (("content-type", mime),) if not revisit and "/" in mime else ()
    return Finding(url, time, number, kind, digest=digest if digest != "-" else "", size=number_of(length))
