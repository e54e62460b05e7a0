"""The archive of bodies: standard WARC 1.1 files; each fetcher writes one at a time.

    bodies/centime-NAME-00001.warc.gz   one gzip member per record: a warcinfo, then for every response a request and a
                                        response or revisit
    bodies/centime-NAME-00001.cdxj      the index of captures, see captures.py

If the archive has the same body under the same URL already, the new record is a revisit. With `keep="all"`, the archive
also keeps responses without a document (redirects, errors with their bodies, robots.txt), so that a replay can follow
them. These are never revisited. A page that asks not to be archived (noarchive) is not, unless the crawl ignores that;
the caller evaluates this request.

Request and response are written at once, and their line in the index follows: every capture in the index exists. A file
is complete when its process ends, and nothing is appended later. A killed process leaves its index open, and
`complete_open_files` truncates the file after its last complete record in the index.
"""

import base64
import hashlib
import os
import uuid
from pathlib import Path
from typing import NamedTuple

from xxhash import xxh3_64_intdigest

from centime.files.disk import create_file, make_folder, read_file, sync_folder, write_whole
from centime.files.listing import list_folder
from centime.files.presence import must_lead_to, write_back
from centime.files.replacement import replace_file
from centime.model.document import Document
from centime.model.errors import BadSetting, DamagedFile, FileGone
from centime.model.outcome import PageKind
from centime.model.response import Response
from centime.store.archives.captures import (
    OPEN,
    REVISIT,
    Capture,
    capture_of,
    date_of,
    find_bodies,
    find_original,
    mime_of,
)
from centime.store.archives.warc import LONGEST_URL, answer, moment_of, payload_of, request, warc_date, warcinfo
from centime.store.places import misplaced_bodies

LARGEST_FILE = 1 << 30
KEEP = {"all": frozenset(PageKind), "xml": frozenset({PageKind.XML, PageKind.DTD})}


class Archive:
    """Writes bodies to files with a name that no other process uses; `keep` is `all` or `xml`."""

    def __init__(
        self,
        folder: Path | str,
        name: str,
        keep: str = "all",
        software: str = "centime",
        *,
        obeys_noarchive: bool = True,
    ) -> None:
        if keep not in KEEP:
            raise BadSetting(f"the archive keeps {' or '.join(sorted(KEEP))}, not {keep!r}")
        self.folder = Path(folder)
        self.name = name
        self.kinds = KEEP[keep]
        self.software = software
        self.obeys_noarchive = obeys_noarchive
        self._number = 0
        self._handle = -1
        self._index = -1
        self._size = self._index_size = 0
        self._warcinfo = ""
        self._path = self.folder
        # Both are about the current file, whose index cannot be searched yet. Keys are hashes.
        self._last: dict[int, tuple[str, str]] = {}  # URL: digest and WARC-Date of its last document
        self._written: dict[int, str] = {}  # digest and URL: WARC-Date

    def holds(self, url: str, digest: bytes) -> bool:
        """Whether any body of a page was kept; True if only pages of some kind are kept."""
        known = self.kinds != KEEP["all"] or xxh3_64_intdigest(url.encode()) in self._last
        return known or bool(find_bodies(self.folder, url, with_open=False))

    def keep(self, response: Response, document: Document, unchanged: bool = False) -> Capture | None:
        """Writes one body; returns its capture, or None if bodies of its kind are not kept. NoRoom leaves the archive
        unchanged.
        """
        if document.kind not in self.kinds:
            return None
        digest = hashlib.sha1(response.body).digest()
        named = base64.b32encode(digest).decode()
        return self._keep(response, named, digest, self._original(response.url, named) if unchanged else "")

    def verified(self, response: Response) -> Capture | None:
        """Records that the server reported the last kept body as unchanged (304); None if no body was kept."""
        known = self._last.get(xxh3_64_intdigest(response.url.encode()))
        if known is None:
            captures = [one for one in find_bodies(self.folder, response.url, with_open=False) if not one.revisit]
            known = (captures[-1].digest, date_of(self.folder, captures[-1])) if captures else ("", "")
        digest, original = known
        return self._keep(response, digest, base64.b32decode(digest), original) if original else None

    def answered(self, response: Response) -> Capture | None:
        """Writes a response that is not the document of a page: a redirect, an error, a robots.txt; None if those are
        not kept, or if there was no response. A response of status 2xx that could not be read is not written: readers
        would take it for a document.
        """
        if PageKind.ERROR not in self.kinds or not response.status or len(response.url) > LONGEST_URL:
            return None
        if 200 <= response.status < 300 and not response.outcome.present:
            return None
        digest = hashlib.sha1(response.body).digest()
        return self._keep(response, base64.b32encode(digest).decode(), digest, "")

    def _keep(self, response: Response, named: str, digest: bytes, original: str) -> Capture:
        """Writes one response; as a revisit if the record with the WARC-Date `original` has its body."""
        if self._handle < 0 or self._size >= LARGEST_FILE:
            self._next_file()
        identity = f"<urn:uuid:{uuid.uuid4()}>"
        asked = request(response, self._warcinfo, identity) if response.request_head else b""
        member = answer(response, self._warcinfo, identity, digest, original)
        capture = Capture(
            url=response.url,
            timestamp=moment_of(response).strftime("%Y%m%d%H%M%S"),
            mime=REVISIT if original else mime_of(response.header("content-type")),
            status=0 if original else response.status,
            digest=named,
            offset=self._size + len(asked),
            length=len(member),
            filename=self._path.name,
        )
        self._write(asked + member, capture.line())
        if capture.document:
            date = warc_date(response)
            self._written[xxh3_64_intdigest(f"{named} {capture.url}".encode())] = date
            self._last[xxh3_64_intdigest(capture.url.encode())] = named, date
        return capture

    def flush(self) -> None:
        """Does nothing: every record is written at once."""

    def write_back(self) -> str:
        """Writes the current file and its index again if they were deleted or replaced; returns what was wrong, or
        "".
        """
        if self._handle < 0:
            return ""
        wrong, index = "", _index_of(self._path)
        try:
            must_lead_to(index, self._index)
        except FileGone as gone:
            wrong, self._index = str(gone), write_back(index, self._index, self._index_size)
        try:
            must_lead_to(self._path, self._handle)
        except FileGone as gone:
            wrong, self._handle = str(gone), write_back(self._path, self._handle, self._size)
        return wrong

    def close(self) -> None:
        """Completes the current file: sorts its index and gives it its final name."""
        if self._handle >= 0:
            self.write_back()
            os.fsync(self._handle)
            os.close(self._handle)
            os.close(self._index)
            self._handle = self._index = -1
            _sort_index(_index_of(self._path))

    def _original(self, url: str, digest: str) -> str:
        """The WARC-Date of this body under this URL; empty if it is not in the current file or a closed one, and then
        the body is kept again.
        """
        date = self._written.get(xxh3_64_intdigest(f"{digest} {url}".encode()))
        if date is None:
            capture = find_original(self.folder, url, digest, with_open=False)
            date = date_of(self.folder, capture) if capture else ""
        return date

    def _next_file(self) -> None:
        self.close()
        self._written = {}
        self._last = {}
        make_folder(self.folder)
        while True:
            self._number += 1
            self._path = self.folder / f"centime-{self.name}-{self._number:05}.warc.gz"
            try:
                handle = create_file(self._path, os.O_RDWR | os.O_EXCL)
                break
            except FileExistsError:
                continue
        try:
            self._index = create_file(_index_of(self._path), os.O_RDWR | os.O_TRUNC)
        except BaseException:
            os.close(handle)
            self._path.unlink()
            raise
        self._handle = handle
        self._size = self._index_size = 0
        member, self._warcinfo = warcinfo(self._path.name, self.software)
        self._write(member, b"")

    def _write(self, records: bytes, line: bytes) -> None:
        try:
            write_whole(self._handle, records, self._size, self._path)
            write_whole(self._index, line, self._index_size, _index_of(self._path))
        except BaseException:
            os.ftruncate(self._handle, self._size)
            os.ftruncate(self._index, self._index_size)
            raise
        self._size, self._index_size = self._size + len(records), self._index_size + len(line)


class Completed(NamedTuple):
    """A file that a killed process had left open, completed."""

    path: Path
    captures: int
    lost: int  # captures that its index names and that are missing
    cut: int  # bytes

    @property
    def loss(self) -> str:
        """A sentence about captures that are lost; empty if there are none."""
        return f"{self.path}: {self.lost} captures that its index names are not there" if self.lost else ""


def complete_open_files(folder: Path) -> list[Completed]:
    """Completes the files that killed processes left open, truncated after the last complete record. No process may be
    writing. DamagedFile if a folder or the like is in place of a file.
    """
    completed = []
    if strange := misplaced_bodies(folder):  # the fetchers would meet it later
        raise DamagedFile(next(iter(strange.values())))
    for path in list_folder(folder, "*.warc.gz"):
        if not path.stat().st_size and not _index_of(path).exists():  # killed between the creation of file and index
            path.unlink()
    for index in list_folder(folder, "*" + OPEN):
        path = index.with_name(index.name.removesuffix(OPEN) + ".warc.gz")
        named = [line for line in read_file(index).splitlines(keepends=True) if line.endswith(b"\n")]
        whole = list(named)
        size = end = 0
        if path.is_file():
            with index.open("r+b") as lines, path.open("r+b") as records:
                size = os.fstat(records.fileno()).st_size
                while whole and not _is_there(records.fileno(), whole[-1]):
                    whole.pop()
                last = capture_of(whole[-1]) if whole else None
                end = last.offset + last.length if last else 0
                os.ftruncate(records.fileno(), end)
                os.fsync(records.fileno())
                os.ftruncate(lines.fileno(), sum(map(len, whole)))
        else:
            whole.clear()
        if end:
            _sort_index(index)
        else:
            path.unlink(missing_ok=True)
            index.unlink()
        completed.append(Completed(path, len(whole), len(named) - len(whole), size - end))
    return completed


def _is_there(handle: int, line: bytes) -> bool:
    try:
        capture = capture_of(line)
    except (ValueError, KeyError):
        return False
    data = os.pread(handle, capture.length, capture.offset)
    return len(data) == capture.length and payload_of(data) is not None


def _index_of(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(".warc.gz") + OPEN)


def _sort_index(index: Path) -> None:
    """Sorts an open index into its final file; readers find one or the other at any time."""
    replace_file(index.with_suffix(""), b"".join(sorted(index.read_bytes().splitlines(keepends=True))))
    index.unlink()
    sync_folder(index.parent)
