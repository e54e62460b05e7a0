from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.lab.synthetic.weblike import weblike
from centime.model.errors import BadSetting
from centime.model.graph import Graph, graph_from_links
from centime.rank import spectral
from centime.rank.spectral import Matrix, eigenvector, hubs_and_authorities
from centime.rank.union import either_way, without_repeats
from tests.rank.exact import graphs

MATRICES = list(get_args(Matrix))


def dense(graph: Graph, matrix: str) -> npt.NDArray[np.float64]:
    """L of the module's table, entry by entry."""
    links = np.zeros((graph.pages, graph.pages))
    for page in range(graph.pages):
        for place in range(graph.offsets[page], graph.offsets[page + 1]):
            target = graph.targets[place]
            links[page, target] = 1 if graph.weights is None else links[page, target] + graph.weights[place]
    tables = {
        "all-ones": links.T,
        "undirected": np.maximum(links, links.T),
        "authorities": links.T @ links,
        "hubs": links @ links.T,
    }
    return tables[matrix]


def strongly_connected(pages: int, seed: int) -> Graph:
    chance = np.random.default_rng(seed)
    ring = np.arange(pages)
    more = chance.integers(0, pages, (2, 3 * pages))
    return graph_from_links(pages, [*ring, *more[0]], [*(ring + 1) % pages, *more[1]])


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("threads", [1, 2])
def test_the_vector_is_the_dominant_one_of_a_dense_matrix(matrix: Matrix, threads: int) -> None:
    graph = strongly_connected(30, seed=3)
    found = eigenvector(graph, matrix, error=1e-12, threads=threads)
    values, vectors = np.linalg.eig(dense(graph, matrix))
    largest = int(np.argmax(values.real))
    expected = np.abs(vectors[:, largest].real)
    assert found.eigenvalue == pytest.approx(values[largest].real, rel=1e-9)
    assert found.scores == pytest.approx(expected * 30 / expected.sum(), abs=1e-7)
    assert found.residual <= 1e-12


@given(graphs(7).filter(lambda graph: graph.weights is None), st.sampled_from(["undirected", "hubs", "authorities"]))
def test_symmetric_matrices_give_the_projection_of_the_start_on_the_eigenspace(graph: Graph, matrix: Matrix) -> None:
    found = eigenvector(graph, matrix, error=1e-10)
    values, vectors = np.linalg.eigh(dense(graph, matrix))
    space = vectors[:, values > values[-1] - 1e-6]
    projection = space @ (space.T @ np.ones(graph.pages))
    assert found.eigenvalue == pytest.approx(values[-1], abs=1e-6)
    assert found.scores == pytest.approx(projection * graph.pages / projection.sum(), abs=1e-5)
    assert found.scores.sum() == pytest.approx(graph.pages)


@given(graphs(6), st.sampled_from(MATRICES))
def test_what_comes_out_is_finite_and_its_residual_is_true(graph: Graph, matrix: Matrix) -> None:
    found = eigenvector(graph, matrix, error=1e-6)
    assert np.isfinite(found.scores).all()
    assert (found.scores >= 0).all()
    assert np.isfinite([found.eigenvalue, found.residual]).all() or (
        graph.weights is not None and graph.weights.max() > 1e150
    )
    if graph.weights is None:
        off = dense(graph, matrix) @ found.scores - found.eigenvalue * found.scores
        assert np.abs(off).sum() / graph.pages <= found.residual * max(1, found.eigenvalue) + 1e-12


def test_a_periodic_graph_converges() -> None:
    ring = graph_from_links(10, np.arange(10), (np.arange(10) + 1) % 10)
    star = graph_from_links(6, [0] * 5 + [1, 2, 3, 4, 5], [1, 2, 3, 4, 5] + [0] * 5)
    assert eigenvector(ring, "all-ones").scores == pytest.approx(np.ones(10))
    found = eigenvector(star, "all-ones", error=1e-12)
    assert found.eigenvalue == pytest.approx(5**0.5)
    assert found.scores[0] / found.scores[1] == pytest.approx(5**0.5)
    assert found.iterations < 200


def test_a_graph_without_links_scores_all_alike_and_one_without_cycles_its_ends() -> None:
    for matrix in MATRICES:
        empty = eigenvector(graph_from_links(3, [], []), matrix)
        assert (empty.scores.tolist(), empty.eigenvalue, empty.residual) == ([1, 1, 1], 0, 0)
    path = eigenvector(graph_from_links(4, [0, 1, 2], [1, 2, 3]), "all-ones")
    assert path.eigenvalue == 0
    assert path.scores == pytest.approx([0, 0, 0, 4], abs=1e-10)


def test_parts_with_the_same_eigenvalue_keep_what_they_had_and_lesser_parts_get_nothing() -> None:
    triangles = [0, 1, 2, 3, 4, 5], [1, 2, 0, 4, 5, 3]
    graph = graph_from_links(8, [*triangles[0], 6], [*triangles[1], 7])
    assert eigenvector(graph, "undirected").scores == pytest.approx([8 / 6] * 6 + [0, 0], abs=1e-6)


def test_parts_of_which_one_leads_to_the_other_say_by_their_residual_that_they_are_not_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(spectral, "MOST_ITERATIONS", 300)
    found = eigenvector(graph_from_links(4, [0, 1, 1, 2, 3], [1, 0, 2, 3, 2]), "all-ones")
    assert found.iterations == 300
    assert 1e-6 < found.residual < 0.1


def test_hubs_and_authorities_belong_together() -> None:
    graph = weblike(500, seed=2)
    hubs, authorities = hubs_and_authorities(graph, error=1e-10)
    assert hubs.eigenvalue == pytest.approx(authorities.eigenvalue)
    assert max(hubs.residual, authorities.residual) < 1e-9
    once = without_repeats(graph)
    for page in range(0, 500, 50):
        expected = authorities.scores[once.row(page)].sum()
        assert hubs.scores[page] * authorities.scores[once.targets].sum() / 500 == pytest.approx(expected, abs=1e-6)


def test_repeated_links_count_once_and_weights_add_up() -> None:
    graph = graph_from_links(3, [0, 0, 0, 1], [2, 1, 2, 0])
    assert without_repeats(graph).targets.tolist() == [1, 2, 0]
    weighted = graph_from_links(3, [0, 0, 0, 1], [2, 1, 2, 0], [1.0, 2.0, 3.0, 5.0])
    once = without_repeats(weighted)
    assert once.weights is not None
    assert (once.targets.tolist(), once.weights.tolist()) == ([1, 2, 0], [2, 4, 5])
    both = either_way(weighted)
    assert both.weights is not None
    assert (both.offsets.tolist(), both.targets.tolist(), both.weights.tolist()) == (
        [0, 2, 3, 4],
        [1, 2, 0, 0],
        [5, 4, 5, 4],
    )
    assert without_repeats(both) is both


def test_weights_of_any_size_scale_the_eigenvalue_alone() -> None:
    small = graph_from_links(3, [0, 1, 1, 2], [1, 0, 2, 1], [1.0, 2.0, 1.0, 3.0])
    large = Graph(small.offsets, small.targets, np.array([1.0, 2.0, 1.0, 3.0]) * 1e200)
    one, other = eigenvector(small, "all-ones"), eigenvector(large, "all-ones")
    assert other.scores == pytest.approx(one.scores)
    assert other.eigenvalue == pytest.approx(one.eigenvalue * 1e200)


def test_wrong_settings_are_refused_and_progress_is_reported() -> None:
    graph = strongly_connected(10, seed=1)
    with pytest.raises(BadSetting, match="error"):
        eigenvector(graph, "hubs", error=0)
    unknown: Any = "identity"
    with pytest.raises(BadSetting, match="unknown matrix 'identity'; the matrices are all-ones"):
        eigenvector(graph, unknown)
    seen: list[float] = []
    eigenvector(graph, "all-ones", progress=seen.append)
    assert seen[-1] <= 1e-8 < seen[0]
    assert len(eigenvector(Graph(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32)), "hubs").scores) == 0
