from itertools import islice, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.lab.synthetic.weblike import weblike
from centime.model.graph import Graph, row_shares
from centime.rank.crew import Crew
from centime.rank.power import power_steps
from centime.rank.pull import change, gauss_seidel, jacobi
from tests.rank.exact import graphs, pagerank_of, plain


def weights_of(graph: Graph) -> np.ndarray:
    return np.empty(0) if graph.weights is None else row_shares(graph.offsets, graph.weights)[0]


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_jacobi_is_power_iteration_step_by_step(threads: int) -> None:
    graph = weblike(500, seed=1)
    with Crew(threads) as crew:
        steps = jacobi(graph, np.empty(0), 0.85, None, None, crew)
        for expected, found in zip(islice(power_steps(graph), 10), steps, strict=False):
            assert found == pytest.approx(expected.scores, rel=1e-13)


@given(graphs(), st.floats(0, 0.9))
def test_both_converge_to_the_dense_solution_and_add_up_to_the_number_of_pages(graph: Graph, damping: float) -> None:
    exact = pagerank_of(graph, damping).astype(float)
    with Crew(1) as crew:
        for steps in (
            jacobi(graph, weights_of(graph), damping, None, None, crew),
            gauss_seidel(graph, weights_of(graph), damping, None, None),
        ):
            for _ in range(300):
                scores = next(steps)
            assert scores == pytest.approx(exact, abs=1e-10)
            assert scores.sum() == pytest.approx(graph.pages)


@given(graphs(), st.floats(0.1, 0.9))
def test_an_iteration_of_jacobi_shrinks_the_change_by_the_damping_or_more(graph: Graph, damping: float) -> None:
    with Crew(1) as crew:
        steps = [scores.copy() for scores in islice(jacobi(graph, weights_of(graph), damping, None, None, crew), 8)]
    changes = [change(one, other) for one, other in pairwise(steps)]
    assert all(after <= damping * before + 1e-13 for before, after in pairwise(changes))


def test_gauss_seidel_begun_at_the_solution_stays_there_even_if_pages_dangle() -> None:
    graph = Graph(np.array([0, 2, 3, 3]), np.array([1, 2, 2], dtype=np.int32))
    exact = pagerank_of(graph, 0.85).astype(float)
    scores = next(gauss_seidel(graph, np.empty(0), 0.85, None, exact))
    assert scores == pytest.approx(exact, rel=1e-14)
    assert plain(graph, 0.85).sum() < 3
