"""The hosts of a crawl: their names, numbers, politeness and counters.

A host is a scheme, a name and a port: one robots.txt and one delay apply to all of it. Its politeness state (latency,
failures in a row, crawl delay) is a value of `fetch/politeness.py`; the frontier knows only the time of the host's next
fetch.
"""

from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import xxhash

from centime.change.noise import Noise
from centime.fetch.politeness import HostState
from centime.model.ids import HostId, host_ids
from centime.refresh.learning.credit import STRANGER, Credit
from centime.refresh.learning.dates import NOTHING_KNOWN, DateRecord

NEW = HostState()  # of all hosts that were never visited: there may be many
MOST_ADDRESSES = 1 << 20  # with a delay of their own; further ones share it with one of these


class Host(msgspec.Struct, gc=False, omit_defaults=True):
    """One host and its counters. Those of a host that was never visited take no room in a snapshot."""

    name: str
    politeness: HostState = NEW
    known: int = 0
    visits: int = 0
    read: int = 0
    failures: int = 0
    refused: int = 0  # visits that robots.txt disallowed
    wire_bytes: int = 0
    next_time: float = 0.0
    address: str = ""
    trouble: str = ""  # the last failure, in words
    dates: DateRecord = NOTHING_KNOWN  # how reliable its Last-Modified dates are
    claims: Credit = STRANGER  # how reliable the change periods are that it publishes
    unmodified: int = 0  # answers that a page is unchanged (304)
    lies: int = 0  # how many of them, when checked, were wrong, minus those that were right since
    noise: Noise | None = None  # the volatile parts of its pages; None before the first read


class Hosts:
    """All hosts, by number and by name."""

    def __init__(self) -> None:
        self.all: list[Host] = []
        self._numbers: dict[str, HostId] = {}
        self._addresses: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.all)

    def __getitem__(self, number: HostId) -> Host:
        return self.all[number]

    def number(self, name: str) -> HostId:
        """The number of a host; a new host is added."""
        found = self._numbers.get(name)
        if found is None:
            found = self._numbers[name] = HostId(len(self.all))
            self.all.append(Host(name))
        return found

    def number_many(self, names: list[str]) -> npt.NDArray[np.int32]:
        """The numbers of the hosts of new pages, one name per page; counts the pages at their hosts."""
        found = list(map(self._numbers.get, names))
        numbers = np.array(
            [self.number(name) if one is None else one for name, one in zip(names, found, strict=True)], dtype=np.int32
        )
        hosts, counts = np.unique(numbers, return_counts=True)
        for number, count in zip(host_ids(hosts), counts.tolist(), strict=True):
            self.all[number].known += count
        return numbers

    def find(self, name: str) -> HostId | None:
        """The number of a host, or None if it is not known."""
        return self._numbers.get(name)

    def address_number(self, address: str) -> int:
        """The number of an address, the same for all hosts at that address.

        A name may have another address at every visit. So there are at most MOST_ADDRESSES numbers, and then an address
        gets that of another one by its hash: both together are fetched from no faster than one.
        """
        known = self._addresses.get(address)
        if known is not None:
            return known
        if len(self._addresses) >= MOST_ADDRESSES:
            return xxhash.xxh3_64_intdigest(address.encode()) % MOST_ADDRESSES
        return self._addresses.setdefault(address, len(self._addresses))

    def state(self) -> bytearray:
        """All hosts, packed for a snapshot: one by one, because a buffer for all would be copied as it grows."""
        encoder = msgspec.msgpack.Encoder()
        packed = bytearray(b"\x92\xdd" + len(self.all).to_bytes(4, "big"))  # a list of two, the first a list of hosts
        for host in self.all:
            encoder.encode_into(host, packed, len(packed))
        encoder.encode_into(list(self._addresses), packed, len(packed))
        return packed

    @classmethod
    def from_state(cls, packed: bytes | bytearray) -> "Hosts":
        """The hosts of a snapshot."""
        hosts = cls()
        everything: tuple[list[Host], list[str]] = msgspec.msgpack.decode(packed, type=tuple[list[Host], list[str]])
        hosts.all, addresses = everything
        hosts._numbers = dict(zip((host.name for host in hosts.all), host_ids(np.arange(len(hosts))), strict=True))
        hosts._addresses = {address: number for number, address in enumerate(addresses)}
        return hosts

    def statistics(self) -> dict[str, Any]:
        """The sums of the counters of all hosts."""
        return {
            name: sum(getattr(host, name) for host in self.all)
            for name in ("known", "visits", "read", "failures", "refused", "wire_bytes")
        }
