"""Graphs of other libraries: NetworkX graphs and SciPy sparse matrices, recognised by their methods, without importing
either library.

NetworkX: pages are numbered in the order of the nodes. Parallel edges stay. An undirected edge becomes two links.
Unless the nodes are the numbers 0, 1, 2 ... in order, they give the pages their names: `str` of the node, or `repr` if
two nodes have the same `str`.

SciPy: entry (i, j) is a link from i to j, and its value is the weight. If all weights are 1, they are left out.
"""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from centime.graphs.files import read_named
from centime.graphs.names import NamedGraph, PageNames
from centime.model.errors import BadGraph, BadInput
from centime.model.graph import LARGEST_PAGE_COUNT, Graph, graph_from_links


def as_graph(thing: object, weight: str | None = "weight") -> NamedGraph:
    """Returns the graph of a file name, a NetworkX graph, a SciPy sparse matrix or a `Graph`.

    `weight` is the edge attribute of NetworkX that holds the weights.
    """
    match thing:
        case NamedGraph():
            return thing
        case Graph():
            return NamedGraph(thing)
        case str() | Path():
            return read_named(thing)
    if all(hasattr(thing, part) for part in ("nodes", "edges", "is_directed", "is_multigraph")):
        return _from_networkx(thing, weight)
    if hasattr(thing, "tocsr") and hasattr(thing, "shape"):
        return _from_scipy(thing)
    raise BadInput(
        f"a graph is a file name, a Graph, a NetworkX graph or a SciPy sparse matrix, not {type(thing).__name__}"
    )


def _from_networkx(graph: Any, weight: str | None) -> NamedGraph:
    return NamedGraph(networkx_links(graph, weight), _names(list(graph.nodes)))


def networkx_links(graph: Any, weight: str | None) -> Graph:
    """The links of a NetworkX graph, with pages numbered in the order of the nodes."""
    nodes = list(graph.nodes)
    if not nodes:
        raise BadGraph("the graph has no pages")
    number = {node: page for page, node in enumerate(nodes)}
    edges = list(graph.edges(data=weight, default=1)) if weight is not None else [(*ends, 1) for ends in graph.edges()]
    sources = np.fromiter((number[edge[0]] for edge in edges), dtype=np.int32, count=len(edges))
    targets = np.fromiter((number[edge[1]] for edge in edges), dtype=np.int32, count=len(edges))
    try:
        weights = np.fromiter(
            (1.0 if edge[2] is None else edge[2] for edge in edges), dtype=np.float64, count=len(edges)
        )
    except (TypeError, ValueError):
        raise BadGraph(f"the edge attribute {weight!r} must be a number on every edge") from None
    _check(weights, lambda edge: f"the edge from {nodes[sources[edge]]!r} to {nodes[targets[edge]]!r}")
    if not graph.is_directed():
        apart = sources != targets
        sources, targets = np.concatenate([sources, targets[apart]]), np.concatenate([targets, sources[apart]])
        weights = np.concatenate([weights, weights[apart]])
    return graph_from_links(len(nodes), sources, targets, weights if (weights != 1).any() else None)


def _names(nodes: list[Any]) -> PageNames | None:
    if all(type(node) is int and node == page for page, node in enumerate(nodes)):
        return None
    for text_of in (str, repr):
        texts = [text_of(node) for node in nodes]
        if len(set(texts)) == len(texts):
            return PageNames.of([text.encode("utf-8", "replace").decode() for text in texts])
    raise BadGraph("two nodes of the graph have the same str and the same repr")


def _from_scipy(matrix: Any) -> NamedGraph:
    rows, columns = matrix.shape if len(matrix.shape) == 2 else (0, 1)
    if rows != columns or not 0 < rows <= LARGEST_PAGE_COUNT:
        raise BadGraph(
            f"the matrix must be square with 1 to {LARGEST_PAGE_COUNT} rows, its shape is {tuple(matrix.shape)}"
        )
    matrix = matrix.tocsr()
    if matrix.data.dtype.kind not in "biuf":
        raise BadGraph(f"the weights must be real numbers, not {matrix.data.dtype}")
    weights = matrix.data.astype(np.float64, copy=False)
    _check(weights, lambda entry: f"entry {entry} of the matrix")
    graph = Graph(
        matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), weights if (weights != 1).any() else None
    )
    return NamedGraph(graph)


def _check(weights: npt.NDArray[np.float64], what: Any) -> None:
    good = np.isfinite(weights) & (weights >= 0)
    if not good.all():
        place = int(np.argmin(good))
        raise BadGraph(f"{what(place)} has the weight {weights[place]}; a weight must be a finite number, zero or more")
