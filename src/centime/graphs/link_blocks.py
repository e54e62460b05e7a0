"""Links as they come from a file, block by block, and the graph that they make.

`collect` goes through the blocks once and counts the links of every page. As long as no link goes back to an earlier
source, the targets as they come are the graph's, and nothing else is kept. When one does, the targets are let go, and a
second pass puts every link into its row: reading twice instead of sorting in memory.

Guaranteed: the order of links within a row and repeated links are kept. Weights that are all 1 are left out: they say
nothing. Memory: the graph, one block and up to 16 bytes per page, whatever the order of the links.

Trap: where a file does not say so itself, pages are numbered from 0 when some number is 0, and from 1 otherwise, and
every number up to the largest is a page. Numbers far larger than the list is long are refused rather than filled with
empty pages.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from centime.graphs.names import NamedGraph, PageNames
from centime.model.errors import BadGraph
from centime.model.graph import LARGEST_PAGE_COUNT, Graph, Offsets, Targets, Weights
from centime.model.kernel import kernel

PAGES_PER_LINK = 100
PAGES_ALWAYS_ALLOWED = 1_000_000
PAGES_ALLOWED_IF_TOLD = 10_000_000


@dataclass(frozen=True, slots=True)
class Links:
    """Links from `sources` to `targets` in the numbers of the file; good until the next block is asked for."""

    sources: Targets
    targets: Targets
    weights: Weights | None = None


@dataclass(frozen=True, slots=True)
class Declared:
    """What a file says of itself: how many pages it has and the lowest number; None where it does not say."""

    pages: int | None = None
    first: int | None = None


class LinkFile(Protocol):
    """A graph file, which can be gone through more than once. Numbers in blocks are from 0 to 2^31 - 2, weights
    finite and not negative.
    """

    name: str

    @property
    def done(self) -> float:
        """The share of the file that the blocks have gone through so far."""
        ...

    def blocks(self) -> Iterator[Links]:
        """All links, block by block."""
        ...

    def declared(self) -> Declared:
        """What the file says of itself, once its blocks have been gone through."""
        ...

    def names(self) -> PageNames | None:
        """The names of the pages, once the blocks have been gone through; None if pages have only numbers."""
        ...


@dataclass(slots=True)
class Tally:
    """What a pass over the links of a file has found; the links of page i are counted in `counts[i + 1]`."""

    counts: Offsets = field(default_factory=lambda: np.zeros(1024, dtype=np.int64))
    links: int = 0
    least: int = LARGEST_PAGE_COUNT
    largest: int = -1
    last_source: int = -1
    in_order: bool = True
    weighted: bool = False

    def add(self, block: Links) -> None:
        """Counts a block."""
        if len(block.sources) == 0:
            return
        self.least = min(self.least, int(block.sources.min()), int(block.targets.min()))
        self.largest = max(self.largest, int(block.sources.max()), int(block.targets.max()))
        self._make_room(self.largest + 2)
        self.in_order = bool(_count(block.sources, self.last_source, self.counts)) and self.in_order
        self.last_source = int(block.sources[-1])
        self.links += len(block.sources)
        self.weighted = self.weighted or (block.weights is not None and bool((block.weights != 1.0).any()))

    def _make_room(self, size: int) -> None:
        """Grows into memory that is zero and untouched, so that a wild number costs nothing before it is refused."""
        if size > len(self.counts):
            old = self.counts
            try:
                self.counts = np.zeros(max(size, 2 * len(old)), dtype=np.int64)
            except MemoryError:
                raise BadGraph(
                    f"there is no memory for {size - 1} pages; pages must be numbered without large gaps"
                ) from None
            self.counts[: len(old)] = old


def collect(file: LinkFile) -> NamedGraph:
    """The graph of all links of a file."""
    tally = Tally()
    targets, weights = np.empty(0, dtype=np.int32), np.empty(0)
    for block in file.blocks():
        before = tally.links
        tally.add(block)
        if not tally.in_order:
            targets, weights = np.empty(0, dtype=np.int32), np.empty(0)
            continue
        targets.resize(tally.links, refcheck=False)
        targets[before:] = block.targets
        if tally.weighted:
            weights = weights if len(weights) else np.ones(before)
            weights.resize(tally.links, refcheck=False)
            weights[before:] = 1.0 if block.weights is None else block.weights
    first, pages = extent(file, tally)
    counted = tally.counts[first : first + pages + 1]
    offsets = np.zeros(pages + 1, dtype=np.int64) if len(counted) <= pages else counted
    np.cumsum(counted, out=offsets[: len(counted)])
    offsets[len(counted) :] = tally.links
    if not tally.in_order:
        targets, weights = _second_pass(file, offsets, first, tally.weighted)
    elif first:
        targets -= np.int32(first)
    return NamedGraph(Graph(offsets, targets, weights if tally.weighted else None), file.names(), first)


def extent(file: LinkFile, tally: Tally) -> tuple[int, int]:
    """The lowest page number of a file and its number of pages: as it says, or as its links show."""
    told = file.declared()
    first = min(1, tally.least) if told.first is None else told.first
    pages = tally.largest + 1 - first if told.pages is None else told.pages
    if tally.links == 0 and told.pages is None:
        raise BadGraph(f"{file.name}: there is no link in the file")
    if pages == 0:
        raise BadGraph(f"{file.name}: there is no page in the graph")
    if tally.links and not (first <= tally.least and tally.largest < first + pages):
        outside = tally.least if tally.least < first else tally.largest
        raise BadGraph(
            f"{file.name}: page number {outside} is not among the {pages} pages from {first} on that the file tells of"
        )
    if told.pages is not None and pages > max(PAGES_ALLOWED_IF_TOLD, PAGES_PER_LINK * tally.links):
        raise BadGraph(f"{file.name}: the file tells of {pages} pages, which is too many for {tally.links} links")
    if told.pages is None and tally.largest > max(PAGES_ALWAYS_ALLOWED, PAGES_PER_LINK * tally.links):
        sentence = f"page number {tally.largest} is too large for {tally.links} links; pages must be numbered without large gaps"
        raise BadGraph(f"{file.name}: {sentence}")
    return first, pages


def _second_pass(file: LinkFile, offsets: Offsets, first: int, weighted: bool) -> tuple[Targets, Weights]:
    links = int(offsets[-1])
    targets, weights = np.empty(links, dtype=np.int32), np.empty(links if weighted else 0)
    place = offsets[:-1].copy()
    placed = 0
    for block in file.blocks():
        block_weights = np.ones(len(block.sources)) if weighted and block.weights is None else block.weights
        ones = np.empty(0) if block_weights is None or not weighted else block_weights
        placed += int(_place(block.sources, block.targets, ones, first, offsets, place, targets, weights))
    if placed != links or not np.array_equal(place, offsets[1:]):
        raise BadGraph(f"{file.name}: the file changed while it was read")
    return targets, weights


@kernel
def _count(sources: Targets, last: int, counts: Offsets) -> bool:
    """Counts the links of every source; returns whether no source is below the one before it."""
    in_order = True
    for source in sources:
        in_order = in_order and source >= last
        last = source
        counts[source + 1] += 1
    return in_order


@kernel
def _place(
    sources: Targets,
    targets: Targets,
    weights: Weights,
    first: int,
    offsets: Offsets,
    place: Offsets,
    rows: Targets,
    row_weights: Weights,
) -> int:
    """Writes every link at the next place of its row; returns how many fitted."""
    weighted = len(weights) > 0
    pages = len(place)
    placed = 0
    for link in range(len(sources)):
        source = np.int64(sources[link]) - first
        if not 0 <= source < pages or place[source] >= offsets[source + 1]:
            return placed
        at = place[source]
        place[source] = at + 1
        rows[at] = targets[link] - first
        if weighted:
            row_weights[at] = weights[link]
        placed += 1
    return placed
