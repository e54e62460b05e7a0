from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from centime.graphs.foreign import as_graph
from centime.graphs.names import NamedGraph
from centime.model.errors import BadGraph, BadInput
from centime.model.graph import graph_from_links
from tests.graphs.drawn import graphs, links_of, named_links


@given(
    st.sampled_from([nx.DiGraph, nx.MultiDiGraph, nx.Graph, nx.MultiGraph]),
    st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from("abcde"), st.sampled_from([None, 0, 1, 2.5]))),
)
def test_a_networkx_graph_has_the_links_of_its_matrix(kind: type, edges: list[tuple[str, str, float | None]]) -> None:
    graph = kind()
    graph.add_nodes_from("edcba")
    for source, target, weight in edges:
        graph.add_edge(source, target, **({} if weight is None else {"weight": weight}))
    named = as_graph(graph)
    assert named.names is not None
    assert list(named.names) == list("edcba")
    found = np.zeros((5, 5))
    for source_page, target_page, link_weight in links_of(named.graph):
        found[source_page, target_page] += link_weight
    np.testing.assert_array_equal(found, nx.to_numpy_array(graph))
    assert len(links_of(named.graph)) == graph.number_of_edges() + (
        0 if graph.is_directed() else graph.number_of_edges() - nx.number_of_selfloops(graph)
    )


def test_nodes_that_are_numbers_in_order_have_no_names() -> None:
    assert as_graph(nx.path_graph(3)).names is None
    assert list(as_graph(nx.relabel_nodes(nx.path_graph(3), {0: 7})).names or []) == ["7", "1", "2"]
    assert list(as_graph(nx.DiGraph([(1, "1")])).names or []) == ["1", "'1'"]


class Vertices(dict[str, list[Any]]):
    """The attributes of vertices or edges, as igraph offers them."""

    def attributes(self) -> list[str]:
        return list(self)


class Igraph:
    """What Centime uses of a graph of igraph."""

    def __init__(self, pages: int, edges: list[tuple[int, int]], directed: bool = True, **weights: list[Any]) -> None:
        self.vs, self.es = Vertices(), Vertices(weights)
        self.pages, self.edges, self.directed = pages, edges, directed

    def vcount(self) -> int:
        return self.pages

    def get_edgelist(self) -> list[tuple[int, int]]:
        return self.edges

    def is_directed(self) -> bool:
        return self.directed


def test_an_igraph_graph_has_the_links_of_its_edges() -> None:
    graph = Igraph(4, [(0, 1), (1, 1)], weight=[2.5, None])
    assert as_graph(graph).names is None
    assert as_graph(graph).graph.pages == 4
    assert links_of(as_graph(graph).graph) == [(0, 1, 2.5), (1, 1, 1.0)]
    assert links_of(as_graph(graph, weight=None).graph) == [(0, 1, 1.0), (1, 1, 1.0)]
    graph.vs["name"] = list("abcd")
    graph.directed = False
    assert named_links(as_graph(graph)) == [("a", "b", 2.5), ("b", "a", 2.5), ("b", "b", 1.0)]
    assert as_graph(Igraph(1, [])).graph.links == 0


def test_another_attribute_or_none_is_the_weight() -> None:
    graph = nx.DiGraph()
    graph.add_edge(0, 1, cost=3, weight=2)
    assert links_of(as_graph(graph, weight="cost").graph) == [(0, 1, 3.0)]
    assert links_of(as_graph(graph, weight=None).graph) == [(0, 1, 1.0)]


@given(graphs(named=False), st.sampled_from(["csr", "csc", "coo", "lil", "dok"]), st.booleans())
def test_a_sparse_matrix_has_the_links_of_its_entries(graph: NamedGraph, form: str, array: bool) -> None:
    pages = graph.graph.pages
    entries = {(source, target): weight for source, target, weight in links_of(graph.graph) if weight > 0}
    dense = np.zeros((pages, pages))
    for ends, weight in entries.items():
        dense[ends] = weight
    matrix = (scipy.sparse.csr_array if array else scipy.sparse.csr_matrix)(dense).asformat(form)
    assert sorted(links_of(as_graph(matrix).graph)) == sorted((*ends, weight) for ends, weight in entries.items())


def test_graphs_and_files_of_ours_are_taken_as_they_are(tmp_path: Path) -> None:
    graph = graph_from_links(2, [0], [1])
    named = NamedGraph(graph)
    assert as_graph(named) is named
    assert as_graph(graph).graph is graph
    (tmp_path / "a.csv").write_text("a,b\n")
    assert (
        named_links(as_graph(tmp_path / "a.csv")) == named_links(as_graph(str(tmp_path / "a.csv"))) == [("a", "b", 1.0)]
    )


class Twin:
    def __repr__(self) -> str:
        return "twin"


def weighted(weight: Any) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_edge("a", "b", weight=weight)
    return graph


@pytest.mark.parametrize(
    ("thing", "sentence"),
    [
        (7, "not int"),
        (nx.DiGraph(), "the graph has no pages"),
        (Igraph(0, []), "the graph has no pages"),
        (Igraph(2, [(0, 1)], weight=[-1]), "edge 0 has the weight -1"),
        (Igraph(2, [(0, 1)], weight=["x"]), "'weight' must be a number"),
        (weighted(-1), "the edge from 'a' to 'b' has the weight -1"),
        (weighted(float("nan")), "has the weight nan"),
        (weighted("much"), "'weight' must be a number"),
        (nx.DiGraph([(Twin(), Twin())]), "the same str and the same repr"),
        (scipy.sparse.csr_array((2, 3)), "must be square"),
        (scipy.sparse.csr_array((0, 0)), "must be square with 1 to"),
        (scipy.sparse.csr_array(np.array([[0, -1], [0, 0]])), "entry 0 of the matrix has the weight -1"),
        (scipy.sparse.csr_array(np.array([[0, 1j], [0, 0]])), "real numbers, not complex128"),
    ],
)
def test_what_is_no_graph_gets_a_sentence(thing: object, sentence: str) -> None:
    with pytest.raises((BadGraph, BadInput), match=sentence):
        as_graph(thing)
