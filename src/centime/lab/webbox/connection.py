"""One connection to the box: HTTP/1.1 by hand, as little of it as crawlers and browsers need.

Requests are answered strictly in their order. While an answer waits (a slow page), is streamed (a hostile one), or the
client does not read, later requests stay where they are and the client is not read from: memory is bounded whatever the
client does.
"""

import asyncio
import socket
import struct
import time
from collections.abc import Callable
from typing import cast

from centime.lab.webbox.reply import Asked, Reply, Stream, sentence

LONGEST_HEAD = 65_536
LONGEST_STREAM_SECONDS = 900.0
NO_LINGER = struct.pack("ii", 1, 0)

Answer = Callable[[Asked], Reply]
Note = Callable[[float, bytes, bytes, int], None]


class Connection(asyncio.Protocol):
    """Reads requests, hands them to `reply`, writes what comes back; `note` is told of each."""

    def __init__(self, reply: Answer, note: Note, open_connections: set["Connection"]) -> None:
        self._reply = reply
        self._note = note
        self._open = open_connections
        self._transport: asyncio.Transport
        self._received = b""
        self._busy = False  # an answer waits or is streamed
        self._choked = False  # the client does not read what was written
        self._ending = False
        self._stream: Stream | None = None
        self._timer: asyncio.TimerHandle | asyncio.Handle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Takes up a connection."""
        self._transport = cast("asyncio.Transport", transport)
        self._open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Lets go of everything."""
        self._ending = True
        self._open.discard(self)
        if self._timer is not None:
            self._timer.cancel()
        self._stream = None

    def pause_writing(self) -> None:
        """The client is slower than we are: wait for it."""
        self._choked = True

    def resume_writing(self) -> None:
        """The client has caught up."""
        self._choked = False
        if self._stream is not None:
            self._pump()
        else:
            self._work()

    def data_received(self, data: bytes) -> None:
        """Takes in bytes and answers what is complete."""
        self._received = self._received + data if self._received else data
        if self._busy or self._choked:
            if len(self._received) > LONGEST_HEAD:
                self._transport.pause_reading()
            return
        self._work()

    def abort(self) -> None:
        """Ends the connection at once."""
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
                if len(out) >= 16:  # so that a client that asks and does not read chokes us, not our memory
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
                sentence(Asked(b"GET", b"", b""), 431, "The head of a request is at most 64 KiB.").data
            )
            self._transport.close()
        elif not (self._busy or self._choked) and not self._transport.is_reading():
            self._transport.resume_reading()

    def _answer(self, head: bytes) -> Reply:
        asked_at = time.time()
        line_end = head.find(b"\r\n")
        words = head[:line_end].split(b" ")
        lower = head.lower()
        if len(words) != 3 or not words[2].startswith(b"HTTP/1.") or not words[1].startswith(b"/"):
            return sentence(Asked(b"GET", b"", b""), 400, "That is not a request.")._replace(closes=True)
        host = _value(head, lower, b"\r\nhost:").lower().partition(b":")[0]
        asked = Asked(
            words[0],
            host,
            words[1],
            _value(head, lower, b"\r\nif-none-match:"),
            _value(head, lower, b"\r\nif-modified-since:"),
            _value(head, lower, b"\r\naccept-encoding:"),
        )
        if words[0] in (b"GET", b"HEAD"):
            reply = self._reply(asked)
        else:
            reply = sentence(asked, 405, "Only GET and HEAD can be asked for.")._replace(closes=True)
        self._note(asked_at, host, words[1], reply.status)
        wanted = _value(lower, lower, b"\r\nconnection:")
        if b"close" in wanted or (words[2] == b"HTTP/1.0" and b"keep-alive" not in wanted):
            return reply._replace(closes=True)
        return reply

    def _later(self, reply: Reply) -> None:
        """Answers after a pause, or begins a stream; what was answered before goes out first."""
        loop = asyncio.get_running_loop()
        self._stream = reply.stream if reply.stream is not None else iter([reply.data])
        self._stream_ends = loop.time() + LONGEST_STREAM_SECONDS
        self._closes, self._resets = reply.closes or reply.stream is not None, reply.reset
        self._timer = loop.call_later(reply.delay_seconds, self._pump)

    def _pump(self) -> None:
        """Writes the next bytes of a stream; gives way to other connections after each."""
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
    """The value of a header; `lower` is the head in lower case, which tells where it is."""
    begin = lower.find(name)
    if begin < 0:
        return b""
    begin += len(name)
    return head[begin : head.find(b"\r\n", begin)].strip()
