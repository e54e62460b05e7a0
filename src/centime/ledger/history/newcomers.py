"""The default history of new pages: the importance of pages that joined recently ("Expanding the graph", Section 3.3).

A new page gets a default history that corresponds to the importance of recently introduced pages. Important pages are
found first, so new pages are mostly less important than the mean; and without a history, a page would look less
important than it is for a long time.

When a page that joined during the crawl is read for the first time, its cash C is compared with the time since it
joined. Both are summed over the last pages read in this way (each counts 1/256 less than the next):

    importance of newcomers = sum of C / (mean cash * sum of turnovers)     but at most 1

It must not be larger: pages that join with a history above the mean would raise the mean for the next ones, without
end.

Up to 1024 times of joining are kept. When there are more, every second one is dropped, so that the times become a
little less precise but slow pages stay in the count.
"""

from bisect import bisect_right
from typing import Any

from centime.ledger.cash import MEAN_CASH, Money
from centime.ledger.history.clock import TURNOVER, WRAP, Ticks
from centime.model.row_batch import Pages

FADING = 1 - 1 / 256
MOST_MOMENTS = 1024


class Newcomers:
    """The times at which pages joined, and the importance of those that were recently read for the first time."""

    def __init__(self, firsts: list[int], times: list[int], cash: float = 0.0, ticks: float = 0.0) -> None:
        self._firsts = firsts
        self._times = times
        self._cash = cash
        self._ticks = ticks

    @property
    def importance(self) -> float:
        """The importance of recently introduced pages; 0 if none was read yet."""
        return min(1.0, self._cash / MEAN_CASH / (self._ticks / TURNOVER)) if self._ticks else 0.0

    def join(self, first: int, now: int) -> None:
        """Records that pages from `first` on joined now."""
        if len(self._firsts) == MOST_MOMENTS:
            del self._firsts[1::2], self._times[1::2]
        self._firsts.append(first)
        self._times.append(now)

    def read(self, pages: Pages, amounts: Money, times: Ticks) -> None:
        """Records the cash of pages that were read for the first time."""
        for page, amount, time in zip(pages.tolist(), amounts.tolist(), times.tolist(), strict=True):
            moment = bisect_right(self._firsts, page) - 1
            if moment >= 0:
                self._cash = self._cash * FADING + amount
                self._ticks = self._ticks * FADING + ((time - self._times[moment]) & WRAP)

    def state(self) -> dict[str, Any]:
        """The arguments that restore the same newcomers, by name."""
        return {"firsts": self._firsts, "times": self._times, "cash": self._cash, "ticks": self._ticks}
