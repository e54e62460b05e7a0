"""Slices in memory, for graphs whose vectors are larger than a cache.

For 10 million pages, whose vector is far larger than the cache, reading links slice by slice takes a fifth of the time
of pulling row by row (see docs/decisions/ranking-off-line.md): only the sums of one slice are accessed at random. The
links are stored a second time, 4 bytes each.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from centime.model.graph import Graph, Offsets, Targets
from centime.model.kernel import Whole, kernel
from centime.rank.sliced.slices import FARTHEST, Words

BITS = 19


class MemorySlices:
    """The links of an unweighted graph, in slices."""

    def __init__(self, graph: Graph, bits: int = BITS) -> None:
        self.pages, self.links, self.bits = graph.pages, graph.links, bits
        self.slices = max(1, -(-graph.pages // (1 << bits)))
        self._degrees = graph.out_degree.astype(np.uint32)
        self._own = np.zeros(graph.pages, dtype=np.uint32)
        counts = np.zeros(self.slices, dtype=np.int64)
        last = np.zeros(self.slices, dtype=np.int64)
        _lay(graph.offsets, graph.targets, bits, np.empty(0, dtype=np.uint32), counts, last, self._own)
        self._starts = np.zeros(self.slices + 1, dtype=np.int64)
        np.cumsum(counts, out=self._starts[1:])
        self.words = np.empty(self._starts[-1], dtype=np.uint32)
        last[:] = 0
        _lay(graph.offsets, graph.targets, bits, self.words, self._starts[:-1].copy(), last, self._own)

    def units(self, number: int, buffer: Words) -> Iterator[tuple[int, int, Words]]:
        """The words of a slice as one unit, with the first and the last page."""
        yield 0, self.pages - 1, self.words[self._starts[number] : self._starts[number + 1]]

    def degrees(self, first: int, end: int) -> npt.NDArray[np.uint32]:
        """The out-degrees of pages `first` to `end - 1`."""
        return self._degrees[first:end]

    def own(self, first: int, end: int) -> npt.NDArray[np.uint32]:
        """The numbers of self-links of pages `first` to `end - 1`."""
        return self._own[first:end]


@kernel
def _lay(
    offsets: Offsets,
    targets: Targets,
    bits: Whole,
    words: Words,
    place: npt.NDArray[np.int64],
    last: npt.NDArray[np.int64],
    own: npt.NDArray[np.uint32],
) -> None:
    """Writes each link as a word (see `slices.py`) into its slice, or only counts the words if `words` is empty."""
    farthest = min((1 << (31 - bits)) - 1, FARTHEST)
    writing = len(words) > 0
    for page in range(len(offsets) - 1):
        count = 0
        for link in range(offsets[page], offsets[page + 1]):
            target = np.int64(targets[link])
            if target == page:
                count += 1
                continue
            number = target >> bits
            while page - last[number] > farthest:
                if writing:
                    words[place[number]] = (farthest << (bits + 1)) | (1 << bits)
                place[number] += 1
                last[number] += farthest
            if writing:
                words[place[number]] = ((page - last[number]) << (bits + 1)) | (target - (number << bits))
            place[number] += 1
            last[number] = page
        own[page] = count
