"""A web that becomes known by being read: from a few pages on, along links.

Pages have two numbers: the one they have on the web, and the one they have in the ledger, which counts them in the
order in which they were found. Pages read in one go become known together: first the new ones among their targets join,
then the visits are recorded.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

from centime.model.graph import Graph
from centime.model.row_batch import NO_WEIGHTS, RowBatch

Pages = npt.NDArray[np.int64]


class Book(Protocol):
    """What discovery needs of a ledger."""

    def join(self, count: int = 1) -> int:
        """Makes new pages known."""
        ...

    def importance(self) -> npt.NDArray[np.float64]:
        """The importance of all known pages."""
        ...

    def visit_many(self, pages: npt.ArrayLike, rows: RowBatch) -> None:
        """Records visits."""
        ...


Choose = Callable[
    [Pages, int], Pages
]  # of the unread pages, by number in the ledger, in the order found: the next ones to read


class Discovery:
    """What is known of a web, and which page of the web each page of the ledger is."""

    def __init__(self, web: Graph, ledger: Book, seeds: Pages) -> None:
        self.web = web
        self.ledger = ledger
        self.found: Pages = np.empty(web.pages, dtype=np.int64)  # by number in the ledger: the number on the web
        self.number = np.full(web.pages, -1, dtype=np.int64)  # by number on the web: the number in the ledger
        self.known = 0
        self.unread: Pages = np.empty(0, dtype=np.int64)
        self._find(seeds)

    @property
    def read(self) -> int:
        """How many pages were read."""
        return self.known - len(self.unread)

    def read_next(self, count: int, choose: Choose) -> None:
        """Reads up to `count` unread pages of someone's choice."""
        chosen = choose(self.unread, min(count, len(self.unread)))
        places = self.found[chosen]
        starts, lengths = self.web.offsets[places], self.web.out_degree[places]
        ends = np.cumsum(lengths)
        links = np.repeat(starts - (ends - lengths), lengths) + np.arange(int(lengths.sum()))
        targets = self.web.targets[links]
        self.unread = np.setdiff1d(self.unread, chosen, assume_unique=True)
        self._find(targets)
        rows = RowBatch(ends - lengths, lengths, self.number[targets].astype(np.int32), NO_WEIGHTS)
        self.ledger.visit_many(chosen, rows)

    def known_graph(self) -> Graph:
        """The graph as it is known now: the rows of the pages that were read, empty ones for the others."""
        lengths = self.web.out_degree[self.found[: self.known]]
        lengths[self.unread] = 0
        offsets = np.zeros(self.known + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        starts = self.web.offsets[self.found[: self.known]]
        links = np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Graph(offsets, self.number[self.web.targets[links]].astype(np.int32))

    def _find(self, targets: npt.NDArray[np.integer]) -> None:
        pages, first = np.unique(targets, return_index=True)
        new = pages[np.argsort(first)]
        new = new[self.number[new] < 0]
        if not len(new):
            return
        self.ledger.join(len(new))
        numbers = np.arange(self.known, self.known + len(new))
        self.found[numbers] = new
        self.number[new] = numbers
        self.known += len(new)
        self.unread = np.concatenate([self.unread, numbers])
