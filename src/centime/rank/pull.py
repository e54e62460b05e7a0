"""The textbook solvers: Jacobi (power iteration) and Gauss-Seidel, which pull along the links to each page.

Both solve y = dWy + b like `push`, but visit every page in every iteration:

    Jacobi          x_i = d * sum over links j->i of x_j w_ji + (V/N) e_i
                    from the values of the last iteration
    Gauss-Seidel    y_i = (d * sum over links j->i, j != i, of y_j w_ji + b_i) / (1 - d w_ii)
                    from the newest values

Jacobi keeps the sum at N (the virtual page pays all pages, V is the money that links did not carry); this is Eq. 4 of
"Inside PageRank". Eq. 6 of the Xyleme paper keeps the sum by multiplying all scores by r: the same if no page dangles,
otherwise the scores for the damping r d. Gauss-Seidel gains from the order of the pages and from solving the self-links
of a page directly; it is scaled at the end. Both exist because papers and users compare with them, and because they can
stop when the change is small or the top no longer changes.

They need the reversed links, 4 bytes per link more than `push`.
"""

from collections.abc import Iterator

import numpy as np

from centime.model.graph import Graph, Offsets, Targets, Weights
from centime.model.kernel import Whole, kernel
from centime.rank.certificate import distance
from centime.rank.crew import Crew, cut_evenly
from centime.rank.scores import Vector


def jacobi(
    graph: Graph, weights: Weights, damping: float, emphasis: Vector | None, start: Vector | None, crew: Crew
) -> Iterator[Vector]:
    """The scores after each iteration, adding up to N; a vector is overwritten two iterations later."""
    links, shares, weights = _turned(graph, weights, damping)
    cuts = cut_evenly(links.offsets, crew.parts)
    scores = np.ones(graph.pages) if start is None else start.copy()
    if start is None and emphasis is not None:
        scores[:] = emphasis
    brought = np.empty(graph.pages)
    values = np.empty(graph.pages)
    while True:
        np.multiply(scores, shares, out=values)

        def work(part: int, values: Vector = values, brought: Vector = brought) -> float:
            return pull(links.offsets, links.targets, weights, values, brought, int(cuts[part]), int(cuts[part + 1]))

        left = 1.0 - sum(crew.do(work)) / graph.pages
        brought += left if emphasis is None else left * emphasis
        scores, brought = brought, scores
        yield scores


def gauss_seidel(
    graph: Graph, weights: Weights, damping: float, emphasis: Vector | None, start: Vector | None
) -> Iterator[Vector]:
    """The scores after each iteration of Gauss-Seidel on one thread, scaled to add up to N; overwritten by the next."""
    links, shares, weights = _turned(graph, weights, damping)
    base = np.full(graph.pages, 1.0 - damping) if emphasis is None else (1.0 - damping) * emphasis
    scores = np.empty(graph.pages)
    solution = base / (1.0 - damping) if start is None else start.copy()
    # The start adds up to N, but the solution only if no page dangles. So scale the start: the money that it does not
    # pay along links must equal the money that comes in.
    carried = pull(links.offsets, links.targets, weights, solution * shares, scores, 0, graph.pages)
    solution *= (1.0 - damping) * graph.pages / (solution.sum() - carried)
    while True:
        relax(links.offsets, links.targets, weights, shares, base, solution)
        np.multiply(solution, graph.pages / solution.sum(), out=scores)
        yield scores


def change(one: Vector, other: Vector) -> float:
    """|one - other|_1."""
    return float(distance(one, other))


def _turned(graph: Graph, weights: Weights, damping: float) -> tuple[Graph, Vector, Weights]:
    """The reversed links, the payment of each page along a link of weight 1, and the weights of the links."""
    if len(weights):
        links = Graph(graph.offsets, graph.targets, weights).transpose()
        assert links.weights is not None
        return links, np.full(graph.pages, damping), links.weights
    return Graph(graph.offsets, graph.targets).transpose(), damping / np.maximum(graph.out_degree, 1), weights


@kernel
def pull(
    offsets: Offsets, sources: Targets, weights: Weights, values: Vector, brought: Vector, first: Whole, end: Whole
) -> float:
    """The money that links bring to each page of a range, and its sum."""
    total = 0.0
    for page in range(first, end):
        start = np.uintp(offsets[page])
        stop = np.uintp(offsets[page + 1])
        brings = 0.0
        if len(weights) > 0:
            for link in range(start, stop):
                brings += values[np.uintp(sources[link])] * weights[link]
        else:
            for link in range(start, stop):
                brings += values[np.uintp(sources[link])]
        brought[page] = brings
        total += brings
    return total


@kernel
def relax(
    offsets: Offsets, sources: Targets, weights: Weights, shares: Vector, base: Vector, solution: Vector
) -> float:
    """One iteration of Gauss-Seidel, in place, over the pages that have offsets; returns the sum of all changes."""
    changed = 0.0
    for page in range(len(offsets) - 1):
        brings = 0.0
        own = 0.0
        for link in range(offsets[page], offsets[page + 1]):
            source = sources[link]
            share = shares[source] * weights[link] if len(weights) > 0 else shares[source]
            if source == page:
                own += share
            else:
                brings += share * solution[source]
        fresh = (brings + base[page]) / (1.0 - own)
        changed += abs(fresh - solution[page])
        solution[page] = fresh
    return changed
