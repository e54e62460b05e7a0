"""Interest: how well a page leads to a set of pages (Xyleme paper, Section 5.2). Importance flows along links, interest
against them.

    PR'  = PR(inverse graph, E')     E': 1 / (size of the set) for its pages, 0 for the others
    PR'' = PR(inverse graph, E'')    E'': the importance of the pages of the set, 0 for the others

PR is the PageRank of `pagerank.py`, here the random walk on the inverse graph: a page that k pages link to gives each
of them 1/k of its score. The paper leaves open which degree divides. Its M^Out = M^t would make the interest of a page
the *mean* of the pages it links to, so a page with one good link would score as much as a page with a hundred. Its
Section 5.3 divides by OutDeg(j); with the out-degrees of the original graph, that returns more than there was and
diverges. We follow "we run it on the inverse graph", where out-degrees are the in-degrees of the original graph: then
money is conserved, an iteration shrinks errors by d, and a page that links to *many* interesting pages is interesting,
as the paper intends.

Guaranteed: as in `pagerank.py`. For PR'' the certified error includes the effect of the error of the importance: with
e = wN/|w| and w the importance of the set, |x(e) - x(e*)|_1 <= |e - e*|_1 / (1-d) and
|e - e*|_1 <= 2N |w - w*|_1 / |w|_1. For a small set this bound is far too large, because it lets the set have the error
of all pages. So each page has a bound of its own: if r = g + dWx - x is the residual of x in the equation with the base
g, then |x - z| = |(I - dW)^-1 r| <= (max |r_i| / g) z for its solution z, which is proportional to the importance; so
no importance is off by more than this share of itself. r is computed with compensated sums, after a few iterations with
such sums, which correct pages that many pages link to.

Trap: the pages of the set themselves have the highest interest. To find pages that lead there, leave them out of the
list.
"""

from collections.abc import Callable
from dataclasses import replace
from math import ceil
from typing import TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from centime.model.graph import Graph, Offsets, Targets, Weights, row_shares
from centime.model.kernel import kernel
from centime.rank.certificate import UNIT
from centime.rank.pagerank import NO_WEIGHTS, Method, Norm, Normalisation, page_vector, pagerank
from centime.rank.scores import Scores, Vector

MOST_TRIES, MOST_SHARPER = 3, 300


class Common(TypedDict, total=False):
    """The options that do not depend on the vector."""

    damping: float
    threads: int | None
    progress: Callable[[float], None] | None


class Options(Common, total=False):
    """The options of `pagerank` without the personalisation."""

    error: float
    method: Method
    start: npt.ArrayLike | None
    normalisation: Normalisation
    stop_change: float | None
    change_norm: Norm
    stable_top: int | None


def interest(graph: Graph, wanted: npt.ArrayLike, **options: Unpack[Options]) -> Scores:
    """PR': the interest of each page; `wanted` has one number for each page, above 0 for the pages of the set."""
    return pagerank(graph.transpose(), personalisation=wanted, **options)


def interest_by_importance(graph: Graph, wanted: npt.ArrayLike, **options: Unpack[Options]) -> Scores:
    """PR'': the interest of each page, where the pages of the set are weighted by their importance."""
    weight = page_vector("the set", wanted, graph.pages)
    if weight is None or not graph.pages:
        return pagerank(graph)
    damping, error = options.get("damping", 0.85), options.get("error", 1e-8)
    common: Common = {"damping": damping, "threads": options.get("threads"), "progress": options.get("progress")}
    importance = pagerank(graph, error=error, **common)
    emphasis, reach = _emphasis(graph, importance, weight, damping, error)
    for _ in range(MOST_TRIES):
        if reach <= error / 2:
            break
        nearer = max(importance.certified_error * error / 4 / reach, np.finfo(np.float64).tiny)
        again = pagerank(graph, error=nearer, start=importance.scores, **common)
        importance = replace(again, passes=importance.passes + again.passes, seconds=importance.seconds + again.seconds)
        emphasis, reach = _emphasis(graph, importance, weight, damping, error)
    options["error"] = max(error - reach, error / 2)
    found = interest(graph, emphasis, **options)
    return replace(
        found,
        certified_error=found.certified_error + reach,
        passes=found.passes + importance.passes,
        seconds=found.seconds + importance.seconds,
    )


def _emphasis(graph: Graph, importance: Scores, weight: Vector, damping: float, error: float) -> tuple[Vector, float]:
    """w, and the most that its error can move PR'', divided by N."""
    found = importance.scores * weight
    wrong = float(importance.certified_error * len(weight) * weight.max() / found.sum())
    enough = (1 - damping) * error / 5
    if wrong > enough:
        scores, each = _sharpened(graph, importance.scores, damping, enough)
        if each < wrong / (1 + wrong):
            found, wrong = scores * weight, each / (1 - each)
    return found, 2 * wrong / (1 - damping)


def _sharpened(graph: Graph, scores: Vector, damping: float, enough: float) -> tuple[Vector, float]:
    """The importance after a few more iterations, in some scale, and the largest relative error of a page."""
    if graph.weights is None:
        turned, weights, roundings = graph.transpose(), NO_WEIGHTS, 8.0
        shares = damping / np.maximum(graph.out_degree, 1)
    else:
        turned = Graph(graph.offsets, graph.targets, row_shares(graph.offsets, graph.weights)[0]).transpose()
        assert turned.weights is not None
        weights, roundings = turned.weights, 8.0 + float(graph.out_degree.max())
        shares = np.full(graph.pages, damping)
    carried = pulled(turned.offsets, turned.targets, weights, scores * shares)
    base = max(float(np.median(scores - carried)), np.finfo(np.float64).tiny)  # any number above 0 is correct
    for _ in range(min(MOST_SHARPER, ceil(3 / (1 - damping)))):
        sharp = base + carried
        carried = pulled(turned.offsets, turned.targets, weights, sharp * shares)
        lacking = np.abs(base + carried - sharp) + roundings * UNIT * (base + carried + sharp)
        wrong = float(lacking.max()) / base
        if wrong <= enough:
            break
    return sharp, wrong


@kernel
def pulled(offsets: Offsets, sources: Targets, weights: Weights, values: Vector) -> Vector:
    """The money that links bring to each page, as if added up in twice the precision."""
    brought = np.empty(len(offsets) - 1)
    for page in range(len(offsets) - 1):
        total = 0.0
        lost = 0.0
        for link in range(offsets[page], offsets[page + 1]):
            value = values[sources[link]]
            if len(weights) > 0:
                value *= weights[link]
            together = total + value
            kept = together - total
            lost += (total - (together - kept)) + (value - kept)
            total = together
        brought[page] = total + lost
    return brought
