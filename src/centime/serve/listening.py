"""The server: uvicorn with limits on connections and on the time that a client may take for its request.

uvicorn has no limit on the time in which the head of a request must come: `Prompt` closes a connection that has sent no
complete head for HEAD_SECONDS, so that slow clients cannot hold all connections.
"""

import asyncio
import logging
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
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
IDLE_SECONDS = 30
MOST_CONNECTIONS = 2_000
BACKLOG = 512
_LISTEN = re.compile(r"(?:(\[[0-9a-fA-F:.]+\]|[^:\[\]]*):)?(\d{1,5})").fullmatch


class Prompt(HttpToolsProtocol):
    """Closes connections whose request does not come in time."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Waits for the first request."""
        super().connection_made(transport)
        self._await_head()

    def on_headers_complete(self) -> None:
        """The head came in time."""
        self._cancel()
        super().on_headers_complete()

    def on_message_begin(self) -> None:
        """A further request begins."""
        super().on_message_begin()
        if self._timer is None:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing comes any more."""
        self._cancel()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(HEAD_SECONDS, self._too_late)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_late(self) -> None:
        self._timer = None
        with suppress(RuntimeError):
            self.transport.close()


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
                http=Prompt,
                loop="uvloop",
                ws="none",
                lifespan="off",
                interface="asgi3",
                access_log=False,
                log_config=None,
                log_level=logging.WARNING,
                server_header=False,
                proxy_headers=False,  # believed from nobody here; `proxy.py` does it if it is wanted
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
        made.listen(BACKLOG)  # before anybody is told the address
    except OSError as trouble:
        made.close()
        raise BadInput(f"cannot listen at {host}:{port}: {trouble.strerror or trouble}") from trouble
    return made


def address_of(made: socket.socket) -> str:
    """The address of a server for a browser."""
    host, port = made.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"
