"""The certified error of a result, by whatever method it was computed.

For any h that adds up to N, and x = Gh, where G is the stochastic matrix of PageRank:

    |x - x*|_1 <= d/(1-d) |x - h|_1

If x is only known to be within `hidden` of Gh, then (1-d) |x - x*|_1 <= d |x - h|_1 + `hidden`.

`one_iteration` computes x = Gh from the links, and bounds its own rounding while it runs: an addition is off by at most
2^-53 of its result, so the sum of all partial sums gives the bound (1e-14 of the scores on cnr-2000, 2e-11 for a page
with a million links to it). So earlier work of a solver does not matter.
"""

import numpy as np
import numpy.typing as npt

from centime.model.graph import Graph, Offsets, Targets, Weights
from centime.model.kernel import Whole, kernel
from centime.rank.crew import Crew, cut_evenly
from centime.rank.scores import Vector

UNIT = 2.0**-53  # the largest relative rounding error of one operation


def certified_error(damping: float, moved: float, hidden: float, pages: int) -> float:
    """The bound on |x - x*|_1 / N, where `moved` is |x - h|_1 and |x - Gh|_1 <= `hidden`."""
    return (damping * moved + hidden) / pages / (1 - damping)


def one_iteration(
    graph: Graph,
    weights: Weights,
    damping: float,
    emphasis: Vector | None,
    values: Vector,
    crew: Crew,
    room: list[Vector] | None = None,
) -> tuple[Vector, float, float]:
    """x = Gh for a vector h that adds up to N, with |x - h|_1 and a bound on the rounding error of x.

    `room` has a scratch vector for each thread.
    """
    cuts = cut_evenly(graph.offsets, crew.parts)
    vectors = room or [np.empty(graph.pages) for _ in range(crew.parts)]

    def work(part: int) -> float:
        vectors[part][:] = 0.0
        return float(
            spread(
                graph.offsets,
                graph.targets,
                weights,
                damping,
                values,
                vectors[part],
                int(cuts[part]),
                int(cuts[part + 1]),
            )
        )

    hidden = sum(crew.do(work)) + (crew.parts + operations(graph.pages)) * graph.pages
    scores = vectors[0]
    for vector in vectors[1:]:
        scores += vector
    left = max(0.0, 1.0 - scores.sum() / graph.pages)  # below 0 by rounding alone
    scores += left if emphasis is None else left * emphasis
    return scores, float(distance(scores, values)), float(UNIT * hidden)


def rounding_of_sums(terms: npt.NDArray[np.int64], scores: Vector) -> float:
    """A bound on rounding without the partial sums: a sum of k terms is off by at most k 2^-53 of its value."""
    return float(UNIT * (terms @ scores + operations(len(scores)) * scores.sum()))


def operations(pages: int) -> float:
    """The other roundings of each page: a few operations, and its part in the sums of scores and personalisation."""
    return float(16 + 4 * np.log2(pages + 1))


@kernel
def spread(
    offsets: Offsets,
    targets: Targets,
    weights: Weights,
    damping: float,
    values: Vector,
    received: Vector,
    first: Whole,
    end: Whole,
) -> float:
    """Adds the payments of pages with these values along their links to `received`.

    Returns the sum of all partial sums plus what the rounding of the weights contributes.
    """
    partial = 0.0
    for page in range(first, end):
        start = np.uintp(offsets[page])
        stop = np.uintp(offsets[page + 1])
        if len(weights) > 0:
            partial += values[page] * (stop - start)
            for link in range(start, stop):
                target = np.uintp(targets[link])
                received[target] += damping * values[page] * weights[link]
                partial += received[target]
        elif start < stop:
            amount = damping * values[page] / (stop - start)
            for link in range(start, stop):
                target = np.uintp(targets[link])
                received[target] += amount
                partial += received[target]
    return partial


@kernel
def distance(one: Vector, other: Vector) -> float:
    """|one - other|_1, without allocating a vector."""
    total = 0.0
    for page in range(len(one)):
        total += abs(one[page] - other[page])
    return total
