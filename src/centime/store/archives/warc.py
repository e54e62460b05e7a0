"""WARC 1.1 records as bytes, each a gzip member.

The payload is the decoded body. Content-Encoding, Transfer-Encoding and the original Content-Length are renamed
(X-Archive-Orig-...), so that no reader decodes twice. The record of a redirect or an error whose body the fetcher did
not read is marked as truncated. A revisit has the profile identical-payload-digest or, after a 304,
server-not-modified.

Every record that this module writes, it can read. The head of an HTTP response may be as long as the fetcher accepts,
and the reader has no limit of its own (fastwarc reads no head of more than some 31 KiB, so it only writes). Line ends
within a head become single ones: so the first empty line of a record is always the end of its head. The
head of the record itself, with its URL, has at most HEAD_BYTES.
"""

import io
import re
import warnings
import zlib
from datetime import UTC, datetime
from http import HTTPStatus
from typing import BinaryIO, NamedTuple

from centime.model.errors import BadInput
from centime.model.outcome import Outcome
from centime.model.response import Response

with warnings.catch_warnings():
    # On import, fastwarc warns about old classes of its own, which are not used here.
    warnings.simplefilter("ignore", DeprecationWarning)
    from fastwarc.stream_io import FastWARCError, GzipWriter
    from fastwarc.warc import ArchiveIterator, WarcRecord, WarcRecordType

LEVEL = 1
HEAD_BYTES = 16_384  # of a record: its own headers and its status line are within these
LONGEST_URL = 4_096  # a record may name its URL twice
PROFILE = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"

_END = b"\r\n\r\n"
_LINE_ENDS = re.compile(rb"[\r\n]+")
_LENGTH = re.compile("[0-9]{1,18}")
_NOT_DIGITS = re.compile(r"\D")
_STATUS = re.compile(rb"HTTP/\S+ (\d{3})")
_OF_THE_WIRE = re.compile(
    rb"^(content-encoding|transfer-encoding|content-length)[ \t]*(?=:)", re.IGNORECASE | re.MULTILINE
)


def warcinfo(filename: str, software: str) -> tuple[bytes, str]:
    """The first record of a file, and its identifier, to which the others refer."""
    record = WarcRecord()
    record.init_headers(WarcRecordType.warcinfo)
    record.headers["WARC-Filename"] = filename
    record.headers["Content-Type"] = "application/warc-fields"
    record.set_bytes_content(f"software: {software}\r\nformat: WARC File Format 1.1\r\nrobots: obey\r\n".encode())
    return _member(record), record.headers["WARC-Record-ID"]


def request(response: Response, warcinfo: str, identity: str) -> bytes:
    """The request record of a response whose record has this identity."""
    record = _start(response, WarcRecordType.request, warcinfo)
    record.headers["WARC-Concurrent-To"] = identity
    record.headers["Content-Type"] = "application/http; msgtype=request"
    record.set_bytes_content(response.request_head)
    return _member(record)


def answer(response: Response, warcinfo: str, identity: str, digest: bytes, original: str) -> bytes:
    """The response record, or a revisit record if the record with the WARC-Date `original` has the body."""
    record = _start(response, WarcRecordType.revisit if original else WarcRecordType.response, warcinfo)
    record.headers["WARC-Record-ID"] = identity
    record.headers["Content-Type"] = "application/http; msgtype=response"
    if response.truncated:
        record.headers["WARC-Truncated"] = "length"
    elif not original and _left_out(response):
        record.headers["WARC-Truncated"] = "unspecified"
    if original:
        record.headers["WARC-Profile"] = NOT_MODIFIED if response.status == HTTPStatus.NOT_MODIFIED else PROFILE
        record.headers["WARC-Refers-To-Target-URI"] = response.url
        record.headers["WARC-Refers-To-Date"] = original
    record.set_bytes_content(_head(response) + (b"" if original else response.body))
    return _member(record, digest)


def payload_of(data: bytes) -> bytes | None:
    """The HTTP payload of the record in these bytes; None if they are not a complete record of a response."""
    record = record_of(data)
    http, end, payload = (b"", b"", b"") if record is None else record[1].partition(_END)
    return payload if end and http.startswith(b"HTTP/") else None


def record_of(data: bytes) -> tuple[dict[str, str], bytes] | None:
    """The headers, by their names in lower case, and the content of the record in these bytes; None if they are not a
    complete record.
    """
    member = zlib.decompressobj(31)
    try:
        text = member.decompress(data)
    except zlib.error:
        return None
    head, _, content = text.partition(_END)
    fields = _fields(head)
    length = fields.get("content-length", "")
    if not member.eof or not head.startswith(b"WARC/") or not _LENGTH.fullmatch(length):
        return None
    return (fields, content[: int(length)]) if content[int(length) :] == _END else None


def header_of(content: bytes, name: str) -> str:
    """A header of the HTTP response in the content of a record; empty if it is missing."""
    return _fields(content.partition(_END)[0]).get(name, "")


class RecordFacts(NamedTuple):
    """The facts in the first HEAD_BYTES of a record."""

    type: str
    url: str
    timestamp: str  # YYYYMMDDhhmmss, UTC
    status: int  # of an HTTP response, otherwise 0


def facts_of(begin: bytes) -> RecordFacts:
    """The facts in the first HEAD_BYTES of a record; empty ones if they are not there."""
    head, _, content = begin.partition(_END)
    fields = _fields(head)
    status = _STATUS.match(content)
    timestamp = _NOT_DIGITS.sub("", fields.get("warc-date", ""))[:14]
    return RecordFacts(
        fields.get("warc-type", ""), fields.get("warc-target-uri", ""), timestamp, int(status[1]) if status else 0
    )


def date_in(file: BinaryIO) -> str:
    """The WARC-Date of the record at the file's position, empty if there is none; reads only the record's head."""
    try:
        for record in ArchiveIterator(file, parse_http=False):
            return record.headers.get("WARC-Date") or ""
    except (FastWARCError, OSError, ValueError):
        pass
    return ""


def moment_of(response: Response) -> datetime:
    """The time of the request."""
    return datetime.fromtimestamp(response.asked_at, UTC)


def warc_date(response: Response) -> str:
    """The same as a WARC-Date."""
    return moment_of(response).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _start(response: Response, kind: WarcRecordType, warcinfo: str) -> WarcRecord:
    """A record of this kind with the headers that all records have."""
    if len(response.url) > LONGEST_URL:
        raise BadInput(f"the archive keeps no URL of more than {LONGEST_URL} characters: {response.url[:100]}...")
    record = WarcRecord()
    record.init_headers(kind)
    record.headers["WARC-Target-URI"] = response.url
    record.headers["WARC-Date"] = warc_date(response)
    record.headers["WARC-Warcinfo-ID"] = warcinfo
    if response.address:
        record.headers["WARC-IP-Address"] = response.address
    return record


def _left_out(response: Response) -> bool:
    """Whether the server announced a body that the fetcher skipped, because it is that of a redirect or an error."""
    if response.outcome is Outcome.READ or response.body or response.status == HTTPStatus.NOT_MODIFIED:
        return False
    return bool(response.header("transfer-encoding")) or response.header("content-length").strip("0") != ""


def _member(record: WarcRecord, payload_digest: bytes | None = None) -> bytes:
    out = io.BytesIO()
    writer = GzipWriter(out, LEVEL)
    record.write(writer, checksum_data=True, payload_digest=payload_digest)
    writer.finish()  # one gzip member per record, so that readers can seek to it
    return out.getvalue()


def _head(response: Response) -> bytes:
    """The head of the response as received, with the headers about the body's encoding renamed."""
    head = response.response_head
    if not head:
        phrase = HTTPStatus(response.status).phrase if response.status in set(HTTPStatus) else ""
        lines = [f"HTTP/1.1 {response.status} {phrase}", *(f"{name}: {value}" for name, value in response.headers)]
        head = "\r\n".join(lines).encode("latin-1", errors="replace")
    head = _LINE_ENDS.sub(b"\r\n", head.rstrip(b"\r\n"))
    return _OF_THE_WIRE.sub(rb"X-Archive-Orig-\1", head) + f"\r\nContent-Length: {len(response.body)}\r\n\r\n".encode()


def _fields(head: bytes) -> dict[str, str]:
    """The headers of a record by their names in lower case; the first of repeated ones."""
    lines = head.decode(errors="replace").split("\r\n")[:0:-1]
    return {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
