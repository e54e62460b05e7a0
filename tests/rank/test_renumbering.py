import numpy as np
import pytest
from hypothesis import given

from centime.model.graph import Graph, graph_from_links
from centime.rank.pagerank import pagerank
from centime.rank.renumbering import Renumbered
from tests.rank.exact import graphs, walk


def chains(pages: int, length: int, *, shuffled: bool) -> Graph:
    """Chains whose last pages lead anywhere."""
    chance = np.random.default_rng(1)
    places = np.arange(pages)
    following = np.where(places % length < length - 1, places + 1, chance.integers(0, pages, pages))
    order = chance.permutation(pages) if shuffled else places
    return graph_from_links(pages, order[places], order[following])


@given(graphs())
def test_a_renumbered_graph_has_the_same_links(graph: Graph) -> None:
    other = Renumbered(graph, np.empty(0) if graph.weights is None else graph.weights)
    assert sorted(other.order.tolist()) == list(range(graph.pages))
    moved = Graph(other.graph.offsets, other.graph.targets, None if graph.weights is None else other.weights)
    assert walk(moved).tolist() == walk(graph)[np.ix_(other.order, other.order)].tolist()
    vector = np.arange(graph.pages) / 7
    there = other.moved(vector)
    assert there is not None
    assert other.moved_back(there).tolist() == vector.tolist()
    assert other.moved(None) is None


def test_without_cycles_all_links_lead_to_later_pages() -> None:
    chance = np.random.default_rng(2)
    ends = np.sort(chance.integers(0, 60, (200, 2)), axis=1)
    ends = chance.permutation(60)[ends[ends[:, 0] < ends[:, 1]]]
    graph = Renumbered(graph_from_links(60, ends[:, 0], ends[:, 1]), np.empty(0)).graph
    assert (np.repeat(np.arange(60), graph.out_degree) < graph.targets).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_chains_numbered_at_random_take_few_sweeps(threads: int) -> None:
    graph = chains(2_000, 100, shuffled=True)
    lean = np.random.default_rng(3).random(2_000)
    found = pagerank(graph, damping=0.99, error=1e-9, personalisation=lean, threads=threads)
    assert found.iterations < 300
    assert found.certified_error <= 1e-9
    textbook = pagerank(graph, damping=0.99, error=1e-9, personalisation=lean, method="jacobi")
    assert textbook.iterations > 1_000
    assert np.abs(found.scores - textbook.scores).mean() <= 2e-9
