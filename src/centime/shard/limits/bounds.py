"""How many pages and hosts a crawl knows at most, and the price of the last of them.

    bound     the least of --most-pages, the pages that fit into memory, and those that fit while memory is short
              (frames `Bounded`)
    mark      4/5 of the bound; up to here, every URL is admitted
    top       63/64 of the bound; links stop here: the rest is for URLs that people publish
    price     (room at the mark / room left - 1) * mean value of the URLs offered lately

A link is worth v = d x / k: the payment of a page of importance x along each of its k links; the same URL offered twice
in a frame is worth the sum. Above the mark a URL is admitted if it is worth the price. The price rises without bound as
the room shrinks, so

- never more than `bound` pages are known, except seeds, which a person gives: they are always admitted;
- URLs of equal worth take half of the room above the mark, however many come. The other half waits for URLs that are
worth more than those offered lately. A flood of URLs cannot fill more than its half.

Hosts have a bound of their own in the same way, because a host takes more memory than a page: a URL of a new host is
admitted if it is also worth the price of a host.

All of it follows from the state and the frames: the engine measures memory and decides with a frame `Bounded`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any

import numpy as np
import numpy.typing as npt

from centime.model.graph import LARGEST_PAGE_COUNT

RESERVE = 64  # one place in this many is for URLs that people publish
PAGES_PER_HOST = 16  # of the bound on pages, there is one place for a host
LEAST_HOSTS = 65_536  # a crawl may know this many hosts, however small its bound on pages is
MEMORY = 4_096  # URLs offered lately, over which the mean value is taken

Values = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Room:
    """The places for pages, or for hosts."""

    bound: int

    @property
    def mark(self) -> int:
        """Up to this many, everything is admitted."""
        return self.bound - self.bound // 5

    @property
    def top(self) -> int:
        """Links are admitted up to this many."""
        return self.bound - self.bound // RESERVE

    def worth_it(self, values: Values, used: int, mean: float) -> Places:
        """Which of the offers, by their places, are worth the price; the most valuable is taken first and raises the
        price for the next.
        """
        order = np.argsort(-values, kind="stable")[: max(0, self.top - used)]
        left = self.top - used - np.arange(len(order), dtype=np.float64)
        price = np.maximum(0.0, (self.top - self.mark) / left - 1.0) * mean
        refused = np.flatnonzero(values[order] < price)
        return np.sort(order[: refused[0]] if len(refused) else order)


@dataclass(slots=True)
class Bounds:
    """The bounds of a crawl and what they kept out: a part of the shard's state."""

    given: int | None = None  # --most-pages
    machine: int = 0  # pages that the machine has memory for; 0 if unknown
    pressed: int = 0  # pages that are allowed while memory is short; 0 if it is not
    refused: int = 0  # offers of URLs that were not admitted
    dropped: int = 0  # pages that were never visited and wait nowhere
    mean: float = 0.0  # value of the URLs offered lately, while a bound is near

    @property
    def pages(self) -> int:
        """The most pages that may be known."""
        own = self.given if self.given is not None else self.machine or LARGEST_PAGE_COUNT
        return min(own, self.pressed or own, LARGEST_PAGE_COUNT)

    @property
    def hosts(self) -> int:
        """The most hosts that may be known."""
        return max(LEAST_HOSTS, self.pages // PAGES_PER_HOST)

    def is_near(self, pages: int, hosts: int, offers: int) -> bool:
        """Whether some of this many further URLs may have to be refused."""
        return pages + offers > Room(self.pages).mark or hosts + offers > Room(self.hosts).mark

    def admitted(
        self, values: Values | None, names: Sequence[str], is_known: npt.NDArray[np.bool_], pages: int, hosts: int
    ) -> Places:
        """Which of distinct URLs, by their places, may join `pages` known ones. `names` are their hosts, and `is_known`
        says which of these are among the `hosts` known ones. Without values they were published, and pay no price.
        """
        if values is None:
            places = self._published(names, is_known, pages, hosts)
        else:
            share = min(1.0, len(values) / MEMORY) if self.mean else 1.0
            self.mean += (fsum(values.tolist()) / len(values) - self.mean) * share
            places = self._with_host(values, names, is_known, hosts)
            places = places[Room(self.pages).worth_it(values[places], pages, self.mean)]
        self.refused += len(names) - len(places)
        return places

    def _published(self, names: Sequence[str], is_known: npt.NDArray[np.bool_], pages: int, hosts: int) -> Places:
        new = dict.fromkeys(name for name, known in zip(names, is_known.tolist(), strict=True) if not known)
        allowed = set(list(new)[: max(0, self.hosts - hosts)])
        fits = [known or name in allowed for name, known in zip(names, is_known.tolist(), strict=True)]
        return np.flatnonzero(fits)[: max(0, self.pages - pages)]

    def _with_host(self, values: Values, names: Sequence[str], is_known: npt.NDArray[np.bool_], hosts: int) -> Places:
        """Which URLs have a known host, or one that is worth the price of a host: that of its best URL."""
        best: dict[str, float] = {}
        for name, value, known in zip(names, values.tolist(), is_known.tolist(), strict=True):
            if not known:
                best[name] = max(value, best.get(name, 0.0))
        new = np.array(list(best.values()), dtype=np.float64)
        chosen = Room(self.hosts).worth_it(new, hosts, self.mean).tolist()
        listed = list(best)
        allowed = {listed[place] for place in chosen}
        return np.flatnonzero([known or name in allowed for name, known in zip(names, is_known.tolist(), strict=True)])

    def facts(self, pages: int) -> dict[str, Any]:
        """For reports: the bound, and what it kept out."""
        bounded = self.given is not None or self.machine or self.pressed
        room = Room(self.pages)
        admitted = "all URLs" if pages < room.mark else "important URLs" if pages < room.top else "no URLs"
        return {
            "most_pages": self.pages if bounded else None,
            "admitted": admitted + (" (memory is short)" if self.pressed else ""),
            "pages_dropped": self.dropped,
        }

    def state(self) -> dict[str, Any]:
        """The counters for a snapshot."""
        return {name: getattr(self, name) for name in ("machine", "pressed", "refused", "dropped", "mean")}

    def restore(self, state: dict[str, Any]) -> None:
        """Restores the counters of a snapshot; an older one has none."""
        for name, value in state.items():
            setattr(self, name, value)
