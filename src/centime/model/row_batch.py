"""The known links of many pages: the batch that kernels take, and the store that a ledger needs.

A ledger requests from its `RowStore` the rows of a few thousand pages at a time and writes back those that changed. A
store on disk therefore costs one read and one write per visit, like the history in the paper.
"""

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

Pages = npt.NDArray[np.int64]
NO_WEIGHTS: npt.NDArray[np.float64] = np.empty(0)


class RowBatch(NamedTuple):
    """Rows of links: row k is `targets[starts[k] : starts[k] + lengths[k]]`, with its weights at the same positions.

    The weights of a row add up to 1. `weights` is empty if all links of each row have equal weights.
    """

    starts: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]
    targets: npt.NDArray[np.int32]
    weights: npt.NDArray[np.float64]

    def take(self, which: npt.NDArray[np.bool_]) -> "RowBatch":
        """The rows that a mask selects."""
        return RowBatch(self.starts[which], self.lengths[which], self.targets, self.weights)

    def links(self) -> npt.NDArray[np.int32]:
        """The targets of all rows, one row after the other."""
        return self.targets[self._places()]

    def shares(self) -> npt.NDArray[np.float64]:
        """The weights of `links`, in the same order; empty if all links of each row have equal weights."""
        return self.weights[self._places()] if len(self.weights) else self.weights

    def ascending(self) -> "RowBatch":
        """The same rows, the targets of each in ascending order; equal targets keep their order."""
        links, shares = self.links(), self.shares()
        order = np.lexsort((links, np.repeat(np.arange(len(self.lengths)), self.lengths)))
        starts = np.cumsum(self.lengths) - self.lengths
        return RowBatch(starts, self.lengths, links[order], shares[order] if len(shares) else shares)

    def _places(self) -> npt.NDArray[np.int64]:
        total = int(self.lengths.sum())
        return np.repeat(self.starts - (np.cumsum(self.lengths) - self.lengths), self.lengths) + np.arange(total)


class RowStore(Protocol):
    """The store of the rows of a ledger's pages."""

    def gather(self, pages: Pages) -> RowBatch:
        """The last known rows of these pages; a page never recorded has an empty row."""
        ...

    def replace(self, pages: Pages, rows: RowBatch) -> None:
        """Replaces the rows of these pages; no page may appear twice."""
        ...
