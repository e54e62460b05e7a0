"""The transfers of a partition: its proxies, its channels to and from the other partitions, and its ledger.

A part of the shard's state, which only `exchanging.py` changes. A crawl in one folder has none (`state.transfers` is
None). Hosts belong to partitions by 12 bits of their hash, which the fingerprints of their URLs contain: a link without
its text is routed by its fingerprint alone.

Memory for a proxy: 16 bytes of money, 2 of marks, 8 of fingerprint, 4 / load of slots, 4 in the dictionary of its
channel; at the receiver 4.
"""

from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from centime.ledger.accounts import PROXY, Sums
from centime.ledger.certificate import Report
from centime.ledger.partial import PartialLedger
from centime.model.address import HOST_BITS
from centime.model.errors import LedgerImbalance, StoreBroken
from centime.model.row_batch import Pages
from centime.shard.transfers.batch import Name, Needed
from centime.shard.transfers.channel import Ends, Incoming, Outgoing
from centime.store.url_table import UrlTable

Fingerprints = npt.NDArray[np.uint64]


def owners_of(fingerprints: Fingerprints, partitions: int) -> npt.NDArray[np.int64]:
    """The partition, among `partitions`, that owns each URL."""
    hosts = (fingerprints >> np.uint64(64 - HOST_BITS)).astype(np.int64)
    owners: npt.NDArray[np.int64] = hosts * partitions >> HOST_BITS
    return owners


class Transfers:
    """The proxies and channels of a partition."""

    def __init__(self, ledger: PartialLedger, partition: int, partitions: int) -> None:
        self.ledger = ledger
        self.partition = partition
        self.partitions = partitions
        self.table = UrlTable()  # from a fingerprint to the number of its proxy
        self.outgoing: dict[int, Outgoing] = {}
        self.incoming: dict[int, Incoming] = {}

    def is_own(self, fingerprints: Fingerprints) -> npt.NDArray[np.bool_]:
        """Which URLs this partition owns."""
        own: npt.NDArray[np.bool_] = owners_of(fingerprints, self.partitions) == self.partition
        return own

    def introduce(self, fingerprints: Fingerprints, names: list[Name]) -> list[str]:
        """Makes proxies of URLs of other partitions that have none yet; returns these URLs, by their numbers."""
        proxies, is_new = self.table.find_or_add(fingerprints)
        places = np.flatnonzero(is_new)
        if not len(places):
            return []
        self.ledger.join_proxies(len(places))
        owners = owners_of(fingerprints[places], self.partitions)
        for owner in np.unique(owners).tolist():
            channel = self.outgoing.setdefault(owner, Outgoing())
            chosen = places[owners == owner]
            channel.proxies.extend(proxies[chosen])
            channel.names.extend(names[place] for place in chosen.tolist())
        return [names[place].url for place in places.tolist()]

    def need(self, fingerprints: Fingerprints, needed: list[Needed]) -> None:
        """Queues messages to the owners of URLs of other partitions that pages need them; URLs already named as pages
        stay pages."""
        unnamed = np.flatnonzero(self.table.find(fingerprints) < 0)
        owners = owners_of(fingerprints[unnamed], self.partitions)
        for place, owner in zip(unnamed.tolist(), owners.tolist(), strict=True):
            self.outgoing.setdefault(owner, Outgoing()).needed.append(needed[place])

    def with_proxies(self, fingerprints: Fingerprints, pages: Pages) -> Pages:
        """The pages of links, with the proxies of those that lead to other partitions."""
        unknown = np.flatnonzero(pages < 0)
        if not len(unknown):
            return pages
        proxies = self.table.find(fingerprints[unknown])
        pages = pages.copy()
        pages[unknown] = np.where(proxies < 0, -1, proxies + PROXY)
        return pages

    def sums_of_others(self) -> Sums:
        """The sums of all other partitions, as last received."""
        total = Sums()
        for channel in self.incoming.values():
            total = total.plus(channel.sums)
        return total

    def has_news(self, other: int, threshold: int) -> bool:
        """Whether a batch for a partition would name a page or a requisite, or carry `threshold` units or more for a
        page."""
        channel = self.outgoing.get(other)
        return channel is not None and (
            channel.to_send > 0 or self.ledger.largest_unsent(channel.proxies.numbers) >= threshold
        )

    def report(self) -> Report:
        """This partition's report for a certificate now."""
        sent, applied = [0] * self.partitions, [0] * self.partitions
        for other, outgoing in self.outgoing.items():
            sent[other] = outgoing.absolute
        for other, incoming in self.incoming.items():
            applied[other] = incoming.absolute
        return self.ledger.report(self.partition, tuple(sent), tuple(applied))

    @property
    def nbytes(self) -> int:
        """Bytes of memory for proxies and dictionaries, without their money and without batches."""
        ends = sum(channel.proxies.nbytes for channel in self.outgoing.values())
        return self.table.nbytes + ends + sum(channel.pages.nbytes for channel in self.incoming.values())

    def check(self, fingerprints: Fingerprints) -> None:
        """Raises LedgerImbalance or StoreBroken unless the channels agree with the ledger, and every page, of these
        fingerprints, and every proxy is where it belongs.
        """
        self.table.check()
        own = self.is_own(fingerprints)
        if not own.all():
            raise StoreBroken(f"page {np.flatnonzero(~own)[0]} belongs to another partition than {self.partition}")
        members = [np.empty(0, dtype=np.int32)]
        for other, channel in self.outgoing.items():
            numbers = channel.proxies.numbers
            members.append(numbers)
            owners = owners_of(self.table.fingerprints[numbers], self.partitions)
            if other == self.partition or (owners != other).any():
                raise StoreBroken(f"a page that is no page of partition {other} is in the channel to it")
            if sorted(channel.outbox) != list(range(channel.number - len(channel.outbox) + 1, channel.number + 1)):
                raise StoreBroken(f"batches to partition {other} are missing: {sorted(channel.outbox)}")
            sent = self.ledger.sent(numbers)
            if sent != channel.signed:
                raise LedgerImbalance(f"money sent to partition {other}: {sent}, should be {channel.signed}")
        named = np.sort(np.concatenate(members))
        if not np.array_equal(named, np.arange(self.table.count)) or self.table.count != self.ledger.proxies:
            raise StoreBroken(
                f"{self.ledger.proxies} proxies, {self.table.count} of them known, {len(named)} in channels"
            )
        arrived = sum(channel.signed for channel in self.incoming.values())
        if arrived != self.ledger.arrived:
            raise LedgerImbalance(f"money that arrived: {self.ledger.arrived}, should be {arrived}")
        for other, incoming in self.incoming.items():
            if incoming.pages.count and int(incoming.pages.numbers.max()) >= len(fingerprints):
                raise StoreBroken(f"the channel from partition {other} names an unknown page")

    # ---- for snapshots

    def packed(self) -> bytes:
        """The channels, packed for a snapshot."""
        return msgspec.msgpack.encode(
            Ends(
                {other: channel.packed() for other, channel in self.outgoing.items()},
                {other: channel.packed() for other, channel in self.incoming.items()},
            )
        )

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Facts and arrays for a snapshot, without the channels."""
        return {}, dict(self.table.state())

    def restore(self, channels: bytes, fingerprints: Fingerprints) -> None:
        """Restores the channels of a snapshot."""
        ends = msgspec.msgpack.decode(channels, type=Ends)
        self.table = UrlTable(fingerprints)
        self.outgoing = {other: Outgoing.unpacked(packed) for other, packed in ends.outgoing.items()}
        self.incoming = {other: Incoming.unpacked(packed) for other, packed in ends.incoming.items()}
