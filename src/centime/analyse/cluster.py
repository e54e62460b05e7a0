"""The cluster around a page: the pages that are linked more closely with it and each other than with the rest.

A random walk from the page follows links in both directions and returns to the page with probability 1 - d in each
step. It visits nearby pages most. Pages are sorted by visits per link, and the cluster is the prefix of this order with
the least conductance

    links between the cluster and the rest / links that touch the cluster, or the rest if that is less

(the sweep of Andersen, Chung and Lang, "Local graph partitioning using PageRank vectors", 2006).

Guaranteed: the page itself is in its cluster. The cost depends on `FINEST`, not on the graph, except for one transpose.

Trap: the cluster depends on links, not on content. For a page in the middle of a large site it is a part of the site.
"""

import numpy as np

from centime.analyse.transition import Pages, Vector
from centime.model.graph import Graph, Offsets, Targets
from centime.model.kernel import kernel

DAMPING = 0.85
FINEST = 1e-5  # fewer visits per link than this are not followed


def cluster(graph: Graph, page: int) -> Pages:
    """The pages of the cluster around a page, sorted."""
    turned = graph.transpose()
    degree = np.maximum(np.diff(graph.offsets) + np.diff(turned.offsets), 1).astype(np.float64)
    visits = np.zeros(graph.pages)
    found = _visit((graph.offsets, graph.targets), (turned.offsets, turned.targets), degree, page, visits)
    others = found[found != page]
    order = np.concatenate([[page], others[np.argsort(-visits[others] / degree[others], kind="stable")]])
    count = _sweep((graph.offsets, graph.targets), (turned.offsets, turned.targets), order, 2.0 * graph.links)
    return np.sort(order[:count])


Rows = tuple[Offsets, Targets]


@kernel
def _visit(links: Rows, turned: Rows, degree: Vector, page: int, visits: Vector) -> Pages:
    """Follows the walk until no page has more than `FINEST` pending visits per link; returns the visited pages."""
    pages = len(degree)
    under_way = np.zeros(pages)
    waiting = np.zeros(pages, dtype=np.bool_)
    queue = np.empty(pages + 1, dtype=np.int64)
    found = np.empty(pages, dtype=np.int64)
    under_way[page], waiting[page], queue[0] = 1.0, True, page
    first, last, count = 0, 1, 0
    while first != last:
        at = queue[first]
        first = (first + 1) % (pages + 1)
        waiting[at] = False
        amount = under_way[at]
        under_way[at] = 0.0
        if visits[at] == 0.0:
            found[count] = at
            count += 1
        visits[at] += amount
        share = DAMPING * amount / degree[at]
        for side in range(2):
            offsets, targets = links if side == 0 else turned
            for link in range(offsets[at], offsets[at + 1]):
                other = targets[link]
                under_way[other] += share
                if under_way[other] > FINEST * degree[other] and not waiting[other]:
                    waiting[other] = True
                    queue[last] = other
                    last = (last + 1) % (pages + 1)
    return found[:count].copy()


@kernel
def _sweep(links: Rows, turned: Rows, order: Pages, ends: float) -> int:
    """The length of the prefix with the least conductance, which is never the whole graph."""
    inside = np.zeros(len(links[0]) - 1, dtype=np.bool_)
    crossing, touching = 0.0, 0.0
    best, best_count = np.inf, 1
    for place in range(len(order)):
        page = order[place]
        inside[page] = True
        for side in range(2):
            offsets, targets = links if side == 0 else turned
            for link in range(offsets[page], offsets[page + 1]):
                touching += 1.0
                if targets[link] != page:
                    crossing += -1.0 if inside[targets[link]] else 1.0
        less = min(touching, ends - touching)
        if less > 0.0 and crossing / less < best:
            best, best_count = crossing / less, place + 1
    return best_count
