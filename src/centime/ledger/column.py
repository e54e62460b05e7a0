"""A growing array with one value per page.

Growth reserves a quarter more than needed, so a page costs O(1) amortised; pages that join together at the start take
exactly the space they need.
"""

from typing import Any

import numpy as np
import numpy.typing as npt


class Column:
    """A growing array; `values` is a writable view of the used part."""

    def __init__(self, values: npt.NDArray[Any]) -> None:
        self._room = values
        self.values = values

    @property
    def nbytes(self) -> int:
        """Bytes of memory, reserved space included."""
        return self._room.nbytes

    def extend(self, count: int, value: float) -> None:
        """Appends the same value `count` times."""
        used = len(self.values)
        if used + count > len(self._room):
            self._room = np.empty(max(used + count, used * 5 // 4), dtype=self.values.dtype)
            self._room[:used] = self.values
        self._room[used : used + count] = value
        self.values = self._room[: used + count]
