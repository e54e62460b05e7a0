"""The pages that wait in the frontier: their levels, their keys, and when their hosts are ready to fetch.

Taken from the state of the frontier, as arrays; finding one page compares it with all.
"""

import numpy as np
import numpy.typing as npt

from centime.frontier.kind import CLASSES, DISCOVERY
from centime.model.ids import HostId, PageId
from centime.model.row_batch import Pages
from centime.shard.state import ShardState

LEVELS = {1: "requisite", 2: "published", 3: "deadline", 4: "refresh", 5: "discovery"}
REASONS = {
    1: "a page needs it to be shown",
    2: "its publisher announced it as new or changed",
    3: "a subscription's deadline is over",
    4: "it was read and is due again",
    5: "it was never read",
}


class Waiting:
    """The entries of the frontier as arrays, and the times of hosts."""

    def __init__(self, shard: ShardState) -> None:
        _, arrays = shard.placement.frontier.state()
        kinds = np.repeat(arrays["queue_kinds"].astype(np.int64), arrays["queue_sizes"])
        self.pages: Pages = arrays["pages"].astype(np.int64)
        self.hosts: npt.NDArray[np.int64] = np.repeat(arrays["queue_hosts"].astype(np.int64), arrays["queue_sizes"])
        self.levels, self.classes = np.divmod(kinds, CLASSES)
        self.worth: npt.NDArray[np.float64] = arrays["keys"].astype(np.float64)
        unread = self.levels == DISCOVERY
        self.worth[unread] += shard.class_offsets()[self.classes[unread]]
        times = arrays["next_times"].astype(np.float64)
        grouped = np.flatnonzero(arrays["groups"] >= 0)
        times[grouped] = np.maximum(times[grouped], arrays["group_times"][arrays["groups"][grouped]])
        self._times = times
        self._blocked = arrays["blocked"]

    def entry(self, page: PageId) -> int | None:
        """The place of a page among the entries; None if it does not wait."""
        found = np.flatnonzero(self.pages == page)
        return int(found[0]) if len(found) else None

    def levels_of(self, pages: Pages) -> list[int]:
        """The levels of pages that wait."""
        levels: list[int] = self.levels[self._places(pages)].tolist()
        return levels

    def worth_of(self, pages: Pages) -> list[float]:
        """The worth of pages that wait, as of their last inspection: the key of their queue."""
        worth: list[float] = self.worth[self._places(pages)].tolist()
        return worth

    def _places(self, pages: Pages) -> Pages:
        found = np.flatnonzero(np.isin(self.pages, pages))  # for a few of many pages, sorting all entries takes longer
        order = np.argsort(self.pages[found])
        places: Pages = found[order[np.searchsorted(self.pages[found], pages, sorter=order)]]
        return places

    def ahead_of(self, entry: int) -> int:
        """The number of pages that come before this one, by level and worth."""
        urgent = self.levels < self.levels[entry]
        better = (self.levels == self.levels[entry]) & (self.worth > self.worth[entry])
        return int(np.count_nonzero(urgent | better))

    def host_time(self, host: HostId) -> float:
        """When a host is ready to fetch; infinity if it is blocked."""
        if host >= len(self._times):
            return 0.0
        return float("inf") if self._blocked[host] else float(self._times[host])
