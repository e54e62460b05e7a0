"""Pages that failed in passing and come back later, by the time at which they do.

    after failure number n a page waits 1 minute · 2^(n-1), at most 1 day; after `most_failures` of them it is given up

A page waits for one time only: adding it again moves it. Pages due together come by time, then by page number.
"""

import heapq
from typing import Any

import numpy as np
import numpy.typing as npt

from centime.model.errors import BadInput

FIRST_WAIT_SECONDS = 60.0
LONGEST_WAIT_SECONDS = 86400.0


def retry_time(failures: int, now: float, most_failures: int = 5) -> float | None:
    """When to try a page again that has failed so often in a row; None to give it up.

    >>> retry_time(1, 0.0), retry_time(4, 0.0), retry_time(5, 0.0)
    (60.0, 480.0, None)
    """
    if failures < 1:
        raise BadInput(f"{failures} failures: only a page that has failed is tried again")
    if failures >= most_failures:
        return None
    # 2^11 minutes are more than a day, and a larger power might not be a number
    return now + min(FIRST_WAIT_SECONDS * 2.0 ** min(failures - 1, 11), LONGEST_WAIT_SECONDS)


class Timers:
    """The pages that wait to be tried again."""

    def __init__(self) -> None:
        self._when: dict[int, float] = {}
        self._heap: list[tuple[float, int]] = []  # what `_when` does not confirm is out of date

    def add(self, page: int, when: float) -> None:
        """Lets a page come back at `when`."""
        if when != when:
            raise BadInput(f"the time at which page {page} comes back is not a number")
        self._when[page] = when
        heapq.heappush(self._heap, (when, page))
        if len(self._heap) > 2 * len(self._when) + 64:
            self._heap = sorted((time, page) for page, time in self._when.items())

    def remove(self, page: int) -> None:
        """Lets a page not come back; one that does not wait is passed over."""
        self._when.pop(page, None)

    def due(self, now: float) -> npt.NDArray[np.int64]:
        """The pages whose time has come; they wait no more."""
        pages = []
        while self._heap and self._heap[0][0] <= now:
            when, page = heapq.heappop(self._heap)
            if self._when.get(page) == when:
                del self._when[page]
                pages.append(page)
        return np.array(pages, dtype=np.int64)

    def earliest(self) -> float:
        """When the next page comes back; infinity if none waits."""
        while self._heap and self._when.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else float("inf")

    def __len__(self) -> int:
        """How many pages wait."""
        return len(self._when)

    def __contains__(self, page: int) -> bool:
        """Whether a page waits."""
        return page in self._when

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """All that waits, by time and page."""
        order = sorted((when, page) for page, when in self._when.items())
        times = np.array([when for when, _ in order], dtype=np.float64)
        return {}, {"times": times, "pages": np.array([page for _, page in order], dtype=np.int64)}

    @classmethod
    def from_state(cls, _facts: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> "Timers":
        """The same pages, waiting for the same times."""
        retries = cls()
        retries._heap = list(zip(arrays["times"].tolist(), arrays["pages"].tolist(), strict=True))
        retries._when = {page: when for when, page in retries._heap}
        return retries
