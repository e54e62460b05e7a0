"""One value for every page, in an array that grows: page i has place i.

Room is taken a quarter ahead when a page joins, so joining one page at a time costs O(1) in the mean; pages that join
together at the start take exactly what they need.
"""

from typing import Any

import numpy as np
import numpy.typing as npt


class Column:
    """A growing array; `values` is the part in use, to read and write in place."""

    def __init__(self, values: npt.NDArray[Any]) -> None:
        self._room = values
        self.values = values

    @property
    def nbytes(self) -> int:
        """Bytes in use, with the room taken ahead."""
        return self._room.nbytes

    def extend(self, count: int, value: float) -> None:
        """Appends `count` times the same value."""
        used = len(self.values)
        if used + count > len(self._room):
            self._room = np.empty(max(used + count, used * 5 // 4), dtype=self.values.dtype)
            self._room[:used] = self.values
        self._room[used : used + count] = value
        self.values = self._room[: used + count]
