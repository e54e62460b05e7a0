"""Interest: how well a page leads to a set of pages (Xyleme paper, Section 5.2). Importance flows along links, interest
against them.

    PR'  = PR(inverse graph, E')     E': 1 / (size of the set) for its pages, 0 for the others
    PR'' = PR(inverse graph, E'')    E'': the importance of the set's pages, 0 for the others

PR is the PageRank of `pagerank.py`, here the random walk on the inverse graph: a page that k pages link to gives each
of them 1/k of what it has. The paper leaves open which degree divides. Its M^Out = M^t would make a page's interest the
*mean* of the pages it links to, so that a page with one good link is worth as much as one with a hundred; its Section
5.3 divides by OutDeg(j), which, taken in the graph as it is, gives back more than there was and diverges. "We run it on
the inverse graph", where out-degrees are the in-degrees of the graph, is the reading under which money is kept, an
iteration shrinks errors by d, and a page that links to *many* interesting pages is interesting, as the paper says it
should be.

Guaranteed: as in `pagerank.py`. For PR'' the certified error also holds what the error of the importance can do: with e
= wN/|w| and w the importance of the set, |x(e) - x(e*)|_1 <= |e - e*|_1 / (1-d) and |e - e*|_1 <= 2N |w - w*|_1 /
|w|_1.

Trap: pages of the set are the most interesting ones themselves; who wants pages that lead there leaves them out of the
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
    """What does not depend on the vector."""

    damping: float
    threads: int | None
    progress: Callable[[float], None] | None


class Options(Common, total=False):
    """How `pagerank` works: its settings but for the graph and the personalisation."""

    error: float
    method: Method
    start: npt.ArrayLike | None
    normalisation: Normalisation
    stop_change: float | None
    change_norm: Norm
    stable_top: int | None


def interest(graph: Graph, wanted: npt.ArrayLike, **options: Unpack[Options]) -> Scores:
    """PR': the interest of every page; `wanted` holds one number for each page, more than zero for those of the set."""
    return pagerank(graph.transpose(), personalisation=wanted, **options)


def interest_by_importance(graph: Graph, wanted: npt.ArrayLike, **options: Unpack[Options]) -> Scores:
    """PR'': the interest of every page, where the pages of the set count by their importance."""
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
    """How far the error of the importance can move PR'', over N."""
    return float(
        2 * importance.certified_error * len(weight) * weight.max() / (importance.scores @ weight) / (1 - damping)
    )
