import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.analyse.explanation import explanation
from centime.analyse.transition import transition
from centime.model.errors import BadInput
from centime.model.graph import Graph, graph_from_links
from tests.analyse.dense import dampings, graphs, linked, matrix, scores_of

close = pytest.approx


@given(st.data(), graphs(), dampings)
def test_what_a_score_is_made_of_adds_up_to_it(data: st.DataObject, graph: Graph, d: float) -> None:
    page = data.draw(st.integers(0, graph.pages - 1))
    walk, x = matrix(graph), scores_of(graph, d)
    found = explanation(transition(graph), x, d, page)
    assert found.score == close(x[page])
    assert found.default + found.brought.sum() == close(x[page])
    assert found.by_distance.sum() + found.beyond == close(x[page])
    assert found.reached.sum() == close(found.by_distance.sum())
    assert dict(zip(found.sources.tolist(), found.brought, strict=True)).get(page, 0.0) == close(
        d * walk[page, page] * x[page], abs=1e-12
    )
    assert found.passed_on + found.lost == close(d * x[page])
    assert (found.lost > 0) == (walk[:, page].sum() == 0)
    # Shares too small to be followed make what is farther away a little less than it is.
    for steps, brought in enumerate(found.by_distance):
        exact = (1 - d) * np.linalg.matrix_power(d * walk, steps)[page].sum()
        assert exact - found.beyond - 1e-9 <= brought <= exact + 1e-9


def test_figure_9_a_is_explained_by_parents_and_grandparents() -> None:
    d = 0.85
    graph = linked(9, [(3, 1), (4, 2), (5, 2), (6, 3), (7, 3), (8, 3), (9, 3)])
    found = explanation(transition(graph), scores_of(graph, d), d, 0)
    assert found.by_distance == close([(1 - d), d * (1 - d), 4 * d**2 * (1 - d)])
    assert found.sources.tolist() == [2]
    assert set(found.origins[:2].tolist()) == {0, 2}
    assert found.beyond == 0


def test_repeated_links_bring_what_they_bring_together() -> None:
    graph = graph_from_links(3, [0, 0, 0, 1], [2, 2, 1, 2])
    x = scores_of(graph, 0.5)
    found = explanation(transition(graph), x, 0.5, 2)
    assert found.sources.tolist() == [1, 0]
    assert found.brought == close([0.5 * x[1], 0.5 * 2 / 3 * x[0]])


def test_a_circle_is_followed_until_it_matters_no_more() -> None:
    ring = graph_from_links(3, [0, 1, 2], [1, 2, 0])
    found = explanation(transition(ring), np.ones(3), 0.99, 0)
    assert len(found.by_distance) == 60
    assert found.by_distance.sum() + found.beyond == close(1)


def test_a_page_that_is_not_there_is_refused() -> None:
    with pytest.raises(BadInput, match="no page 5"):
        explanation(transition(linked(2, [(1, 2)])), np.ones(2), 0.85, 5)
