"""Discovers a web along links from a few seed pages.

A page has two numbers: its number on the web, and its number in the ledger, which counts pages in the order in which
they were found. For pages read in one batch, first the new pages among their targets join the ledger, then the visits
are recorded.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

from centime.model.graph import Graph
from centime.model.row_batch import NO_WEIGHTS, RowBatch

Pages = npt.NDArray[np.int64]


class Book(Protocol):
    """The interface of a ledger that discovery needs."""

    def join(self, count: int = 1) -> int:
        """Adds new pages to the ledger."""
        ...

    def importance(self) -> npt.NDArray[np.float64]:
        """The importance of all known pages."""
        ...

    def visit_many(self, pages: npt.ArrayLike, rows: RowBatch) -> None:
        """Records visits."""
        ...


Choose = Callable[[Pages, int], Pages]
"""Chooses the next pages to read from the unread pages, which are sorted by their number in the ledger."""


class Discovery:
    """The known part of a web, with both numbers of each known page."""

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
        """Number of pages read."""
        return self.known - len(self.unread)

    def read_next(self, count: int, choose: Choose) -> None:
        """Reads up to `count` unread pages, chosen by `choose`."""
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
        """The graph known now: the rows of the pages that were read, and empty rows for the others."""
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
