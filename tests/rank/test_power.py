from itertools import islice, pairwise

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from centime.lab.synthetic.graphs import power_law
from centime.model.errors import BadSetting
from centime.model.graph import Graph, graph_from_links
from centime.rank.power import power_iteration, power_steps


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    pages = draw(st.integers(1, 12))
    page = st.integers(0, pages - 1)
    links = draw(st.lists(st.tuples(page, page), max_size=40))
    weights = draw(
        st.none()
        | st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0, 1e300, 1e-300]), min_size=len(links), max_size=len(links))
    )
    return graph_from_links(pages, [link[0] for link in links], [link[1] for link in links], weights)


def solved(graph: Graph, damping: float) -> npt.NDArray[np.float64]:
    """The fixpoint by elimination, from the definition: a dense matrix with the virtual page as a page of its own."""
    pages = graph.pages
    walk = np.zeros((pages + 1, pages + 1))
    walk[pages, :pages] = 1 / pages
    for page in range(pages):
        row = graph.row(page)
        place = slice(graph.offsets[page], graph.offsets[page + 1])
        weights = np.ones(len(row)) if graph.weights is None else graph.weights[place]
        if len(row) == 0 or weights.max() == 0:
            walk[page, pages] = 1
            continue
        weights = weights / weights.max()
        np.add.at(walk[page], row, damping * weights / weights.sum())
        walk[page, pages] += 1 - damping
    system = np.vstack([walk.T - np.eye(pages + 1), [1] * pages + [0]])
    solution: npt.NDArray[np.float64] = np.linalg.lstsq(system, np.append(np.zeros(pages + 1), pages), rcond=None)[0]
    return solution[:pages]


@given(graphs(), st.floats(0, 0.99))
def test_the_scores_are_those_of_a_dense_solution(graph: Graph, damping: float) -> None:
    result = power_iteration(graph, damping)
    assert result.certified_error <= 1e-12
    assert np.allclose(result.scores, solved(graph, damping), rtol=0, atol=1e-9)
    assert result.scores.sum() == pytest.approx(graph.pages, rel=1e-12)


@given(graphs(), st.floats(0, 0.95), st.integers(1, 30))
def test_the_true_error_is_never_above_the_certified_one(graph: Graph, damping: float, iterations: int) -> None:
    result = power_iteration(graph, damping, error=1e-300, iterations=iterations)
    assert result.iterations <= iterations
    truth = power_iteration(graph, damping, error=1e-14).scores
    assert np.abs(result.scores - truth).mean() <= result.certified_error + 1e-12


def test_a_larger_graph_agrees_with_a_sparse_product() -> None:
    graph = power_law(3_000, seed=5)
    rows = scipy.sparse.csr_matrix(
        (np.ones(graph.links), graph.targets, graph.offsets), shape=(graph.pages, graph.pages)
    )
    walk = scipy.sparse.diags(1 / graph.out_degree) @ rows
    expected = np.ones(graph.pages)
    for _ in range(200):
        expected = 0.85 * (walk.T @ expected) + 0.15
    assert np.allclose(power_iteration(graph, error=1e-13).scores, expected, rtol=1e-11, atol=0)


def test_a_page_that_dangles_pays_everyone() -> None:
    graph = graph_from_links(2, [0], [1])  # x0 = v, x1 = d x0 + v, v = 2 / (2 + d)
    assert power_iteration(graph, damping=0.5).scores == pytest.approx([0.8, 1.2], abs=1e-11)


def test_a_row_whose_weights_add_up_to_nothing_dangles() -> None:
    weightless = graph_from_links(3, [0, 1, 1], [1, 0, 2], [1.0, 0.0, 0.0])
    without = graph_from_links(3, [0], [1])
    assert power_iteration(weightless).scores == pytest.approx(power_iteration(without).scores.tolist(), abs=1e-11)


def test_the_steps_are_the_iterations_one_by_one_and_keep_their_values() -> None:
    graph = power_law(500, seed=1)
    steps = list(islice(power_steps(graph), 6))
    assert [step.iterations for step in steps] == [1, 2, 3, 4, 5, 6]
    for step in steps:
        assert np.array_equal(step.scores, power_iteration(graph, error=1e-300, iterations=step.iterations).scores)
    assert all(after.change < 0.85 * before.change for before, after in pairwise(steps))


def test_a_start_at_the_fixpoint_of_any_size_needs_one_iteration() -> None:
    graph = power_law(500, seed=1)
    scores = power_iteration(graph, error=1e-14).scores
    again = power_iteration(graph, error=1e-10, start=scores * 1e306)
    assert again.iterations == 1
    assert np.allclose(again.scores, scores)


def test_an_error_below_rounding_ends_all_the_same() -> None:
    result = power_iteration(power_law(50, seed=1), damping=0.99, error=1e-30)
    assert result.certified_error < 1e-12


def test_a_graph_without_pages_has_no_scores() -> None:
    result = power_iteration(Graph(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32)), start=[])
    assert len(result.scores) == result.iterations == result.certified_error == 0


def test_settings_out_of_range_are_refused() -> None:
    graph = power_law(3, seed=1)
    for damping in (-0.1, 1.0, float("nan")):
        with pytest.raises(BadSetting, match="damping"):
            power_iteration(graph, damping)
    for error in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(BadSetting, match="error"):
            power_iteration(graph, error=error)
    with pytest.raises(BadSetting, match="iteration"):
        power_iteration(graph, iterations=0)
    for start in ([1.0, 1.0], [[1.0, 1.0, 1.0]], [0.0, 0.0, 0.0], [1.0, -1.0, 1.0], [float("nan"), 1.0, 1.0]):
        with pytest.raises(BadSetting, match="start vector"):
            power_iteration(graph, start=start)
