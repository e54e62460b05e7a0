"""Items of fixed size by number, in a file that only grows: facts about a page that never change need no memory."""

from typing import Any

import numpy as np
import numpy.typing as npt

from centime.files.appended import HEAD_BYTES, AppendedFile


class Items:
    """A column on disk with one dtype, which may be structured."""

    def __init__(self, file: AppendedFile, dtype: npt.DTypeLike) -> None:
        self.file = file
        self.dtype = np.dtype(dtype)

    @property
    def count(self) -> int:
        """The number of items."""
        return (self.file.length - HEAD_BYTES) // self.dtype.itemsize

    def append(self, items: npt.NDArray[Any]) -> None:
        """Appends items at the end."""
        self.file.append(np.ascontiguousarray(items, dtype=self.dtype))

    def take(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """The items with these numbers."""
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
        """A copy of all items."""
        return np.concatenate([self._items(self.file.base, HEAD_BYTES), self._items(self.file.tail, 0)])

    def _items(self, octets: npt.NDArray[np.uint8], start: int) -> npt.NDArray[Any]:
        whole = (len(octets) - start) // self.dtype.itemsize * self.dtype.itemsize
        return octets[start : start + whole].view(self.dtype)
