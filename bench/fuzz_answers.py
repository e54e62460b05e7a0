"""Targets of fuzzing for answers of servers: HTTP, content codings, headers."""

import gzip
import math
import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import brotli
from backports import zstd

from bench.fuzz_target import URL, Target, must
from centime.discover.moment import moment
from centime.fetch.answer import MOST_RETRY_SECONDS, decode_headers, outcome_of, retry_after, target_of
from centime.fetch.coding import PIECE, BrokenCoding, decoder_for
from centime.fetch.connection import Connection
from centime.fetch.directives import parse_directives
from centime.fetch.watch import Attempt
from centime.model.response import Response
from centime.parse.document import read_document
from centime.store.archives.warc import answer, payload_of

ANSWERS = [
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 5\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n3\r\nabc\r\n0\r\nX: y\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 301 Moved\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.0 503 Busy\nRetry-After: 120\nDate: Sat, 31 Jan 2026 12:00:00 GMT\nX-Robots-Tag: noindex\n\nsorry",
    b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n" + gzip.compress(b"hello" * 9, mtime=0),
    b"HTTP/1.1 304 Not Modified\r\nFolded: a\r\n b\r\nCache-Control: max-age=60\r\n\r\n",
]
FIELDS = (
    b"\r\n",
    b"Content-Length: 5\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"HTTP/1.1 ",
    b"\r\n0\r\n\r\n",
    b"ffffffff\r\n",
    b"Content-Encoding: br\r\n",
)
HEADERS = [
    b"Sat, 31 Jan 2026 12:00:00 GMT",
    b"Saturday, 31-Jan-26 12:00:00 GMT",
    b"Sat Jan 31 12:00:00 2026",
    b"2026-01-31T12:00:00.5+01:00",
    b"2026-W05-6",
    b"otherbot: noindex, nofollow, unavailable_after: 25 Jun 2026 15:00:00 PST",
    b'text/html; charset="iso-8859-1"',
    b'private, max-age="3600"',
    b"//b.example:80/x?y#z",
    b"86400",
]
MOST_DECODED = 1 << 20


def answer_targets() -> dict[str, Target]:
    """The targets by name."""
    return {
        "answer": Target(ANSWERS, _answer, FIELDS, 7),
        "coding": Target(_coded(), _coding, (b"gzip", b"br", b"zstd", b"deflate", b", ", b"\x1f\x8b"), 3),
        "headers": Target(HEADERS, read_headers, (b",", b":", b" GMT", b"-", b"none", b"charset="), 3),
    }


class _Transport:
    """A connection without a network."""

    def is_closing(self) -> bool:
        return False

    def abort(self) -> None:
        pass

    pause_reading = resume_reading = abort


def received(pieces: list[bytes]) -> Connection:
    """A connection that has received these bytes and was closed."""
    task: Any = None
    attempt = Attempt(task, 0.0, 1.0, 1.0, 1.0)
    connection = Connection(
        "http://a.example",
        "127.0.0.1",
        attempt,
        loop=task,
        clock=lambda: 1.7e9,
        most_head_bytes=1 << 16,
        forget=lambda lost: None,
    )
    connection.connection_made(_Transport())
    for piece in pieces:
        connection.data_received(piece)
    connection.connection_lost(None)
    return connection


def _answer(data: bytes) -> None:
    """An answer, received at once and in pieces, decoded, and archived."""
    chosen = zlib.crc32(data)
    step = 1 + chosen % (len(data) + 1) // (1 + (chosen >> 16) % 8)
    whole = received([data])
    cut = received([data[at : at + step] for at in range(0, len(data), step)])
    must((whole.error is None) == (cut.error is None), "an answer is good or bad however it is cut")
    if whole.error is not None:
        return
    head, body = (whole.version, whole.status, whole.reason, whole.headers), whole.take()
    must(head == (cut.version, cut.status, cut.reason, cut.headers), "a head is the same however it is cut")
    must(body == cut.take(), "a body is the same however it is cut")
    headers = decode_headers(whole.headers)
    fields = dict(reversed(headers))
    target_of(URL, fields.get("location", ""))
    retry_after(fields.get("retry-after", ""), date=fields.get("date", ""), now=1.7e9)
    parse_directives(headers, "centime")
    with suppress(BrokenCoding):
        body = b"".join(_decoded(fields.get("content-encoding", ""), [body]))
    response = Response(
        url=URL,
        outcome=outcome_of(whole.status, conditional=True),
        status=whole.status,
        headers=headers,
        body=body,
        asked_at=1.7e9,
    )
    must(payload_of(answer(response, "<urn:x>", "<urn:y>", b"d" * 20, "")) == body, "what is archived is read back")


def _coded() -> list[bytes]:
    text = b"hello, " * 9
    bare = zlib.compressobj(wbits=-15)
    return [
        b"gzip\n" + gzip.compress(text, mtime=0) + gzip.compress(b"more", mtime=0),
        b"deflate\n" + zlib.compress(text),
        b"deflate\n" + bare.compress(text) + bare.flush(),
        b"br\n" + brotli.compress(text),
        b"zstd\n" + zstd.compress(text) + zstd.compress(b"more"),
        b"gzip, br\n" + brotli.compress(gzip.compress(text, mtime=0)),
    ]


def _decoded(coding: str, pieces: list[bytes]) -> Iterator[bytes]:
    decoder, size = decoder_for(coding), 0
    for data in pieces:
        for piece in (data,) if decoder is None else decoder.pieces(data):
            must(decoder is None or len(piece) <= max(PIECE, 4 * len(data)), "a piece is bounded")
            size += len(piece)
            yield piece
            if size > MOST_DECODED:
                return
    if decoder is not None:
        decoder.finish()


def _coding(data: bytes) -> None:
    name, _, body = data.partition(b"\n")
    coding, step = name.decode("latin-1"), 1 + zlib.crc32(data) % 40
    found = []
    for pieces in ([body] if body else [], [body[at : at + step] for at in range(0, len(body), step)]):
        try:
            found.append(b"".join(_decoded(coding, pieces))[:MOST_DECODED])
        except BrokenCoding:
            found.append(b"broken")
    must(found[0] == found[1], "a body is the same however it is cut")


def read_headers(data: bytes) -> None:
    """Reads the value of a header as all that headers are."""
    value = decode_headers([(b"Name", data)])[0][1]
    must(0 <= retry_after(value, date="", now=1.7e9) <= MOST_RETRY_SECONDS, "a wait is a time")
    must(0 <= retry_after("Sat, 31 Jan 2026 12:00:00 GMT", date=value, now=1.7e9) <= MOST_RETRY_SECONDS, "also so")
    must(0 <= moment(value) < math.inf, "a moment is a time")
    parse_directives([("x-robots-tag", value)], "centime")
    target_of(URL, value)
    read_document(b"<a href=\xe4>", url=URL, content_type=value)
    with suppress(BrokenCoding):
        decoder_for(value)
