"""A first pass over a graph file: its numbers of pages and links, and whether the links are sorted by source.

The pass finds every error of the file, so a writer that starts from a survey meets no surprise. Memory: 8 bytes per
page, the names if there are any, and one block.
"""

from collections.abc import Callable, Iterator

import numpy as np

from centime.graphs.link_blocks import Declared, LinkFile, Links, Tally, extent
from centime.graphs.names import NamedGraph, PageNames
from centime.model.errors import BadGraph
from centime.model.graph import Offsets

BLOCK_LINKS = 1 << 17

Step = Callable[[float], None]


class Survey:
    """The links of a file, with pages numbered from 0, and their totals."""

    def __init__(self, file: LinkFile, step: Step = lambda done: None, share: float = 1.0) -> None:
        """Reads the file once; `step` receives the work done since its last call, `share` in total for one pass."""
        self.file = file
        self.share = share
        self._step = step
        self._tally = Tally()
        for block in self._watched():
            self._tally.add(block)
        self.first, self.pages = extent(file, self._tally)
        self.names = file.names()
        if self.names is not None and len(self.names) != self.pages:
            raise BadGraph(f"{file.name}: there are {len(self.names)} names for {self.pages} pages")
        self.links = self._tally.links
        self.in_order = self._tally.in_order
        self.weighted = self._tally.weighted

    def offsets(self) -> Offsets:
        """The start of the row of each page once links are sorted by source."""
        counts = self._tally.counts[self.first : self.first + self.pages + 1]
        offsets = np.full(self.pages + 1, self.links)
        np.cumsum(counts, out=offsets[: len(counts)])
        return offsets

    def blocks(self) -> Iterator[Links]:
        """All links in the order of the file, pages numbered from 0; with weights only if some weight is not 1."""
        found = 0
        for block in self._watched():
            found += len(block.sources)
            first = np.int32(self.first)
            sources, targets = (
                (block.sources - first, block.targets - first) if first else (block.sources, block.targets)
            )
            for pages in (sources, targets):
                if found > self.links or (len(pages) and not (0 <= pages.min() and pages.max() < self.pages)):
                    raise BadGraph(f"{self.file.name}: the file changed while it was read")
            weights = np.ones(len(sources)) if self.weighted and block.weights is None else block.weights
            yield Links(sources, targets, weights if self.weighted else None)
        if found != self.links:
            raise BadGraph(f"{self.file.name}: the file changed while it was read")

    def _watched(self) -> Iterator[Links]:
        done = 0.0
        for block in self.file.blocks():
            yield block
            self._step(self.share * (self.file.done - done))
            done = self.file.done
        self._step(self.share * (1.0 - done))


class GraphLinks:
    """A graph in memory as a `LinkFile`."""

    def __init__(self, named: NamedGraph, name: str = "the graph") -> None:
        """`name` is the name of the graph in error messages."""
        self.name = name
        self.done = 0.0
        self._named = named

    def declared(self) -> Declared:
        """The number of pages."""
        return Declared(self._named.graph.pages, 0)

    def names(self) -> PageNames | None:
        """The names of the pages."""
        return self._named.names

    def blocks(self) -> Iterator[Links]:
        """The links, sorted by source."""
        graph = self._named.graph
        for start in range(0, graph.links, BLOCK_LINKS):
            stop = min(graph.links, start + BLOCK_LINKS)
            first = int(np.searchsorted(graph.offsets, start, side="right")) - 1
            last = int(np.searchsorted(graph.offsets, stop, side="left"))
            within = np.clip(graph.offsets[first : last + 1], start, stop)
            sources = np.repeat(np.arange(first, last, dtype=np.int32), within[1:] - within[:-1])
            self.done = stop / graph.links
            yield Links(
                sources, graph.targets[start:stop], None if graph.weights is None else graph.weights[start:stop]
            )
