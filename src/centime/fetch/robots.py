"""The cache of robots.txt files, fetched once per host.

By RFC 9309: a 2xx is parsed; a 4xx, and more than MOST_HOPS redirects, mean that there is none and everything is
allowed; a server error means that nothing is allowed (NO_ROBOTS) until the file is fetched again: when Retry-After
says, or after FIRST_RETRY_SECONDS, and twice as long each time up to `robots_retry_seconds`. 429 counts as a server
error: the server has rules and cannot give them now. For a host that is not reached at all the outcome is the reason
itself (no address, no connection, bad TLS, a shortage on this machine) and nothing is cached: its pages cannot be
reached either, and the caller already backs off.

Bounds: MOST_HOSTS files and MOST_BYTES of rules are cached; the least recently used are evicted first. Concurrent
callers share one fetch of a host's file.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from centime.fetch.answer import MOST_RETRY_SECONDS
from centime.fetch.rules import ALL_ALLOWED, Rules, parse_rules
from centime.fetch.settings import FetchSettings
from centime.model.outcome import Outcome
from centime.model.response import Request, Response

MOST_HOPS = 5
MOST_HOSTS = 50_000
MOST_BYTES = 32 * 1024 * 1024
FIRST_RETRY_SECONDS = 15.0

_UNREACHED = frozenset(
    {Outcome.NO_ADDRESS, Outcome.REFUSED_ADDRESS, Outcome.NO_CONNECTION, Outcome.BAD_TLS, Outcome.LOST}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Robots:
    """The state of a host: its rules if the outcome is READ, otherwise why nothing may be fetched."""

    outcome: Outcome
    rules: Rules = ALL_ALLOWED
    expires: float = 0.0
    crawl_delay: float = 0.0
    address: str = ""
    detail: str = ""
    failures: int = 0  # server errors in a row
    held: float = 0.0  # seconds for which the host kept us waiting for it


class RobotsCache:
    """Caches the robots.txt of hosts and fetches it if necessary."""

    def __init__(
        self, settings: FetchSettings, ask: Callable[[Request], Awaitable[Response]], clock: Callable[[], float]
    ) -> None:
        """An empty cache that fetches with `ask`, which observes the delays; `clock` is the time of the world."""
        self._settings = settings
        self._ask = ask
        self._clock = clock
        self._known: OrderedDict[str, Robots] = OrderedDict()
        self._bytes = 0
        self._asking: dict[str, asyncio.Task[Robots]] = {}

    def __len__(self) -> int:
        """The number of cached hosts."""
        return len(self._known)

    def known(self, host: str) -> Robots | None:
        """The cached state of a host, if it is still valid."""
        robots = self._known.get(host)
        if robots is None or robots.expires <= self._clock():
            return None
        self._known.move_to_end(host)
        return robots

    async def find(self, host: str, patience: float = 0.0) -> Robots:
        """The present rules of a host, by one request for all waiting callers; `patience` is that of the request."""
        task = self._asking.get(host)
        if task is None:
            task = self._asking[host] = asyncio.create_task(self._read(host, patience))
            task.add_done_callback(lambda _: self._asking.pop(host))
        return await asyncio.shield(task)

    async def close(self) -> None:
        """Cancels all fetches."""
        tasks = tuple(self._asking.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _read(self, host: str, patience: float) -> Robots:
        response = await self._ask(Request(url=f"{host}/robots.txt", patience=patience))
        first, held = response, response.held
        hops = 0
        while response.outcome.redirect and hops < MOST_HOPS:
            hops += 1
            if not response.target.startswith(("http://", "https://")):
                break
            response = await self._ask(Request(url=response.target, patience=patience))
            held += response.held
        before = self._known.get(host)
        robots = replace(self._judge(response, first, before.failures if before else 0), held=held)
        if robots.expires > self._clock():
            self._keep(host, robots)
        return robots

    def _judge(self, response: Response, first: Response, failures: int) -> Robots:
        now = self._clock()
        if response.outcome is Outcome.READ:
            rules = parse_rules(response.body, self._settings.product)
            delay = min(rules.crawl_delay, self._settings.most_crawl_delay_seconds)
            expires = now + self._settings.robots_seconds
            return Robots(outcome=Outcome.READ, rules=rules, expires=expires, crawl_delay=delay, address=first.address)
        if response.outcome in (Outcome.GONE, Outcome.CLIENT_ERROR) or response.outcome.redirect:
            return Robots(outcome=Outcome.READ, expires=now + self._settings.robots_seconds, address=first.address)
        if (response is first and response.outcome in _UNREACHED) or response.outcome is Outcome.LOST:
            return Robots(outcome=response.outcome, address=first.address, detail=response.detail)
        own = min(FIRST_RETRY_SECONDS * 2 ** min(failures, 16), self._settings.robots_retry_seconds)
        wait = min(response.retry_after, MOST_RETRY_SECONDS) or own
        why = response.detail or f"status {response.status}"
        return Robots(
            outcome=Outcome.NO_ROBOTS,
            expires=now + wait,
            address=first.address,
            detail=f"robots.txt: {why}",
            failures=failures + 1,
        )

    def _keep(self, host: str, robots: Robots) -> None:
        old = self._known.pop(host, None)
        self._bytes += robots.rules.size - (old.rules.size if old else 0)
        self._known[host] = robots
        while len(self._known) > MOST_HOSTS or self._bytes > MOST_BYTES:
            _, gone = self._known.popitem(last=False)
            self._bytes -= gone.rules.size
