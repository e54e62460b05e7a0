"""Named columns of values by page number. They grow together, reserve a quarter more than needed, and begin as zeros.

Trap: `columns[name]` is a view of the used part, and becomes stale when the columns grow: take it again after `reach`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from centime.model.errors import StoreBroken


class Columns:
    """Named arrays of the same length."""

    def __init__(self, types: Mapping[str, npt.DTypeLike], state: Mapping[str, npt.NDArray[Any]] | None = None) -> None:
        if state:
            self._room = {name: np.array(state[name], dtype=kind) for name, kind in types.items()}
        else:
            self._room = {name: np.zeros(0, dtype=kind) for name, kind in types.items()}
        lengths = {len(room) for room in self._room.values()}
        if len(lengths) != 1:
            raise StoreBroken(f"columns must have one length, not {sorted(lengths)}")
        self.count = lengths.pop()

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self._room[name][: self.count]

    @property
    def nbytes(self) -> int:
        """Bytes of memory, reserved space included."""
        return sum(room.nbytes for room in self._room.values())

    def reach(self, count: int) -> None:
        """Grows the columns to at least `count` pages; new values are zeros."""
        if count <= self.count:
            return
        for name, room in self._room.items():
            if count > len(room):
                grown = np.zeros(max(count, len(room) * 5 // 4), dtype=room.dtype)
                grown[: self.count] = room[: self.count]
                self._room[name] = grown
        self.count = count

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays for a snapshot."""
        return {name: self[name] for name in self._room}
