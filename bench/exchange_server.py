"""A server on loopback that answers as fast as Python can: every answer is ready before the first request.

    python -m bench.exchange_server

It prints its port. `/kept/SIZE/plain` and `/kept/SIZE/gzip` return a page of SIZE bytes, under a head of ten lines as a
usual server sends it; below `/fresh` the connection is closed afterwards."""

import asyncio
import gzip
import random
from typing import Any

import uvloop

SIZES = (1_000, 26_000, 200_000)
CODINGS = ("plain", "gzip")
HEAD = (
    "HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Type: text/html\r\n"
    'Last-Modified: Wed, 31 Dec 2025 00:00:00 GMT\r\nConnection: {}\r\nETag: "69545e80-6590"\r\n'
    "Vary: Accept-Encoding\r\nCache-Control: max-age=3600\r\nAccept-Ranges: bytes\r\n{}Content-Length: {}\r\n\r\n"
)
CONNECTION = {"kept": "keep-alive", "fresh": "close"}


def page(size: int) -> bytes:
    """Text that compresses about as well as pages do: to a fifth."""
    chance = random.Random(size)
    words = [f"word{chance.randrange(3000)}" for _ in range(size // 8)]
    text = " ".join(f'<p><a href="/section/{word}.html">{word}</a></p>' if word[-1] == "7" else word for word in words)
    return text.encode()[:size].ljust(size)


def answers() -> dict[bytes, bytes]:
    """The whole answer for each path."""
    found = {}
    for size in SIZES:
        body = page(size)
        packed = gzip.compress(body, 6, mtime=0)
        for kind, connection in CONNECTION.items():
            plain = HEAD.format(connection, "", size).encode()
            coded = HEAD.format(connection, "Content-Encoding: gzip\r\n", len(packed)).encode()
            found[f"/{kind}/{size}/plain".encode()] = plain + body
            found[f"/{kind}/{size}/gzip".encode()] = coded + packed
    return found


class Answering(asyncio.Protocol):
    """One connection; no request is longer than a segment."""

    def __init__(self, ready: dict[bytes, bytes]) -> None:
        self._ready = ready

    def connection_made(self, transport: Any) -> None:  # uvloop's is of no class of asyncio
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        path = data.split(b" ", 2)[1]
        self._transport.write(self._ready[path])
        if path.startswith(b"/fresh/"):
            self._transport.close()


async def serve() -> None:
    ready = answers()
    server = await asyncio.get_running_loop().create_server(lambda: Answering(ready), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve())
