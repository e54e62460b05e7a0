"""Timers of pages: each page waits for one time and is due once.

The shard keeps three of them: for retries of pages that failed or are gone, for the next moments of pages with a
rhythm, and for the deadlines of subscriptions.

    retry:   after failure number n a page waits 1 minute · 2^(n-1), at most 1 day; after `most_failures` it is given up
    return:  a page that is gone or given up, in a crawl that refreshes, waits the least interval, and twice as long
             each time, at most 4 weeks; an important page waits less at most

Adding a page again moves its time. Pages that are due together are ordered by time, then by page number.
"""

import heapq
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from centime.model.errors import ScheduleBroken
from centime.model.ids import PageId, page_ids

FIRST_WAIT_SECONDS = 60.0
LONGEST_WAIT_SECONDS = 86400.0
MOST_FAILURES = 5
LONGEST_ABSENCE_SECONDS = 28 * 86400.0


def retry_time(failures: int, now: float, most_failures: int = MOST_FAILURES) -> float | None:
    """Time at which to retry a page that has failed `failures` times in a row; None to give it up.

    >>> retry_time(1, 0.0), retry_time(4, 0.0), retry_time(5, 0.0)
    (60.0, 480.0, None)
    """
    if failures < 1:
        raise ScheduleBroken(f"a retry after {failures} failures; only a page that has failed is retried")
    if failures >= most_failures:
        return None
    # 2^11 minutes are more than a day, and a large enough power overflows
    return now + min(FIRST_WAIT_SECONDS * 2.0 ** min(failures - 1, 11), LONGEST_WAIT_SECONDS)


def return_time(deaths: int, now: float, least: float, importance: float) -> float:
    """Time at which to look again for a page that was found gone `deaths` times in a row.

    `importance` is relative to the mean: pages that are linked from live ones are looked for more often.

    >>> [return_time(deaths, 0.0, 3600.0, 1.0) / 3600 for deaths in (1, 2, 5, 50)]
    [1.0, 2.0, 16.0, 672.0]
    >>> return_time(50, 0.0, 3600.0, 7.0) / 3600
    96.0
    """
    most = LONGEST_ABSENCE_SECONDS / max(1.0, importance)
    return now + max(least, min(least * 2.0 ** min(deaths - 1, 60), most))


class Timers:
    """Pages that wait, each for its time."""

    def __init__(self) -> None:
        self._when: dict[PageId, float] = {}
        self._heap: list[tuple[float, PageId]] = []  # an entry that differs from `_when` is stale

    def add(self, page: PageId, when: float) -> None:
        """Makes a page due at `when`, instead of at the time it waited for."""
        if when != when:
            raise ScheduleBroken(f"the time at which page {page} is due is NaN")
        self._when[page] = when
        heapq.heappush(self._heap, (when, page))
        if len(self._heap) > 2 * len(self._when) + 64:
            self._heap = sorted((time, page) for page, time in self._when.items())

    def remove(self, page: PageId) -> None:
        """Stops the timer of a page; does nothing for a page that does not wait."""
        self._when.pop(page, None)

    def time(self, page: PageId) -> float:
        """Time at which a page that waits is due."""
        return self._when[page]

    def due(self, now: float) -> npt.NDArray[np.int64]:
        """Returns the pages whose time has come, and stops their timers."""
        pages = []
        while self._heap and self._heap[0][0] <= now:
            when, page = heapq.heappop(self._heap)
            if self._when.get(page) == when:
                del self._when[page]
                pages.append(page)
        return np.array(pages, dtype=np.int64)

    def move(self, wait: Callable[[float], float]) -> None:
        """Changes the times at which pages are due."""
        self._when = {page: wait(when) for page, when in self._when.items()}
        self._heap = sorted((when, page) for page, when in self._when.items())

    def earliest(self) -> float:
        """Time at which the next page is due; infinity if none waits."""
        while self._heap and self._when.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else float("inf")

    def __len__(self) -> int:
        """Number of pages that wait."""
        return len(self._when)

    def __contains__(self, page: PageId) -> bool:
        """Whether a page waits."""
        return page in self._when

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """The complete state: all pages that wait, by time and page."""
        waiting = sorted((when, page) for page, when in self._when.items())
        times = np.array([when for when, _ in waiting], dtype=np.float64)
        return {}, {"times": times, "pages": np.array([page for _, page in waiting], dtype=np.int64)}

    @classmethod
    def from_state(cls, _facts: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> "Timers":
        """The timers that have this state."""
        timers = cls()
        timers._heap = list(zip(arrays["times"].tolist(), page_ids(arrays["pages"]), strict=True))
        timers._when = {page: when for when, page in timers._heap}
        return timers
