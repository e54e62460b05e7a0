"""The server: uvicorn with limits on connections and on the time that a client may take for its request.

uvicorn limits neither the time of a request nor the connections of an address. `Prompt` does, so that slow clients
cannot hold all connections. It closes a connection
- that has sent no complete head for HEAD_SECONDS,
- whose request is answered before its body has come, with the answer,
- whose answer is not taken REQUEST_SECONDS after the head of its request; a client of events, which have no end, must
  take something in that time,
- beyond the share of its address: SHARE times the connections that are free. One address gets two thirds of all, each
  of two gets two fifths, and for one more address there is always room.
"""

import asyncio
import logging
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from ipaddress import ip_network
from pathlib import Path
from typing import Any
from urllib.parse import quote

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from centime.cluster.opening import check_any_folder
from centime.model.errors import BadInput, BadSetting
from centime.model.visible import visible
from centime.serve.access import Access, Tokens, is_loopback
from centime.serve.application import Window
from centime.serve.pushes.hubs import HubSubscriber
from centime.serve.pushes.settings import Doors
from centime.serve.served_crawl import ServedCrawl

HEAD_SECONDS = 10.0
REQUEST_SECONDS = 300.0
LINGER_SECONDS = 1.0
IDLE_SECONDS = 30
MOST_CONNECTIONS = 2_000
SHARE = 2.0
EVENTS = b"text/event-stream"
FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n"
    b"retry-after: 10\r\n\r\nThere are too many connections from this address.\n"
)
BACKLOG = 512
_LISTEN = re.compile(r"(?:(\[[0-9a-fA-F:.]+\]|[^:\[\]]*):)?(\d{1,5})").fullmatch


class Prompt(HttpToolsProtocol):
    """Closes connections whose client sends its request or reads the answer too slowly, and those beyond an address's
    share.
    """

    shares = True  # whether an address has a share of all connections
    _head: asyncio.TimerHandle | None = None  # until when the head of a request must arrive
    _taken: asyncio.TimerHandle | None = None  # until when its answer must be read
    _stuck: asyncio.TimerHandle | None = None  # until when the client must read something
    _is_ending = False

    def connection_made(self, transport: Any) -> None:
        """Waits for the first request."""
        super().connection_made(transport)
        if self.shares and not self._has_share():
            self.transport.write(FULL)
            self.transport.close()
            return
        self._await_head()

    def data_received(self, data: bytes) -> None:
        """Takes a part of a request; data after the last answer are dropped."""
        if not self._is_ending:
            super().data_received(data)

    def on_headers_complete(self) -> None:
        """The head came in time."""
        self._head = _cancelled(self._head)
        self._taken = self._taken or self._closing_in(REQUEST_SECONDS)
        super().on_headers_complete()

    def on_message_begin(self) -> None:
        """A further request begins."""
        super().on_message_begin()
        if self._head is None:
            self._await_head()

    def on_response_complete(self) -> None:
        """The answer is written. If the request is incomplete, nothing more is read."""
        self._taken = _cancelled(self._taken)
        if self.pipeline:
            self._taken = self._closing_in(REQUEST_SECONDS)
        super().on_response_complete()
        if self._is_ending and not self.transport.is_closing():
            self._unset_keepalive_if_required()
            self.transport.write_eof()
            self._taken = self._closing_in(LINGER_SECONDS)  # the client reads the answer: closing at once may lose it

    def pause_writing(self) -> None:
        """The client does not read what is written."""
        super().pause_writing()
        self._stuck = self._closing_in(REQUEST_SECONDS)

    def resume_writing(self) -> None:
        """It does again."""
        super().resume_writing()
        self._stuck = _cancelled(self._stuck)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is closed."""
        for timer in (self._head, self._taken, self._stuck):
            _cancelled(timer)
        super().connection_lost(exc)

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        async def watched(scope: Any, receive: Any, send: Any) -> None:
            async def watched_send(message: Any) -> None:
                if message["type"] != "http.response.start":
                    await send(message)
                    return
                headers = list(message.get("headers", ()))
                if any(name.lower() == b"content-type" and value.startswith(EVENTS) for name, value in headers):
                    self._taken = _cancelled(self._taken)  # events have no end
                self._is_ending = bool(cycle.more_body)
                if not self._is_ending:
                    await send(message)
                    return
                await send({**message, "headers": [*headers, (b"connection", b"close")]})
                cycle.keep_alive = True  # the end of this connection is made above

            await app(scope, receive, watched_send)

        super()._start_asgi_task(cycle, watched)

    def _has_share(self) -> bool:
        """Whether this connection is within the share of its address: twice what is left of all connections."""
        address = _network(self.client)
        others = [one for one in self.connections if one is not self]
        own = sum(_network(getattr(one, "client", None)) == address for one in others)
        return own < SHARE * (MOST_CONNECTIONS - len(others))

    def _await_head(self) -> None:
        self._head = self._closing_in(HEAD_SECONDS)

    def _closing_in(self, seconds: float) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(seconds, self.transport.abort)


class PromptBehindProxy(Prompt):
    """The same where all connections come from one address, that of the proxy."""

    shares = False


def _cancelled(timer: asyncio.TimerHandle | None) -> asyncio.TimerHandle | None:
    if timer is not None:
        timer.cancel()
    return None


def _network(client: tuple[str, int] | None) -> str:
    """The address for which a connection counts: an IPv4 address, or the 64 bits of IPv6 that one subscriber of a
    provider has."""
    address = client[0] if client else ""
    return str(ip_network(f"{address}/64", strict=False)) if ":" in address else address


def place_of(listen: str) -> tuple[str, int]:
    """The address and the port in HOST:PORT or PORT."""
    found = _LISTEN(listen)
    if found is None or int(found[2]) > 65_535:
        raise BadSetting(f"the place to listen at is HOST:PORT or PORT, as 127.0.0.1:8400, not {listen!r}")
    return (found[1] or "127.0.0.1").strip("[]"), int(found[2])


def public_address(callback: str) -> str:
    """The address at which hubs reach this server, ending in a slash."""
    if not re.fullmatch(r"https?://[^/?#\s]+(/[^?#\s]*)?", callback):
        raise BadSetting(f"--callback is how hubs reach this server, as https://window.example/, not {callback!r}")
    return callback.rstrip("/") + "/"


def served_crawls(folders: Sequence[Path]) -> dict[str, ServedCrawl]:
    """The crawls in folders, each with a name of its own."""
    crawls: dict[str, ServedCrawl] = {}
    for folder in folders:
        check_any_folder(folder)
        path = folder.absolute()
        name = visible(path.resolve().name) or "crawl"
        if any(path == crawl.path for crawl in crawls.values()):
            raise BadInput(f"{folder}: this crawl is named twice")
        number = 2
        while (name if number == 2 else f"{name}-{number - 1}") in crawls:
            number += 1
        name = name if number == 2 else f"{name}-{number - 1}"
        crawls[name] = ServedCrawl(name, path)
    return crawls


def check_place(host: str, tokens: Tokens | None) -> None:
    """Refuses to listen to other machines without a token."""
    if tokens is None and not is_loopback(host):
        raise BadSetting(
            f"other machines can reach {host}, so a token is needed: give --token-file FILE, and once --new-token NAME"
        )


class WindowServer(uvicorn.Server):
    """A server of crawls; `run` serves until `should_exit` is set. It installs no signal handlers."""

    def __init__(
        self,
        crawls: Mapping[str, ServedCrawl],
        access: Access,
        doors: Mapping[str, Doors] | None = None,
        callback: str = "",
    ) -> None:
        """`callback` is the address at which hubs reach this server; empty if they cannot."""
        opened = {name: Doors() for name in crawls} if callback else {}
        self.window = Window(crawls, access, {**opened, **(doors or {})})
        self._callback = callback
        self._hubs: list[asyncio.Task[None]] = []
        super().__init__(
            uvicorn.Config(
                self.window.application,
                http=PromptBehindProxy if access.behind_proxy else Prompt,
                loop="uvloop",
                ws="none",
                lifespan="off",
                interface="asgi3",
                access_log=False,
                log_config=None,
                log_level=logging.WARNING,
                server_header=False,
                proxy_headers=False,  # not trusted here; `proxy.py` reads them with `--behind-proxy`
                date_header=True,
                limit_concurrency=MOST_CONNECTIONS,
                timeout_keep_alive=IDLE_SECONDS,
                timeout_graceful_shutdown=2,
                backlog=BACKLOG,
            )
        )

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals belong to the command line."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Starts the server, and subscribes to hubs."""
        await super().startup(sockets)
        for name, doors in self.window.doors.items():
            callback = f"{self._callback}push/{quote(name, safe='')}/websub/" if self._callback else ""
            subscriber = HubSubscriber(self.window.crawls[name].path, doors, callback)
            self._hubs.append(asyncio.create_task(subscriber.run()))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Ends events and closes the crawls, then the server."""
        for task in self._hubs:
            task.cancel()
        for feed in self.window.feeds.values():
            await feed.close()
        await super().shutdown(sockets)
        await self.window.close()


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens at a place; BadInput if that is taken or not of this machine."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
        made.listen(BACKLOG)  # before the address is announced
    except OSError as trouble:
        made.close()
        raise BadInput(f"cannot listen at {host}:{port}: {trouble.strerror or trouble}") from trouble
    return made


def address_of(made: socket.socket) -> str:
    """The address of a server for a browser."""
    host, port = made.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"
