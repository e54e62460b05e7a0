"""The archive of bodies: WARC 1.1 files, one at a time for each fetcher, that other tools read.

    bodies/centime-NAME-00001.warc.gz   each record its own gzip member: warcinfo, then for every answer a request and a response or revisit
    bodies/centime-NAME-00001.cdxj      captures.py

The document of an answer that lies in the archive already under the same URL becomes a revisit record. Whoever keeps
everything keeps answers without a document too, redirects and errors, so that a replay finds its way through them;
nothing ever is a revisit of those.

Request and response are one write, the line of the index follows: what the index names is there. A file is never
written to again once its process has ended: a killed one leaves its index open, and `mend` cuts the file behind the
last record that is named and whole.
"""

import base64
import hashlib
import os
import re
import uuid
from pathlib import Path

from xxhash import xxh3_64_intdigest

from centime.files.disk import room_for, sync_folder, write_whole
from centime.files.replacement import replace_file
from centime.model.document import Document
from centime.model.errors import BadSetting
from centime.model.outcome import PageKind
from centime.model.response import Response
from centime.store.captures import OPEN, REVISIT, Capture, capture_of, date_of, find_bodies, find_original
from centime.store.warc import answer, moment_of, payload_of, request, warc_date, warcinfo

LARGEST_FILE = 1 << 30
KEEP = {"all": frozenset(PageKind), "xml": frozenset({PageKind.XML, PageKind.DTD})}


class Archive:
    """Keeps bodies under a name that no other process uses; `keep` is `all` or `xml`."""

    def __init__(self, folder: Path | str, name: str, keep: str = "all", software: str = "centime") -> None:
        if keep not in KEEP:
            raise BadSetting(f"bodies are kept of {' or '.join(sorted(KEEP))}, not of {keep!r}")
        self.folder = Path(folder)
        self.name = name
        self.kinds = KEEP[keep]
        self.software = software
        self._number = 0
        self._handle = -1
        self._index = -1
        self._size = self._index_size = 0
        self._warcinfo = ""
        self._path = self.folder
        self._last: dict[
            int, tuple[str, str]
        ] = {}  # of the file at hand: digest and WARC-Date of the last document of a URL
        self._written: dict[
            int, str
        ] = {}  # of the file at hand, whose index is not sorted yet: digest and URL, WARC-Date

    def keep(self, response: Response, document: Document, unchanged: bool = False) -> Capture | None:
        """Keeps one body; where it lies, None if bodies of its kind are not kept. NoRoom leaves the archive as it
        was.
        """
        if document.kind not in self.kinds:
            return None
        digest = hashlib.sha1(response.body).digest()
        named = base64.b32encode(digest).decode()
        return self._keep(response, named, digest, self._original(response.url, named) if unchanged else "")

    def verified(self, response: Response) -> Capture | None:
        """Notes that the server called the body that was kept last unchanged (304); nothing if none was kept."""
        known = self._last.get(xxh3_64_intdigest(response.url.encode()))
        if known is None:
            captures = [one for one in find_bodies(self.folder, response.url, with_open=False) if not one.revisit]
            known = (captures[-1].digest, date_of(self.folder, captures[-1])) if captures else ("", "")
        digest, original = known
        return self._keep(response, digest, base64.b32decode(digest), original) if original else None

    def answered(self, response: Response) -> Capture | None:
        """Keeps an answer without a document, such as a redirect or a 404; None if those are not kept, or if there
        was no answer.
        """
        if PageKind.ERROR not in self.kinds or not response.status:
            return None
        digest = hashlib.sha1(response.body).digest()
        return self._keep(response, base64.b32encode(digest).decode(), digest, "")

    def _keep(self, response: Response, named: str, digest: bytes, original: str) -> Capture:
        """Writes one answer; without its body if that was kept before, in the record of the WARC-Date `original`."""
        if self._handle < 0 or self._size >= LARGEST_FILE:
            self._next_file()
        identity = f"<urn:uuid:{uuid.uuid4()}>"
        asked = request(response, self._warcinfo, identity) if response.request_head else b""
        member = answer(response, self._warcinfo, identity, digest, original)
        capture = Capture(
            url=response.url,
            timestamp=moment_of(response).strftime("%Y%m%d%H%M%S"),
            mime=REVISIT if original else _mime(response),
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

    def close(self) -> None:
        """Ends the file at hand: its index is sorted and gets its name."""
        if self._handle >= 0:
            os.fsync(self._handle)
            os.close(self._handle)
            os.close(self._index)
            self._handle = self._index = -1
            _sort_index(_index_of(self._path))

    def _original(self, url: str, digest: str) -> str:
        """The WARC-Date of this body under this URL, as far as a quick look tells; nothing otherwise, and then it is
        kept again.
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
        self.folder.mkdir(parents=True, exist_ok=True)
        while True:
            self._number += 1
            self._path = self.folder / f"centime-{self.name}-{self._number:05}.warc.gz"
            try:
                with room_for(self._path):
                    handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
                break
            except FileExistsError:
                continue
        try:
            with room_for(_index_of(self._path)):
                self._index = os.open(_index_of(self._path), os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o666)
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


def mend(folder: Path) -> list[str]:
    """Ends the files that killed processes left open, cut behind the last whole record; a sentence for each. Nobody
    may be writing.
    """
    mended = []
    for path in folder.glob("*.warc.gz"):
        if not path.stat().st_size and not _index_of(path).exists():  # killed between the first two steps of a file
            path.unlink()
    for index in sorted(folder.glob("*" + OPEN)):
        path = index.with_name(index.name.removesuffix(OPEN) + ".warc.gz")
        with index.open("r+b") as lines, path.open("r+b") as records:
            size = os.fstat(records.fileno()).st_size
            whole = [line for line in lines.read().splitlines(keepends=True) if line.endswith(b"\n")]
            while whole and not _is_there(records.fileno(), whole[-1]):
                whole.pop()
            last = capture_of(whole[-1]) if whole else None
            end = last.offset + last.length if last else 0
            os.ftruncate(records.fileno(), end)
            os.fsync(records.fileno())
            os.ftruncate(lines.fileno(), sum(map(len, whole)))
        if end:
            _sort_index(index)
        else:
            path.unlink()
            index.unlink()
        mended.append(f"{path.name}: {len(whole)} captures, {size - end} bytes cut")
    return mended


def _is_there(handle: int, line: bytes) -> bool:
    try:
        capture = capture_of(line)
    except (ValueError, KeyError):
        return False
    data = os.pread(handle, capture.length, capture.offset)
    return len(data) == capture.length and payload_of(data) is not None


def _mime(response: Response) -> str:
    """What the server calls it, but for the word by which an index tells revisits."""
    said = re.split("[; ]", response.header("content-type"), maxsplit=1)[0]
    return said if said and said != REVISIT else "unk"


def _index_of(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(".warc.gz") + OPEN)


def _sort_index(index: Path) -> None:
    """Gives an open index its final form; readers find one or the other at any time."""
    replace_file(index.with_suffix(""), b"".join(sorted(index.read_bytes().splitlines(keepends=True))))
    index.unlink()
    sync_folder(index.parent)
