"""A server on loopback that answers byte for byte what a test tells it to, and remembers what it was asked."""

import asyncio
import ssl
import time
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self, TypeVar, cast

import uvloop

from centime.fetch.fetcher import Fetcher
from centime.fetch.settings import FetchSettings
from centime.model.response import Request, Response

Handler = Callable[[asyncio.StreamWriter], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Choice:
    """A route whose answer depends on the head of the request."""

    answer: Callable[[bytes], bytes]


Result = TypeVar("Result")

HERE = ("127.0.0.0/8", "::1/128")


def answer(body: bytes = b"", status: str = "200 OK", **headers: str) -> bytes:
    """A complete answer; header names are written with underscores for hyphens."""
    lines = [f"HTTP/1.1 {status}", *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items())]
    if not {"content_length", "transfer_encoding"} & {name.lower() for name in headers}:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


class Listener:
    """Listens on a free port of loopback while the block runs; then no connection is left."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.port = 0
        self._context = context
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._begin, "127.0.0.1", 0, ssl=self._context)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                await self.serve(reader, writer)
        finally:
            writer.close()
            self._tasks.discard(task)

    @abstractmethod
    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers one connection, which is closed afterwards."""


class Server(Listener):
    """Answers each path with bytes, or hands the connection to a coroutine; a connection is kept unless that closes
    it."""

    def __init__(self, routes: Mapping[str, bytes | Handler | Choice], context: ssl.SSLContext | None = None) -> None:
        self.routes = cast("dict[str, bytes | Handler | Choice]", routes)  # the same, so that handlers can change it
        self.asked: list[str] = []
        self.heads: list[bytes] = []
        self.times: list[float] = []
        self.connections = 0
        super().__init__(context)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        while not writer.is_closing():
            first = await reader.readexactly(1)
            if first == b"\x16":  # TLS, which is not spoken here
                break
            head = first + await reader.readuntil(b"\r\n\r\n")
            path = head.split(b" ")[1].decode()
            self.asked.append(path)
            self.heads.append(head)
            self.times.append(time.monotonic())
            route = self.routes.get(path, answer(status="404 Not Found"))
            if isinstance(route, Choice):
                route = route.answer(head)
            if isinstance(route, bytes):
                writer.write(route)
                await writer.drain()
            else:
                await route(writer)


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """What the coroutine gives, in the event loop that crawls use."""
    return uvloop.run(work)


def settings(**changes: Any) -> FetchSettings:
    """Settings for a server on this machine, without delays."""
    return FetchSettings(**{"allow_networks": HERE, "delay_seconds": 0.0, **changes})


def fetch(routes: dict[str, bytes | Handler], path: str = "/page", **changes: Any) -> Response:
    """What comes of asking a server with these routes for one page."""
    return fetch_all(routes, [path], **changes)[0][0]


def fetch_all(routes: dict[str, bytes | Handler], paths: list[str], **changes: Any) -> tuple[list[Response], Server]:
    """What comes of asking for some pages one after the other, and the server."""

    async def work() -> tuple[list[Response], Server]:
        async with Server(routes) as server:
            fetcher = Fetcher(settings(**changes))
            try:
                return [await fetcher.fetch(Request(url=server.url + path)) for path in paths], server
            finally:
                await fetcher.close()

    return run(work())


def closing(data: bytes) -> Handler:
    """Write this and close."""

    async def handle(writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()
        writer.close()

    return handle


def hanging(data: bytes) -> Handler:
    """Write this and say nothing more."""

    async def handle(writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await asyncio.Event().wait()

    return handle


def endless(head: bytes, piece: bytes) -> Handler:
    """Write the head, then the piece for ever."""

    async def handle(writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while True:
            writer.write(piece)
            await writer.drain()

    return handle


def reset(data: bytes = b"") -> Handler:
    """Write this and tear the connection down."""

    async def handle(writer: asyncio.StreamWriter) -> None:
        if data:
            writer.write(data)
            await writer.drain()
        writer.transport.abort()

    return handle
