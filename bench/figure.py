"""A measured figure, what was promised for it, and how to measure: minima of repeats, because the machine is never
quiet."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the report; `limit` is the promise, kept when the value is at least, or at most, that."""

    name: str
    value: float
    unit: str
    kind: Literal["at least", "at most", "beside"] = "beside"
    limit: float | None = None

    @property
    def kept(self) -> bool | None:
        """Whether the promise is kept; nothing where none was made."""
        if self.limit is None:
            return None
        return self.value >= self.limit if self.kind == "at least" else self.value <= self.limit


def shortest(work: Callable[[], object], repeats: int = 5) -> float:
    """The seconds of the quickest of some repeats."""
    best = float("inf")
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - started)
    return best
