"""Several cores: the pages are cut into parts with equal numbers of links, and a kernel runs on all parts at once.

The kernels release the interpreter lock, so plain threads suffice. Compared with numba's parallel loops, they need no
second compiler pass of several seconds, and no threading layer that breaks when two threads of a program rank at the
same time. A round costs 20 microseconds, and up to 200 on virtual machines; each thread needs a vector over all pages.
So several threads pay from some ten million links on.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TypeVar

import numpy as np

from centime.model.errors import BadSetting
from centime.model.graph import Offsets

R = TypeVar("R")
MOST_THREADS = 256
MANY_LINKS = 10_000_000  # two threads take longer than one for three million random links, and as long for five
USUAL_THREADS = 8  # each needs a vector of its own, and beyond these memory is the limit


class Crew:
    """Threads that work on the parts of a task at the same time; with one part, the caller does it alone."""

    def __init__(self, parts: int) -> None:
        self.parts = parts
        self._pool = ThreadPoolExecutor(parts - 1) if parts > 1 else None

    def __enter__(self) -> "Crew":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def do(self, work: Callable[[int], R]) -> list[R]:
        """The results of `work` for part 0, 1, ..., in that order."""
        if self._pool is None:
            return [work(0)]
        others = [self._pool.submit(work, part) for part in range(1, self.parts)]
        first = work(0)
        return [first, *(other.result() for other in others)]


def crew_for(links: int, threads: int | None) -> Crew:
    """A crew with the given number of threads; by default one per core, up to 8, or one if there are few links."""
    if threads is not None and not 1 <= threads <= MOST_THREADS:
        raise BadSetting(f"the number of threads must be from 1 to {MOST_THREADS}, not {threads}")
    if threads is None:
        threads = min(len(os.sched_getaffinity(0)), USUAL_THREADS) if links > MANY_LINKS else 1
    return Crew(threads)


def cut_evenly(offsets: Offsets, parts: int) -> Offsets:
    """Where to cut the pages so that all parts have about the same number of links and pages."""
    if parts == 1:
        return np.array([0, len(offsets) - 1], dtype=np.int64)
    weight = offsets + np.arange(len(offsets), dtype=np.int64)
    cuts = np.searchsorted(weight, np.linspace(0, weight[-1], parts + 1)).astype(np.int64)
    cuts[0], cuts[-1] = 0, len(offsets) - 1
    return cuts
