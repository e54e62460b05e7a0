"""Makes the link rows of a batch of visits: sorted, each target once, without links to unknown pages."""

import numpy as np
import numpy.typing as npt

from centime.model.row_batch import NO_WEIGHTS, Pages, RowBatch


def tidy_rows(targets: Pages, lengths: npt.NDArray[np.int64]) -> RowBatch:
    """Tidy rows from rows of these lengths, which lie one after the other in `targets`; a target below 0 is unknown."""
    rows = np.repeat(np.arange(len(lengths)), lengths)
    links = (rows << 32) | targets  # sorts by row, then by target
    links = np.sort(links[targets >= 0])
    links = links[np.diff(links, prepend=-1) > 0]
    kept = np.bincount(links >> 32, minlength=len(lengths))
    return RowBatch(np.cumsum(kept) - kept, kept, (links & 0xFFFFFFFF).astype(np.int32), NO_WEIGHTS)
