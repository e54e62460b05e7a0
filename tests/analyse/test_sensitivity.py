"""Section 6 of "Inside PageRank": the examples on the order of pages, and the number of iterations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.analyse.agreement import kendall_tau
from centime.analyse.sensitivity import iterations_needed, rank_of, sensitivity
from centime.model.errors import BadSetting
from centime.model.graph import Graph
from tests.analyse.dense import dampings, graphs, linked, matrix, scores_of

close = pytest.approx
DAMPINGS = [0.05, 0.2, 0.3, 0.5, 0.85, 0.95]

# Figure 9(a): 1 and 2 are p1 and p2; 3 (f1) links to p1 and has four parents 6 to 9; 4 and 5 (f2, f3) link to p2.
FIGURE_9A = linked(9, [(3, 1), (4, 2), (5, 2), (6, 3), (7, 3), (8, 3), (9, 3)])


@pytest.mark.parametrize("d", DAMPINGS)
def test_example_6_1_many_far_ancestors_beat_two_near_ones_when_d_is_above_a_quarter(d: float) -> None:
    x = scores_of(FIGURE_9A, d)
    assert x[0] == close((1 - d) + d * (1 - d) + 4 * d**2 * (1 - d))
    assert x[1] == close((1 - d) + 2 * d * (1 - d))
    assert (x[0] > x[1]) == (d > 0.25)


@pytest.mark.parametrize("tried", [[0.2, 0.24, 0.26, 0.5], [0.05, 0.9]])
def test_example_6_1_the_crossing_is_found_at_a_quarter(tried: list[float]) -> None:
    solved: list[float] = []

    def solve(d: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        solved.append(d)
        return scores_of(FIGURE_9A, d)

    found = sensitivity(solve, dampings=tried, reference=tried[-1])
    [crossing] = [each for each in found.crossings(9, solve) if {each.above, each.below} == {0, 1}]
    assert (crossing.above, crossing.below) == (0, 1)
    assert crossing.low <= 0.25 <= crossing.high
    assert crossing.high - crossing.low < 1e-4
    assert crossing.damping == 0.25
    assert len(solved) < 60


def test_a_crossing_that_scores_cannot_resolve_has_fewer_digits() -> None:
    """The two scores differ by less than 1e-7 between 0.598 and 0.602."""

    def solve(d: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return np.array([1.0, 1.0 + 5e-5 * (d - 0.6)])

    [crossing] = sensitivity(solve, dampings=[0.5, 0.8], reference=0.8).crossings(2, solve)
    assert crossing.low < 0.598 < 0.602 < crossing.high
    assert crossing.damping == close(0.6, abs=0.01)
    assert crossing.high - crossing.low < 0.02


def test_a_crossing_is_certain_whatever_the_errors_of_the_scores() -> None:
    def solve(d: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        wrong = 4e-6 if d < 0.7 else -4e-6  # of each of the two scores
        return np.array([1.0 + wrong, 1.0 + 5e-4 * (d - 0.6) - wrong])

    found = sensitivity(solve, dampings=[0.5, 0.8], reference=0.8)
    [crossing] = found.crossings(2, solve, error=8e-6)
    assert crossing.low < 0.6 < crossing.high
    [believed] = found.crossings(2, solve)
    assert not believed.low < 0.6 < believed.high


@pytest.mark.parametrize("levels_p", [(1, 2, 9), (1, 1, 2, 9)])
def test_example_6_2_the_first_level_with_more_relatives_decides_when_d_is_small(levels_p: tuple[int, ...]) -> None:
    levels_q = (*levels_p[:-2], levels_p[-2] + 1, 3)

    def score(levels: tuple[int, ...], d: float) -> float:
        links, last, count = [], [1], 1
        for size in levels[1:]:
            fresh = list(range(count + 1, count + size + 1))
            links += [(page, last[place % len(last)]) for place, page in enumerate(fresh)]
            last, count = fresh, count + size
        return float(scores_of(linked(count, links), d)[0])

    assert score(levels_p, 0.01) < score(levels_q, 0.01)
    assert score(levels_p, 0.9) > score(levels_q, 0.9)


@pytest.mark.parametrize("d", DAMPINGS)
@pytest.mark.parametrize(("links_of_f", "links_of_g"), [(1, 12), (3, 4), (2, 6)])
def test_example_6_3_links_elsewhere_extinguish_the_effect_of_d(d: float, links_of_f: int, links_of_g: int) -> None:
    """Figure 9(b): f1 and f3 have as many links, and the four g_i give p1 together a third of what f2 gives p2 as d
    nears 1."""
    elsewhere = range(10, 10 + 12)
    links = [(3, 1), (5, 2), (4, 2), *((g, 3) for g in (6, 7, 8, 9))]
    links += [(f, page) for f in (3, 5) for page in elsewhere[: links_of_f - 1]]
    links += [(g, page) for g in (6, 7, 8, 9) for page in elsewhere[: links_of_g - 1]]
    x = scores_of(linked(21, links), d)
    assert x[1] - x[0] == close(d * (1 - d) * (1 - d / 3))
    assert x[1] >= x[0]


@given(graphs(weighted=False), dampings, st.integers(1, 60))
def test_theorem_6_1_and_remark_6_1_bound_the_error_of_the_iteration_from_ones(
    graph: Graph, d: float, steps: int
) -> None:
    walk, truth = matrix(graph), scores_of(graph, d)
    x = np.ones(graph.pages)
    first = np.abs(truth - x).sum() / truth.sum()
    assert first <= max(2 * d, d / (1 - d)) + 1e-12 <= 1 / (1 - d) + 2e-12
    for _ in range(steps):
        x = d * walk @ x + (1 - d)
    error = np.abs(truth - x).sum() / truth.sum()
    assert error <= d**steps * first + 1e-12
    dangling = bool((walk.sum(axis=0) == 0).any())
    for wanted in (1e-1, 1e-3):
        if steps >= iterations_needed(d, wanted, dangling=dangling):
            assert error <= wanted + 1e-12


def test_theorem_6_1_is_reached_when_the_first_error_is_an_eigenvector() -> None:
    graph, d = linked(3, [(1, 2), (2, 3), (3, 1)]), 0.85
    walk, truth = matrix(graph), scores_of(graph, d)
    x = truth - 0.3 * np.ones(3)
    for step in range(1, 20):
        x = d * walk @ x + (1 - d)
        assert np.abs(truth - x).sum() == close(0.9 * d**step)


def test_remark_6_1_the_first_error_may_be_above_n_though_the_paper_says_it_is_not() -> None:
    pages, d = 40, 0.85
    star = linked(pages, [(page, 1) for page in range(1, pages + 1)])
    assert np.abs(scores_of(star, d) - 1).sum() == close(2 * (pages - 1) * d)
    assert 2 * (pages - 1) * d > pages


def test_remark_6_1_in_numbers() -> None:
    """28 steps for 1e-8 with d = 1/2, as printed. The printed 3.5e-15 after 50 steps is twice d^50 / (1 - d)."""
    assert iterations_needed(0.5, 1e-8) == 28
    assert 0.5**50 / 0.5 == close(1.78e-15, rel=1e-2)
    assert iterations_needed(0.5, 1.78e-15) == 50
    assert iterations_needed(0.85, 1e-8) == 126
    assert iterations_needed(0.85, 1e-8, dangling=False) == 118
    assert iterations_needed(0.0, 1e-8) == 1
    with pytest.raises(BadSetting):
        iterations_needed(0.85, 0.0)


@given(graphs(weighted=False), dampings)
def test_section_6_the_condition_number_is_at_most_1_plus_d_over_1_minus_d(graph: Graph, d: float) -> None:
    """In the 1-norm. The paper prints (d + 1) / (d - 1), which is negative."""
    assert np.linalg.cond(np.eye(graph.pages) - d * matrix(graph), 1) <= (1 + d) / (1 - d) + 1e-9


@given(graphs(weighted=False), dampings)
def test_section_6_gauss_seidel_is_never_slower_than_jacobi(graph: Graph, d: float) -> None:
    """x_p(t) takes x_q(t) / h_q of pages q < p; the paper prints x_p for x_q / h_q. From below both rise to the
    solution."""
    walk = matrix(graph)
    jacobi, seidel = np.zeros(graph.pages), np.zeros(graph.pages)
    for _ in range(10):
        jacobi = d * walk @ jacobi + (1 - d)
        for page in range(graph.pages):
            seidel[page] = d * walk[page] @ seidel + (1 - d)
        assert (jacobi <= seidel + 1e-12).all()
        assert (seidel <= scores_of(graph, d) + 1e-9).all()


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=40))
def test_kendall_tau_is_that_of_scipy_ties_included(pairs: list[tuple[int, int]]) -> None:
    import scipy.stats  # takes a second, which every process that collects tests would spend

    first, second = (np.array(values, dtype=np.float64) for values in zip(*pairs, strict=True))
    expected = scipy.stats.kendalltau(first, second).statistic if len(set(first)) > 1 and len(set(second)) > 1 else 1.0
    assert kendall_tau(first, second, 1e-3) == close(expected)


def test_differences_below_the_resolution_are_ties() -> None:
    first, noisy = np.array([1.0, 1.0, 2.0]), np.array([1.0, 1.0 + 1e-9, 2.0])
    assert kendall_tau(first, noisy, 1e-7) == 1.0
    assert rank_of(noisy, np.arange(3)).tolist() == [2, 2, 1]


def test_ranks_and_moves_of_the_best_pages_are_those_of_all_pages() -> None:
    found = sensitivity(lambda d: scores_of(FIGURE_9A, d), dampings=[0.1, 0.9], reference=0.5, best=2)
    assert found.dampings == (0.1, 0.5, 0.9)
    assert found.tau[1] == 1.0
    assert set(found.pages.tolist()) == {0, 1, 2}
    ranks = dict(zip(found.pages.tolist(), found.ranks.T.tolist(), strict=True))
    assert ranks[2] == [1, 1, 2]
    assert ranks[1] == [2, 3, 3]
    assert dict(zip(found.pages.tolist(), found.moves, strict=True))[2] == 2.0


@pytest.mark.parametrize("wrong", [[], [0.85], [1.0], [-0.1]])
def test_dampings_must_be_two_or_more_and_in_range(wrong: list[float]) -> None:
    with pytest.raises(BadSetting, match="dampings"):
        sensitivity(lambda d: np.ones(3), wrong)
