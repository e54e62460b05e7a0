"""Clusters in which one rule of the protocol is left out. The laws must notice each of them."""

from pathlib import Path

from bench.cluster.keeper import Copy, Keeper
from bench.cluster.laws import Broken
from bench.cluster.node import Node
from bench.cluster.world import World
from centime.cluster.addresses import AddressDesk, Holder
from centime.cluster.exchange import Exchange
from centime.cluster.message import Sent
from centime.fetch.address_leases import AddressLease
from centime.shard.fold import RECEIVED
from centime.shard.message import Received
from centime.shard.transfers.channel import Closed
from centime.shard.transfers.exchanging import apply_batch, transfers_of


class SendsEarly(Exchange):
    """Sends a batch before its frame is durable."""

    def may_leave(self, closed: Closed) -> bool:
        return True


class AcknowledgesEarly(Exchange):
    """Acknowledges a batch before its frame is durable."""

    def answer_to(self, sender: int) -> int | None:
        return transfers_of(self.shard).incoming[sender].number if sender in transfers_of(self.shard).incoming else None


class AppliesAgain(Exchange):
    """Does not look at the numbers of batches that it has applied."""

    def fits(self, message: Sent) -> bool:
        channel = transfers_of(self.shard).incoming.get(message.sender)
        return super().fits(message) or (channel is not None and message.number <= channel.number)

    def apply(self, now: float, message: Sent) -> None:
        frame = Received(now, message.sender, message.number, message.batch)
        self.shard._append(RECEIVED, frame)
        apply_batch(self.shard, frame)
        transfers_of(self.shard).incoming[message.sender].number = message.number


class NoFence(Keeper):
    """Stores what an old incarnation sends."""

    def is_old(self, incarnation: int, copy: Copy) -> bool:
        return False


class GivesTwice(AddressDesk):
    """Gives an address to everybody who asks."""

    def grant(self, holder: Holder, address: str, delay: float, now: float) -> AddressLease:
        return AddressDesk().grant(holder, address, delay, now)


EXCHANGES: dict[str, type[Exchange]] = {
    "sends before it syncs": SendsEarly,
    "acknowledges before it syncs": AcknowledgesEarly,
    "applies a number twice": AppliesAgain,
}
MUTANTS = (*EXCHANGES, "stores what a zombie sends", "gives an address to two")


def mutant_world(name: str, seed: int, room: Path, partitions: int = 2) -> World:
    """A world in which the rule of this name is left out."""
    exchange = EXCHANGES.get(name, Exchange)

    class Mutant(Node):
        def make_exchange(self) -> Exchange:
            return exchange(self.shard, self.incarnation)

    keeper = NoFence if name == "stores what a zombie sends" else Keeper
    desk = GivesTwice if name == "gives an address to two" else AddressDesk
    return World(seed, room, partitions=partitions, make_node=Mutant, keeper=keeper, desk=desk)


def caught(name: str, seed: int, room: Path, turns: int) -> str:
    """The law that notices the mutant in one world; empty if none does."""
    try:
        mutant_world(name, seed, room).run(turns)
    except Broken as broken:
        return str(broken)
    return ""
