"""G_I, the links inside a community: W_(I,I) with its pages numbered from 0.

Column q of W_(I,I) keeps the shares of the whole graph: it adds up to f_q, which is less than 1 if page q has links out
of I.

Guaranteed: it is built from the rows of the community alone, for any size of the rest.

Trap: `inside.share` is the share among all links of a page, so a page of G_I may seem to pay less than its score: the
rest leaves the community.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from centime.analyse.transition import Marks, Pages, Transition, Vector
from centime.model.errors import BadInput
from centime.model.graph import Graph, Offsets, Targets, Weights
from centime.model.kernel import kernel


@dataclass(frozen=True, slots=True)
class Subgraph:
    """The links between the pages of a community."""

    pages: Pages
    """The numbers of the community's pages in the whole graph, sorted; page q of the subgraph is pages[q]."""
    inside: Transition
    """W_(I,I)."""
    dangling: Marks
    """Which pages of the community have no links at all."""
    kept: Vector
    """f_q of each page: the fraction of its links that stay inside."""

    @property
    def leaks(self) -> Marks:
        """Which pages are in dp(I) or out(I): they dangle or have links out of the community."""
        return self.dangling | self.leaving

    @property
    def leaving(self) -> Marks:
        """Which pages are in out(I): they have links out of the community."""
        # Not kept < 1: the shares of the links of a page add up to 1 except for rounding.
        return ~self.dangling & (self.kept < 1.0 - 1e-12)

    def marks(self, pages: int) -> Marks:
        """Which of all pages are in the community."""
        marks = np.zeros(pages, dtype=np.bool_)
        marks[self.pages] = True
        return marks

    def turned(self) -> Graph:
        """The reversed links without shares: the pages inside that link to each page."""
        return Graph(self.inside.offsets, self.inside.targets).transpose()


def subgraph(walk: Transition, pages: npt.ArrayLike) -> Subgraph:
    """The subgraph of a community; `pages` may be in any order and may have repeats."""
    chosen = np.unique(np.asarray(pages, dtype=np.int64))
    if not len(chosen):
        raise BadInput("a community needs at least one page")
    if chosen[0] < 0 or chosen[-1] >= walk.pages:
        wrong = chosen[0] if chosen[0] < 0 else chosen[-1]
        raise BadInput(f"a community has page {wrong}, but the graph has pages 0 to {walk.pages - 1}")
    number = np.full(walk.pages, -1, dtype=np.int32)
    number[chosen] = np.arange(len(chosen))
    offsets = np.zeros(len(chosen) + 1, dtype=np.int64)
    kept = np.zeros(len(chosen))
    _count(walk.offsets, walk.targets, walk.weights, walk.share, chosen, number, offsets, kept)
    np.cumsum(offsets, out=offsets)
    targets = np.empty(offsets[-1], dtype=np.int32)
    weights = np.empty(offsets[-1] if len(walk.weights) else 0)
    _copy(walk.offsets, walk.targets, walk.weights, chosen, number, offsets, targets, weights)
    share = walk.share[chosen]
    return Subgraph(chosen, Transition(offsets, targets, weights, share), share == 0.0, kept)


@kernel
def _count(
    offsets: Offsets,
    targets: Targets,
    weights: Weights,
    share: Vector,
    chosen: Pages,
    number: Targets,
    inner: Offsets,
    kept: Vector,
) -> None:
    """Counts the links of each page that stay inside, and adds up their shares."""
    weighted = len(weights) > 0
    for place in range(len(chosen)):
        page = chosen[place]
        total = 0.0
        for link in range(offsets[page], offsets[page + 1]):
            if number[targets[link]] >= 0:
                inner[place + 1] += 1
                total += weights[link] if weighted else 1.0
        kept[place] = total * share[page]


@kernel
def _copy(
    offsets: Offsets,
    targets: Targets,
    weights: Weights,
    chosen: Pages,
    number: Targets,
    inner: Offsets,
    copied: Targets,
    copied_weights: Weights,
) -> None:
    """Copies the links that stay inside, with page numbers of the subgraph."""
    weighted = len(weights) > 0
    for place in range(len(chosen)):
        page = chosen[place]
        at = inner[place]
        for link in range(offsets[page], offsets[page + 1]):
            if number[targets[link]] >= 0:
                copied[at] = number[targets[link]]
                if weighted:
                    copied_weights[at] = weights[link]
                at += 1
