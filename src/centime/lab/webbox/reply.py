"""What the server sends back: bytes at once, after a pause, or as a stream."""

import json
from collections.abc import Iterator, Mapping
from typing import NamedTuple

Stream = Iterator[bytes | float]
"""What is sent bit by bit: bytes, and pauses in seconds."""

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


class Asked(NamedTuple):
    """A request: the values that the server looks at."""

    method: bytes
    host: bytes
    path: bytes  # with its query, as sent
    if_none_match: bytes = b""
    if_modified_since: bytes = b""
    accept_encoding: bytes = b""


class Reply(NamedTuple):
    """An answer in full, or a stream of it; a stream ends with the connection."""

    status: int
    data: bytes = b""
    delay_seconds: float = 0.0
    stream: Stream | None = None
    reset: bool = False  # end the connection with a reset rather than in order
    closes: bool = False


def answer(asked: Asked, status: int, content_type: bytes, body: bytes, headers: bytes = b"") -> Reply:
    """An answer with a body, which HEAD leaves out."""
    head = b"HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s\r\n" % (
        status,
        REASONS[status],
        content_type,
        len(body),
        headers,
    )
    return Reply(status, head if asked.method == b"HEAD" else head + body)


def sentence(asked: Asked, status: int, text: str) -> Reply:
    """An answer that says one sentence."""
    return answer(asked, status, b"text/plain; charset=utf-8", text.encode() + b"\n")


def as_json(asked: Asked, value: Mapping[str, object], status: int = 200) -> Reply:
    """An answer for programs."""
    return answer(asked, status, b"application/json", json.dumps(value).encode() + b"\n")
