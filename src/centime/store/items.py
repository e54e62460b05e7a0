"""Items of one size by their number, in a file that only grows: what never changes about a page need not be in
memory.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from centime.files.appended import HEAD_BYTES, AppendedFile


class Items:
    """A column on disk, of one dtype (or structured dtype)."""

    def __init__(self, file: AppendedFile, dtype: npt.DTypeLike) -> None:
        self.file = file
        self.dtype = np.dtype(dtype)

    @property
    def count(self) -> int:
        """How many items there are."""
        return (self.file.length - HEAD_BYTES) // self.dtype.itemsize

    def append(self, items: npt.NDArray[Any]) -> None:
        """Appends items behind the others."""
        self.file.append(np.ascontiguousarray(items, dtype=self.dtype))

    def take(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """The items of these numbers."""
        first = self._items(self.file.base, HEAD_BYTES)
        if not len(self.file.tail):
            return first[numbers]
        second = self._items(self.file.tail, 0)
        taken = np.empty(len(numbers), dtype=self.dtype)
        early = numbers < len(first)
        taken[early] = first[numbers[early]]
        taken[~early] = second[numbers[~early] - len(first)]
        return taken

    def one(self, number: int) -> Any:
        """One item."""
        size = self.dtype.itemsize
        return np.frombuffer(self.file.read(HEAD_BYTES + number * size, size), dtype=self.dtype)[0]

    def every(self) -> npt.NDArray[Any]:
        """All items: a copy."""
        return np.concatenate([self._items(self.file.base, HEAD_BYTES), self._items(self.file.tail, 0)])

    def _items(self, octets: npt.NDArray[np.uint8], start: int) -> npt.NDArray[Any]:
        whole = (len(octets) - start) // self.dtype.itemsize * self.dtype.itemsize
        return octets[start : start + whole].view(self.dtype)
