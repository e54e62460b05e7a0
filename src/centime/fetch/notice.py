"""Notices to subscribers who want them by HTTP: one POST each, to an address that may be asked.

What holds for pages holds here: the guard judges the address that is connected to, after DNS, so that a subscription is
no way into the network of the crawl unless the person in charge allows it; redirects are not followed; the answer is
read no further than its status. Nothing raises: what came of it is a sentence, empty when the subscriber has taken the
notice (any 2xx).

Trap: aiohttp asks its resolver for names alone. A URL that spells out an address is judged where its socket is opened.
"""

import socket
from typing import Any

import aiohttp
from yarl import URL

from centime.fetch.exchange import Judged
from centime.fetch.failure import RefusedAddress, failure_of
from centime.fetch.guard import Guard
from centime.fetch.resolver import Lookup, Resolver
from centime.fetch.settings import FetchSettings


class Notifier:
    """Posts notices; used inside one event loop, by as many tasks as the caller likes."""

    def __init__(self, settings: FetchSettings, *, lookup: Lookup | None = None) -> None:
        """A notifier that has asked nothing yet; `lookup` stands in for DNS."""
        self._settings = settings
        self._guard = Guard(settings.allow_networks)
        self._resolver = Resolver(self._guard, settings.resolve, lookup)
        self._session: aiohttp.ClientSession | None = None

    async def post(self, url: str, body: bytes, identity: str, *, seconds: float) -> str:
        """Sends JSON within so many seconds; why it did not arrive, nothing if it did."""
        headers = {"Content-Type": "application/json", "Idempotency-Key": identity}
        timeout = aiohttp.ClientTimeout(total=seconds, connect=min(seconds, self._settings.connect_seconds))
        try:
            async with self._opened().post(
                URL(url), data=body, headers=headers, allow_redirects=False, timeout=timeout
            ) as answer:
                return "" if 200 <= answer.status < 300 else f"it answered with status {answer.status}"
        except TimeoutError:
            return f"it did not answer within {seconds:g} s"
        except Exception as error:  # the web finds ways that no list of exceptions foresees
            return failure_of(error)[1]

    async def close(self) -> None:
        """Closes every connection."""
        await self._resolver.close()
        if self._session is not None:
            await self._session.close()

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(
                limit=0,
                resolver=Judged(self._resolver),
                use_dns_cache=False,
                force_close=True,
                socket_factory=self._open_socket,
            )
            headers = {"User-Agent": self._settings.user_agent}
            self._session = aiohttp.ClientSession(
                connector=connector, cookie_jar=aiohttp.DummyCookieJar(), headers=headers
            )
        return self._session

    def _open_socket(self, info: Any) -> socket.socket:
        family, kind, protocol, _, place = info
        if not self._guard.allows(place[0]):
            raise RefusedAddress(f"{place[0]} is not a public address")
        return socket.socket(family, kind, protocol)
