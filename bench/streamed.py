"""Webs of any size that are never in memory: every block of links follows from the seed and its number alone."""

from collections.abc import Iterator

import numpy as np

from centime.graphs.link_blocks import Declared, Links
from centime.graphs.names import PageNames

BLOCK_PAGES = 1 << 15


class StreamedWeb:
    """Pages with about `links` links each, seven in ten to near pages, the others to pages anywhere by a power law;
    a fifth dangle."""

    def __init__(self, pages: int, links: float = 10.0, seed: int = 0) -> None:
        self.name = f"a streamed web of {pages} pages"
        self.pages = pages
        self.links = links
        self.seed = seed
        self.done = 0.0

    def blocks(self) -> Iterator[Links]:
        """All links, block by block."""
        self.done = 0.0
        for first in range(0, self.pages, BLOCK_PAGES):
            end = min(self.pages, first + BLOCK_PAGES)
            chance = np.random.default_rng([self.seed, first])
            degrees = chance.poisson(self.links / 0.8, end - first) * (chance.random(end - first) < 0.8)
            sources = np.repeat(np.arange(first, end, dtype=np.int64), degrees)
            near = sources + (chance.laplace(0.0, 200.0, len(sources))).astype(np.int64)
            ranks = (self.pages * chance.random(len(sources)) ** 4).astype(np.int64)
            far = ranks * 2_654_435_761 % self.pages
            targets = np.where(chance.random(len(sources)) < 0.7, near % self.pages, far)
            self.done = end / self.pages
            yield Links(sources.astype(np.int32), targets.astype(np.int32))

    def declared(self) -> Declared:
        """All pages, numbered from 0."""
        return Declared(self.pages, 0)

    def names(self) -> PageNames | None:
        """None."""
        return None
