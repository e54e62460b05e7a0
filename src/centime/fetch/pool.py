"""The open connections: made to addresses that the guard allows, kept for the next request to the same host.

A connection is kept for one host, which is scheme, name and port, and for one address: when the name leads elsewhere,
its old connections are closed. At most `most_kept` wait for a request; the host that was used least lately loses its
connection first. The callers bound those in use, so at most that many and `most_kept` more are open.

Guarantee: the guard judges the very address that is connected to. It is a number, so it is not resolved again. Only a
proxy, which a person has chosen, is connected to whatever its address (`proxy.py`).

Trap: connections are aborted rather than closed. Over TLS, closing waits for the server's last words, and a server that
sends without end would be read meanwhile.
"""

import asyncio
import ssl
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from centime.fetch.connection import Connection
from centime.fetch.failure import RefusedAddress
from centime.fetch.guard import Guard
from centime.fetch.proxy import Proxies, open_tunnel
from centime.fetch.settings import FetchSettings
from centime.fetch.watch import Attempt

_PORTS = {"http": 80, "https": 443}
_PATIENCE = 1000  # steps of the loop in which aborted connections end


class Pool:
    """Opens connections and keeps them; used inside one event loop."""

    def __init__(
        self,
        guard: Guard,
        settings: FetchSettings,
        *,
        clock: Callable[[], float],
        most_kept: int,
    ) -> None:
        """A pool without connections, for the running loop; `clock` is the time of the world."""
        self._guard = guard
        self._most_kept = most_kept
        self._settings = settings
        self._keep_seconds = settings.keep_alive_seconds
        self.proxies = Proxies(settings.proxies, settings.no_proxy)
        self._loop = asyncio.get_running_loop()
        self._make: Callable[..., Connection] = partial(
            Connection, loop=self._loop, clock=clock, most_head_bytes=settings.most_header_bytes, forget=self._forget
        )
        self._idle: dict[str, list[Connection]] = {}  # by host; the host used last is last
        self._kept = 0
        self._open: set[Connection] = set()
        self._opening = 0
        self._sweeper: asyncio.TimerHandle | None = None
        self._tls: ssl.SSLContext | None = None

    def __len__(self) -> int:
        """How many connections are open or being opened."""
        return len(self._open) + self._opening

    def take(self, host: str, address: str, attempt: Attempt) -> Connection | None:
        """A kept connection to the host at this address, ready for the attempt, or nothing if there is none."""
        since = time.monotonic() - self._keep_seconds
        while idle := self._idle.get(host):
            connection = idle.pop()
            self._kept -= 1
            if not idle:
                del self._idle[host]
            if connection.address == address and connection.idle_since >= since and connection.usable:
                connection.begin(attempt)
                return connection
            connection.abort()
        return None

    async def open(self, host: str, address: str, attempt: Attempt) -> Connection:
        """A new connection to the host at this address, ready for the attempt; raises the error."""
        proxy = self.proxies.of(host)
        if proxy is None and not self._guard.allows(address):
            raise RefusedAddress(f"{address} is not a public address")
        attempt.fresh = True
        attempt.address = address
        scheme, _, authority = host.partition("://")
        name, colon, port = authority.rpartition(":")
        if not colon or authority.endswith("]"):
            name, port = authority, str(_PORTS[scheme])
        options: dict[str, Any] = {}
        tls_name = name.strip("[]").rstrip(".")
        if scheme == "https":
            options = {"ssl": self._context(), "server_hostname": tls_name}
        self._opening += 1
        try:
            make: Callable[[], Connection] = partial(self._make, host, address, attempt)
            if proxy is not None and options:
                connection = await open_tunnel(proxy, f"{name}:{port}", make, self._context(), tls_name)
            elif proxy is not None:
                _, connection = await self._loop.create_connection(make, proxy.host, proxy.port)
            else:
                _, connection = await self._loop.create_connection(make, address, int(port), **options)
        finally:
            self._opening -= 1
        if not connection.lost:
            self._open.add(connection)
        return connection

    def release(self, connection: Connection) -> None:
        """Keeps a connection if it can serve another request, closes it otherwise."""
        if not (connection.complete and connection.keep and connection.usable):
            connection.abort()
            return
        connection.clear()  # the body of an error page, which is not read
        connection.idle_since = time.monotonic()
        idle = self._idle.pop(connection.host, None)
        if idle is None:
            idle = []
        idle.append(connection)
        self._idle[connection.host] = idle
        self._kept += 1
        if self._kept > self._most_kept:
            self._drop(self._idle[next(iter(self._idle))][0])
        if self._sweeper is None and self._kept:
            self._sweep_later()

    def drop_kept(self) -> None:
        """Closes the connections that wait for a request."""
        for connection in [one for idle in self._idle.values() for one in idle]:
            self._drop(connection)

    async def close(self) -> None:
        """Closes every connection."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        for connection in tuple(self._open):
            connection.abort()
        for _ in range(_PATIENCE):
            if not self._open:
                break
            await asyncio.sleep(0)

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:  # reading all certificates takes a while
            self._tls = self._settings.tls_context()
        return self._tls

    def _forget(self, connection: Connection) -> None:
        """The connection is lost."""
        self._open.discard(connection)
        if connection in self._idle.get(connection.host, ()):
            self._remove(connection)

    def _drop(self, connection: Connection) -> None:
        self._remove(connection)
        connection.abort()

    def _remove(self, connection: Connection) -> None:
        idle = self._idle[connection.host]
        idle.remove(connection)
        self._kept -= 1
        if not idle:
            del self._idle[connection.host]

    def _sweep(self) -> None:
        """Closes connections that have been kept too long."""
        since = time.monotonic() - self._keep_seconds
        for idle in tuple(self._idle.values()):
            for connection in tuple(idle):
                if connection.idle_since < since:
                    self._drop(connection)
        self._sweeper = None
        if self._kept:
            self._sweep_later()

    def _sweep_later(self) -> None:
        self._sweeper = self._loop.call_later(self._keep_seconds / 2, self._sweep)
