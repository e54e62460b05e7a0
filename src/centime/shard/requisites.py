"""Which of the known pages are requisites: files that were found because a page needs them to be shown.

A requisite has a number, a host, an account and visits like any page. The data that make it a requisite are kept here:
its nesting (1 if a page needs it, 2 if a requisite of nesting 1 does, and so on) and the page that first needed it.

    importance   A page pays nothing to its requisites, and they have no links. So they receive from the virtual page
                 alone, and return all of it: the importances of the pages have the same ratios as without them, and the
                 certified error is that of the graph with them as pages without links.
    order        They wait in a level of their own, by the importance of the page that first needed them, so that a page
                 and its requisites are fetched at about the same time.
    elsewhere    In a partition, the page that needs a requisite may belong to another one. Then its fingerprint is
                 kept, and the importance that it had when it was read.
    becoming     A requisite that is linked to, given as a seed, or found to be HTML in scope becomes a page.

Guarantee: all of it follows from the visits and their order, and is part of every snapshot. It takes 5 bytes for each
known page up to the last requisite, 4 for each host, and some 200 for each that only another partition needs.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from centime.model.errors import StoreBroken
from centime.model.ids import PageId
from centime.model.row_batch import Pages

ELSEWHERE = -1  # in place of the page that first needed it: a page of another partition
_ELSEWHERE = np.dtype([("page", "<i8"), ("fingerprint", "<u8"), ("importance", "<f8")])
COUNTERS = ("over_page", "over_host", "became_pages")


class Needing(NamedTuple):
    """A page of another partition that was the first to need a requisite."""

    fingerprint: int
    importance: float


NOWHERE: Mapping[int, Needing] = MappingProxyType({})


class Requisites:
    """The requisites of a shard."""

    def __init__(self) -> None:
        self._nesting = np.zeros(0, dtype=np.uint8)  # by page; 0 for pages that are not requisites
        self._parent = np.zeros(0, dtype=np.int32)
        self._elsewhere: dict[int, Needing] = {}  # by requisite
        self._of_host = np.zeros(0, dtype=np.int32)  # how many there are, by host
        self.over_page = 0  # how many the limits of a page and of nesting kept out
        self.over_host = 0  # how many the limit of their host kept out
        self.became_pages = 0

    def nesting(self, pages: Pages) -> npt.NDArray[np.uint8]:
        """The nesting of pages; 0 for those that are not requisites."""
        nesting = np.zeros(len(pages), dtype=np.uint8)
        inside = (pages >= 0) & (pages < len(self._nesting))
        nesting[inside] = self._nesting[pages[inside]]
        return nesting

    def nesting_of(self, page: PageId) -> int:
        """The nesting of one page."""
        return int(self._nesting[page]) if page < len(self._nesting) else 0

    def parent_of(self, page: PageId) -> PageId | Needing:
        """The page that first needed a requisite."""
        return self._elsewhere[page] if page in self._elsewhere else PageId(int(self._parent[page]))

    def urgency(self, pages: Pages, importance: Callable[[Pages], npt.NDArray[np.float64]]) -> npt.NDArray[np.float64]:
        """The keys by which requisites are ordered: the importance of the page that first needed each."""
        parents = self._parent[pages].astype(np.int64)
        found = importance(np.maximum(parents, 0))
        for place in np.flatnonzero(parents == ELSEWHERE).tolist():
            found[place] = self._elsewhere[int(pages[place])].importance
        return found

    def first_needed_by(self, page: PageId) -> Pages:
        """The requisites that this page was the first to need."""
        return np.flatnonzero((self._parent == page) & (self._nesting > 0))

    def every(self) -> Pages:
        """All requisites."""
        return np.flatnonzero(self._nesting)

    def of_host(self, host: int) -> int:
        """The number of requisites that were found on a host."""
        return int(self._of_host[host]) if host < len(self._of_host) else 0

    def first_needed_by_other(self, fingerprint: int) -> Pages:
        """The requisites that this page of another partition was the first to need."""
        found = [page for page, needing in self._elsewhere.items() if needing.fingerprint == fingerprint]
        return np.array(sorted(found), dtype=np.int64)

    def add(
        self,
        pages: Pages,
        parents: Pages,
        nesting: npt.NDArray[np.uint8],
        hosts: npt.NDArray[np.int32],
        elsewhere: Mapping[int, Needing] = NOWHERE,
    ) -> None:
        """Makes new pages requisites; `elsewhere` has the pages that need those with the parent ELSEWHERE."""
        self._elsewhere.update(elsewhere)
        size = int(pages.max()) + 1
        self._nesting = _longer(self._nesting, size)
        self._parent = _longer(self._parent, size)
        self._nesting[pages] = nesting
        self._parent[pages] = parents
        self._of_host = _longer(self._of_host, int(hosts.max()) + 1)
        np.add.at(self._of_host, hosts, 1)

    def become_pages(self, pages: Pages) -> None:
        """Makes those of the pages that are requisites ordinary pages."""
        if len(self._nesting):
            found = np.unique(pages[self.nesting(pages) > 0])
            self._nesting[found] = 0
            for page in found.tolist():
                self._elsewhere.pop(page, None)
            self.became_pages += len(found)

    def check(self, known: int, hosts: npt.NDArray[np.uint32]) -> int:
        """The number of requisites; StoreBroken unless all are known, nested one deeper than the page that needs them,
        and counted at their hosts. `hosts` are those of all known pages.
        """
        every = self.every()
        if len(self._nesting) > known or len(self._parent) != len(self._nesting):
            raise StoreBroken(f"{len(self._nesting)} pages are marked as requisites or not, but {known} are known")
        away = every[self._parent[every] == ELSEWHERE]
        if sorted(self._elsewhere) != away.tolist():
            raise StoreBroken("what other partitions need, and what is marked as such, differ")
        counts = np.bincount(hosts[every].astype(np.int64), minlength=len(self._of_host))
        if len(counts) > len(self._of_host) or (counts > self._of_host).any():
            raise StoreBroken("a host has more requisites than were counted")
        here = every[self._parent[every] != ELSEWHERE]
        parents = self._parent[here]
        if len(here) and not ((parents >= 0) & (parents < here)).all():
            raise StoreBroken("a requisite was found before the page that needs it")
        deeper = self._nesting[here].astype(np.int64) - self._nesting[parents]
        if (deeper < 1).any():
            raise StoreBroken(f"requisite {int(here[deeper < 1][0])} is nested no deeper than what needs it")
        return len(every)

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Facts and arrays for a snapshot."""
        facts = {name: getattr(self, name) for name in COUNTERS}
        arrays: dict[str, npt.NDArray[Any]] = {
            "nesting": self._nesting,
            "parent": self._parent,
            "of_host": self._of_host,
        }
        if self._elsewhere:
            rows = [(page, *needing) for page, needing in self._elsewhere.items()]
            arrays["elsewhere"] = np.array(rows, dtype=_ELSEWHERE)
        return facts, arrays

    @classmethod
    def from_state(cls, facts: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> "Requisites":
        """The requisites of a snapshot; none if its version had no requisites."""
        found = cls()
        if arrays:
            found._nesting, found._parent, found._of_host = (
                np.array(arrays[name]) for name in ("nesting", "parent", "of_host")
            )
            for page, *needing in arrays["elsewhere"].tolist() if "elsewhere" in arrays else ():
                found._elsewhere[page] = Needing(*needing)
            for name in COUNTERS:
                setattr(found, name, facts[name])
        return found


def _longer(array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """The array with at least this size, filled up with zeros."""
    return array if len(array) >= size else np.concatenate([array, np.zeros(size - len(array), dtype=array.dtype)])
