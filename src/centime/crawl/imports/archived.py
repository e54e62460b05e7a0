"""WARC files, and WAT files, which are WARC files of metadata: each response, revisit and resource is a visit.

A body is decoded as a fetcher decodes it: chunks, compression, at most as many bytes as the crawl reads of a page. Some
files store bodies as they were received, others decoded. So chunks are joined only if the body consists of chunks, and
it is decompressed only if it begins like compressed data (`fetch/coding.py`).
"""

import re
from collections.abc import Iterator
from pathlib import Path

from centime.crawl.imports.finding import FAILED, Finding, Headers, Item, Place, Reading, Refused, Trouble, moment_of
from centime.crawl.imports.warc_records import WarcRecord, WarcRecords
from centime.crawl.imports.wat import finding_of_metadata, is_of_response
from centime.fetch.answer import decode_headers
from centime.fetch.coding import BrokenCoding, decoder_for

_STATUS = re.compile(rb"HTTP/\S+[ \t]+(\d{3})")
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_CHUNK = re.compile(rb"([0-9a-fA-F]{1,8})[^\r\n]{0,256}\r\n")
_KINDS = frozenset((b"response", b"revisit", b"resource"))


class WarcSource:
    """The visits of a WARC or WAT file."""

    format = "warc"

    def __init__(self, path: Path, reading: Reading) -> None:
        self.name = str(path)
        self._path = path
        self._reading = reading
        self.size = path.stat().st_size
        self._records: WarcRecords | None = None

    def items(self, position: int) -> Iterator[tuple[int, Item]]:
        """The visits behind a position."""
        with self._path.open("rb", buffering=0) as file:
            self._records = WarcRecords(file, self.size)
            yield from findings_of(self._records, position, self._reading, str(self._path.absolute()))

    def place(self) -> int:
        """How far the file was read."""
        return 0 if self._records is None else self._records.at


def findings_of(records: WarcRecords, position: int, reading: Reading, name: str) -> Iterator[tuple[int, Item]]:
    """The visits that records behind a position are; `name` is that of their file."""
    for end, record in records.read(position):
        if isinstance(record, Trouble):
            yield end, record
        else:
            item = finding_of(record, reading)
            if isinstance(item, Finding) and item.body is not None:
                item = item._replace(place=Place(name, record.at))
            yield end, item


def finding_of(record: WarcRecord, reading: Reading) -> Item:
    """The visit that a record is."""
    is_wat = b"application/json" in record.head and b"metadata" in record.head
    if is_wat and not is_of_response(record.content):
        return None
    fields = _fields(record.head)
    kind, most_bytes = fields.get(b"warc-type", b"").lower(), reading.most_bytes
    if kind not in _KINDS and not is_wat:
        return None
    try:
        url = fields.get(b"warc-target-uri", b"").strip(b"<>").decode()
    except UnicodeDecodeError:
        return Trouble(f"a URL is not UTF-8: {fields[b'warc-target-uri'][:100]!r}")
    if not url.startswith(("http://", "https://")):
        return None
    if reason := reading.refusal(url):
        return Refused(reason)
    if is_wat:
        return finding_of_metadata(record.content)
    time = moment_of(fields.get(b"warc-date", b"").decode("ascii", "replace"))
    if not time:
        return Trouble(f"{url[:200]}: its record has no date")
    truncated = b"warc-truncated" in fields
    if kind == b"resource":
        kinds = fields.get(b"content-type", b"").decode("latin-1")
        body = record.content[:most_bytes]
        return Finding(url, time, 200, (("content-type", kinds),), body, truncated or len(record.content) > most_bytes)
    status = _STATUS.match(record.content)
    if status is None:
        return FAILED if kind == b"response" else _revisit(fields, url, time, 304, ())
    end = _HEAD_END.search(record.content)
    head = record.content if end is None else record.content[: end.start()]
    headers = _headers(head)
    if kind == b"revisit":
        return _revisit(fields, url, time, int(status[1]), headers)
    try:
        body, cut = _decoded(b"" if end is None else record.content[end.end() :], headers, most_bytes)
    except BrokenCoding as wrong:
        return Trouble(f"{url[:200]}: its record was skipped: {wrong}")
    return Finding(url, time, int(status[1]), headers, body, truncated or cut)


def _revisit(fields: dict[bytes, bytes], url: str, time: float, status: int, headers: Headers) -> Finding | None:
    """A visit that found the body of another record; None if that record is of another URL."""
    other = fields.get(b"warc-refers-to-target-uri", b"").strip(b"<>").decode(errors="replace")
    if other and other != url:
        return None
    date = fields.get(b"warc-refers-to-date", b"").decode("ascii", "replace")
    return Finding(url, time, status, headers, revisits=moment_of(date) if date else 0.0)


def _fields(head: bytes) -> dict[bytes, bytes]:
    """The headers of a record by their names in lower case."""
    found = {}
    for line in head.split(b"\n")[1:]:
        name, _, value = line.partition(b":")
        found[name.lower()] = value.strip()
    return found


def _headers(head: bytes) -> Headers:
    """The headers of an HTTP response."""
    parts = (line.partition(b":") for line in head.split(b"\n")[1:])
    return decode_headers((name.strip(), value.strip()) for name, colon, value in parts if colon)


def _decoded(body: bytes, headers: Headers, most_bytes: int) -> tuple[bytes, bool]:
    """The body without chunks and compression, and whether it was cut."""
    codings = ",".join(value for name, value in headers if name == "transfer-encoding").lower()
    if "chunked" in codings:
        body = _without_chunks(body)
    packed = ",".join(value for name, value in headers if name == "content-encoding")
    decoder = decoder_for(packed) if packed else None
    if decoder is None:
        return body[:most_bytes], len(body) > most_bytes
    pieces: list[bytes] = []
    size = 0
    for piece in decoder.pieces(body) if body else ():
        pieces.append(piece)
        size += len(piece)
        if size > most_bytes:
            return b"".join(pieces)[:most_bytes], True
    decoder.finish()
    return b"".join(pieces), False


def _without_chunks(body: bytes) -> bytes:
    """The body without its chunk heads; the bytes unchanged if they are not chunked."""
    at = 0
    pieces: list[bytes] = []
    while found := _CHUNK.match(body, at):
        size = int(found[1], 16)
        if not size:
            return b"".join(pieces)
        pieces.append(body[found.end() : found.end() + size])
        at = found.end() + size + 2
    return b"".join(pieces) if pieces else body
