"""The NetworkX backend: `nx.pagerank(graph, backend="centime")`, found through the entry points `networkx.backends`.

    x = d (W x + m q) + (1-d) p        p: `personalization`, q: `dangling`, both adding up to 1;
                                       m: the total score of the pages without links

With q = p, the default of NetworkX, this is the equation of `pagerank.py`. For any other q, let P solve
P = dWP + (1-d)p and let Q be the PageRank with personalisation q. What P loses at pages without links is distributed as
Q: x = P + (1 - |P|_1) Q. (Both sides solve the equation, since 1 - |P|_1 = d P_m / (1-d) by Lemma 2.1 of "Inside
PageRank".)

The result adds up to 1, and its L1 distance to the exact solution is certified to be at most `tol`. (NetworkX itself
stops when the last *change* is below N times `tol`.) `max_iter` bounds the sweeps over the links. If they do not
suffice, the error at which NetworkX would have stopped is accepted; if even that is not reached,
PowerIterationFailedConvergence is raised. An `alpha` outside [0, 1), and weights or dictionary entries that are
negative or not finite, raise NotImplementedError, so that NetworkX reports it or falls back to its own code.

This module imports nothing heavy at its top, because `import networkx` loads it to learn what the backend offers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from centime.model.graph import Graph
    from centime.rank.pagerank import Normalisation
    from centime.rank.scores import Vector

Entries = Mapping[Any, float] | None


def about() -> dict[str, Any]:
    """The description of this backend for NetworkX."""
    return {
        "backend_name": "centime",
        "project": "centime",
        "package": "centime",
        "short_summary": "PageRank with a certified error, on all cores.",
        "functions": {"pagerank": {"additional_docs": "The L1 error of the result is certified to be at most `tol`."}},
    }


@dataclass(frozen=True, slots=True)
class Converted:
    """A NetworkX graph as rows of links; page i is `nodes[i]`."""

    nodes: list[Any]
    graph: "Graph | None"

    __networkx_backend__ = "centime"


def convert_from_nx(graph: Any, *, edge_attrs: Mapping[str, float] | None = None, **others: object) -> Converted:
    """The rows of a NetworkX graph; its `graph` is None if there are no nodes."""
    from centime.graphs.foreign import networkx_links
    from centime.model.errors import BadGraph

    nodes = list(graph)
    try:
        return Converted(
            nodes, networkx_links(graph, next(iter(edge_attrs), None) if edge_attrs else None) if nodes else None
        )
    except BadGraph as wrong:
        raise NotImplementedError(str(wrong)) from wrong


def convert_to_nx(result: object, **others: object) -> object:
    """Returns the result unchanged: this backend returns dictionaries, never graphs."""
    return result


def pagerank(
    G: Any,  # noqa: N803 (NetworkX names it so)
    alpha: float = 0.85,
    personalization: Entries = None,
    max_iter: int = 100,
    tol: float = 1e-6,
    nstart: Entries = None,
    weight: str | None = "weight",
    dangling: Entries = None,
) -> dict[Any, float]:
    """The PageRank of each node, adding up to 1."""
    converted: Converted = G
    graph, nodes = converted.graph, converted.nodes
    if graph is None:
        return {}
    if weight is None and graph.weights is not None:
        graph = graph.unweighted()  # NetworkX may pass the graph of an earlier call, which has weights
    if not (0 <= alpha < 1 and tol > 0):
        raise NotImplementedError(
            f"the centime backend needs alpha from 0 to below 1 and tol above 0, not {alpha} and {tol}"
        )
    emphasis, start, followers = (_vector(entries, nodes) for entries in (personalization, nstart, dangling))
    if followers is None:
        scores = _solve(graph, alpha, emphasis, start, tol, tol, max_iter, "sum")
    else:
        kept = _solve(graph, alpha, emphasis, start, tol, tol * (1 - alpha) / 4, max_iter, "plain") / len(nodes)
        scores = kept + (1 - kept.sum()) * _solve(graph, alpha, followers, start, tol, tol / 2, max_iter, "sum")
    return dict(zip(nodes, scores.tolist(), strict=True))


class _Enough(Exception):
    """Too many sweeps; the argument is the error that was reached."""


def _solve(
    graph: "Graph",
    alpha: float,
    emphasis: "Vector | None",
    start: "Vector | None",
    tol: float,
    error: float,
    max_iter: int,
    normalisation: "Normalisation",
) -> "Vector":
    """The scores within the error, or within the error at which NetworkX stops, after at most `max_iter` sweeps."""
    from networkx import PowerIterationFailedConvergence

    from centime.rank.pagerank import pagerank as solve

    sweeps = 0

    def watch(reached: float) -> None:
        nonlocal sweeps
        sweeps += 1
        if sweeps > max_iter:
            raise _Enough(reached)

    if max_iter < 1:
        raise PowerIterationFailedConvergence(max_iter)
    try:
        return solve(
            graph,
            damping=alpha,
            error=error,
            personalisation=emphasis,
            start=start,
            normalisation=normalisation,
            progress=watch,
        ).scores
    except _Enough as enough:
        (reached,) = enough.args
    if reached > alpha / (1 - alpha) * graph.pages * tol:
        raise PowerIterationFailedConvergence(max_iter)
    return solve(
        graph, damping=alpha, error=reached, personalisation=emphasis, start=start, normalisation=normalisation
    ).scores


def _vector(entries: Entries, nodes: list[Any]) -> "Vector | None":
    """One number for each node, 0 if the dictionary has none."""
    if entries is None:
        return None
    import numpy as np

    vector = np.array([entries.get(node, 0) for node in nodes], dtype=np.float64)
    if not (np.isfinite(vector).all() and (vector >= 0).all()):
        raise NotImplementedError(
            "the centime backend needs finite numbers, zero or more, for personalization, nstart and dangling"
        )
    if not vector.any():
        raise ZeroDivisionError  # as NetworkX does
    return vector
