"""Requests and replies of the server; a reply is bytes at once, bytes after a delay, or a stream."""

import json
from collections.abc import Iterator, Mapping
from typing import NamedTuple

Stream = Iterator[bytes | float]
"""A reply in parts: bytes, and pauses in seconds."""

REASONS = {
    200: b"OK",
    301: b"Moved Permanently",
    302: b"Found",
    304: b"Not Modified",
    400: b"Bad Request",
    404: b"Not Found",
    405: b"Method Not Allowed",
    410: b"Gone",
    431: b"Request Header Fields Too Large",
}


class Request(NamedTuple):
    """A request: the values that the server uses."""

    method: bytes
    host: bytes
    path: bytes  # with its query, as sent
    if_none_match: bytes = b""
    if_modified_since: bytes = b""
    accept_encoding: bytes = b""


class Reply(NamedTuple):
    """A complete reply, or a stream; the connection closes after a stream."""

    status: int
    data: bytes = b""
    delay_seconds: float = 0.0
    stream: Stream | None = None
    reset: bool = False  # close the connection by a TCP reset
    closes: bool = False


def answer(request: Request, status: int, content_type: bytes, body: bytes, headers: bytes = b"") -> Reply:
    """A reply with a body; without it for HEAD."""
    head = b"HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s\r\n" % (
        status,
        REASONS[status],
        content_type,
        len(body),
        headers,
    )
    return Reply(status, head if request.method == b"HEAD" else head + body)


def sentence(request: Request, status: int, text: str) -> Reply:
    """A reply of one sentence."""
    return answer(request, status, b"text/plain; charset=utf-8", text.encode() + b"\n")


def as_json(request: Request, value: Mapping[str, object], status: int = 200) -> Reply:
    """A reply in JSON."""
    return answer(request, status, b"application/json", json.dumps(value).encode() + b"\n")
