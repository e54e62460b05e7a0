"""A process that runs one partition of the simulated cluster: the real shard, journal, snapshots and protocol."""

from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

from bench.cluster.keeper import Keeper
from bench.cluster.web import Web
from centime.cluster.exchange import Exchange
from centime.cluster.message import Message
from centime.crawl.engine.opening import open_writer
from centime.fetch.address_leases import AddressLeases
from centime.fetch.gate import Gate
from centime.model.address import host_of
from centime.model.errors import CentimeError
from centime.processes.clock import RunClock
from centime.shard.message import Lease, Returned

DELAY = 1.0  # between two requests to a host
ADDRESS_DELAY = 0.5  # between two requests to an address, whatever the hosts
ADDRESSES = 4  # that all hosts share, of whatever partition
TERM = 5.0  # seconds after its last word to the replica in which a node may contact hosts


INTERNAL = 0.25  # the weight of a link within a host name


def address_of(url: str) -> str:
    """The address of the host of a URL: hosts of all partitions share a few."""
    return f"10.0.0.{crc32(host_of(url).encode()) % ADDRESSES}"


class Node:
    """A partition that is open in a folder, for the `incarnation`-th time."""

    def __init__(
        self,
        partition: int,
        partitions: int,
        incarnation: int,
        path: Path,
        web: Web,
        now: float,
        steps: Callable[[], int] = lambda: 0,
    ) -> None:
        """Opens a partition; `steps` is how many changes of disks were recorded."""
        self._steps = steps
        self.partition = partition
        self.incarnation = incarnation
        self.path = path
        self.now = now
        self.stored_at = float("-inf")
        self.leases: list[Lease] = []  # durable, and not contacted yet
        self.asks: list[str] = []  # addresses that it wants a lease of
        self.addresses = AddressLeases(lambda: self.now, lambda address, delay: self.asks.append(address))
        self.visits: list[tuple[float, bytes]] = []  # under way, by the time at which they end
        self._gate = Gate()
        self._open = ExitStack()
        given: dict[str, Any] = {"scope": "any", "delay": DELAY, "refresh-after": 20.0}
        given |= {"link-weight": f"internal={INTERNAL}"}
        given |= {"partition": partition, "partitions": partitions}
        seeds = [] if path.exists() else web.seeds[partition]
        clock = RunClock(0.0, steady=lambda: self.now, boot="simulated")
        self.opened = self._open.enter_context(open_writer(path, seeds, given, where="cluster", clock=clock))
        self.shard = self.opened.shard
        self.shard.returned(Returned(now, [], all=True))
        self.exchange = self.make_exchange()

    def make_exchange(self) -> Exchange:
        """The protocol; mutants have another one."""
        return Exchange(self.shard, self.incarnation)

    def sync(self, keeper: Keeper) -> None:
        """Makes all frames durable, here and on the replica."""
        self.shard.journal.sync()
        keeper.store(self.partition, self.incarnation, self.path.name, self._steps(), self.now)
        self.stored_at = self.now
        self.exchange.made_durable(self.shard.journal.next_index)

    def lease(self, keeper: Keeper) -> None:
        """Leases pages, and makes that durable before anybody is contacted."""
        leases = self.shard.lease(self.now, 3)
        self.sync(keeper)
        self.leases += leases

    def fetch(self, keeper: Keeper, web: Web, chance: Random) -> list[str]:
        """Contacts the hosts of leased pages whose addresses it may contact; returns their URLs."""
        if self.leases and self.now >= self.stored_at + TERM:
            self.sync(keeper)  # it may have been frozen for long: is it still the one?
        contacted, waiting = [], []
        for lease in self.leases:
            address = address_of(lease.url)
            if self.now < self._gate.free_at(address):
                waiting.append(lease)
            elif self.addresses.pause(address, ADDRESS_DELAY, self.now) != 0:
                self.asks.append(address)
                waiting.append(lease)
            else:
                self._gate.hold(address, self.now + ADDRESS_DELAY, self.now)
                contacted.append(lease.url)
                self.visits.append((self.now + chance.choice((0.05, 0.05, 0.5)), web.visit(lease, self.now, chance)))
        self.leases = waiting
        return contacted

    def record(self) -> None:
        """Records the visits that have ended."""
        ended = [visit for when, visit in self.visits if when <= self.now]
        if ended:
            self.visits = [(when, visit) for when, visit in self.visits if when > self.now]
            self.shard.record(self.now, ended)

    def snapshot(self) -> None:
        """Writes a snapshot."""
        self.opened._start()
        self.opened._finish()

    def take(self, message: Message) -> None:
        """Receives a message."""
        self.exchange.take(self.now, message)

    def end(self) -> None:
        """Lets go of all files, whatever state they are in."""
        with suppress(OSError, CentimeError):
            self.shard.journal.close()
        with suppress(OSError, CentimeError):
            self.shard.pages.close()
        with suppress(OSError, CentimeError):
            self._open.close()
