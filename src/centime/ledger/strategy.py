"""Which page is read next: the page selection strategies of the paper's Section 3.1, in batches.

- `random`: every page with the same probability. `cycle`: one page after the other. `greedy`: the largest first; the
  ledger defines what is large.
- `balanced`: half greedy, half cycle. Greedy alone never returns to a page that owes nothing, so on a changing web it
  would not notice that the page has changed.
- a list of page numbers: the order of a crawler.

Batches avoid Python code for each visit. A batch has at most 1/64 of the pages, so that greedy stays greedy.
"""

from collections.abc import Callable, Iterator
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from centime.model.errors import BadSetting, UnknownPage
from centime.model.graph import LARGEST_PAGE_COUNT
from centime.model.row_batch import Pages

Strategy = Literal["random", "greedy", "cycle", "balanced"]
STRATEGIES: tuple[str, ...] = get_args(Strategy)
DISTINCT = ("greedy", "cycle")  # strategies whose batches have distinct pages
LARGEST_BATCH = 2048


class PageOrder:
    """The state of the strategies: the place in the cycle, whose turn it is, and the random number generator."""

    def __init__(self, seed: int = 0) -> None:
        self.cursor = 0
        self.turn = 0
        self.chance = np.random.Generator(np.random.PCG64(seed))

    def batches(
        self, strategy: Strategy | npt.ArrayLike, visits: int, pages: int, largest: Callable[[int], Pages]
    ) -> Iterator[Pages]:
        """The pages of the next visits in batches; `largest(n)` returns at most n distinct pages, the largest first."""
        if visits < 0:
            raise BadSetting(f"the number of visits must be 0 or more, not {visits}")
        if visits and not pages:
            raise UnknownPage("there is no page to visit: the ledger is empty")
        if not isinstance(strategy, str):
            yield from self._given(np.asarray(strategy), visits, pages)
            return
        if strategy not in STRATEGIES:
            raise BadSetting(f"unknown order {strategy!r}; the orders are {', '.join(STRATEGIES)}")
        while visits > 0:
            size = min(visits, LARGEST_BATCH, max(1, pages // 64))
            batch = self._choose(strategy, size, pages, largest)
            visits -= len(batch)
            yield batch

    def state(self) -> dict[str, Any]:
        """The values that `from_state` needs to continue in the same way."""
        return {"cursor": self.cursor, "turn": self.turn, "chance": self.chance.bit_generator.state}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "PageOrder":
        """The order that `state` described; it continues exactly as the original."""
        order = cls()
        order.cursor, order.turn = state["cursor"], state["turn"]
        order.chance.bit_generator.state = state["chance"]
        return order

    def _choose(self, strategy: str, size: int, pages: int, largest: Callable[[int], Pages]) -> Pages:
        if strategy == "random":
            return self.chance.integers(0, pages, size)
        wanted = size if strategy == "greedy" else 0
        if strategy == "balanced":
            self.turn = 1 - self.turn
            wanted = (size + self.turn) // 2
        found = largest(wanted) if wanted else np.empty(0, dtype=np.int64)
        if strategy == "greedy" and len(found):
            return found
        return np.concatenate([found, self._cycle(size - len(found), pages)])

    def _cycle(self, size: int, pages: int) -> Pages:
        chosen = (self.cursor + np.arange(size, dtype=np.int64)) % pages
        self.cursor = (self.cursor + size) % pages
        return chosen

    @staticmethod
    def _given(order: npt.NDArray[np.generic], visits: int, pages: int) -> Iterator[Pages]:
        if order.ndim != 1 or order.dtype.kind not in "iu" or len(order) < visits:
            raise BadSetting(f"an order must be a one-dimensional list of at least {visits} page numbers")
        known_pages(order, pages)
        chosen = order[:visits].astype(np.int64)
        for start in range(0, visits, LARGEST_BATCH):
            yield chosen[start : start + LARGEST_BATCH]


def check_count(count: int, pages: int) -> None:
    """Raises BadSetting unless this many pages can join a ledger of `pages` pages."""
    if not isinstance(count, int | np.integer) or not 0 <= count <= LARGEST_PAGE_COUNT - pages:
        raise BadSetting(f"cannot add {count} pages to {pages}: a ledger holds up to {LARGEST_PAGE_COUNT}")


def known_pages(numbers: npt.ArrayLike, pages: int) -> Pages:
    """Page numbers as an array; UnknownPage names one that is not known."""
    checked = np.atleast_1d(np.asarray(numbers))
    if checked.size == 0:
        return np.empty(0, dtype=np.int64)
    if checked.dtype.kind not in "iu" or checked.ndim != 1:
        raise UnknownPage("page numbers must be integers, one or a list of them")
    if checked.min() < 0 or checked.max() >= pages:
        wrong = checked.min() if checked.min() < 0 else checked.max()
        raise UnknownPage(f"page {wrong} is not known; known are 0 to {pages - 1}")
    return checked.astype(np.int64)


def repeated(pages: Pages) -> npt.NDArray[np.bool_]:
    """Which places repeat a page that is there before them."""
    mask = np.ones(len(pages), dtype=np.bool_)
    mask[np.unique(pages, return_index=True)[1]] = False
    return mask


def runs_without_repeats(pages: Pages) -> Iterator[tuple[int, int]]:
    """The longest runs in which no page is repeated, from the first on: where each begins and ends."""
    order = np.argsort(pages, kind="stable")
    again = np.flatnonzero(pages[order[1:]] == pages[order[:-1]]) + 1
    before = np.full(len(pages), -1)  # where the same page is last before each place
    before[order[again]] = order[again - 1]
    start = 0
    for place in np.flatnonzero(before >= 0).tolist():
        if before[place] >= start:
            yield start, place
            start = place
    yield start, len(pages)
