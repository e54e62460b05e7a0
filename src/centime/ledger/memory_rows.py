"""Rows in memory: a single validated row, the rows of a graph, and `MemoryRows`, the `RowStore` of notebooks and the
lab.
"""

import numpy as np
import numpy.typing as npt

from centime.model.errors import BadRow
from centime.model.graph import Graph, row_shares
from centime.model.kernel import late_kernel
from centime.model.row_batch import NO_WEIGHTS, Pages, RowBatch


def row_batch(targets: npt.ArrayLike, weights: npt.ArrayLike | None, pages: int) -> RowBatch:
    """One valid row: targets are known pages, weights are finite and not negative; links of weight 0 are dropped."""
    links = np.atleast_1d(np.asarray(targets))
    if links.size == 0:
        links = links.astype(np.int64)
    if links.ndim != 1 or links.dtype.kind not in "iu":
        raise BadRow("the targets of links must be a one-dimensional list of page numbers")
    if len(links) and not (links.min() >= 0 and links.max() < pages):
        raise BadRow(
            f"a link leads to page {links.max() if links.max() >= pages else links.min()}; known are 0 to {pages - 1}"
        )
    share = NO_WEIGHTS
    if weights is not None:
        weight = np.atleast_1d(np.asarray(weights, dtype=np.float64))
        if weight.shape != links.shape:
            raise BadRow(f"{len(links)} links need {len(links)} weights, not {weight.size}")
        if not (np.isfinite(weight).all() and (weight >= 0).all()):
            raise BadRow("the weight of a link must be a finite number, zero or more")
        links, weight = links[weight > 0], weight[weight > 0]
        share = weight
        if len(weight):
            share = weight / weight.max()  # no sum of these overflows, or is 0
            share = share / share.sum()
    return RowBatch(np.zeros(1, np.int64), np.array([len(links)], dtype=np.int64), links.astype(np.int32), share)


class WebRows:
    """The rows of a graph, with weights normalised once to add up to 1."""

    def __init__(self, graph: Graph) -> None:
        self.starts = graph.offsets[:-1]
        self.lengths = graph.out_degree
        self.targets = graph.targets
        self.weights = NO_WEIGHTS
        if graph.weights is not None:
            self.weights, carries = row_shares(graph.offsets, graph.weights)
            self.lengths = np.where(carries, self.lengths, 0)

    def gather(self, pages: Pages) -> RowBatch:
        """The rows of these pages."""
        return RowBatch(self.starts[pages], self.lengths[pages], self.targets, self.weights)


class MemoryRows:
    """All rows in one growing array; a changed row is overwritten in place if it fits, and else appended."""

    def __init__(self) -> None:
        self._starts = np.zeros(0, dtype=np.int64)
        self._lengths = np.zeros(0, dtype=np.int32)
        self._targets = np.zeros(0, dtype=np.int32)
        self._weights = NO_WEIGHTS
        self._weighted = False
        self._used = 0

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return self._starts.nbytes + self._lengths.nbytes + self._targets.nbytes + self._weights.nbytes

    def gather(self, pages: Pages) -> RowBatch:
        """The last known rows of these pages; empty for a page without a row."""
        if len(pages) and pages.max() >= len(self._starts):
            self._make_room_for_pages(int(pages.max()) + 1)
        return RowBatch(self._starts[pages], self._lengths[pages].astype(np.int64), self._targets, self._weights)

    def replace(self, pages: Pages, rows: RowBatch) -> None:
        """Replaces the rows of these pages, which must be distinct."""
        if not len(pages):
            return
        self._make_room_for_pages(int(pages.max()) + 1)
        if len(rows.weights) and not self._weighted:
            self._weighted = True
            self._weights = np.zeros(len(self._targets))
            _share_alike(self._starts, self._lengths, self._weights)
        moved = rows.lengths > self._lengths[pages]
        self._make_room_for_links(int(rows.lengths[moved].sum()))
        self._used = _write_rows(pages, rows, self._starts, self._lengths, self._targets, self._weights, self._used)

    def graph(self, pages: int) -> Graph:
        """The known links of pages 0 to `pages - 1` as a graph."""
        everyone = np.arange(pages, dtype=np.int64)
        rows = self.gather(everyone)
        offsets = np.zeros(pages + 1, dtype=np.int64)
        np.cumsum(rows.lengths, out=offsets[1:])
        place = np.repeat(rows.starts - offsets[:-1], rows.lengths) + np.arange(offsets[-1])
        return Graph(offsets, self._targets[place], self._weights[place] if len(self._weights) else None)

    def _make_room_for_pages(self, pages: int) -> None:
        if pages > len(self._starts):
            room = max(pages, len(self._starts) * 5 // 4)
            self._starts = np.concatenate([self._starts, np.zeros(room - len(self._starts), dtype=np.int64)])
            self._lengths = np.concatenate([self._lengths, np.zeros(room - len(self._lengths), dtype=np.int32)])

    def _make_room_for_links(self, links: int) -> None:
        if self._used + links <= len(self._targets):
            return
        live = int(self._lengths.sum(dtype=np.int64))
        room = max(live + links, live * 5 // 4)
        targets = np.empty(room, dtype=np.int32)
        weights = np.zeros(room) if self._weighted else NO_WEIGHTS
        rows = RowBatch(self._starts.copy(), self._lengths.astype(np.int64), self._targets, self._weights)
        everyone = np.arange(len(self._starts), dtype=np.int64)
        self._lengths[:] = 0
        self._used = _write_rows(everyone, rows, self._starts, self._lengths, targets, weights, 0)
        self._targets, self._weights = targets, weights


@late_kernel(0.3)
def _share_alike(
    starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int32], weights: npt.NDArray[np.float64]
) -> None:
    """Writes equal weights for all rows."""
    for page in range(len(starts)):
        for link in range(starts[page], starts[page] + lengths[page]):
            weights[link] = 1.0 / lengths[page]


@late_kernel(0.3)
def _write_rows(
    pages: Pages,
    rows: RowBatch,
    starts: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int32],
    targets: npt.NDArray[np.int32],
    weights: npt.NDArray[np.float64],
    used: int,
) -> int:
    """Writes rows in place, or at the end if they have grown; returns the new end."""
    for k in range(len(pages)):
        page = pages[k]
        length = rows.lengths[k]
        if length > lengths[page]:
            starts[page] = used
            used += length
        lengths[page] = length
        start = starts[page]
        for link in range(length):
            targets[start + link] = rows.targets[rows.starts[k] + link]
        if len(weights) > 0:
            for link in range(length):
                weights[start + link] = rows.weights[rows.starts[k] + link] if len(rows.weights) > 0 else 1.0 / length
    return used
