import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.lab.synthetic.weblike import weblike
from centime.model.errors import BadSetting
from centime.model.graph import Graph, graph_from_links
from centime.rank.interest import _sharpened, interest, interest_by_importance
from centime.rank.pagerank import pagerank
from tests.rank.exact import graphs, pagerank_of, vectors

NO_PAGES = Graph(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32))


@given(graphs(), st.floats(0, 0.95), st.data())
def test_interest_is_pagerank_of_the_inverse_graph_within_its_error(
    graph: Graph, damping: float, data: st.DataObject
) -> None:
    wanted = data.draw(vectors(graph.pages))
    found = interest(graph, wanted, damping=damping)
    exact = pagerank_of(graph.transpose(), damping, wanted)
    assert np.abs(found.scores - exact).mean() <= found.certified_error <= 1e-8


@given(graphs(), st.floats(0, 0.95), st.sampled_from([1e-3, 1e-8]), st.data())
def test_interest_by_importance_leans_to_the_important_and_counts_the_error_of_importance(
    graph: Graph, damping: float, error: float, data: st.DataObject
) -> None:
    wanted = data.draw(vectors(graph.pages))
    found = interest_by_importance(graph, wanted, damping=damping, error=error)
    exact = pagerank_of(graph.transpose(), damping, pagerank_of(graph, damping) * wanted)
    assert np.abs(found.scores - exact).mean() <= found.certified_error <= error


def test_a_page_that_links_to_many_pages_of_the_set_is_more_interesting_than_one_that_links_to_one() -> None:
    hub, other, xml = 0, 1, [2, 3, 4]
    graph = graph_from_links(6, [hub, hub, hub, other, 5, 5], [*xml, 2, hub, other])
    scores = interest(graph, [0, 0, 1, 1, 1, 0]).scores
    assert scores[hub] > 2 * scores[other]
    assert scores[5] > 0  # leads there indirectly
    assert interest(graph, [0, 0, 1, 0, 0, 0]).scores[hub] == pytest.approx(
        interest(graph, [0, 0, 1, 0, 0, 0]).scores[other]
    )


def test_a_page_that_leads_nowhere_near_the_set_is_of_no_interest() -> None:
    graph = graph_from_links(4, [0, 1, 2], [1, 0, 3])
    assert interest(graph, [0, 0, 0, 1]).scores[:2].tolist() == [0, 0]


def test_a_small_set_of_a_larger_graph_is_refined_until_its_importance_is_known_well_enough() -> None:
    graph = weblike(3000, seed=2)
    wanted = np.zeros(graph.pages)
    wanted[[5, 17]] = 1
    found = interest_by_importance(graph, wanted, error=1e-7, threads=2)
    exact = interest(graph, pagerank(graph, error=1e-13).scores * wanted, error=1e-12)
    assert np.abs(found.scores - exact.scores).mean() <= found.certified_error <= 1e-7
    assert found.passes > interest(graph, wanted, error=1e-7, threads=2).passes


@pytest.mark.parametrize("weighted", [False, True])
def test_the_importance_of_each_page_is_off_by_no_more_than_its_share(weighted: bool) -> None:
    chance = np.random.default_rng(7)
    links = chance.integers(0, 60, (300, 2))
    weights = chance.random(300) if weighted else None
    graph = graph_from_links(60, links[:, 0], links[:, 1] ** 2 // 60, weights)
    exact = pagerank_of(graph, 0.85)
    rough = pagerank(graph, error=1e-3).scores
    for enough in (1.0, 1e-9):
        found, wrong = _sharpened(graph, rough, 0.85, enough)
        apart = np.abs(found / found.sum() - exact / exact.sum()) * exact.sum() / exact
        assert apart.max() <= 2 * wrong
    assert 0 < wrong < 1e-4


def test_a_single_page_of_a_large_graph_reaches_the_default_error() -> None:
    graph = weblike(100_000, seed=1)
    wanted = np.zeros(graph.pages)
    wanted[99_000] = 1
    assert interest_by_importance(graph, wanted).certified_error <= 1e-8


def test_both_take_the_scales_and_methods_of_pagerank() -> None:
    graph = weblike(300, seed=1)
    for rank in (interest, interest_by_importance):
        found = rank(graph, np.arange(300), method="jacobi", normalisation="sum", stop_change=1e-3)
        assert found.method == "jacobi"
        assert found.scores.sum() == pytest.approx(1)


def test_a_set_without_pages_or_of_another_size_is_refused_and_no_pages_have_no_interest() -> None:
    graph = graph_from_links(3, [0, 1], [1, 2])
    for rank in (interest, interest_by_importance):
        for wanted in ([0, 0, 0], [1, 1], [1, -1, 1]):
            with pytest.raises(BadSetting):
                rank(graph, wanted)
        assert len(rank(NO_PAGES, []).scores) == 0
