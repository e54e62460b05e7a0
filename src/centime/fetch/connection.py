"""One connection to a server, and the answer that arrives over it.

llhttp (by httptools) reads heads and chunks. It is as lenient as browsers and curl: bare line feeds, folded lines,
control characters in values (but NUL) and spaces behind a chunk's size are accepted. A head that it rejects is read
once more as `fetch/head.py` corrects it, and its connection is not kept. Two lengths that differ are refused: the end
of such an answer is ambiguous.

An answer ends where its head says, however the network divides its bytes: at its Content-Length, at the last chunk,
with its head (204, 304), or else with the connection. Bytes behind the end make the connection unfit for another
request; the answer stands.

Memory is bounded: the head by `most_head_bytes`, interim answers (1xx) included, the buffered body by `_MOST_BUFFERED`
and one segment, after which the connection is not read until the reader has caught up, and what is neither head nor
body (chunk sizes, extensions, trailers) by `_FRAMING` times the body.

The reader is woken as rarely as possible: when the answer is complete or has failed, when `ENOUGH` bytes of its body
wait, or by the head alone if that is no 2xx.

Traps. httptools reports no end of input: whether an answer without an end is complete when the connection closes is
decided here. It reports trailers as headers. It raises an error for bytes behind the last answer of a connection, and
for 101; both come after the answer was complete. A parser serves one answer: of a body with a Content-Length it sees
the first segment only, because the rest need not be copied. A server may send its answer before the request.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from centime.fetch.failure import BadAnswer, ServerClosed
from centime.fetch.head import ends_behind, may_begin, repaired
from centime.fetch.watch import Attempt

ENOUGH = 64 * 1024  # bytes of a body for which the reader is woken
MOST_HEADERS = 512
_MOST_BUFFERED = 4 * ENOUGH
_FRAMING = 16  # bytes of framing for one byte of body; a chunk of one byte has 5


class Connection(asyncio.Protocol):
    """A connection that carries one answer at a time."""

    __slots__ = (
        "_buffered",
        "_chunked",
        "_clock",
        "_enough",
        "_forget",
        "_framed",
        "_has_head",
        "_head_bytes",
        "_interim",
        "_left",
        "_loop",
        "_most_head_bytes",
        "_parser",
        "_paused",
        "_pieces",
        "_rejected",
        "_transport",
        "_waiter",
        "address",
        "attempt",
        "complete",
        "error",
        "headers",
        "host",
        "idle_since",
        "keep",
        "lost",
        "reason",
        "status",
    )

    def __init__(
        self,
        host: str,
        address: str,
        attempt: Attempt,
        *,
        loop: asyncio.AbstractEventLoop,
        clock: Callable[[], float],
        most_head_bytes: int,
        forget: Callable[["Connection"], None],
    ) -> None:
        """A connection that is about to be made for an attempt; `forget` is called when it is lost."""
        self.host = host
        self.address = address
        self.lost = False
        self.idle_since = 0.0
        self._loop = loop
        self._clock = clock
        self._most_head_bytes = most_head_bytes
        self._forget = forget
        self._transport: Any = None  # uvloop's transports are of no class of asyncio
        self._waiter: asyncio.Future[None] | None = None
        self.begin(attempt)

    def begin(self, attempt: Attempt) -> None:
        """Expects the answer to another request."""
        self.attempt = attempt
        self.status = 0
        self.reason = b""
        self.headers: list[tuple[bytes, bytes]] = []
        self.complete = False
        self.keep = False  # whether the connection can serve another request once the answer is complete
        self.error: Exception | None = None
        self._has_head = False  # the head of the final answer is there
        self._head_bytes = bytearray()  # the bytes of it so far
        self._rejected: Exception | None = None  # why llhttp rejects the head
        self._interim = False
        self._framed = False
        self._chunked = False
        self._left: int | None = None  # bytes of the body to come, once they are counted here
        self._pieces: list[bytes] = []
        self._buffered = 0
        self._enough = ENOUGH
        self._paused = False
        self._parser = self._new_parser()

    @property
    def usable(self) -> bool:
        """Whether a request can be sent, as far as is known."""
        return not self.lost and not self._transport.is_closing()

    @property
    def version(self) -> str:
        """The HTTP version of the answer, such as 1.1."""
        return self._parser.get_http_version()

    def send(self, request: bytes) -> "asyncio.Future[None]":
        """Sends a request and returns a future for its answer, as `wait` does."""
        attempt = self.attempt
        attempt.sent = now = time.monotonic()
        attempt.deadline = min(attempt.end, now + attempt.patience)
        if self.usable:
            self._transport.write(request)
        return self.wait()

    def wait(self) -> "asyncio.Future[None]":
        """A future that is done when the answer is complete, has failed, or has ENOUGH bytes of its body to take.

        The first one of an answer that is no 2xx is done when its head is there.
        """
        waiter = self._loop.create_future()
        if self._ready():
            self._enough = ENOUGH
            waiter.set_result(None)
            return waiter
        self._waiter = waiter
        if self._paused:
            self._paused = False
            self._transport.resume_reading()
        return waiter

    def take(self) -> bytes:
        """The bytes of the body that have come since the last call."""
        pieces = self._pieces
        if not pieces:
            return b""
        self._pieces = []
        self._buffered = 0
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def clear(self) -> None:
        """Frees the unread part of the answer."""
        self._pieces = []
        self._buffered = 0
        self.headers = []

    def abort(self) -> None:
        """Closes the connection at once, even during an answer."""
        if not self.lost and self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: Any) -> None:
        """Notes the transport."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Parses received bytes, and wakes the reader if that is useful."""
        attempt = self.attempt
        attempt.wire += len(data)
        if self.complete or self.error is not None:
            self.keep = False
            self.abort()
            return
        if self._left is not None:
            self._count(data, self._left)
        else:
            self._feed(data)
            if not self.complete and self.error is None:
                self._look_ahead()
        if self._waiter is not None and self._ready():
            self._wake()
        if self._buffered > _MOST_BUFFERED and not self._paused and not self.complete:
            self._paused = True
            self._transport.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends the answer, well or badly."""
        self.lost = True
        self._forget(self)
        self.keep = False
        if not self.complete and self.error is None:
            self.error = self._ended(exc)
            self.complete = self.error is None
        if self._waiter is not None:
            self._wake()

    def on_message_begin(self) -> None:
        """Refuses a second answer."""
        if self.complete:
            raise BadAnswer("bytes after the response")

    def on_status(self, reason: bytes) -> None:
        """Notes the reason, which may come in parts."""
        self.reason += reason

    def on_header(self, name: bytes, value: bytes) -> None:
        """Notes one header; trailers are ignored."""
        if self._has_head:
            return
        if b"\0" in value:
            self.error = BadAnswer("a header contains NUL")
            raise self.error
        self.headers.append((name.rstrip(b" "), value.rstrip(b" \t")))  # llhttp strips only what is before

    def on_headers_complete(self) -> None:
        """Notes the head, unless it is that of an interim answer."""
        status = self._parser.get_status_code()
        if status // 100 == 1 and status != 101:
            self._interim = True
            return
        if len(self.headers) > MOST_HEADERS:
            self.error = BadAnswer(f"more than {MOST_HEADERS} headers")
            raise self.error
        self._has_head = True
        self._head_bytes.clear()
        self.status = status
        self.keep = self._rejected is None and self._parser.should_keep_alive()
        if status // 100 != 2:
            self._enough = 0
        attempt = self.attempt
        attempt.answered = time.monotonic()
        attempt.asked_at = self._clock()
        attempt.deadline = attempt.end

    def on_chunk_header(self) -> None:
        """Notes that the body comes in chunks."""
        self._chunked = True

    def on_body(self, piece: bytes) -> None:
        """Keeps a piece of the body for the reader."""
        self._pieces.append(piece)
        self._buffered += len(piece)
        self.attempt.received += len(piece)

    def on_message_complete(self) -> None:
        """Notes the end of the answer; behind an interim one another follows."""
        if self._interim:
            self._interim = False
            self.reason = b""
            self.headers = []
        else:
            self.complete = True

    def _new_parser(self) -> HttpResponseParser:
        parser = HttpResponseParser(self)
        parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )
        return parser

    def _feed(self, data: bytes) -> None:
        """Reads a segment; a rejected head is repaired and read again once all of it is there."""
        before = len(self._head_bytes)
        if not self._has_head:
            self._head_bytes += data
        if self._rejected is None or self._has_head:
            rejected = self._parse(data)
            if rejected is None:
                return
            if self._has_head or not may_begin(self._head_bytes):
                self.error = rejected
                return
            self._rejected, before = rejected, 0
        if ends_behind(self._head_bytes, before) and (head := repaired(bytes(self._head_bytes))):
            self.headers, self.reason, self._interim = [], b"", False
            self._parser = self._new_parser()
            self.error = self._parse(head) or self.error

    def _parse(self, data: bytes) -> Exception | None:
        """The error of llhttp for these bytes; none if the answer is complete, or wrong in another way."""
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            self.keep = False
            if not self.complete and self.error is None:
                return BadAnswer(f"bad HTTP: {error}")
        return None

    def _ready(self) -> bool:
        return self.complete or self.error is not None or (self._has_head and self._buffered >= self._enough)

    def _wake(self) -> None:
        waiter = self._waiter
        self._waiter = None
        self._enough = ENOUGH
        if waiter is not None and not waiter.done():  # cancelled if the reader has given up
            waiter.set_result(None)

    def _count(self, data: bytes, left: int) -> None:
        """Counts the bytes of a body of known length."""
        if len(data) > left:
            data = data[:left]
            self.keep = False
        self._left = left - len(data)
        self.on_body(data)
        if not self._left:
            self.complete = True

    def _look_ahead(self) -> None:
        """Determines how the answer continues behind this segment, and refuses an answer without bounds."""
        attempt = self.attempt
        if not self._has_head:
            if attempt.wire > self._most_head_bytes:
                self.error = BadAnswer("the headers are too large")
        elif not self._framed:
            self._framed = True
            length = self._value_of(b"content-length")
            if length.isdigit():
                self._left = int(length) - attempt.received
        elif attempt.wire - attempt.received > 2 * self._most_head_bytes + _FRAMING * attempt.received:
            self.error = BadAnswer("more framing than body")

    def _ended(self, error: Exception | None) -> Exception | None:
        """What is wrong with an answer whose connection has ended; nothing if it ends with the connection."""
        if not self._has_head:
            return self._rejected or error or ServerClosed("the server closed the connection without an answer")
        if self._left is not None:
            received = self.attempt.received
            return BadAnswer(f"the body ended after {received} of {received + self._left} bytes")
        coding = self._value_of(b"transfer-encoding").lower()
        if self._chunked or coding.rpartition(b",")[2].strip() == b"chunked":
            return BadAnswer("the body ended before its last chunk")
        return BadAnswer(f"the connection broke within the body ({error})") if error else None

    def _value_of(self, wanted: bytes) -> bytes:
        """The last value of a header, which is the one that llhttp goes by."""
        for name, value in reversed(self.headers):
            if name.lower() == wanted:
                return value
        return b""
