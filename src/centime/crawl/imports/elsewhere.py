"""Bodies that stay where they are: an index of them in the crawl's folder, and how they are read from their files.

    imported/NAME.cdxj    lines as those of `store/archives/captures.py`, but `filename` is the absolute path of the
                          file, `length` the number of bytes of the decoded body, and `digest` its SHA-1
    FILE.warc[.gz]        a record at `offset`: that of the URL and the time of the line
    FILE.wacz/NAME        the same, of a WARC file in a zip file
    any other FILE        the body itself, as in a mirror

The lines of a frame are written before the frame, so no visit lacks its line. A line is added to `NAME.cdxj.open`, and
lines are sorted when the import ends, or when the next one ends after a crash.

A body counts only if it has the digest that the index says, so a replaced file is never mistaken for the original, and
a foreign index cannot reveal a file whose content its author did not know.
"""

import base64
import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from centime.crawl.imports.archived import finding_of
from centime.crawl.imports.finding import Finding, Reading
from centime.crawl.imports.warc_records import WarcRecord, WarcRecords
from centime.crawl.imports.zip_entries import DAMAGE, ZipEntries
from centime.files.disk import create_file, make_folder, naming, room_for
from centime.files.listing import list_files
from centime.files.replacement import replace_file
from centime.model.errors import FileGone
from centime.store.archives.captures import OPEN, Capture, mime_of
from centime.store.versions.stored import timestamp_of

WARC_ENDINGS = (".warc", ".warc.gz", ".warc.zst")
MOST_BYTES = 1 << 31


def reference(url: str, finding: Finding) -> bytes:
    """The line of the index for the body of a finding; empty if that body is not in a file."""
    if finding.body is None or finding.place is None:
        return b""
    types = (value for name, value in finding.headers if name == "content-type")
    return Capture(
        url=url,
        timestamp=timestamp_of(finding.time),
        mime=mime_of(next(types, "")),
        digest=_digest(finding.body),
        offset=finding.place.at,
        length=len(finding.body),
        filename=finding.place.file,
        status=finding.status,
    ).line()


class References:
    """The index that an import writes."""

    def __init__(self, folder: Path, name: str) -> None:
        self._path = folder / f"{name}{OPEN}"
        self._handle = -1

    def add(self, lines: Sequence[bytes]) -> None:
        """Appends lines."""
        text = b"".join(lines)
        if not text:
            return
        with room_for(self._path), naming(self._path):
            if self._handle < 0:
                make_folder(self._path.parent)
                self._handle = create_file(self._path, os.O_WRONLY | os.O_APPEND)
            while text:
                text = text[os.write(self._handle, text) :]

    def sync(self) -> None:
        """Waits until all lines are on disk."""
        if self._handle >= 0:
            os.fsync(self._handle)

    def close(self) -> None:
        """Sorts the lines, also those of imports that were killed."""
        if self._handle >= 0:
            os.close(self._handle)
        self._handle = -1
        for path in list_files(self._path.parent, f"*{OPEN}"):
            lines = {line for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")}
            replace_file(path.with_suffix(""), b"".join(sorted(lines)))
            path.unlink()


def read_elsewhere(capture: Capture) -> tuple[bytes, str]:
    """The body of a capture whose file is not in the crawl's folder, and its Content-Type; FileGone if the file is
    gone, or has another body there now.
    """
    path = Path(capture.filename)
    with _opened(path, capture.url) as (file, size):
        if not path.name.lower().endswith(WARC_ENDINGS):
            body = file.read(capture.length)
            content_type = "" if capture.mime == "unk" else capture.mime
        else:
            body, content_type = _of_record(file, size, capture)
    if _digest(body[: capture.length]) != capture.digest:
        raise FileGone(
            f"{path}: the body of {capture.url} that was imported from byte {capture.offset} of this file is"
            f" missing: the file was replaced or damaged"
        )
    return body[: capture.length], content_type


def is_there(path: Path) -> bool:
    """Whether the file of a capture, or the zip file that it is in, is there."""
    return path.is_file() or _collection(path) is not None


def _collection(path: Path) -> Path | None:
    """The zip file that a file is in."""
    return next((one for one in path.parents if one.suffix.lower() == ".wacz" and one.is_file()), None)


def _of_record(file: BinaryIO, size: int, capture: Capture) -> tuple[bytes, str]:
    """The body and the Content-Type of the record at the place of a capture, or behind it in the same gzip member."""
    for _, record in WarcRecords(file, size).read(capture.offset):
        if not isinstance(record, WarcRecord) or record.at != capture.offset:
            break
        found = finding_of(record, Reading(MOST_BYTES))
        if isinstance(found, Finding) and found.body is not None and timestamp_of(found.time) == capture.timestamp:
            body = found.body[: capture.length]
            if _digest(body) == capture.digest:
                return body, next((value for name, value in found.headers if name == "content-type"), "")
    return b"", ""


@contextmanager
def _opened(path: Path, url: str) -> Iterator[tuple[BinaryIO, int]]:
    """The file, which may be in a zip file, and its size."""
    outer = _collection(path)
    try:
        if outer is None:
            with path.open("rb") as file:
                yield file, os.fstat(file.fileno()).st_size
        else:
            entries = ZipEntries(outer)
            entry = entries.named(str(path.relative_to(outer)))
            with entries.open(entry) as inside:
                yield cast("BinaryIO", inside), entry.file_size
    except (KeyError, *DAMAGE) as wrong:
        raise FileGone(
            f"{path}: this file, in which the body of {url} was left when it was imported, cannot be read: "
            f"{getattr(wrong, 'strerror', None) or wrong}. Put it back where it was; centime import --keep versions "
            "stores bodies in the crawl"
        ) from wrong


def _digest(body: bytes) -> str:
    return base64.b32encode(hashlib.sha1(body).digest()).decode()
