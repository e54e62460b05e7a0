"""The links of a file, block by block, and the graph that they form.

`collect` reads the blocks once and counts the links of each page. While the sources are sorted, the targets of the file
are already those of the graph. At the first source that is out of order, the targets are dropped, and a second pass
writes every link into its row: reading twice replaces a sort in memory.

Guaranteed: the order of links within a row and repeated links are kept. If all weights are 1, they are left out.
Memory: the graph, one block and up to 16 bytes per page, whatever the order of the links.

Trap: unless the file declares it, pages are numbered from 0 if the number 0 occurs and from 1 otherwise, and every
number up to the largest is a page. Numbers far larger than the number of links are refused, because they would create
huge numbers of empty pages.
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
PAGES_ALLOWED_IF_DECLARED = 10_000_000


@dataclass(frozen=True, slots=True)
class Links:
    """Links from `sources` to `targets`, in the numbers of the file; valid until the next block is requested."""

    sources: Targets
    targets: Targets
    weights: Weights | None = None


@dataclass(frozen=True, slots=True)
class Declared:
    """The number of pages and the lowest page number that a file declares; None if it declares none."""

    pages: int | None = None
    first: int | None = None


class LinkFile(Protocol):
    """A graph file that can be read more than once.

    Numbers in blocks are from 0 to 2^31 - 2, weights are finite and not negative.
    """

    name: str

    @property
    def done(self) -> float:
        """The share of the file that the current pass has read."""
        ...

    def blocks(self) -> Iterator[Links]:
        """All links, block by block."""
        ...

    def declared(self) -> Declared:
        """What the file declares; complete after a pass over its blocks."""
        ...

    def names(self) -> PageNames | None:
        """The names of the pages, None if pages have only numbers; complete after a pass over the blocks."""
        ...


@dataclass(slots=True)
class Tally:
    """Counts of one pass over the links of a file; `counts[i + 1]` is the number of links of page i."""

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
        """Grows into untouched zeroed memory, so that an absurd page number costs nothing before it is refused."""
        if size > len(self.counts):
            old = self.counts
            try:
                self.counts = np.zeros(max(size, 2 * len(old)), dtype=np.int64)
            except MemoryError:
                raise BadGraph(
                    f"not enough memory for {size - 1} pages; pages must be numbered without large gaps"
                ) from None
            self.counts[: len(old)] = old


def collect(file: LinkFile) -> NamedGraph:
    """Reads the graph of all links of a file."""
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
    """The lowest page number and the number of pages of a file: as declared, or from its links."""
    declared = file.declared()
    first = min(1, tally.least) if declared.first is None else declared.first
    pages = tally.largest + 1 - first if declared.pages is None else declared.pages
    if tally.links == 0 and declared.pages is None:
        raise BadGraph(f"{file.name}: the file has no links")
    if pages == 0:
        raise BadGraph(f"{file.name}: the graph has no pages")
    if tally.links and not (first <= tally.least and tally.largest < first + pages):
        outside = tally.least if tally.least < first else tally.largest
        allowed = f"among the {pages} pages from {first} on that the file declares"
        raise BadGraph(f"{file.name}: page number {outside} is not {allowed}")
    if declared.pages is not None and pages > max(PAGES_ALLOWED_IF_DECLARED, PAGES_PER_LINK * tally.links):
        raise BadGraph(f"{file.name}: the file declares {pages} pages, which is too many for {tally.links} links")
    if declared.pages is None and tally.largest > max(PAGES_ALWAYS_ALLOWED, PAGES_PER_LINK * tally.links):
        raise BadGraph(
            f"{file.name}: page number {tally.largest} is too large for {tally.links} links; "
            "pages must be numbered without large gaps"
        )
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
    """Counts the links of each source; returns whether the sources are sorted."""
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
    """Writes every link at the next position of its row; returns how many fitted."""
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
