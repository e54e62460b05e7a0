"""Leases of addresses, for fetchers of a crawl in partitions: hosts of several partitions may share an address, so a
fetcher needs a lease before it contacts one that has a delay.

Law: a lease lasts from `start` to `end`, and a request begins at t only if start <= t <= end - delay. The next holder
of the address begins at `end` at the earliest, so requests of both are at least a delay apart, whichever process dies.
Requests of one fetcher are kept apart by its own gate. A lease without length says when to request one again.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import NamedTuple

PATIENCE_SECONDS = 5.0  # before a request without an answer is repeated
MOST_LEASES = 4_096  # after which those that have ended are forgotten


class AddressLease(NamedTuple):
    """When an address may be contacted, by the clock of the run."""

    start: float
    end: float


class AddressLeases:
    """The leases of one fetcher; `ask` requests an address with its delay, and `grant` is called with the answer."""

    def __init__(self, clock: Callable[[], float], ask: Callable[[str, float], None]) -> None:
        self._clock = clock
        self._ask = ask
        self._leases: dict[str, AddressLease] = {}
        self._answers: dict[str, asyncio.Event] = {}

    def pause(self, address: str, delay: float, now: float) -> float | None:
        """Seconds until a request may begin, or until a lease is to be requested again; 0 if a request may begin now,
        None if a lease is to be requested now.
        """
        lease = self._leases.get(address)
        if lease is None:
            return None
        if now < lease.start:
            return lease.start - now
        return 0.0 if now <= lease.end - delay else None

    def grant(self, leases: Mapping[str, AddressLease]) -> None:
        """Stores the leases that were granted."""
        if len(self._leases) > MOST_LEASES:
            now = self._clock()
            self._leases = {address: lease for address, lease in self._leases.items() if lease.end > now}
        self._leases |= leases
        for address in leases:
            if address in self._answers:
                self._answers.pop(address).set()

    async def ready(self, address: str, delay: float) -> None:
        """Returns when a request to an address may begin."""
        while (pause := self.pause(address, delay, self._clock())) != 0:
            if pause is not None:
                await asyncio.sleep(pause)
                continue
            if address not in self._answers:
                self._answers[address] = asyncio.Event()
                self._ask(address, delay)
            answer = self._answers[address]
            try:
                await asyncio.wait_for(answer.wait(), PATIENCE_SECONDS)
            except TimeoutError:
                if self._answers.get(address) is answer:  # otherwise another task has repeated the request
                    del self._answers[address]
