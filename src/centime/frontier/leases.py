"""Outstanding leases and their time-outs: the pages of a fetcher that dies come back.

A lease ends when its page's visit is reported, or expires `timeout_seconds` after it was granted, whichever is first;
`end` then returns False for a report that comes too late. Time that runs backwards counts as stopped, so leases
expire in the order in which they were granted.
"""

from collections import OrderedDict
from collections.abc import Callable
from itertools import takewhile
from typing import Any

import numpy as np
import numpy.typing as npt

from centime.model.errors import BadSetting, ScheduleBroken
from centime.model.ids import PageId, page_ids


class Leases:
    """The leased pages, each with the time at which its lease expires."""

    def __init__(self, *, timeout_seconds: float = 300.0) -> None:
        if not timeout_seconds > 0:
            raise BadSetting(f"timeout_seconds is {timeout_seconds}; it must be above 0")
        self._timeout_seconds = timeout_seconds
        self._deadlines: OrderedDict[PageId, float] = OrderedDict()
        self._latest = -np.inf

    def grant(self, pages: npt.NDArray[np.int64], now: float) -> None:
        """Leases pages, none of which may be leased already."""
        new = page_ids(pages)
        if len(set(new)) != len(new) or not self._deadlines.keys().isdisjoint(new):
            twice = next(page for at, page in enumerate(new) if page in self._deadlines or page in new[:at])
            raise ScheduleBroken(f"page {twice} was leased but has an outstanding lease already")
        self._latest = max(self._latest, now + self._timeout_seconds)
        self._deadlines.update(dict.fromkeys(new, self._latest))

    def end(self, pages: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Ends the leases of the pages; returns for each page whether it was still leased."""
        return np.array([self._deadlines.pop(page, None) is not None for page in page_ids(pages)], dtype=np.bool_)

    def older(self, seconds: float, now: float) -> int:
        """How many leases were granted longer ago than that."""
        until = now - seconds + self._timeout_seconds
        return sum(1 for _ in takewhile(lambda deadline: deadline < until, self._deadlines.values()))

    def out(self, pages: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """For each page, whether it is leased."""
        return np.array([page in self._deadlines for page in page_ids(pages)], dtype=np.bool_)

    def __contains__(self, page: PageId) -> bool:
        """Whether a page is leased."""
        return page in self._deadlines

    def expired(self, now: float) -> npt.NDArray[np.int64]:
        """Ends the leases that have expired and returns their pages, in the order granted."""
        pages = []
        while self._deadlines:
            page, deadline = next(iter(self._deadlines.items()))
            if deadline > now:
                break
            del self._deadlines[page]
            pages.append(page)
        return np.array(pages, dtype=np.int64)

    def move(self, wait: Callable[[float], float]) -> None:
        """Changes the times at which leases expire, without changing their order."""
        self._latest = wait(self._latest)
        for page, deadline in self._deadlines.items():
            self._deadlines[page] = wait(deadline)

    def earliest(self) -> float:
        """Time at which the next lease expires; infinity if there is none."""
        return next(iter(self._deadlines.values()), float("inf"))

    def held(self) -> npt.NDArray[np.int64]:
        """The leased pages, in the order granted."""
        return np.array(list(self._deadlines), dtype=np.int64)

    def __len__(self) -> int:
        """Number of leased pages."""
        return len(self._deadlines)

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """The complete state: all leases in the order granted."""
        deadlines = np.array(list(self._deadlines.values()), dtype=np.float64)
        return {"timeout_seconds": self._timeout_seconds, "latest": float(self._latest)}, {
            "pages": self.held(),
            "deadlines": deadlines,
        }

    @classmethod
    def from_state(cls, facts: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> "Leases":
        """The leases that have this state."""
        leases = cls(timeout_seconds=facts["timeout_seconds"])
        leases._latest = facts["latest"]
        leases._deadlines = OrderedDict(zip(page_ids(arrays["pages"]), arrays["deadlines"].tolist(), strict=True))
        return leases
