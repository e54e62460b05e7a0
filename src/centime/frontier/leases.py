"""Outstanding leases and their time-outs: a fetcher that dies loses nothing, for what it held comes back.

A lease ends when its page is reported, or expires `timeout_seconds` after it was granted; whichever is first decides,
and a report that comes later is told so. Time that runs backwards counts as standing still, so leases expire in the
order in which they were granted.
"""

from collections import OrderedDict
from typing import Any

import numpy as np
import numpy.typing as npt

from centime.model.errors import BadInput, BadSetting


class Leases:
    """The pages that are out, each with the time at which its lease expires."""

    def __init__(self, *, timeout_seconds: float = 300.0) -> None:
        if not timeout_seconds > 0:
            raise BadSetting(f"timeout_seconds is {timeout_seconds}; a lease must last a while")
        self._timeout_seconds = timeout_seconds
        self._deadlines: OrderedDict[int, float] = OrderedDict()
        self._latest = -np.inf

    def grant(self, pages: npt.NDArray[np.int64], now: float) -> None:
        """Notes that pages went out; none of them may be out."""
        new = pages.tolist()
        if len(set(new)) != len(new) or not self._deadlines.keys().isdisjoint(new):
            raise BadInput("a page was leased that is out already")
        self._latest = max(self._latest, now + self._timeout_seconds)
        self._deadlines.update(dict.fromkeys(new, self._latest))

    def end(self, pages: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Of each page whether it was still out; none of them is any more."""
        return np.array([self._deadlines.pop(page, None) is not None for page in pages.tolist()], dtype=np.bool_)

    def out(self, pages: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Of each page whether it is out."""
        return np.array([page in self._deadlines for page in pages.tolist()], dtype=np.bool_)

    def expired(self, now: float) -> npt.NDArray[np.int64]:
        """The pages whose leases have expired, in the order granted; they are out no more."""
        pages = []
        while self._deadlines:
            page, deadline = next(iter(self._deadlines.items()))
            if deadline > now:
                break
            del self._deadlines[page]
            pages.append(page)
        return np.array(pages, dtype=np.int64)

    def earliest(self) -> float:
        """When the next lease expires; infinity if none is out."""
        return next(iter(self._deadlines.values()), float("inf"))

    def held(self) -> npt.NDArray[np.int64]:
        """The pages that are out, in the order granted."""
        return np.array(list(self._deadlines), dtype=np.int64)

    def __len__(self) -> int:
        """How many pages are out."""
        return len(self._deadlines)

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """All leases in the order granted."""
        deadlines = np.array(list(self._deadlines.values()), dtype=np.float64)
        return {"timeout_seconds": self._timeout_seconds, "latest": float(self._latest)}, {
            "pages": self.held(),
            "deadlines": deadlines,
        }

    @classmethod
    def from_state(cls, facts: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> "Leases":
        """The same leases."""
        leases = cls(timeout_seconds=facts["timeout_seconds"])
        leases._latest = facts["latest"]
        leases._deadlines = OrderedDict(zip(arrays["pages"].tolist(), arrays["deadlines"].tolist(), strict=True))
        return leases
