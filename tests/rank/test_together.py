import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.lab.synthetic.weblike import weblike
from centime.model.errors import BadSetting
from centime.model.graph import Graph, graph_from_links
from centime.rank.interest import interest
from centime.rank.pagerank import pagerank
from centime.rank.together import rank_together
from tests.rank.exact import graphs, pagerank_of, vectors


@given(graphs(), st.floats(0, 0.95), st.sampled_from([1e-3, 1e-10, 1e-300]), st.integers(1, 3), st.data())
def test_every_vector_is_within_its_certified_error(
    graph: Graph, damping: float, error: float, threads: int, data: st.DataObject
) -> None:
    some = st.lists(st.none() | vectors(graph.pages), max_size=3)
    one_pass = data.draw(st.booleans())
    forward, backward = data.draw(some), data.draw(some)
    found = rank_together(graph, forward, backward, damping=damping, error=error, one_pass=one_pass, threads=threads)
    for ways, given_, scores in ((graph, forward, found.importance), (graph.transpose(), backward, found.interest)):
        assert len(scores) == len(given_)
        for emphasis, each in zip(given_, scores, strict=True):
            assert np.abs(each.scores - pagerank_of(ways, damping, emphasis)).mean() <= each.certified_error
            assert each.certified_error <= max(error, 1e-12)


@pytest.mark.parametrize("threads", [1, 2])
def test_one_pass_gives_what_separate_computations_give(threads: int) -> None:
    graph = weblike(2000, seed=4)
    wanted = np.arange(graph.pages) % 7 == 0
    found = rank_together(graph, [None, wanted], [wanted], one_pass=True, threads=threads)
    separate = [pagerank(graph), pagerank(graph, personalisation=wanted), interest(graph, wanted)]
    for one, other in zip([*found.importance, *found.interest], separate, strict=True):
        assert np.abs(one.scores - other.scores).mean() <= one.certified_error + other.certified_error
    again = rank_together(graph, [None, wanted], [wanted], one_pass=True, threads=threads)
    assert again.interest[0].scores.tobytes() == found.interest[0].scores.tobytes()


def test_progress_tells_the_largest_error_so_far() -> None:
    seen: list[float] = []
    rank_together(weblike(500, seed=1), [None], [None], error=1e-6, one_pass=True, progress=seen.append)
    assert seen == sorted(seen, reverse=True)
    assert seen[-1] <= 1e-6


def test_no_vectors_and_no_pages_are_no_work() -> None:
    graph = graph_from_links(2, [0], [1])
    for one_pass in (True, False):
        assert rank_together(graph, [], one_pass=one_pass) == ([], [])
        nothing = rank_together(
            Graph(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32)), [None], [[]], one_pass=one_pass
        )
        assert [len(nothing.importance[0].scores), len(nothing.interest[0].scores)] == [0, 0]


def test_few_vectors_of_a_small_graph_are_pushed_and_many_go_together() -> None:
    graph = graph_from_links(2, [0], [1])
    assert [each.method for each in rank_together(graph, [None] * 4, [None] * 4).interest] == ["push"] * 4
    assert [each.method for each in rank_together(graph, [None] * 5, [None] * 4).interest] == ["together"] * 4


def test_settings_out_of_range_are_refused() -> None:
    graph = graph_from_links(2, [0], [1])
    with pytest.raises(BadSetting, match="damping"):
        rank_together(graph, [None], damping=1.0)
    with pytest.raises(BadSetting, match="error"):
        rank_together(graph, [None], error=0.0)
    with pytest.raises(BadSetting, match="personalisation"):
        rank_together(graph, [None], [[1.0]])
