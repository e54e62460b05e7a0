"""Fetches pages politely: the only door through which Centime reaches the web.

The way of a request: the host's robots.txt is known or is fetched first; it allows the page; the host's name resolves
to an address that the guard allows; the delays of host and address have passed; one request is sent, and any answer is
returned as a value.

Guarantees. `fetch` never raises for errors of the network. Within this fetcher, and whatever the caller does,
no host receives two requests closer than its delay, robots.txt and its redirects included, and no address closer than
`politeness.address_delay`. Redirects are not followed: the caller follows them by another `fetch`, which judges the
target like any other page. A connection that this machine cannot have, because it lacks open files or memory, is tried
again a few times with no connections kept; then the outcome is LOST, which says nothing about the server.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace

from centime.fetch.address_leases import AddressLeases
from centime.fetch.exchange import Exchange
from centime.fetch.gate import Gate
from centime.fetch.guard import Guard
from centime.fetch.politeness import address_delay
from centime.fetch.proxy import Proxies
from centime.fetch.resolver import Lookup, Place, Resolver
from centime.fetch.robots import RobotsCache
from centime.fetch.rules import MOST_BYTES
from centime.fetch.settings import FetchSettings
from centime.fetch.slots import Slots
from centime.model.address import host_of, name_of
from centime.model.outcome import Outcome
from centime.model.response import Request, Response

_SCHEMES = ("http://", "https://")
_SILENT = (Outcome.NO_CONNECTION, Outcome.TIMED_OUT)
_SOMEWHERE = Place("")  # behind a proxy
_TRIES = 3  # of one request, while kept connections turn out to be dead
_PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)  # seconds before further tries, while this machine lacks open files


class Fetcher:
    """Fetches pages; used inside one event loop, by as many tasks as the caller likes."""

    def __init__(
        self, settings: FetchSettings, *, clock: Callable[[], float] = time.time, lookup: Lookup | None = None
    ) -> None:
        """A fetcher without connections; `lookup` replaces DNS in tests and simulations."""
        self._settings = settings
        self._clock = clock
        self._delay = settings.delay_seconds
        self._product = settings.product  # read for every page
        self._guard = Guard(settings.allow_networks)
        self._resolver = Resolver(self._guard, settings.resolve, lookup)
        self._proxies = Proxies(settings.proxies, settings.no_proxy)
        self._robots = RobotsCache(settings, self._ask_robots, clock)
        self._hosts = Gate()
        self._busy: set[str] = set()  # hosts with a delay and a running request
        self._addresses = Gate()
        self._slots = Slots(settings.connections)
        self._exchange: Exchange | None = None
        self._outcomes = [0] * len(Outcome)
        self._requests = 0
        self._robots_requests = 0
        self._bytes = 0
        self._waited = 0.0
        self.leases: AddressLeases | None = None  # of addresses that other partitions contact too
        self.on_robots: Callable[[Response], object] | None = None  # is given every answer to a request for robots.txt

    async def fetch(self, request: Request) -> Response:
        """Returns the response to one request, or the reason why there is none."""
        url = request.url
        if not url.startswith(_SCHEMES) or url.find("/", 8) < 0:
            return self._refusal(url, Outcome.BAD_RESPONSE, "not the canonical URL of a page")
        host = host_of(url)
        robots = self._robots.known(host)
        asked_before = robots is not None
        if robots is None:
            robots = await self._robots.find(host, request.patience)
            now = time.monotonic()
            self._hosts.hold(host, now + max(self._delay, robots.crawl_delay), now)
        if robots.outcome:
            wait = max(0.0, robots.expires - self._clock())
            return self._refusal(url, robots.outcome, robots.detail, address=robots.address, retry_after=wait)
        crawl_delay = robots.crawl_delay
        if not robots.rules.allows(url):
            refusal = self._refusal(url, Outcome.DISALLOWED, "disallowed by robots.txt", crawl_delay=crawl_delay)
            # Without a request, the delay of the host does not start.
            if asked_before:
                return replace(refusal, asked_at=0.0)
            return replace(refusal, held=robots.held, sitemaps=robots.rules.sitemaps)
        delay = self._delay if crawl_delay <= self._delay else crawl_delay
        most_bytes = request.most_bytes or self._settings.most_body_bytes
        response = await self._ask(request, host, delay, most_bytes, crawl_delay)
        self._outcomes[response.outcome] += 1
        if asked_before:
            return response
        return replace(response, held=response.held + robots.held, sitemaps=robots.rules.sitemaps)

    @property
    def product(self) -> str:
        """Our name in robots.txt and X-Robots-Tag."""
        return self._product

    async def close(self) -> None:
        """Closes every connection; nothing can be fetched afterwards."""
        await self._robots.close()
        await self._resolver.close()
        if self._exchange is not None:
            await self._exchange.close()

    def statistics(self) -> dict[str, int | float]:
        """Counts since the start, and the sizes of caches and pools now."""
        return {
            "requests": self._requests,
            "robots_requests": self._robots_requests,
            "bytes": self._bytes,
            "waited_seconds": self._waited,
            "dns_questions": self._resolver.questions,
            "names_known": len(self._resolver),
            "robots_known": len(self._robots),
            "open_sockets": self._exchange.open_sockets if self._exchange else 0,
            **{outcome.name.lower(): self._outcomes[outcome] for outcome in Outcome if self._outcomes[outcome]},
        }

    async def _ask_robots(self, request: Request) -> Response:
        self._robots_requests += 1
        most = min(MOST_BYTES, self._settings.most_body_bytes)
        response = await self._ask(request, host_of(request.url), self._settings.delay_seconds, most, 0.0)
        if self.on_robots is not None:
            self.on_robots(response)
        return response

    async def _ask(self, request: Request, host: str, delay: float, most_bytes: int, crawl_delay: float) -> Response:
        """Sends one request when the delays of host and address have passed, and returns the answer."""
        name = name_of(host)
        proxied = bool(self._proxies) and self._proxies.of(host) is not None
        if proxied:  # the proxy resolves names
            place = self._resolver.fixed(name) or _SOMEWHERE
        else:
            place = self._resolver.known(name) or await self._resolver.find(name)
        if place.outcome is Outcome.LOST:
            await asyncio.sleep(_PAUSES[-1])  # or the page would return at once, again and again
        if place.outcome:
            return self._answerless(request.url, place.outcome, place.detail, crawl_delay=crawl_delay)
        place = _SOMEWHERE if proxied else place
        exchange = self._exchange
        if exchange is None:
            exchange = self._exchange = Exchange(self._settings, self._guard, self._clock)
        between = address_delay(place.address, self._settings) if place.address else 0.0
        slots = self._slots
        response: Response | None = None
        tries, pauses = 0, iter(_PAUSES)
        while response is None:
            tries += 1
            if delay or between or slots.taken >= slots.most:
                await self._wait(host, delay, place.address, between)
            slots.taken += 1
            self._requests += 1
            started = time.monotonic()
            try:
                response = await exchange.ask(
                    request,
                    address=place.address,
                    most_bytes=most_bytes,
                    again=tries < _TRIES,
                    crawl_delay=crawl_delay,
                )
            finally:
                slots.release()
                if delay or between:
                    now = time.monotonic()
                    # The delay counts from the first byte, as the caller counts it; a clock that was set meanwhile
                    # must not shorten it further.
                    since = min(max(0.0, self._clock() - response.asked_at), now - started) if response else 0.0
                    self._busy.discard(host)
                    self._hosts.hold(host, now - since + delay, now)
                    self._addresses.hold(place.address, now - since + between, now)
            if response is not None and response.outcome is Outcome.LOST and (pause := next(pauses, 0.0)):
                exchange.drop_kept()
                await asyncio.sleep(pause)
                response = None
        self._bytes += response.wire_bytes
        if not response.status and response.outcome in _SILENT:
            self._resolver.failed(name, place.address)
        return response

    async def _wait(self, host: str, delay: float, address: str, between: float) -> None:
        """Waits until host and address are ready and a connection may be used; then reserves host and address."""
        while True:
            now = time.monotonic()
            # While a request runs there is no time yet from which the delay counts: look again a delay later.
            pause = (
                delay if host in self._busy else max(self._hosts.free_at(host), self._addresses.free_at(address)) - now
            )
            if pause > 0:
                self._waited += pause
                await asyncio.sleep(pause)
            elif self._slots.taken >= self._slots.most:
                await self._slots.freed()
            elif between and self.leases is not None and self.leases.pause(address, between, self._clock()) != 0:
                await self.leases.ready(address, between)
            else:
                break
        self._addresses.hold(address, now + between, now)
        if delay:
            self._busy.add(host)

    def _refusal(
        self,
        url: str,
        outcome: Outcome,
        detail: str,
        *,
        address: str = "",
        retry_after: float = 0.0,
        crawl_delay: float = 0.0,
    ) -> Response:
        self._outcomes[outcome] += 1
        return self._answerless(url, outcome, detail, address=address, retry_after=retry_after, crawl_delay=crawl_delay)

    def _answerless(
        self,
        url: str,
        outcome: Outcome,
        detail: str,
        *,
        address: str = "",
        retry_after: float = 0.0,
        crawl_delay: float = 0.0,
    ) -> Response:
        return Response(
            url=url,
            outcome=outcome,
            detail=detail,
            address=address,
            asked_at=self._clock(),
            retry_after=retry_after,
            crawl_delay=crawl_delay,
        )
