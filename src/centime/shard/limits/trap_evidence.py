"""How many URLs a host may have: in all, and of each suspicious shape, by what was read of that shape.

`discover/traps.py` finds shapes. Of a shape that is suspicious by itself, `first` = FIRST URLs are admitted, and of one
that is suspicious in large numbers `first` = `queries_per_path` or `dates_per_path`. A visit to one of them is *useful*
if

- its content is new: no other page of this shape, and no shorter form of its URL, had the same, and
- it does not lead to new URLs of the same shape and to nothing else that is new: that is how a trap grows.

    admitted URLs of a shape    <=  first + PER_USEFUL * useful visits

So a set of real pages is let in as it is read: it has an end, so sooner or later its pages lead to nothing new. A trap
never comes to that, and is left after `first` visits. A shape that is suspicious in large numbers is left earlier, if
three in four of at least ENOUGH visits found a content that was known.

All of it follows from the URLs and visits, and their order. Memory is bounded: a host has HARD_SLOTS counts for shapes
that are suspicious by themselves and PATHS_PER_HOST for the others; shapes that collide share a count. Contents are
remembered in one table of CONTENTS entries for the whole crawl, in which a later one replaces an earlier one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
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
CONTENTS = 1 << 16


class Evidence(msgspec.Struct, array_like=True, gc=False):
    """What visits to one shape of a host have shown."""

    visits: int = 0
    same: int = 0  # had the content of another page, or none at all
    growing: int = 0  # had new content, and led to nothing new but URLs of the same shape
    useful: int = 0  # all others

    @property
    def is_a_trap(self) -> bool:
        """Whether enough visits were made, and three in four found a known content."""
        return self.visits >= ENOUGH and 4 * self.same >= 3 * self.visits


NOTHING_READ = Evidence()


@dataclass(slots=True)
class _Host:
    """Counts of what was admitted from one host."""

    pages: int = 0
    counts: dict[int, int] | None = None  # slot of a shape: how many URLs of it were admitted
    evidence: dict[int, Evidence] | None = None  # the same slots


class TrapLimits:
    """Counts the admitted URLs of each host and refuses those above the limits; part of every snapshot. A limit of None
    is none.
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
        self._contents = np.zeros(0, dtype=np.uint32)  # allocated with the first visit that is evidence

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
            slot, counts = _slot(key), host.counts
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
        return self._allowed(found, _slot(key), kind_of(key)) - (found.counts or {}).get(_slot(key), 0)

    def observes(self, host: str, key: int) -> bool:
        """Whether visits to a shape are evidence."""
        if not kind_of(key).by_number:
            return True
        found = self._hosts.get(host)
        return found is not None and (found.counts or {}).get(_slot(key), 0) >= OBSERVED

    def learn(self, host: str, key: int, content: int, *, is_known: bool, grows: bool) -> None:
        """Takes a visit to a URL of a shape as evidence: the hash of its content (0 if it had none), whether the
        content is that of a shorter URL, and whether it led to new URLs of its shape and to nothing else that is new.
        """
        found = self._hosts.setdefault(host, _Host())
        if found.evidence is None:
            found.evidence = {}
        evidence = found.evidence.setdefault(_slot(key), Evidence())
        evidence.visits += 1
        if self._remember(host, key, content) or is_known:
            evidence.same += 1
        elif grows:
            evidence.growing += 1
        else:
            evidence.useful += 1

    def evidence(self, host: str, key: int) -> Evidence:
        """What visits to a shape of a host have shown."""
        found = self._hosts.get(host)
        return NOTHING_READ if found is None else (found.evidence or {}).get(_slot(key), NOTHING_READ)

    def pages_of(self, host: str) -> int:
        """The number of admitted pages of a host."""
        found = self._hosts.get(host)
        return found.pages if found else 0

    def _allowed(self, host: _Host, slot: int, kind: Kind) -> float:
        """How many URLs of a shape are admitted."""
        evidence = (host.evidence or {}).get(slot, NOTHING_READ)
        if not kind.by_number:
            return FIRST + PER_USEFUL * evidence.useful
        most = self.queries_per_path if kind is Kind.QUERIES else self.dates_per_path
        if most is None:
            return float("inf")
        if not self.by_evidence:
            return most
        return min(most, OBSERVED) if evidence.is_a_trap else most + PER_USEFUL * evidence.useful

    def _remember(self, host: str, key: int, content: int) -> bool:
        """Remembers the content of a page of a shape; returns whether it was remembered before."""
        if not content:
            return True
        if not len(self._contents):
            self._contents = np.zeros(CONTENTS, dtype=np.uint32)
        number = xxhash.xxh3_64_intdigest(f"{host} {_slot(key)} {content}".encode())
        place, mark = number % CONTENTS, (number >> 32) | 1
        known = int(self._contents[place]) == mark
        self._contents[place] = mark
        return known

    def state(self) -> dict[str, Any]:
        """Counts as plain values."""
        return {
            "hosts": {name: _packed(host) for name, host in self._hosts.items()},
            "contents": self._contents.tobytes(),
        }

    def packed(self) -> bytearray:
        """The same for a snapshot, with msgpack: host by host, because there may be many."""
        encoder = msgspec.msgpack.Encoder()
        packed = bytearray(b"\x82")  # a map of two, the last of them a map of hosts
        encoder.encode_into("contents", packed, len(packed))
        encoder.encode_into(self._contents.tobytes(), packed, len(packed))
        encoder.encode_into("hosts", packed, len(packed))
        packed += b"\xdf" + len(self._hosts).to_bytes(4, "big")
        for name, host in self._hosts.items():
            encoder.encode_into(name, packed, len(packed))
            encoder.encode_into(_packed(host), packed, len(packed))
        return packed

    def restore(self, state: Mapping[str, Any]) -> None:
        """Takes the counts that `state` returned; older versions wrote no evidence."""
        self._contents = np.frombuffer(state.get("contents", b""), dtype=np.uint32).copy()
        for name, (pages, counts, *more) in state["hosts"].items():
            evidence = {int(slot): Evidence(*shown) for slot, shown in more[0].items()} if more else {}
            self._hosts[name] = _Host(pages, {int(slot): count for slot, count in counts.items()} or None, evidence)


def _packed(host: _Host) -> tuple[Any, ...]:
    shown = {slot: msgspec.structs.astuple(evidence) for slot, evidence in (host.evidence or {}).items()}
    return (host.pages, host.counts or {}, shown) if shown else (host.pages, host.counts or {})


def _slot(key: int) -> int:
    """Where the shape with this key is counted."""
    return key % PATHS_PER_HOST if kind_of(key).by_number else PATHS_PER_HOST + key % HARD_SLOTS
