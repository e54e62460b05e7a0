"""Resolves names to addresses, each judged by the guard before a connection to it is possible.

Sources, in this order: the pairs of `FetchSettings.resolve`; `localhost` and all names below it, which are this machine
(RFC 6761) and never looked up; DNS. A name has one address at a time, so that the delay per address holds; if that
does not answer (`failed`), the next one of the name takes its place. IPv4 is queried first and IPv6 only if there is no
IPv4 address: one query per name instead of two.

An answer is cached for its time to live, within FLOOR and CEILING; a name without address, for ABSENT; a DNS failure,
for SILENT. Concurrent lookups of a name share one query. Callers receive only judged addresses, so a second, different
answer (DNS rebinding) is judged like the first.
"""

import asyncio
import socket
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from centime.fetch.failure import lacking, one_line
from centime.fetch.guard import Guard, literal
from centime.model.outcome import Outcome
from centime.processes.open_files import is_lacking

if TYPE_CHECKING:
    import aiodns

FLOOR, CEILING, ABSENT, SILENT = 60.0, 3600.0, 300.0, 30.0
MOST_NAMES = 65_536
_PATIENCE = 5.0  # seconds per DNS try


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of DNS: addresses, and for how long they are valid."""

    addresses: tuple[str, ...]
    seconds: float
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """The result for a name: an address that the guard allows, or the reason why there is none."""

    address: str
    outcome: Outcome = Outcome.READ
    detail: str = ""


Lookup = Callable[[str], Awaitable[Answer]]


class Resolver:
    """Finds the address of a name, in its cache if possible."""

    def __init__(self, guard: Guard, pairs: tuple[tuple[str, str], ...] = (), lookup: Lookup | None = None) -> None:
        """A resolver with an empty cache; `lookup` replaces DNS."""
        self._guard = guard
        self._exact = {name.lower(): address for name, address in pairs if not name.startswith("*.")}
        self._below = tuple((name[1:].lower(), address) for name, address in pairs if name.startswith("*."))
        self._dns: Dns | None = None
        if lookup is None:
            lookup = self._dns = Dns()
        self._lookup = lookup
        self._known: OrderedDict[str, tuple[tuple[Place, ...], float]] = OrderedDict()
        self._asking: dict[str, asyncio.Task[None]] = {}
        self.questions = 0

    def __len__(self) -> int:
        """The number of cached names."""
        return len(self._known)

    def known(self, host: str) -> Place | None:
        """The place of the host of a URL, if that is cached and still valid."""
        known = self._known.get(host)
        return known[0][0] if known is not None and known[1] > time.monotonic() else None

    async def find(self, host: str) -> Place:
        """The place of the host of a URL; a host that is an address is judged directly."""
        place = self.known(host)
        if place is not None:
            return place
        now = time.monotonic()
        if fixed := literal(host) or self._fixed(host):
            self._keep(host, self._judge(host, (fixed,), ""), now + CEILING)
            return self._known[host][0][0]
        task = self._asking.get(host)
        if task is None:
            task = self._asking[host] = asyncio.create_task(self._ask(host))
        await asyncio.shield(task)
        known = self._known.get(host)
        return known[0][0] if known else Place("", Outcome.NO_ADDRESS, "the answer was evicted from the cache at once")

    def fixed(self, host: str) -> Place | None:
        """The place of a host that is an address or has a fixed one; None for a name that DNS resolves."""
        fixed = literal(host) or self._fixed(host)
        return self._judge(host, (fixed,), "")[0] if fixed else None

    def failed(self, host: str, address: str) -> None:
        """Notes that an address did not answer: another one of the name comes first from now on."""
        known = self._known.get(host)
        if known is not None and len(known[0]) > 1 and known[0][0].address == address:
            self._known[host] = (known[0][1:] + known[0][:1], known[1])

    async def close(self) -> None:
        """Stops all lookups."""
        tasks = tuple(self._asking.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._dns is not None:
            await self._dns.close()

    def _fixed(self, host: str) -> str:
        name = host.rstrip(".")
        if name in self._exact:
            return self._exact[name]
        for suffix, address in self._below:
            if name.endswith(suffix):
                return address
        return "127.0.0.1" if name == "localhost" or name.endswith(".localhost") else ""

    async def _ask(self, host: str) -> None:
        try:
            self.questions += 1
            try:
                answer = await self._lookup(host)
            except Exception as error:  # any error of a resolver library becomes a value
                answer = Answer((), SILENT, f"{host} could not be resolved ({type(error).__name__}: {error})")
            if not answer.addresses and is_lacking():  # whatever error the library reports
                self._keep(host, (Place("", Outcome.LOST, lacking(f"{host} was not looked up")),), 0.0)
                return
            until = time.monotonic() + answer.seconds
            self._keep(host, self._judge(host, answer.addresses, answer.detail), until)
        finally:
            del self._asking[host]

    def _judge(self, host: str, addresses: tuple[str, ...], detail: str) -> tuple[Place, ...]:
        """The places that the guard allows, or the one reason why there are none."""
        places = tuple(Place(address) for address in addresses if self._guard.allows(address))
        if places:
            return places
        if addresses:
            return (Place("", Outcome.REFUSED_ADDRESS, f"{addresses[0]} is not a public address"),)
        return (Place("", Outcome.NO_ADDRESS, one_line(detail or f"{host} has no address")),)

    def _keep(self, host: str, places: tuple[Place, ...], until: float) -> None:
        self._known[host] = (places, until)
        self._known.move_to_end(host)
        if len(self._known) > MOST_NAMES:
            self._known.popitem(last=False)


class Dns:
    """The real DNS; its library is loaded for the first lookup."""

    def __init__(self, servers: tuple[str, ...] = ()) -> None:
        """A client without open sockets; it queries `servers`, by default those of this machine."""
        self._servers = servers
        self._channel: aiodns.DNSResolver | None = None

    async def __call__(self, host: str) -> Answer:
        """Returns the addresses of a name."""
        import aiodns
        import pycares

        if self._channel is None:  # NOSEARCH: a name of the web is never completed by the domain of this machine
            servers = self._servers or None
            self._channel = aiodns.DNSResolver(servers, timeout=_PATIENCE, tries=2, flags=pycares.ARES_FLAG_NOSEARCH)
        detail = ""
        for family in (socket.AF_INET, socket.AF_INET6):
            try:
                async with asyncio.timeout(3 * _PATIENCE):
                    found = await self._channel.getaddrinfo(host, family=family, type=socket.SOCK_STREAM)
            except aiodns.error.DNSError as error:
                if error.args[0] not in (aiodns.error.ARES_ENOTFOUND, aiodns.error.ARES_ENODATA):
                    return Answer((), SILENT, f"{host} could not be resolved ({error.args[-1]})")
                detail = f"{host} has no address ({error.args[-1]})"
                continue
            except TimeoutError:
                return Answer((), SILENT, f"{host} could not be resolved in time")
            except (UnicodeError, ValueError) as error:
                return Answer((), ABSENT, f"{host} cannot be looked up ({error})")
            addresses = tuple(dict.fromkeys(str(node.addr[0], "ascii") for node in found.nodes))
            if addresses:
                seconds = min(node.ttl for node in found.nodes)
                return Answer(addresses, min(max(float(seconds), FLOOR), CEILING))
        return Answer((), ABSENT, detail)

    async def close(self) -> None:
        """Closes the channel."""
        if self._channel is not None:
            await self._channel.close()
            self._channel = None
