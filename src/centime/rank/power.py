"""Off-line scores by plain power iteration, the reference for all other solvers.

With N pages, damping d and rows w_j whose weights add up to 1, one iteration is

    y   = d * sum over links j->i of x_j w_ji        (money from links)
    x_i = y_i + (1 - (sum of y) / N)                 (money from the virtual page: V/N to each page)

The bracket is V/N, because the x add up to N: money that is not paid along links (1-d of each page, and all of a
dangling page) goes to the virtual page, which pays all pages equally. This is Eq. 2 of "Inside PageRank", scaled to
mean 1.

Guaranteed: the scores add up to N, and |x - x*|_1 / N <= `certified_error` = d/(1-d) * `change` / N, where x* is the
fixpoint and `change` is |x_k - x_(k-1)|_1, because an iteration shrinks every L1 distance by d or more.

Traps: a row whose weights are all 0 dangles. Rounding adds about 1e-16/(1-d) to the error; the certificate does not
include it, and an error below it cannot be reached. The number of iterations is at most that of exact arithmetic.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from math import ceil, isfinite, log

import numpy as np
import numpy.typing as npt

from centime.model.errors import BadSetting
from centime.model.graph import Graph, Offsets, Targets, Weights, row_shares
from centime.model.kernel import kernel

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scores:
    """A score for each page (mean 1), with a bound on the distance to the fixpoint."""

    scores: Vector
    iterations: int
    change: float
    certified_error: float


def power_iteration(
    graph: Graph,
    damping: float = 0.85,
    error: float = 1e-12,
    iterations: int | None = None,
    start: npt.ArrayLike | None = None,
) -> Scores:
    """The scores of all pages after at most `iterations` iterations, or with a certified error of at most `error`."""
    steps = power_steps(graph, damping, start)
    if not (isfinite(error) and error > 0):
        raise BadSetting(f"the error must be a positive number, not {error}")
    if iterations is not None and iterations < 1:
        raise BadSetting(f"power iteration needs at least one iteration, not {iterations}")
    limit = _iterations_needed(damping, error) if iterations is None else iterations
    result = Scores(np.empty(0), 0, 0.0, 0.0)
    for result in islice(steps, limit):
        if result.certified_error <= error:
            break
    return result


def power_steps(graph: Graph, damping: float = 0.85, start: npt.ArrayLike | None = None) -> Iterator[Scores]:
    """The scores after one iteration, after two, and so on without end; no vector is overwritten later."""
    if not 0 <= damping < 1:
        raise BadSetting(f"the damping must be at least 0 and below 1, not {damping}")
    return _steps(graph, damping, _start(graph.pages, start))


def _steps(graph: Graph, damping: float, scores: Vector) -> Iterator[Scores]:
    pages = graph.pages
    unweighted = np.empty(0)
    if graph.weights is None:
        share = damping / np.maximum(graph.out_degree, 1)
        links = graph.transpose()
    else:
        share = np.full(pages, damping)
        links = Graph(graph.offsets, graph.targets, row_shares(graph.offsets, graph.weights)[0]).transpose()
    weights = unweighted if links.weights is None else links.weights
    iterations = 0
    while pages > 0:
        brought = np.empty(pages)
        _pull(links.offsets, links.targets, weights, scores * share, brought)
        brought += 1.0 - brought.mean()
        change = float(np.abs(brought - scores).sum())
        scores = brought
        iterations += 1
        yield Scores(scores.copy(), iterations, change, damping / (1.0 - damping) * change / pages)


def _start(pages: int, start: npt.ArrayLike | None) -> Vector:
    if start is None:
        return np.ones(pages)
    vector = np.array(start, dtype=np.float64)
    if vector.shape != (pages,):
        raise BadSetting(
            f"the start vector must have one number for each of the {pages} pages; its shape is {vector.shape}"
        )
    if not (np.isfinite(vector).all() and (vector >= 0).all() and (pages == 0 or vector.max() > 0)):
        raise BadSetting("the start vector must hold finite numbers, zero or more, and not only zeros")
    if pages:
        vector /= vector.max()
        vector /= vector.mean()
    return vector


def _iterations_needed(damping: float, error: float) -> int:
    """The most iterations that exact arithmetic needs: a change is at most 2 N, and each iteration shrinks it by d."""
    if damping == 0:
        return 1
    return max(1, 1 + ceil(log(error * (1 - damping) / (2 * damping)) / log(damping)))


@kernel
def _pull(offsets: Offsets, sources: Targets, weights: Weights, values: Vector, brought: Vector) -> None:
    """Adds up the money that links bring to each page."""
    weighted = len(weights) > 0
    for page in range(len(offsets) - 1):
        total = 0.0
        if weighted:
            for link in range(offsets[page], offsets[page + 1]):
                total += values[sources[link]] * weights[link]
        else:
            for link in range(offsets[page], offsets[page + 1]):
                total += values[sources[link]]
        brought[page] = total
