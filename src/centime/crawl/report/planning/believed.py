"""The beliefs of a crawl about the pages that it has read: of one folder, or of all partitions as one.

A budget is spent by one threshold over all pages, so a plan is made of the beliefs about all of them. A sum of plans of
partitions would be the plan of a budget that is divided, which keeps less fresh.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from centime.crawl.engine.state import CrawlState
from centime.crawl.report.visits import last_visits
from centime.model.errors import BadInput
from centime.model.ids import host_ids
from centime.model.row_batch import Pages
from centime.settings.crawl import CrawlSettings
from centime.shard.refreshing import LEAST_COST
from centime.simulate.forecast import Beliefs, Rhythms, Vector
from centime.simulate.ours import beliefs_of

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Believed:
    """The pages of all refresh books, one after the other: a place is a number in this order."""

    path: Path  # of the whole crawl
    settings: CrawlSettings  # the same
    states: Sequence[CrawlState]
    pages: Sequence[Pages]  # of each state
    costs: Vector  # the bytes of a visit
    beliefs: Beliefs

    def __len__(self) -> int:
        return len(self.costs)

    @property
    def unread(self) -> int:
        """How many pages were never visited."""
        known = [state.shard.pages for state in self.states]
        return sum(pages.count - int(np.count_nonzero(pages.records.record_at)) for pages in known)

    def each(self, places: Pages, look: Callable[[CrawlState, Pages], Sequence[T]]) -> list[T]:
        """The results of a function for the pages at these places, in their order."""
        firsts = np.cumsum([0, *map(len, self.pages)])
        owners = np.searchsorted(firsts, places, side="right") - 1
        found: dict[int, T] = {}
        for owner in np.unique(owners).tolist():
            mine = np.flatnonzero(owners == owner)
            values = look(self.states[owner], self.pages[owner][places[mine] - firsts[owner]])
            found.update(zip(mine.tolist(), values, strict=True))
        return [found[place] for place in range(len(places))]

    def hosts(self) -> tuple[npt.NDArray[np.int64], list[str]]:
        """The number of the host of each page, and the names of the hosts by number."""
        numbers: list[npt.NDArray[np.int64]] = []
        names: list[str] = []
        for state, pages in zip(self.states, self.pages, strict=True):
            hosts = state.shard.hosts
            numbers.append(state.shard.pages.origins_of(pages)["host"].astype(np.int64) + len(names))
            names += [hosts[number].name for number in host_ids(np.arange(len(hosts)))]
        return np.concatenate(numbers), names


def believed(path: Path, settings: CrawlSettings, states: Sequence[CrawlState], now: float) -> Believed:
    """The beliefs of a crawl at a time, of one state or of those of all partitions; BadInput: no page was read yet."""
    found = [_believed(state, now) for state in states]
    if not sum(len(pages) for pages, _, _ in found):
        raise BadInput(f"{path}: the crawl has read no page yet, so there is nothing to plan with")
    pages, costs, beliefs = zip(*found, strict=True)
    return Believed(path, settings, states, pages, np.concatenate(costs), _together(beliefs))


def _believed(state: CrawlState, now: float) -> tuple[Pages, Vector, Beliefs]:
    """The pages of the refresh book, the bytes of a visit to each, and the crawl's beliefs about them."""
    refreshing = state.shard.refreshing
    pages: Pages = np.flatnonzero(refreshing.book.contains(np.arange(state.shard.pages.count, dtype=np.int64)))
    costs = np.maximum(last_visits(state.shard.pages, "wire_bytes")["wire_bytes"][pages].astype(np.float64), LEAST_COST)
    value = state.shard.value(pages)
    return pages, costs, beliefs_of(refreshing.book, pages, value, costs, now, refreshing.mortality, refreshing.beats)


def _together(parts: Sequence[Beliefs]) -> Beliefs:
    """The beliefs of all parts as one; rates that each part estimates separately become means over pages."""
    if len(parts) == 1:
        return parts[0]
    counts = [len(one) for one in parts]
    rhythms = None
    if any(one.rhythms is not None for one in parts):
        none = [Rhythms(period=np.zeros(count), caught=np.zeros(count), fresh=np.zeros(count)) for count in counts]
        some = [one.rhythms or nothing for one, nothing in zip(parts, none, strict=True)]
        rhythms = Rhythms(
            period=np.concatenate([one.period for one in some]),
            caught=np.concatenate([one.caught for one in some]),
            fresh=np.concatenate([one.fresh for one in some]),
        )
    return replace(
        parts[0],
        shape=np.concatenate([one.shape for one in parts]),
        scale=np.concatenate([one.scale for one in parts]),
        importance=np.concatenate([one.importance for one in parts]),
        cost=np.concatenate([one.cost for one in parts]),
        age=np.concatenate([one.age for one in parts]),
        probe_share=float(np.average([one.probe_share for one in parts], weights=counts)),
        death_rate=float(np.average([one.death_rate for one in parts], weights=counts)),
        rhythms=rhythms,
    )
