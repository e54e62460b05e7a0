"""Graphs of other libraries, recognised by their methods, without importing any of these libraries.

NetworkX: pages are numbered in the order of the nodes. Parallel edges stay. An undirected edge becomes two links.
Unless the nodes are the numbers 0, 1, 2 ... in order, they give the pages their names (`values.py`).

igraph: the same; the vertex attribute `name` gives the names.

A crawl that is open: the links that it knows now, with its weights (`link_graph`).

SciPy: entry (i, j) is a link from i to j, and its value is the weight. If all weights are 1, they are left out.

Data frames and Arrow tables are in `tables.py`; pairs, mappings and arrays in `values.py`.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from centime.graphs.files import read_named
from centime.graphs.heading import WEIGHT
from centime.graphs.names import NamedGraph
from centime.graphs.tables import from_columns, from_table, is_table
from centime.graphs.values import checked_weights, from_array, from_ends, from_mapping, from_pairs, names_of
from centime.model.errors import BadGraph, BadInput
from centime.model.graph import LARGEST_PAGE_COUNT, Graph, Weights, graph_from_links


def as_graph(
    thing: object, weight: str | None = WEIGHT, *, source: str | None = None, target: str | None = None
) -> NamedGraph:
    """Returns the graph of a file name, a data frame, pairs, a mapping, an array, or a graph of another library.

    `source`, `target` and `weight` are the columns of a table; `weight` is also the edge attribute of NetworkX and
    igraph that holds the weights. With `source` and `target`, a mapping is one from names to columns.
    """
    if (source is not None or target is not None) and not (isinstance(thing, Mapping) or is_table(thing)):
        raise BadInput(
            "source and target name columns of a data frame, a table or a mapping, and not those of a "
            f"{type(thing).__name__}; a file names its own in its heading"
        )
    match thing:
        case NamedGraph():
            return thing
        case Graph():
            return NamedGraph(thing)
        case str() | Path() if Path(thing).is_dir():
            raise BadInput(f"{thing}: this is a directory; of the folder of a crawl, give centime.open_crawl(folder)")
        case str() | Path():
            return read_named(thing)
        case np.ndarray():
            return from_array(thing)
        case tuple() if len(thing) in (2, 3) and all(isinstance(part, np.ndarray) for part in thing):
            return from_ends(*thing)
    if callable(getattr(thing, "link_graph", None)):
        if weight not in (None, WEIGHT):
            raise BadGraph(f"the links of a crawl have the weights of the crawl, and no attribute {weight!r}")
        graph: NamedGraph = thing.link_graph(weighed=weight is not None)  # type: ignore[attr-defined]
        return graph
    if all(hasattr(thing, part) for part in ("nodes", "edges", "is_directed", "is_multigraph")):
        return _from_networkx(thing, weight)
    if all(hasattr(thing, part) for part in ("vs", "es", "get_edgelist", "vcount")):
        return _from_igraph(thing, weight)
    if hasattr(thing, "tocsr") and hasattr(thing, "shape"):
        return _from_scipy(thing)
    if is_table(thing):
        return from_table(thing, source, target, weight)
    if isinstance(thing, Mapping):
        given = source is not None and target is not None
        return from_columns(dict(thing), source, target, weight) if given else from_mapping(thing)
    if isinstance(thing, Iterable) and not isinstance(thing, bytes):
        return from_pairs(thing)
    raise BadInput(
        "a graph is a file name, a data frame or Arrow table, pairs (source, target), a mapping from pages to their "
        "links, a NumPy array, a Graph, a NetworkX or igraph graph, or a SciPy sparse matrix, "
        f"not {type(thing).__name__}"
    )


def _from_networkx(graph: Any, weight: str | None) -> NamedGraph:
    _check_attribute(weight, (name for *_, data in graph.edges(data=True) for name in data), graph.number_of_edges())
    return NamedGraph(networkx_links(graph, weight), names_of(list(graph.nodes)))


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
    checked_weights(weights, lambda edge: f"the edge from {nodes[sources[edge]]!r} to {nodes[targets[edge]]!r}")
    return _links(len(nodes), sources, targets, weights, graph.is_directed())


def _from_igraph(graph: Any, weight: str | None) -> NamedGraph:
    pages = int(graph.vcount())
    if not pages:
        raise BadGraph("the graph has no pages")
    ends = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2)
    _check_attribute(weight, graph.es.attributes(), len(ends))
    values = graph.es[weight] if weight is not None and weight in graph.es.attributes() else [1.0] * len(ends)
    try:
        weights = np.array([1.0 if value is None else value for value in values], dtype=np.float64)
    except (TypeError, ValueError):
        raise BadGraph(f"the edge attribute {weight!r} must be a number on every edge") from None
    checked_weights(weights, lambda edge: f"edge {edge}")
    names = names_of(graph.vs["name"]) if "name" in graph.vs.attributes() else None
    return NamedGraph(_links(pages, ends[:, 0], ends[:, 1], weights, graph.is_directed()), names)


def _check_attribute(weight: str | None, names: Iterable[str], edges: int) -> None:
    """Refuses an attribute for weights that the caller names and that no edge has."""
    if weight not in (None, WEIGHT) and edges and weight not in names:
        raise BadGraph(f"no edge of the graph has the attribute {weight!r}")


def _links(pages: int, sources: Any, targets: Any, weights: Weights, directed: bool) -> Graph:
    """The links of edges; an edge that is not directed becomes two."""
    if not directed:
        apart = sources != targets
        sources, targets = np.concatenate([sources, targets[apart]]), np.concatenate([targets, sources[apart]])
        weights = np.concatenate([weights, weights[apart]])
    return graph_from_links(pages, sources, targets, weights if (weights != 1).any() else None)


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
    counts = checked_weights(weights, lambda entry: f"entry {entry} of the matrix")
    return NamedGraph(Graph(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), counts))
