"""Known links: how kernels are handed many rows at once, and what a ledger needs of the place where each page's row is
kept.

A ledger asks its `RowStore` for the rows of a few thousand pages at a time and gives back those that changed, so a
store on disk costs one read and one write a visit, as the paper's history does.
"""

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

Pages = npt.NDArray[np.int64]
NO_WEIGHTS: npt.NDArray[np.float64] = np.empty(0)


class RowBatch(NamedTuple):
    """Rows side by side: row k is `targets[starts[k] : starts[k] + lengths[k]]`, its weights (adding up to 1) at the
    same places.

    `weights` is empty when every row of the batch shares alike.
    """

    starts: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]
    targets: npt.NDArray[np.int32]
    weights: npt.NDArray[np.float64]

    def take(self, which: npt.NDArray[np.bool_]) -> "RowBatch":
        """The rows that a mask names."""
        return RowBatch(self.starts[which], self.lengths[which], self.targets, self.weights)

    def links(self) -> npt.NDArray[np.int32]:
        """The targets of all rows, one row behind the other."""
        return self.targets[self._places()]

    def shares(self) -> npt.NDArray[np.float64]:
        """Their weights in the same order; none when every row shares alike."""
        return self.weights[self._places()] if len(self.weights) else self.weights

    def _places(self) -> npt.NDArray[np.int64]:
        total = int(self.lengths.sum())
        return np.repeat(self.starts - (np.cumsum(self.lengths) - self.lengths), self.lengths) + np.arange(total)


class RowStore(Protocol):
    """What a ledger needs of the place where rows are kept."""

    def gather(self, pages: Pages) -> RowBatch:
        """The last known rows of these pages; a page never recorded has an empty one."""
        ...

    def replace(self, pages: Pages, rows: RowBatch) -> None:
        """Keeps these rows instead; no page is named twice."""
        ...
