"""Makes the link rows of a batch of visits: sorted, each target once, without links to unknown pages."""

import numpy as np
import numpy.typing as npt

from centime.model.kernel import kernel
from centime.model.row_batch import NO_WEIGHTS, Pages, RowBatch


def tidy_rows(targets: Pages, lengths: npt.NDArray[np.int64]) -> RowBatch:
    """Tidy rows from rows of these lengths, which lie one after the other in `targets`; a target below 0 is unknown."""
    rows = np.empty(len(targets), dtype=np.int32)
    starts = np.cumsum(lengths) - lengths
    kept = np.empty_like(lengths)
    _tidy(targets, starts, lengths, rows, kept)
    return RowBatch(starts, kept, rows, NO_WEIGHTS)


@kernel
def _tidy(
    targets: npt.NDArray[np.int64],
    starts: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int32],
    kept: npt.NDArray[np.int64],
) -> None:
    for row in range(len(starts)):
        start = starts[row]
        links = np.sort(targets[start : start + lengths[row]])
        place = start
        before = np.int64(-1)
        for target in links:
            if target > before:
                rows[place] = target
                place += 1
                before = target
        kept[row] = place - start
