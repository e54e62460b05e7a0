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
as the paper wants.

Guaranteed: as in `pagerank.py`. For PR'' the certified error includes the effect of the error of the importance: with
e = wN/|w| and w the importance of the set, |x(e) - x(e*)|_1 <= |e - e*|_1 / (1-d) and
|e - e*|_1 <= 2N |w - w*|_1 / |w|_1.

Trap: the pages of the set themselves have the highest interest. To find pages that lead there, leave them out of the
list.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from centime.model.graph import Graph
from centime.rank.pagerank import Method, Norm, Normalisation, page_vector, pagerank
from centime.rank.scores import Scores, Vector


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
    reach = _reach(importance, weight, damping)
    if reach > error / 2:
        nearer = max(importance.certified_error * error / 2 / reach, np.finfo(np.float64).tiny)
        importance = pagerank(graph, error=nearer, start=importance.scores, **common)
        reach = _reach(importance, weight, damping)
    options["error"] = max(error - reach, error / 2)
    found = interest(graph, importance.scores * weight, **options)
    return replace(
        found,
        certified_error=found.certified_error + reach,
        passes=found.passes + importance.passes,
        seconds=found.seconds + importance.seconds,
    )


def _reach(importance: Scores, weight: Vector, damping: float) -> float:
    """The most that the error of the importance can move PR'', divided by N."""
    return float(
        2 * importance.certified_error * len(weight) * weight.max() / (importance.scores @ weight) / (1 - damping)
    )
