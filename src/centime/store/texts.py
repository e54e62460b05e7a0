"""URL texts by page number: one file has all texts one after the other, a second one their ends, 8 bytes per page."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from centime.files.appended import HEAD_BYTES, AppendedFile
from centime.model.errors import StoreBroken, UnknownPage
from centime.model.ids import PageId

END_BYTES = 8


class Texts:
    """The URL of every known page; pages are numbered in the order in which they were appended."""

    def __init__(self, texts: AppendedFile, ends: AppendedFile) -> None:
        self.texts = texts
        self.ends = ends

    @classmethod
    def open(cls, folder: Path, state: Mapping[str, npt.NDArray[np.uint64]], writable: bool) -> "Texts":
        """Opens the texts of a folder as they were in this state; an empty state creates new files."""
        texts = AppendedFile.open(folder / "texts.bin", "texts", state.get("texts"), writable)
        return cls(texts, AppendedFile.open(folder / "text_ends.bin", "textends", state.get("text_ends"), writable))

    def state(self) -> dict[str, npt.NDArray[np.uint64]]:
        """The arrays for a snapshot, from which `open` restores the texts."""
        return {"texts": self.texts.state(), "text_ends": self.ends.state()}

    def sync(self) -> None:
        """Waits until everything appended is on disk."""
        self.texts.sync()
        self.ends.sync()

    @property
    def count(self) -> int:
        """The number of pages with a text."""
        return (self.ends.length - HEAD_BYTES) // END_BYTES

    def append_many(self, urls: bytes, lengths: npt.NDArray[np.integer]) -> None:
        """Appends the texts of the next pages: `urls` has them one after the other, with these `lengths` in bytes."""
        if int(lengths.sum()) != len(urls):
            raise StoreBroken(f"lengths add up to {int(lengths.sum())}, the texts have {len(urls)} bytes")
        before = self.texts.length
        ends = before + np.cumsum(lengths, dtype=np.uint64)
        self.texts.append(urls)
        try:
            self.ends.append(ends)
        except BaseException:
            self.texts.truncate(before)
            raise

    def get(self, page: PageId) -> str:
        """The URL of one page."""
        return self.get_many(np.array([page]))[0]

    def get_many(self, pages: npt.NDArray[np.integer]) -> list[str]:
        """The URLs of these pages."""
        numbers = pages.astype(np.int64)
        return [
            self.texts.read(begin, end - begin).decode()
            for begin, end in zip(self._ends_of(numbers - 1).tolist(), self._ends_of(numbers).tolist(), strict=True)
        ]

    def packed(self, begin: int, end: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
        """The URLs of pages `begin` to `end` - 1 as UTF-8 one after the other, and where each begins and ends in there.

        The bytes are a view of the file unless some of them are still in a reader's memory.
        """
        ends = self._ends_of(np.arange(begin - 1, end, dtype=np.int64)).astype(np.int64)
        first, last, border = int(ends[0]), int(ends[-1]), len(self.texts.base)
        if last <= border:
            octets = self.texts.base[first:last]
        elif first >= border:
            octets = self.texts.tail[first - border : last - border]
        else:
            octets = np.concatenate([self.texts.base[first:], self.texts.tail[: last - border]])
        return ends - first, octets

    def every(self, batch: int = 65_536) -> Iterator[str]:
        """The URLs of all pages by page number."""
        for begin in range(0, self.count, batch):
            yield from self.get_many(np.arange(begin, min(begin + batch, self.count)))

    def close(self) -> None:
        """Closes both files."""
        self.texts.close()
        self.ends.close()

    def _ends_of(self, pages: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
        """The ends of the texts of these pages; page -1 ends where page 0 begins."""
        if len(pages) and not (-1 <= pages.min() and pages.max() < self.count):
            raise UnknownPage(f"page {pages.max()} has no text: known are 0 to {self.count - 1}")
        in_file = self.ends.base[HEAD_BYTES:].view(np.uint64)
        in_tail = self.ends.tail.view(np.uint64)
        ends = np.full(len(pages), HEAD_BYTES, dtype=np.uint64)
        in_first = (pages >= 0) & (pages < len(in_file))
        ends[in_first] = in_file[pages[in_first]]
        in_second = pages >= len(in_file)
        ends[in_second] = in_tail[pages[in_second] - len(in_file)]
        return ends
