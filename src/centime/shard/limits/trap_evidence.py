"""How many URLs a host may have: in all, and of each suspicious shape, depending on what visits to that shape found.

`discover/traps.py` finds shapes. Of a shape that is suspicious by itself, `first` = FIRST URLs are admitted, and of one
that is suspicious in large numbers `first` = `queries_per_path` or `dates_per_path`. A visit to one of them is *useful*
if

- its text is new: one in NEW_SHARE runs of the sample of its text (`parse/text_sample.py`) or more was in no other
  page of this shape, and no shorter form of its URL had the same content, and
- it does not lead to new URLs of the same shape and to nothing else that is new.

A visit that found new text, and leads only to more URLs of its shape, is *growing*: a page of a long series, or a trap
that writes new text on every page. It admits one more URL, so that a series is read to its end, and a trap that makes
new text for every URL never gets ahead of its visits.

    admitted URLs of a shape    <=  first + PER_USEFUL * useful visits + growing visits

So a set of real pages is admitted as it is read. A trap whose pages repeat the same text, even in another order, is
abandoned once all of that text was read, whatever it links to. A shape that is suspicious in large numbers is abandoned
earlier, if three in four of at least ENOUGH visits found the text of another page, numbers included: pages of figures
differ in numbers alone.

All of it follows from the URLs and visits, and their order. Memory is bounded. The first HARD_SLOTS shapes of a host
that are suspicious by themselves have a count of their own; later ones share as many counts, by their hash. The others
share PATHS_PER_HOST. Runs of
texts are remembered in one table of RUNS entries for the whole crawl, in which a later one replaces an earlier one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import xxhash

from centime.discover.refusal import Reason
from centime.discover.traps import Kind, kind_of
from centime.model.address import host_of
from centime.model.errors import BadSetting
from centime.settings.crawl import CrawlSettings

FIRST = 8  # URLs of a shape that are admitted before any was read
PER_USEFUL = 4  # more for each useful visit
OBSERVED = 32  # from this many URLs on, visits to a shape that is suspicious in large numbers are evidence
ENOUGH = 32  # visits, after which evidence decides about such a shape
PATHS_PER_HOST = 4_096
HARD_SLOTS = 64
NEW_SHARE = 8  # one in this many runs must be new
_RUN_BITS = 17
RUNS = 1 << _RUN_BITS
_ODD = np.uint64(0x9E3779B97F4A7C15)

Sample = npt.NDArray[np.uint32]
NO_SAMPLE: Sample = np.zeros(0, dtype=np.uint32)


class Evidence(msgspec.Struct, array_like=True, gc=False):
    """The results of visits to one shape of a host."""

    visits: int = 0
    same: int = 0  # had the text of others, or none at all
    growing: int = 0  # had new text, and led to nothing new but URLs of the same shape
    useful: int = 0  # all others
    repeated: int = 0  # those of `same` whose text was that of another page, numbers included, or was empty

    @property
    def is_a_trap(self) -> bool:
        """Whether enough visits were made, and three in four found the text of another page."""
        return self.visits >= ENOUGH and 4 * self.repeated >= 3 * self.visits

    @property
    def admits(self) -> int:
        """The number of URLs that these visits admit."""
        return PER_USEFUL * self.useful + self.growing


NOTHING_READ = Evidence()


@dataclass(slots=True)
class _Host:
    """Counts of what was admitted from one host."""

    pages: int = 0
    counts: dict[int, int] | None = None  # slot of a shape: how many URLs of it were admitted
    evidence: dict[int, Evidence] | None = None  # the same slots
    own: set[int] | None = None  # keys of shapes that are slots themselves

    def slot(self, key: int) -> int:
        """Where the shape with this key is counted."""
        if kind_of(key).by_number:
            return key % PATHS_PER_HOST
        own = self.own or ()
        return key if key in own or len(own) < HARD_SLOTS else PATHS_PER_HOST + key % HARD_SLOTS

    def taken_slot(self, key: int) -> int:
        """The same, for something that is counted there from now on."""
        slot = self.slot(key)
        if slot == key:
            self.own = self.own or set()
            self.own.add(key)
        return slot


class TrapLimits:
    """Counts the admitted URLs of each host and refuses those above the limits; part of every snapshot. None means no
    limit.
    """

    def __init__(
        self,
        *,
        pages_per_host: int = 1_000_000,
        queries_per_path: int | None = 1_000,
        dates_per_path: int | None = 600,
        by_evidence: bool = True,
    ) -> None:
        if min(pages_per_host, queries_per_path or 1, dates_per_path or 1) < 1:
            raise BadSetting("the limits per host and per path must be 1 or more")
        self.pages_per_host = pages_per_host
        self.queries_per_path = queries_per_path
        self.dates_per_path = dates_per_path
        self.by_evidence = by_evidence  # otherwise the limits per path are never lifted
        self._hosts: dict[str, _Host] = {}
        self._runs = NO_SAMPLE  # allocated with the first visit that is evidence

    def configure(self, settings: CrawlSettings) -> None:
        """Applies new settings."""
        self.pages_per_host = settings.pages_per_host
        self.queries_per_path = settings.queries_per_path
        self.dates_per_path = settings.dates_per_path
        self.by_evidence = settings.traps == "evidence"

    def take(self, url: str, key: int = 0) -> Reason | None:
        """Counts a canonical URL, which must be new; returns why it is refused, and then does not count it. `key` is
        that of its shape, 0 if it has none.
        """
        name = host_of(url)
        host = self._hosts.get(name)
        if host is None:
            host = self._hosts[name] = _Host()
        if host.pages >= self.pages_per_host:
            return Reason.PAGES_PER_HOST
        if key:
            slot, counts = host.taken_slot(key), host.counts
            if counts is None:
                counts = host.counts = {}
            counted = counts.get(slot, 0)
            if counted >= self._allowed(host, slot, kind_of(key)):
                return Reason.TRAP
            counts[slot] = counted + 1
        host.pages += 1
        return None

    def take_many(self, urls: Sequence[str], keys: Mapping[int, int]) -> tuple[list[int], dict[int, Reason]]:
        """The same for many URLs, with the keys of those that have a shape, by position; returns the positions of those
        that are admitted, and why the others are refused.
        """
        hosts, most, places, refused = self._hosts, self.pages_per_host, [], {}
        for place, url in enumerate(urls):
            host = hosts.get(url[: url.find("/", 8)])
            # Inlined, because a call for each new link would double the time, and nine in ten take this branch.
            if host is not None and host.pages < most and place not in keys:
                host.pages += 1
                places.append(place)
            elif reason := self.take(url, keys.get(place, 0)):
                refused[place] = reason
            else:
                places.append(place)
        return places, refused

    def room(self, host: str, key: int) -> float:
        """How many more URLs of a shape a host may have now."""
        found = self._hosts.get(host)
        if found is None:
            return float(FIRST)
        return self._allowed(found, found.slot(key), kind_of(key)) - (found.counts or {}).get(found.slot(key), 0)

    def observes(self, host: str, key: int) -> bool:
        """Whether visits to a shape are evidence."""
        if not kind_of(key).by_number:
            return True
        found = self._hosts.get(host)
        return found is not None and (found.counts or {}).get(found.slot(key), 0) >= OBSERVED

    def learn(self, host: str, key: int, sample: Sample, *, is_known: bool, grows: bool) -> None:
        """Takes a visit to a URL of a shape as evidence: the sample of its text (empty if it had none), whether the
        content is that of a shorter URL, and whether it led to new URLs of its shape and to nothing else that is new.
        """
        found = self._hosts.setdefault(host, _Host())
        if found.evidence is None:
            found.evidence = {}
        slot = found.taken_slot(key)
        evidence = found.evidence.setdefault(slot, Evidence())
        evidence.visits += 1
        whole, runs = sample[:1], sample[1:]
        evidence.repeated += not self._remember(f"{host} {slot} whole", whole) or is_known
        if self._remember(f"{host} {slot}", runs) * NEW_SHARE < max(1, len(runs)) or is_known:
            evidence.same += 1
        elif grows:
            evidence.growing += 1
        else:
            evidence.useful += 1

    def evidence(self, host: str, key: int) -> Evidence:
        """The results of visits to a shape of a host."""
        found = self._hosts.get(host)
        return NOTHING_READ if found is None else (found.evidence or {}).get(found.slot(key), NOTHING_READ)

    def pages_of(self, host: str) -> int:
        """The number of admitted pages of a host."""
        found = self._hosts.get(host)
        return found.pages if found else 0

    def _allowed(self, host: _Host, slot: int, kind: Kind) -> float:
        """How many URLs of a shape are admitted."""
        evidence = (host.evidence or {}).get(slot, NOTHING_READ)
        if not kind.by_number:
            return FIRST + evidence.admits
        most = self.queries_per_path if kind is Kind.QUERIES else self.dates_per_path
        if most is None:
            return float("inf")
        if not self.by_evidence:
            return most
        return min(most, OBSERVED) if evidence.is_a_trap else most + evidence.admits

    def _remember(self, name: str, sample: Sample) -> int:
        """Remembers hashes of a page under a name; returns how many were not remembered before."""
        if not len(sample):
            return 0
        if not len(self._runs):
            self._runs = np.zeros(RUNS, dtype=np.uint32)
        salt = np.uint64(xxhash.xxh3_64_intdigest(name.encode()))
        numbers = (sample.astype(np.uint64) ^ salt) * _ODD
        numbers = (numbers ^ (numbers >> np.uint64(29))) * _ODD
        places, marks = numbers >> np.uint64(64 - _RUN_BITS), numbers.astype(np.uint32) | np.uint32(1)
        new = int(np.count_nonzero(self._runs[places] != marks))
        self._runs[places] = marks
        return new

    def state(self) -> dict[str, Any]:
        """Counts as plain values."""
        return {
            "hosts": {name: _packed(host) for name, host in self._hosts.items()},
            "runs": self._runs.tobytes(),
        }

    def packed(self) -> bytearray:
        """The same for a snapshot, with msgpack: host by host, because there may be many."""
        encoder = msgspec.msgpack.Encoder()
        packed = bytearray(b"\x82")  # a map of two, the last of them a map of hosts
        encoder.encode_into("runs", packed, len(packed))
        encoder.encode_into(self._runs.tobytes(), packed, len(packed))
        encoder.encode_into("hosts", packed, len(packed))
        packed += b"\xdf" + len(self._hosts).to_bytes(4, "big")
        for name, host in self._hosts.items():
            encoder.encode_into(name, packed, len(packed))
            encoder.encode_into(_packed(host), packed, len(packed))
        return packed

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restores the counts that `state` returned; older versions wrote no evidence."""
        self._runs = np.frombuffer(state.get("runs", b""), dtype=np.uint32).copy()
        for name, (pages, counts, *more) in state["hosts"].items():
            evidence = {int(slot): Evidence(*shown) for slot, shown in more[0].items()} if more else {}
            taken = {int(slot): count for slot, count in counts.items()}
            own = {slot for slot in (*taken, *evidence) if slot >= PATHS_PER_HOST + HARD_SLOTS}
            self._hosts[name] = _Host(pages, taken or None, evidence, own)


def _packed(host: _Host) -> tuple[Any, ...]:
    shown = {slot: msgspec.structs.astuple(evidence) for slot, evidence in (host.evidence or {}).items()}
    return (host.pages, host.counts or {}, shown) if shown else (host.pages, host.counts or {})
