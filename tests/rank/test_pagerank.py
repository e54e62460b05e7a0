import importlib
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from centime.lab.synthetic.graphs import power_law
from centime.lab.synthetic.weblike import weblike
from centime.model.errors import BadSetting
from centime.model.graph import Graph, graph_from_links
from centime.rank.pagerank import Method, Normalisation, pagerank
from centime.rank.power import power_iteration
from centime.rank.scores import Scores
from tests.rank.exact import graphs, pagerank_of, plain, vectors, walk

GENERAL: list[Method] = ["push", "jacobi", "gauss-seidel"]
DAMPINGS = st.sampled_from([0.0, 0.01, 0.5, 0.85, 0.99]) | st.floats(0, 0.99)
ERRORS = st.sampled_from([1e-1, 1e-4, 1e-8, 1e-12, 1e-300])

NO_PAGES = Graph(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32))


def true_error(found: Scores, exact: npt.NDArray[np.longdouble]) -> float:
    return float(np.abs(found.scores - exact).sum() / len(exact))


@given(graphs(), DAMPINGS, ERRORS, st.sampled_from(GENERAL), st.integers(1, 3), st.data())
def test_the_true_error_is_never_above_the_certified_one(
    graph: Graph, damping: float, error: float, method: Method, threads: int, data: st.DataObject
) -> None:
    emphasis = data.draw(st.none() | vectors(graph.pages))
    start = data.draw(st.none() | vectors(graph.pages))
    found = pagerank(
        graph, damping=damping, error=error, method=method, personalisation=emphasis, start=start, threads=threads
    )
    assert true_error(found, pagerank_of(graph, damping, emphasis)) <= found.certified_error
    assert found.certified_error <= max(error, 1e-13 / (1 - damping))
    assert found.scores.sum() == pytest.approx(graph.pages, rel=1e-12)
    assert (found.scores >= 0).all()


@given(graphs(), DAMPINGS, ERRORS)
def test_links_in_slices_give_the_same_and_as_surely(graph: Graph, damping: float, error: float) -> None:
    assume(damping >= 1e-6)
    graph = Graph(graph.offsets, graph.targets)
    found = pagerank(graph, damping=damping, error=error, method="sliced")
    assert true_error(found, pagerank_of(graph, damping)) <= found.certified_error
    assert found.certified_error <= max(error, 1e-13 / (1 - damping))


@given(graphs(), DAMPINGS, st.data())
def test_plain_is_equation_2_and_all_scales_are_one_vector(graph: Graph, damping: float, data: st.DataObject) -> None:
    emphasis = data.draw(st.none() | vectors(graph.pages))
    scales: dict[Normalisation, Scores] = {
        scale: pagerank(graph, damping=damping, error=1e-6, personalisation=emphasis, normalisation=scale)
        for scale in get_args(Normalisation)
    }
    exact = plain(graph, damping, emphasis)
    assert true_error(scales["plain"], exact) <= scales["plain"].certified_error
    assert np.abs(scales["sum"].scores - exact / exact.sum()).sum() <= scales["sum"].certified_error
    assert scales["sum"].scores.sum() == pytest.approx(1, rel=1e-12)
    assert scales["sum"].certified_error == scales["mean"].certified_error
    assert scales["mean"].scores / graph.pages == pytest.approx(scales["sum"].scores, rel=1e-12, abs=1e-300)
    # Proposition 2.2: the same vector. `plain` is solved to a smaller error, because scaling enlarges its certificate.
    one, other = scales["plain"], scales["sum"]
    assert (
        np.abs(one.scores / one.scores.sum() - other.scores).sum()
        <= one.certified_error + other.certified_error + 1e-12
    )


@given(graphs(), st.floats(0.05, 0.95))
def test_what_dangling_pages_lose_stays_at_the_dummy_page(graph: Graph, damping: float) -> None:
    dangling = np.flatnonzero(walk(graph).sum(axis=0) == 0)
    dummy = graph.pages
    rows = np.repeat(np.arange(graph.pages), graph.out_degree)
    kept = ~np.isin(rows, dangling)
    extended = graph_from_links(
        graph.pages + 1,
        [*rows[kept], *dangling, dummy],
        [*graph.targets[kept], *[dummy] * len(dangling), dummy],
        None if graph.weights is None else [*graph.weights[kept], *[1.0] * len(dangling), 1.0],
    )
    scores = pagerank(graph, damping=damping, error=1e-13, normalisation="plain").scores
    without_dangling = pagerank(extended, damping=damping, error=1e-13, normalisation="plain").scores
    lost = damping / (1 - damping) * scores[dangling].sum()
    assert without_dangling[:dummy] == pytest.approx(scores, abs=1e-9)  # Proposition 2.1
    assert without_dangling[dummy] == pytest.approx(1 + lost, abs=1e-9)
    assert scores.sum() == pytest.approx(graph.pages - lost, abs=1e-9)  # Lemma 2.1, Eq. 14


@given(graphs(), st.floats(0.05, 0.95))
def test_the_sum_scale_is_the_fixpoint_of_equations_4_and_13(graph: Graph, damping: float) -> None:
    scores = pagerank(graph, damping=damping, error=1e-14, normalisation="sum").scores
    links = walk(graph).astype(float)
    dangling = links.sum(axis=0) == 0
    carried = damping * links @ scores
    pages = graph.pages
    alpha = np.abs(scores).sum() - np.abs(carried).sum()
    assert carried + alpha / pages == pytest.approx(scores, abs=1e-12)  # Eq. 4
    share = np.outer(np.ones(pages), dangling) / pages
    assert damping * (links + share) @ scores + (1 - damping) / pages == pytest.approx(scores, abs=1e-12)  # Eq. 13


@given(graphs(), st.floats(0.05, 0.9))
def test_equations_6_and_7_of_the_xyleme_paper_are_pagerank_of_a_larger_damping_where_pages_dangle(
    graph: Graph, damping: float
) -> None:
    links = walk(graph).astype(float)
    scores = np.full(graph.pages, 1 / graph.pages)
    for _ in range(400):
        grown = damping * links @ scores + (1 - damping) / graph.pages
        growth = 1 / grown.sum()
        scores = growth * grown
    assume(growth * damping < 0.99)
    assert growth == pytest.approx(1) or (links.sum(axis=0) == 0).any()
    assert pagerank(graph, damping=growth * damping, error=1e-13, normalisation="sum").scores == pytest.approx(
        scores, abs=1e-9
    )


@pytest.mark.parametrize("method", get_args(Method))
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_every_method_and_number_of_threads_agrees_with_power_iteration(method: Method, threads: int) -> None:
    graph = weblike(3000, seed=3)
    exact = power_iteration(graph, error=1e-14).scores
    found = pagerank(graph, error=1e-10, method=method, threads=threads)
    assert np.abs(found.scores - exact).mean() <= found.certified_error <= 1e-10
    assert found.method == ("push" if method == "auto" else method)
    assert found.iterations >= 1
    assert found.passes > 0


@pytest.mark.parametrize("method", get_args(Method))
@pytest.mark.parametrize("threads", [1, 2])
def test_the_same_number_of_threads_gives_the_same_bits(method: Method, threads: int) -> None:
    graph = weblike(5000, seed=5)
    runs = [pagerank(graph, method=method, threads=threads) for _ in range(3)]
    assert all(run.scores.tobytes() == runs[0].scores.tobytes() for run in runs)
    assert len({(run.iterations, run.certified_error) for run in runs}) == 1


@pytest.mark.parametrize("method", GENERAL)
def test_a_start_near_the_solution_takes_fewer_iterations(method: Method) -> None:
    graph = weblike(3000, seed=1)
    assert (graph.out_degree == 0).any()
    cold = pagerank(graph, method=method, error=1e-9)
    near = cold.scores * np.random.default_rng(0).uniform(0.999, 1.001, graph.pages)
    warm = pagerank(graph, method=method, error=1e-9, start=near * 1e200)
    assert warm.iterations < cold.iterations
    assert warm.passes < cold.passes
    assert np.abs(warm.scores - cold.scores).mean() <= warm.certified_error + cold.certified_error


@pytest.mark.parametrize("method", GENERAL)
def test_personalisation_with_zeros_reaches_nobody_that_its_pages_do_not_lead_to(method: Method) -> None:
    graph = graph_from_links(5, [0, 1, 3, 4], [1, 0, 4, 3])
    found = pagerank(graph, method=method, personalisation=[1, 0, 0, 0, 0])
    assert found.scores[[2, 3, 4]].tolist() == [0, 0, 0]
    assert found.scores[:2] == pytest.approx([5 / 1.85, 5 * 0.85 / 1.85], abs=1e-7)


@pytest.mark.parametrize("method", GENERAL)
@pytest.mark.parametrize("damping", [0.999, 0.99999])
def test_damping_near_1_is_certified_too(method: Method, damping: float) -> None:
    graph = graph_from_links(6, [0, 1, 2, 3, 4, 5, 0], [1, 2, 0, 4, 5, 3, 3])
    found = pagerank(graph, damping=damping, error=1e-6, method=method)
    assert true_error(found, pagerank_of(graph, damping)) <= found.certified_error <= 1e-6


@pytest.mark.parametrize("method", ["auto", *GENERAL])
def test_without_damping_everyone_has_1(method: Method) -> None:
    found = pagerank(power_law(100, seed=1), damping=0.0, method=method)
    assert found.scores == pytest.approx(np.ones(100), abs=1e-14)


@pytest.mark.parametrize("method", get_args(Method))
@pytest.mark.parametrize(
    ("graph", "scores"),
    [
        (graph_from_links(1, [], []), [1.0]),
        (graph_from_links(1, [0, 0], [0, 0]), [1.0]),
        (graph_from_links(4, [], []), [1.0] * 4),
        (graph_from_links(2, [0, 0, 0, 1], [0, 0, 1, 1]), [0.15 / (1 - 0.85 * 2 / 3), 2 - 0.15 / (1 - 0.85 * 2 / 3)]),
        (NO_PAGES, []),
    ],
    ids=["one page", "one page with itself", "dangling only", "duplicates and self-links", "no pages"],
)
def test_small_cases_have_their_closed_form(method: Method, graph: Graph, scores: list[float]) -> None:
    found = pagerank(graph, method=method, error=1e-12)
    assert found.scores.tolist() == pytest.approx(scores, abs=1e-11)
    assert found.certified_error <= 1e-12


def test_rows_without_any_weight_dangle_and_weights_of_any_size_share_by_ratio() -> None:
    weighted = graph_from_links(3, [0, 0, 1], [1, 2, 2], [1e300, 3e300, 0.0])
    found = pagerank(weighted, error=1e-13)
    share = graph_from_links(3, [0, 0, 0, 0], [1, 2, 2, 2])
    assert found.scores == pytest.approx(pagerank(share, error=1e-13).scores, abs=1e-12)
    assert pagerank(weighted, normalisation="plain").scores.sum() == pytest.approx(
        float(plain(weighted, 0.85).sum()), abs=1e-7
    )


@pytest.mark.parametrize("method", ["auto", "jacobi", "gauss-seidel"])
def test_iteration_stops_by_change(method: Method) -> None:
    graph = weblike(2000, seed=1)
    found = pagerank(graph, method=method, stop_change=1e-4)
    assert found.method == ("jacobi" if method == "auto" else method)
    assert found.change / graph.pages <= 1e-4
    assert found.iterations < pagerank(graph, method=method, stop_change=1e-6).iterations
    assert np.abs(found.scores - power_iteration(graph).scores).mean() <= found.certified_error


@pytest.mark.parametrize("method", ["auto", "jacobi", "gauss-seidel"])
def test_iteration_stops_when_the_top_stands_still(method: Method) -> None:
    graph = weblike(2000, seed=1)
    found = pagerank(graph, method=method, stable_top=5)
    assert found.top(5).tolist() == pagerank(graph, error=1e-12).top(5).tolist()
    assert found.iterations < pagerank(graph, method="jacobi", error=1e-12).iterations
    assert np.abs(found.scores - power_iteration(graph).scores).mean() <= found.certified_error


@pytest.mark.parametrize("method", [*GENERAL, "sliced"])
def test_progress_ends_at_the_error_asked_for(method: Method) -> None:
    seen: list[float] = []
    pagerank(weblike(2000, seed=1), method=method, error=1e-6, progress=seen.append)
    assert len(seen) > 3
    assert seen[-1] <= 2e-6
    assert seen[-1] < seen[0]


@settings(max_examples=30)
@given(graphs(6), st.sampled_from([0.85, 0.99]), st.sampled_from([*GENERAL, "sliced"]))
def test_an_error_below_rounding_ends_all_the_same(graph: Graph, damping: float, method: Method) -> None:
    found = pagerank(Graph(graph.offsets, graph.targets), damping=damping, error=1e-300, method=method)
    assert found.certified_error < 1e-10


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"damping": 1.0}, "damping"),
        ({"damping": -0.1}, "damping"),
        ({"damping": float("nan")}, "damping"),
        ({"error": 0.0}, "error"),
        ({"error": float("inf")}, "error"),
        ({"error": float("nan")}, "error"),
        ({"method": "magic"}, "unknown method 'magic'; the methods are auto, push"),
        ({"normalisation": "none"}, "unknown normalisation 'none'"),
        ({"stop_change": 0.0}, "change"),
        ({"stop_change": 1e-3, "stable_top": 3}, "by its change or by a stable top, not by both"),
        ({"stop_change": float("nan")}, "change"),
        ({"stable_top": 0}, "stable top"),
        ({"stable_top": 3, "method": "push"}, "jacobi and gauss-seidel"),
        ({"stop_change": 1e-3, "method": "sliced"}, "jacobi and gauss-seidel"),
        ({"personalisation": [1, 1, 1], "method": "sliced"}, "sliced"),
        ({"damping": 0.0, "method": "sliced"}, "sliced"),
        ({"personalisation": [1.0, 1.0]}, "the personalisation needs one number for each of the 3 pages"),
        ({"personalisation": [0.0, 0.0, 0.0]}, "not only zeros"),
        ({"start": [1.0, -1.0, 1.0]}, "the start must hold finite numbers"),
        ({"start": [1.0, float("nan"), 1.0]}, "the start must hold finite numbers"),
        ({"threads": 0}, "threads"),
    ],
)
def test_settings_out_of_range_are_refused(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadSetting, match=sentence):
        pagerank(power_law(3, seed=1), **wrong)


@pytest.mark.parametrize("method", [*GENERAL, "sliced"])
def test_what_rounding_adds_to_a_sum_of_many_links_is_in_the_certified_error(method: Method) -> None:
    pages = 300_000
    star = graph_from_links(pages, np.arange(1, pages), np.zeros(pages - 1, dtype=np.int64))
    found = pagerank(star, method=method, error=1e-15, threads=1)
    other = np.longdouble(pages) / (pages + np.longdouble(0.85) * (pages - 1))
    exact = np.full(pages, other)
    exact[0] = pages - other * (pages - 1)
    assert 5e-14 < true_error(found, exact) <= found.certified_error < 1e-9


def test_a_change_can_be_measured_by_its_root_mean_square() -> None:
    """|x - x'|_2 / sqrt(N) is never below |x - x'|_1 / N, so it stops no sooner; and both stop at their limit."""
    chance = np.random.default_rng(3)
    graph = graph_from_links(300, chance.integers(0, 300, 1500), chance.integers(0, 30, 1500))
    by_sum = pagerank(graph, method="jacobi", stop_change=1e-5)
    by_square = pagerank(graph, method="jacobi", stop_change=1e-5, change_norm="l2")
    assert by_sum.iterations < by_square.iterations
    unknown: Any = "max"
    with pytest.raises(BadSetting, match="l1 or l2"):
        pagerank(graph, stop_change=1e-5, change_norm=unknown)


@pytest.mark.parametrize("method", ["auto", "jacobi", "gauss-seidel", "sliced"])
def test_a_ranking_that_would_take_for_ever_ends_and_says_what_it_reached(
    method: Method, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.import_module("centime.rank.pagerank"), "MOST_ITERATIONS", 20)
    ring = np.arange(200)
    graph = graph_from_links(200, np.append(ring, 0), np.append(ring[::-1], 100))
    found = pagerank(graph, damping=0.999999, error=1e-12, method=method)
    assert found.iterations <= 20
    assert 1e-12 < found.certified_error < np.inf


def test_near_a_damping_of_one_a_graph_that_mixes_takes_few_iterations() -> None:
    random = np.random.default_rng(3)
    links = random.integers(0, 500, (4_000, 2))
    graph = graph_from_links(500, links[:, 0], links[:, 1])
    found = pagerank(graph, damping=0.99999, error=1e-6)
    assert found.iterations < 50
    assert found.certified_error <= 1e-6
    assert np.abs(found.scores - pagerank(graph, damping=0.99999, method="jacobi", error=1e-6).scores).mean() <= 2e-6
