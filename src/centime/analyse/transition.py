"""The transition matrix W: how a page shares its score among its links.

    w_(i,j) = share of page j's links that lead to page i; the column of a page without links is 0

Each of h_j links has the share 1 / h_j. Repeated links count as often as they occur (Example 1.2), weighted links by
weight.

    f_p = sum of w_(i,p) over i in I        the fraction of page p's links that lead into I

Guaranteed: a column adds up to 1, or to 0 if the page dangles. `error_bound` certifies any vector, whatever its origin:
|x - x*|_1 <= |d W x + (1 - d) - x|_1 / (1 - d), because the 1-norm of W is at most 1 (Proposition 2.3).

Traps: the "null rows" of Section 2.1 of the paper are null columns. A page whose links all have weight 0 dangles.
Rounding, about 1e-16 of the sum of all scores, is not in the certificate.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from centime.model.errors import BadSetting
from centime.model.graph import Graph, Offsets, Targets, Weights, row_shares
from centime.model.kernel import kernel

OPERATIONS = 64
"""More than the roundings of a page beside the additions of what its links bring, and of its part in a sum."""

Vector = npt.NDArray[np.float64]
Pages = npt.NDArray[np.int64]
Marks = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Transition:
    """W by columns: page p pays `share[p]` along each link, times the weight of the link if there are `weights`."""

    offsets: Offsets
    targets: Targets
    weights: Weights
    share: Vector

    @property
    def pages(self) -> int:
        """The number of pages."""
        return len(self.share)

    @property
    def dangling(self) -> Marks:
        """Which pages pay nothing along links."""
        marks: Marks = self.share == 0.0
        return marks


def transition(graph: Graph) -> Transition:
    """The transition matrix of a graph; shares the arrays of the graph."""
    return columns(graph.offsets, graph.targets, graph.weights)


def columns(offsets: Offsets, targets: Targets, weights: Weights | None) -> Transition:
    """The columns of W for any rows of links."""
    if weights is None:
        degree = np.diff(offsets)
        return Transition(offsets, targets, np.empty(0), np.where(degree > 0, 1.0 / np.maximum(degree, 1), 0.0))
    shares, carries = row_shares(offsets, weights)
    return Transition(offsets, targets, shares, carries.astype(np.float64))


def check(walk: Transition, scores: Vector, damping: float) -> None:
    """Raises BadSetting for a damping outside [0, 1), or if there is not one score for each page."""
    check_damping(damping)
    if scores.shape != (walk.pages,):
        raise BadSetting(f"there must be one score for each of the {walk.pages} pages, not {scores.size}")


def check_damping(damping: float) -> None:
    """Raises BadSetting for a damping outside [0, 1)."""
    if not 0 <= damping < 1:
        raise BadSetting(f"the damping must be at least 0 and below 1, not {damping}")


def sums(places: Pages, amounts: Vector, count: int) -> Vector:
    """The sum of the amounts at each of `count` places."""
    return np.bincount(places, amounts, minlength=count).astype(np.float64, copy=False)


def fractions(walk: Transition, marks: Marks) -> Vector:
    """f_p of each page p: the fraction of its links that lead to marked pages."""
    result = np.zeros(walk.pages)
    _fractions(walk.offsets, walk.targets, walk.weights, walk.share, marks, result)
    return result


def brought(walk: Transition, scores: Vector) -> Vector:
    """W x: what the links bring to each page."""
    result = np.zeros(walk.pages)
    _bring(walk.offsets, walk.targets, walk.weights, walk.share, scores, result)
    return result


def error_bound(walk: Transition, scores: Vector, damping: float) -> float:
    """An upper bound on |x - x*|_1 for scores x, from one pass over the links, with what its own rounding can hide."""
    check(walk, scores, damping)
    left_over = damping * brought(walk, scores) + (1.0 - damping) - scores
    terms = np.bincount(walk.targets, minlength=walk.pages) + OPERATIONS
    rounded = float(terms @ (np.abs(scores) + np.abs(left_over) + 1.0)) * 2.0**-53
    return (float(np.abs(left_over).sum()) + rounded) / (1.0 - damping)


@kernel
def _fractions(
    offsets: Offsets, targets: Targets, weights: Weights, share: Vector, marks: Marks, result: Vector
) -> None:
    """Adds up the shares of the links of each page to marked pages."""
    weighted = len(weights) > 0
    for page in range(len(share)):
        total = 0.0
        for link in range(offsets[page], offsets[page + 1]):
            if marks[targets[link]]:
                total += weights[link] if weighted else 1.0
        result[page] = total * share[page]


@kernel
def _bring(offsets: Offsets, targets: Targets, weights: Weights, share: Vector, scores: Vector, result: Vector) -> None:
    """Adds the payment of each page along a link to the target of the link."""
    weighted = len(weights) > 0
    for page in range(len(share)):
        payment = scores[page] * share[page]
        for link in range(offsets[page], offsets[page + 1]):
            result[targets[link]] += payment * weights[link] if weighted else payment
