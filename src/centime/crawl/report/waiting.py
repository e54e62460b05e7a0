"""What is to be read: every page of the frontier with its level, what it stands at, and when its host may be asked.

Taken from the frontier's own state, as arrays; a page is found in it by one comparison with all.
"""

import numpy as np
import numpy.typing as npt

from centime.frontier.kind import CLASSES, DISCOVERY
from centime.model.row_batch import Pages
from centime.shard.state import ShardState

LEVELS = {1: "entity", 2: "published", 3: "deadline", 4: "refresh", 5: "discovery"}
REASONS = {
    1: "a document waits for it",
    2: "its publisher says that it has changed, or that it is there",
    3: "a subscription asks for it by now",
    4: "it was read and is due again",
    5: "it was never read",
}


class Waiting:
    """The frontier as arrays, entry by entry, and the hosts' times."""

    def __init__(self, shard: ShardState) -> None:
        _, arrays = shard.placement.frontier.state()
        kinds = np.repeat(arrays["queue_kinds"].astype(np.int64), arrays["queue_sizes"])
        self.pages: Pages = arrays["pages"].astype(np.int64)
        self.hosts: npt.NDArray[np.int64] = np.repeat(arrays["queue_hosts"].astype(np.int64), arrays["queue_sizes"])
        self.levels, self.classes = np.divmod(kinds, CLASSES)
        self.worth: npt.NDArray[np.float64] = arrays["keys"].astype(np.float64)
        unread = self.levels == DISCOVERY
        self.worth[unread] += shard.ledger.class_shares()[self.classes[unread]]
        times = arrays["next_times"].astype(np.float64)
        grouped = np.flatnonzero(arrays["groups"] >= 0)
        times[grouped] = np.maximum(times[grouped], arrays["group_times"][arrays["groups"][grouped]])
        self._times = times
        self._blocked = arrays["blocked"]

    def entry(self, page: int) -> int | None:
        """Where a page is among the entries; None if it does not wait."""
        found = np.flatnonzero(self.pages == page)
        return int(found[0]) if len(found) else None

    def levels_of(self, pages: Pages) -> list[int]:
        """The levels of pages that wait."""
        levels: list[int] = self.levels[self._places(pages)].tolist()
        return levels

    def worth_of(self, pages: Pages) -> list[float]:
        """What orders pages that wait: their worth when they were last looked at."""
        worth: list[float] = self.worth[self._places(pages)].tolist()
        return worth

    def _places(self, pages: Pages) -> Pages:
        order = np.argsort(self.pages, kind="stable")
        places: Pages = order[np.searchsorted(self.pages, pages, sorter=order)]
        return places

    def ahead_of(self, entry: int) -> int:
        """How many pages come before this one, by level and importance."""
        urgent = self.levels < self.levels[entry]
        better = (self.levels == self.levels[entry]) & (self.worth > self.worth[entry])
        return int(np.count_nonzero(urgent | better))

    def host_time(self, host: int) -> float:
        """When a host may be asked; infinity if it is not to be asked at all."""
        if host >= len(self._times):
            return 0.0
        return float("inf") if self._blocked[host] else float(self._times[host])
