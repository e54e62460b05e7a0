"""Notices to subscribers by HTTP: one POST each, over a connection of its own, to an address that the guard allows.

The rules for pages hold here too: the guard judges the address that is connected to, after DNS, so that a subscription
is no way into the network of the crawl unless the person in charge allows it; redirects are not followed; only the
status of the answer is read. Nothing raises: the result is a sentence, empty if the subscriber has accepted the notice
(any 2xx).
"""

import asyncio
import time

import ada_url

from centime.fetch.failure import BadRequest, NoAddress, RefusedAddress, failure_of
from centime.fetch.guard import Guard
from centime.fetch.pool import Pool
from centime.fetch.resolver import Lookup, Resolver
from centime.fetch.settings import FetchSettings
from centime.fetch.watch import Attempt
from centime.model.outcome import Outcome


class Notifier:
    """Posts notices; used inside one event loop, by as many tasks as the caller likes."""

    def __init__(self, settings: FetchSettings, *, lookup: Lookup | None = None) -> None:
        """A notifier without connections; `lookup` replaces DNS."""
        self._settings = settings
        self._guard = Guard(settings.allow_networks)
        self._resolver = Resolver(self._guard, settings.resolve, lookup)
        self._pool: Pool | None = None

    async def post(
        self, url: str, body: bytes, identity: str, *, seconds: float, kind: str = "application/json"
    ) -> str:
        """Sends a body, by default JSON, within `seconds`; returns why it did not arrive, or nothing if it did."""
        try:
            async with asyncio.timeout(seconds):
                status = await self._post(url, body, identity, seconds, kind)
        except TimeoutError:
            return f"it did not answer within {seconds:g} s"
        except Exception as error:  # no list of exceptions is complete for the web
            return failure_of(error)[1]
        return "" if 200 <= status < 300 else f"it answered with status {status}"

    async def close(self) -> None:
        """Closes every connection."""
        await self._resolver.close()
        if self._pool is not None:
            await self._pool.close()

    async def _post(self, url: str, body: bytes, identity: str, seconds: float, kind: str) -> int:
        """The status of the answer."""
        host, name, head = self._head(url, len(body), identity, kind)
        place = await self._resolver.find(name)
        if place.outcome is Outcome.REFUSED_ADDRESS:
            raise RefusedAddress(place.detail)
        if not place.address:
            raise NoAddress(place.detail)
        pool = self._opened()
        task = asyncio.current_task()
        assert task is not None
        patience = min(seconds, self._settings.connect_seconds)
        attempt = Attempt(task, time.monotonic(), patience, seconds, seconds)
        async with asyncio.timeout(patience):
            connection = await pool.open(host, place.address, attempt)
        try:
            await connection.send(head + body)
            if not attempt.answered and connection.error is not None:
                raise connection.error
            return connection.status
        finally:
            pool.release(connection)

    def _head(self, url: str, length: int, identity: str, kind: str) -> tuple[str, str, bytes]:
        """The host to connect to, its name, and the head of the request."""
        try:
            parsed = ada_url.URL(url)
        except ValueError:
            raise BadRequest(f"{url!r} is not a URL") from None
        if not identity.isprintable():
            raise BadRequest(f"{identity!r} cannot be sent in a header")
        scheme = parsed.protocol.rstrip(":")
        if scheme not in ("http", "https"):
            raise BadRequest(f"{url!r} is not a URL of http or https")
        lines = (
            f"POST {parsed.pathname}{parsed.search} HTTP/1.1",
            f"Host: {parsed.host}",
            f"User-Agent: {self._settings.user_agent}",
            "Accept: */*",
            f"Content-Type: {kind}",
            f"Idempotency-Key: {identity}",
            f"Content-Length: {length}",
            "Connection: close",
        )
        return f"{scheme}://{parsed.host}", parsed.hostname, "\r\n".join([*lines, "", ""]).encode()

    def _opened(self) -> Pool:
        if self._pool is None:
            self._pool = Pool(self._guard, self._settings, clock=time.time, most_kept=0)
        return self._pool
