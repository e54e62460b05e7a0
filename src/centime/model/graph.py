"""An immutable link graph in compressed sparse rows.

Row i, the links of page i, is `targets[offsets[i]:offsets[i + 1]]`, with the weights at the same positions if links are
weighted. A row may be empty (the page dangles), may contain its own page, and keeps duplicates as given.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from centime.model.errors import BadGraph
from centime.model.kernel import kernel

Offsets = npt.NDArray[np.int64]
Targets = npt.NDArray[np.int32]
Weights = npt.NDArray[np.float64]

LARGEST_PAGE_COUNT = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Graph:
    """Pages 0 to `pages - 1` and the links that leave each of them."""

    offsets: Offsets
    targets: Targets
    weights: Weights | None = None

    def __post_init__(self) -> None:
        if self.offsets.dtype != np.int64 or self.targets.dtype != np.int32:
            raise BadGraph("a graph needs 64-bit offsets and 32-bit targets")
        if len(self.offsets) == 0 or self.offsets[0] != 0 or self.offsets[-1] != len(self.targets):
            raise BadGraph("the offsets of a graph must run from 0 to its number of links")
        if (np.diff(self.offsets) < 0).any():
            raise BadGraph("the offsets of a graph must not decrease")
        if len(self.targets) and not (0 <= self.targets.min() and self.targets.max() < self.pages):
            raise BadGraph(f"a link leads out of the graph's {self.pages} pages")
        if self.weights is not None:
            if self.weights.dtype != np.float64 or len(self.weights) != len(self.targets):
                raise BadGraph("a weighted graph needs one 64-bit weight per link")
            if not (np.isfinite(self.weights).all() and (self.weights >= 0).all()):
                raise BadGraph("a link weight must be a finite number, zero or more")

    @property
    def pages(self) -> int:
        """The number of pages."""
        return len(self.offsets) - 1

    @property
    def links(self) -> int:
        """The number of links."""
        return len(self.targets)

    @property
    def out_degree(self) -> npt.NDArray[np.int64]:
        """The number of links of each page."""
        return np.diff(self.offsets)

    @property
    def in_degree(self) -> npt.NDArray[np.int64]:
        """The number of links to each page."""
        return np.bincount(self.targets, minlength=self.pages).astype(np.int64)

    def row(self, page: int) -> Targets:
        """The targets of one page's links."""
        return self.targets[self.offsets[page] : self.offsets[page + 1]]

    def unweighted(self) -> "Graph":
        """The same links without weights."""
        return Graph(self.offsets, self.targets)

    def transpose(self) -> "Graph":
        """The graph with every link reversed; each row is sorted."""
        degree = self.in_degree
        offsets = np.zeros(self.pages + 1, dtype=np.int64)
        np.cumsum(degree, out=offsets[1:])
        targets = np.empty(self.links, dtype=np.int32)
        weights = np.empty(0 if self.weights is None else self.links)
        no_weights = np.empty(0)
        _turn(
            self.offsets,
            self.targets,
            no_weights if self.weights is None else self.weights,
            offsets[:-1].copy(),
            targets,
            weights,
        )
        return Graph(offsets, targets, None if self.weights is None else weights)


def graph_from_links(
    pages: int, sources: npt.ArrayLike, targets: npt.ArrayLike, weights: npt.ArrayLike | None = None
) -> Graph:
    """The graph of a list of links; each row keeps the given order."""
    source, target = np.asarray(sources), np.asarray(targets)
    if source.shape != target.shape or source.ndim != 1:
        raise BadGraph("sources and targets of links must be two lists of the same length")
    if source.size and (source.dtype.kind not in "iu" or target.dtype.kind not in "iu"):
        raise BadGraph("sources and targets of links must be integers")
    source, target = source.astype(np.int64), target.astype(np.int64)
    weight = None if weights is None else np.asarray(weights, dtype=np.float64)
    if weight is not None and weight.shape != source.shape:
        raise BadGraph(f"{len(source)} links need {len(source)} weights, not {weight.size}")
    if not 0 <= pages <= LARGEST_PAGE_COUNT:
        raise BadGraph(f"a graph has from 0 to {LARGEST_PAGE_COUNT} pages, not {pages}")
    if len(source) and not (min(source.min(), target.min()) >= 0 and max(source.max(), target.max()) < pages):
        raise BadGraph(f"a link leads out of the graph's {pages} pages")
    order = np.argsort(source, kind="stable")
    offsets = np.zeros(pages + 1, dtype=np.int64)
    np.cumsum(np.bincount(source, minlength=pages), out=offsets[1:])
    return Graph(offsets, target[order].astype(np.int32), None if weight is None else weight[order])


def row_shares(offsets: Offsets, weights: Weights) -> tuple[Weights, npt.NDArray[np.bool_]]:
    """The weights scaled so that each row adds up to 1, and a mask of the rows with a positive weight.

    A row of zeros stays as it is and is not in the mask.
    """
    shares = weights.copy()
    carries = np.zeros(len(offsets) - 1, dtype=np.bool_)
    _share(offsets, shares, carries)
    return shares, carries


@kernel
def _share(offsets: Offsets, weights: Weights, carries: npt.NDArray[np.bool_]) -> None:
    """Divides each row by its largest weight first, so that no sum overflows, then by its sum."""
    for page in range(len(carries)):
        largest = 0.0
        for link in range(offsets[page], offsets[page + 1]):
            largest = max(largest, weights[link])
        if largest > 0.0:
            carries[page] = True
            total = 0.0
            for link in range(offsets[page], offsets[page + 1]):
                weights[link] /= largest
                total += weights[link]
            for link in range(offsets[page], offsets[page + 1]):
                weights[link] /= total


@kernel
def _turn(
    offsets: Offsets, targets: Targets, weights: Weights, place: Offsets, sources: Targets, turned_weights: Weights
) -> None:
    """Writes every link into the row of its target; `place` is the next free position of each row."""
    weighted = len(weights) > 0
    for page in range(len(offsets) - 1):
        for link in range(offsets[page], offsets[page + 1]):
            at = place[targets[link]]
            place[targets[link]] = at + 1
            sources[at] = page
            if weighted:
                turned_weights[at] = weights[link]
