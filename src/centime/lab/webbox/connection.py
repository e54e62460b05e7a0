"""One connection to the box: a small HTTP/1.1 server with what crawlers and browsers need, and full control of the
bytes.

Requests are answered strictly in order. While a reply is delayed (a slow page) or streamed (a hostile page), or
while the client does not read, later requests wait and the server reads nothing more from the client: memory is
bounded, whatever the client does.
"""

import asyncio
import socket
import struct
import time
from collections.abc import Callable
from typing import cast

from centime.lab.webbox.reply import Reply, Request, Stream, sentence

LONGEST_HEAD = 65_536
LONGEST_STREAM_SECONDS = 900.0
NO_LINGER = struct.pack("ii", 1, 0)

Answer = Callable[[Request], Reply]
Note = Callable[[float, bytes, bytes, int], None]


class Connection(asyncio.Protocol):
    """Reads requests, passes each to `reply`, writes the reply, and calls `note` for the log."""

    def __init__(self, reply: Answer, note: Note, open_connections: set["Connection"]) -> None:
        self._reply = reply
        self._note = note
        self._open = open_connections
        self._transport: asyncio.Transport
        self._received = b""
        self._busy = False  # a reply is delayed or streamed
        self._choked = False  # the client does not read
        self._ending = False
        self._stream: Stream | None = None
        self._timer: asyncio.TimerHandle | asyncio.Handle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Registers the connection."""
        self._transport = cast("asyncio.Transport", transport)
        self._open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Unregisters the connection and stops its stream."""
        self._ending = True
        self._open.discard(self)
        if self._timer is not None:
            self._timer.cancel()
        self._stream = None

    def pause_writing(self) -> None:
        """Stops answering because the client reads too slowly."""
        self._choked = True

    def resume_writing(self) -> None:
        """Resumes answering because the client has caught up."""
        self._choked = False
        if self._stream is not None:
            self._pump()
        else:
            self._work()

    def data_received(self, data: bytes) -> None:
        """Buffers bytes and answers complete requests."""
        self._received = self._received + data if self._received else data
        if self._busy or self._choked:
            if len(self._received) > LONGEST_HEAD:
                self._transport.pause_reading()
            return
        self._work()

    def abort(self) -> None:
        """Closes the connection at once."""
        self._ending = True
        self._transport.abort()

    def _work(self) -> None:
        received, begin, out = self._received, 0, []
        while not (self._busy or self._choked or self._ending):
            end = received.find(b"\r\n\r\n", begin)
            if end < 0:
                break
            reply = self._answer(received[begin : end + 2])
            begin = end + 4
            if reply.delay_seconds or reply.stream is not None:
                self._busy = True
                self._later(reply)
            else:
                out.append(reply.data)
                if len(out) >= 16:  # a client that sends requests without reading stops us before memory grows
                    self._transport.write(b"".join(out))
                    out.clear()
            if reply.closes:
                self._ending = not self._busy
                break
        if out:
            self._transport.write(b"".join(out) if len(out) > 1 else out[0])
        self._received = received[begin:] if begin else received
        if self._ending:
            self._transport.close()
        elif (
            len(self._received) > LONGEST_HEAD
            and not (self._busy or self._choked)
            and b"\r\n\r\n" not in self._received
        ):
            self._transport.write(
                sentence(Request(b"GET", b"", b""), 431, "The head of a request is at most 64 KiB.").data
            )
            self._transport.close()
        elif not (self._busy or self._choked) and not self._transport.is_reading():
            self._transport.resume_reading()

    def _answer(self, head: bytes) -> Reply:
        received_at = time.time()
        line_end = head.find(b"\r\n")
        words = head[:line_end].split(b" ")
        lower = head.lower()
        if len(words) != 3 or not words[2].startswith(b"HTTP/1.") or not words[1].startswith(b"/"):
            return sentence(Request(b"GET", b"", b""), 400, "This is not an HTTP request.")._replace(closes=True)
        host = _value(head, lower, b"\r\nhost:").lower().partition(b":")[0]
        request = Request(
            words[0],
            host,
            words[1],
            _value(head, lower, b"\r\nif-none-match:"),
            _value(head, lower, b"\r\nif-modified-since:"),
            _value(head, lower, b"\r\naccept-encoding:"),
        )
        if words[0] in (b"GET", b"HEAD"):
            reply = self._reply(request)
        else:
            reply = sentence(request, 405, "Only GET and HEAD are supported.")._replace(closes=True)
        self._note(received_at, host, words[1], reply.status)
        wanted = _value(lower, lower, b"\r\nconnection:")
        if b"close" in wanted or (words[2] == b"HTTP/1.0" and b"keep-alive" not in wanted):
            return reply._replace(closes=True)
        return reply

    def _later(self, reply: Reply) -> None:
        """Sends a delayed reply, or starts a stream, after the replies before it."""
        loop = asyncio.get_running_loop()
        self._stream = reply.stream if reply.stream is not None else iter([reply.data])
        self._stream_ends = loop.time() + LONGEST_STREAM_SECONDS
        self._closes, self._resets = reply.closes or reply.stream is not None, reply.reset
        self._timer = loop.call_later(reply.delay_seconds, self._pump)

    def _pump(self) -> None:
        """Writes the next bytes of a stream, then lets other connections run."""
        loop = asyncio.get_running_loop()
        if self._ending or self._choked or self._stream is None:
            return
        if self._timer is not None:
            self._timer.cancel()
        part = next(self._stream, None) if loop.time() < self._stream_ends else None
        if isinstance(part, float):
            self._timer = loop.call_later(part, self._pump)
        elif part is not None:
            self._transport.write(part)
            self._timer = loop.call_soon(self._pump)
        else:
            self._finish()

    def _finish(self) -> None:
        self._stream = None
        self._busy = False
        if self._resets:
            connection = self._transport.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
            self.abort()
        elif self._closes:
            self._ending = True
            self._transport.close()
        else:
            self._work()


def _value(head: bytes, lower: bytes, name: bytes) -> bytes:
    """The value of a header; `lower` is the head in lower case, in which `name` is found."""
    begin = lower.find(name)
    if begin < 0:
        return b""
    begin += len(name)
    return head[begin : head.find(b"\r\n", begin)].strip()
