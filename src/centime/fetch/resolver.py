"""Names to addresses, each judged by the guard before anybody can connect to it.

Asked in this order: the pairs of `FetchSettings.resolve`; `localhost` and all below it, which are this machine (RFC
6761) and never asked for; then DNS. One address is given per name, so that the delay per address holds; if it does not
answer (`failed`), the next of the name has its turn. IPv4 is asked for first and IPv6 only without it: one question per
name instead of two.

An answer is kept for its time to live, within FLOOR and CEILING; that there is none, for ABSENT; that nobody answered,
for SILENT. A name is asked for once, however many wait. The connector receives nothing but what was judged, so a
second, different answer (DNS rebinding) is judged like the first.
"""

import asyncio
import socket
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from centime.fetch.failure import one_line
from centime.fetch.guard import Guard, literal
from centime.model.outcome import Outcome

if TYPE_CHECKING:
    import aiodns

FLOOR, CEILING, ABSENT, SILENT = 60.0, 3600.0, 300.0, 30.0
MOST_NAMES = 65_536
_PATIENCE = 5.0  # seconds per try


@dataclass(frozen=True, slots=True)
class Answer:
    """What DNS said: addresses, and for how long that holds."""

    addresses: tuple[str, ...]
    seconds: float
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a name leads: an address that may be asked, or why there is none."""

    address: str
    outcome: Outcome = Outcome.READ
    detail: str = ""


Lookup = Callable[[str], Awaitable[Answer]]


class Resolver:
    """Gives the address of a name, from its cache if it can."""

    def __init__(self, guard: Guard, pairs: tuple[tuple[str, str], ...] = (), lookup: Lookup | None = None) -> None:
        """A resolver that knows nothing yet; `lookup` stands in for DNS."""
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
        """How many names are remembered."""
        return len(self._known)

    def known(self, host: str) -> Place | None:
        """Where the host of a URL leads, if that is known and still holds."""
        known = self._known.get(host)
        return known[0][0] if known is not None and known[1] > time.monotonic() else None

    async def find(self, host: str) -> Place:
        """Where the host of a URL leads now; a host that spells out an address is judged as it is."""
        place = self.known(host)
        if place is not None:
            return place
        now = time.monotonic()
        fixed = literal(host) or self._fixed(host)
        if fixed:
            self._keep(host, self._judge(host, (fixed,), ""), now + CEILING)
            return self._known[host][0][0]
        task = self._asking.get(host)
        if task is None:
            task = self._asking[host] = asyncio.create_task(self._ask(host))
        await asyncio.shield(task)
        known = self._known.get(host)
        return known[0][0] if known else Place("", Outcome.NO_ADDRESS, "the answer was forgotten at once")

    def failed(self, host: str, address: str) -> None:
        """The address did not answer: another of the name comes first from now on."""
        known = self._known.get(host)
        if known is not None and len(known[0]) > 1 and known[0][0].address == address:
            self._known[host] = (known[0][1:] + known[0][:1], known[1])

    async def close(self) -> None:
        """Stop asking."""
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
            except Exception as error:  # whatever a resolver library does, a name without an address is a value
                answer = Answer((), SILENT, f"{host} could not be resolved ({type(error).__name__}: {error})")
            until = time.monotonic() + answer.seconds
            self._keep(host, self._judge(host, answer.addresses, answer.detail), until)
        finally:
            del self._asking[host]

    def _judge(self, host: str, addresses: tuple[str, ...], detail: str) -> tuple[Place, ...]:
        """The places that may be asked, or the one reason why there are none."""
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
    """The real DNS; its library is loaded when the first name is asked for."""

    def __init__(self, servers: tuple[str, ...] = ()) -> None:
        """Nothing is asked and nothing is opened yet; without `servers` those of this machine are asked."""
        self._servers = servers
        self._channel: aiodns.DNSResolver | None = None

    async def __call__(self, host: str) -> Answer:
        """The addresses of a name."""
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
                return Answer((), ABSENT, f"{host} is no name that can be asked for ({error})")
            addresses = tuple(dict.fromkeys(str(node.addr[0], "ascii") for node in found.nodes))
            if addresses:
                seconds = min(node.ttl for node in found.nodes)
                return Answer(addresses, min(max(float(seconds), FLOOR), CEILING))
        return Answer((), ABSENT, detail)

    async def close(self) -> None:
        """Give the channel back."""
        if self._channel is not None:
            await self._channel.close()
            self._channel = None
