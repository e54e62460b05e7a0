"""Essential and inessential pages (Section 2.3): the pages that hold all energy when d approaches 1, and the others.

A page is inessential if it reaches a page that does not reach it (Definition 2.1), in the web extended by the dummy
page that every dangling page links to. So the essential pages are those of the closed components: strongly connected,
without a link out, and not a single dangling page. `component` numbers the strongly connected components so that no
link leads to a higher number.

Guaranteed: time and memory are linear in pages and links, however deep the graph is: the search has its own stack.

Trap: as d approaches 1, the score of an inessential page goes to 0, but for d = 0.85 such pages may hold most of the
energy.
"""

from dataclasses import dataclass

import numpy as np

from centime.analyse.transition import Marks, Transition
from centime.model.graph import Offsets, Targets, Weights
from centime.model.kernel import kernel


@dataclass(frozen=True, slots=True)
class Components:
    """The strongly connected components of a graph, and the pages of the closed ones."""

    component: Targets
    """The number of the component of each page."""
    count: int
    essential: Marks
    """Which pages are essential."""

    @property
    def closed(self) -> int:
        """The number of closed components: a surfer who only follows links ends in one, or in a dangling page."""
        return len(np.unique(self.component[self.essential]))


def components(walk: Transition) -> Components:
    """The strongly connected components of a graph."""
    component, count = _components(walk.offsets, walk.targets, walk.weights)
    is_open = np.zeros(count, dtype=np.bool_)
    is_open[component[walk.dangling]] = True
    _open(walk.offsets, walk.targets, walk.weights, component, is_open)
    return Components(component, count, ~is_open[component])


@kernel
def _components(offsets: Offsets, targets: Targets, weights: Weights) -> tuple[Targets, int]:
    """Tarjan's search without recursion; ignores links of weight 0."""
    pages = len(offsets) - 1
    weighted = len(weights) > 0
    component = np.full(pages, -1, dtype=np.int32)
    number = np.zeros(pages, dtype=np.int32)  # order of first visit, from 1
    low = np.zeros(pages, dtype=np.int32)
    cursor = offsets[:-1].copy()
    path, waiting = np.empty(pages, dtype=np.int32), np.empty(pages, dtype=np.int32)
    visited, depth, open_pages, count = 0, 0, 0, 0
    for root in range(pages):
        if number[root] > 0:
            continue
        path[0], depth = root, 1
        while depth > 0:
            page = path[depth - 1]
            if number[page] == 0:
                visited += 1
                number[page] = low[page] = visited
                waiting[open_pages] = page
                open_pages += 1
            went_on = False
            while cursor[page] < offsets[page + 1]:
                link = cursor[page]
                cursor[page] += 1
                target = targets[link]
                if weighted and weights[link] == 0.0:
                    continue
                if number[target] == 0:
                    path[depth] = target
                    depth += 1
                    went_on = True
                    break
                if component[target] < 0:
                    low[page] = min(low[page], number[target])
            if went_on:
                continue
            depth -= 1
            if depth > 0:
                low[path[depth - 1]] = min(low[path[depth - 1]], low[page])
            if low[page] == number[page]:
                while True:
                    open_pages -= 1
                    member = waiting[open_pages]
                    component[member] = count
                    if member == page:
                        break
                count += 1
    return component, count


@kernel
def _open(offsets: Offsets, targets: Targets, weights: Weights, component: Targets, is_open: Marks) -> None:
    """Marks the components that have a link to another."""
    weighted = len(weights) > 0
    for page in range(len(component)):
        for link in range(offsets[page], offsets[page + 1]):
            if component[targets[link]] != component[page] and not (weighted and weights[link] == 0.0):
                is_open[component[page]] = True
