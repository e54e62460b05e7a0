"""Captures: the index of archived responses, one CDXJ line each, with the fields and in the order of pywb's indexer.

    com,example)/ 20260102030405 {"url": ..., "mime": ..., "status": ..., "digest": ..., "length": ..., "offset": ...,
                                  "filename": ...}                                              (on one line)

While a WARC file is open, its lines are appended to NAME.cdxj.open. When it is closed, they are sorted by bytes (as
`LC_ALL=C sort` does) into NAME.cdxj, where a binary search finds a key. A revisit has the mime `warc/revisit` and no
status; its body is in another capture with the same key and digest. A response with a 2xx status has a document. A
redirect or an error has none: its capture serves the replay of the archive, and is not a body of the page.
"""

import base64
import hashlib
import json
import mmap
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from centime.files.disk import naming, read_file
from centime.files.listing import list_files, not_a_file
from centime.model.errors import DamagedFile
from centime.store.archives.url_key import url_key
from centime.store.archives.warc import date_in, facts_of, header_of, payload_of, record_of

REVISIT = "warc/revisit"
OPEN = ".cdxj.open"
CLOSED = "[!.]*.cdxj"

_MEDIA_TYPE = re.compile("[!-~]{1,255}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """One archived response, or one visit that found the same body again."""

    url: str
    timestamp: str  # YYYYMMDDhhmmss, UTC
    mime: str
    digest: str  # SHA-1 in base 32
    offset: int
    length: int
    filename: str
    status: int = 0  # 0 for a revisit

    @property
    def revisit(self) -> bool:
        """Whether the body is in another capture."""
        return self.mime == REVISIT

    @property
    def document(self) -> bool:
        """Whether this capture has the body of a page."""
        return not self.revisit and 200 <= self.status < 300

    @property
    def elsewhere(self) -> bool:
        """Whether the body is in a file outside the archive (`crawl/imports/elsewhere.py`)."""
        return self.filename.startswith("/")

    def line(self) -> bytes:
        """The line of this capture in the index."""
        said = {"url": self.url, "mime": self.mime, "status": str(self.status), "digest": self.digest}
        place = {"length": str(self.length), "offset": str(self.offset), "filename": self.filename}
        if self.revisit:
            del said["status"]
        return f"{url_key(self.url)} {self.timestamp} {json.dumps(said | place)}\n".encode()


def mime_of(content_type: str) -> str:
    """The content type that the server declares; `unk` if it is missing or invalid, or if it would look like a
    revisit."""
    said = re.split("[; ]", content_type, maxsplit=1)[0]
    return said if _MEDIA_TYPE.fullmatch(said) and said != REVISIT else "unk"


def recorded(data: bytes, filename: str, offset: int) -> tuple[str, Capture | None] | None:
    """The type of the record in these bytes of a file, and its capture if it is a response or a revisit; None if they
    are not a whole record.
    """
    record = record_of(data)
    if record is None:
        return None
    fields, content = record
    said = facts_of(b"\r\n".join([b"", *(f"{name}: {value}".encode() for name, value in fields.items())]) + b"\r\n\r\n")
    if said.type not in ("response", "revisit"):
        return said.type, None
    revisit = said.type == "revisit"
    body = payload_of(data)
    digest = fields.get("warc-payload-digest", "").removeprefix("sha1:")
    if body is None or not (revisit or base64.b32encode(hashlib.sha1(body).digest()).decode() == digest):
        return None
    return said.type, Capture(
        url=said.url,
        timestamp=said.timestamp,
        mime=REVISIT if revisit else mime_of(header_of(content, "content-type")),
        status=0 if revisit else facts_of(b"\r\n\r\n" + content[:64]).status,
        digest=digest,
        offset=offset,
        length=len(data),
        filename=filename,
    )


def capture_of(line: bytes) -> Capture:
    """The capture of a line of an index; ValueError or KeyError if the line is not valid."""
    _, timestamp, said = line.decode().split(" ", 2)
    facts = json.loads(said)
    if not isinstance(facts, dict) or not all(isinstance(value, str) for value in facts.values()):
        raise ValueError("a capture is described by words")
    return Capture(
        url=facts["url"],
        timestamp=timestamp,
        mime=facts["mime"],
        status=int(facts.get("status", 0)),
        digest=facts["digest"],
        offset=int(facts["offset"]),
        length=int(facts["length"]),
        filename=facts["filename"],
    )


def find_bodies(folder: Path, url: str, with_open: bool = True) -> list[Capture]:
    """The captures of a URL that have a body or revisit one, oldest first. Open files need a full scan; `with_open`
    includes them.
    """
    captures = _same_key(folder, url, with_open)
    return [capture for capture in captures if capture.url == url and (capture.document or capture.revisit)]


def find_original(folder: Path, url: str, digest: str, with_open: bool = True) -> Capture | None:
    """The newest capture with a document of this digest under this URL; None if there is none. Open files need a full
    scan; `with_open` includes them.
    """
    captures = _same_key(folder, url, with_open)
    fitting = [capture for capture in captures if capture.url == url and capture.digest == digest and capture.document]
    return fitting[-1] if fitting else None


def every_capture(folder: Path) -> Iterator[Capture]:
    """All captures of an archive, file by file, each file in the order of its index."""
    for path in sorted([*list_files(folder, CLOSED), *list_files(folder, "*" + OPEN)]):
        try:
            with naming(path), path.open("rb") as file:
                yield from (_known(path, line) for line in file if line.endswith(b"\n"))
        except FileNotFoundError:  # it has just been closed
            with path.with_suffix("").open("rb") as file:
                yield from (_known(path, line) for line in file)


def read_body(folder: Path, capture: Capture) -> bytes:
    """The body of a capture, or of the capture that it revisits; DamagedFile if it is missing or damaged."""
    return _read(folder, capture)[1]


def read_typed(folder: Path, capture: Capture) -> tuple[bytes, str]:
    """The same, and the Content-Type that came with it, with its charset."""
    data, body = _read(folder, capture)
    record = record_of(data)
    return body, header_of(record[1], "content-type") if record is not None else ""


def _read(folder: Path, capture: Capture) -> tuple[bytes, bytes]:
    """The record with the body of a capture, and the body."""
    if capture.revisit:
        original = find_original(folder, capture.url, capture.digest)
        if original is None:
            raise DamagedFile(f"{folder}: the body that {capture.url} had at {capture.timestamp} is not in the archive")
        capture = original
    path = folder / capture.filename
    if not path.is_file():
        raise DamagedFile(not_a_file(path) or f"{path}: is missing")
    with naming(path), path.open("rb") as file:
        file.seek(capture.offset)
        data = file.read(capture.length)
    body = payload_of(data)
    if body is None or base64.b32encode(hashlib.sha1(body).digest()).decode() != capture.digest:
        raise DamagedFile(f"{path}: the record at byte {capture.offset} is damaged")
    return data, body


def date_of(folder: Path, capture: Capture) -> str:
    """The WARC-Date of a capture, which is more precise than its timestamp; empty if the record cannot be read."""
    try:
        with (folder / capture.filename).open("rb") as file:
            file.seek(capture.offset)
            return date_in(file)
    except OSError:
        return ""


def _same_key(folder: Path, url: str, with_open: bool) -> list[Capture]:
    key = url_key(url).encode() + b" "
    lines: set[bytes] = set()
    for path in list_files(folder, CLOSED):
        lines.update(_bisect(path, key))
    # Open indexes come after the sorted ones: one that is closed meanwhile is seen twice, but never missed.
    for path in list_files(folder, "*" + OPEN) if with_open else ():
        try:
            lines.update(
                line
                for line in read_file(path).splitlines(keepends=True)
                if line.startswith(key) and line.endswith(b"\n")
            )
        except FileNotFoundError:
            lines.update(_bisect(path.with_suffix(""), key))
    return sorted(
        (_known(folder, line) for line in lines),
        key=lambda capture: (capture.timestamp, capture.filename, capture.offset),
    )


def _known(place: Path, line: bytes) -> Capture:
    try:
        return capture_of(line)
    except (ValueError, KeyError) as trouble:
        raise DamagedFile(f"{place}: a line of an index is damaged; centime check says which") from trouble


def _bisect(path: Path, key: bytes) -> Iterator[bytes]:
    """The lines of a sorted file that begin with a key, by binary search."""
    if path.stat().st_size == 0:
        return
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        whole = text.rfind(b"\n") + 1  # a torn last line does not count: otherwise the search would never end
        low, high = 0, whole  # the first match begins between these, which are starts of lines
        while low < high:
            middle = text.rfind(b"\n", low, (low + high) // 2) + 1 or low
            end = text.find(b"\n", middle) + 1
            if text[middle:end] < key:
                low = end
            else:
                high = middle
        while low < whole:
            end = text.find(b"\n", low) + 1
            line = text[low:end]
            if not line.startswith(key):
                return
            yield line
            low = end
