"""Sections 2 and 3 of "Inside PageRank": what holds for W and the iterations on it."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.analyse.transition import brought, error_bound, fractions, transition
from centime.model.errors import BadSetting
from centime.model.graph import Graph
from tests.analyse.dense import Matrix, Vector, dampings, graphs, linked, matrix, regular, scores_of, solved

close = pytest.approx


def extended(walk: Matrix) -> Matrix:
    """W of the extended web: every dangling page links to a dummy page, which links to itself."""
    pages = len(walk)
    result = np.zeros((pages + 1, pages + 1))
    result[:pages, :pages] = walk
    result[pages] = np.append(walk.sum(axis=0) == 0, 1)
    return result


def dangling(walk: Matrix) -> Vector:
    """R."""
    return np.where(walk.sum(axis=0) == 0, 1.0, 0.0)


@given(graphs(), st.data())
def test_w_is_the_matrix_of_the_definition(graph: Graph, data: st.DataObject) -> None:
    walk, dense = transition(graph), matrix(graph)
    x = np.array(data.draw(st.lists(st.floats(0, 9), min_size=graph.pages, max_size=graph.pages)))
    marks = np.array(data.draw(st.lists(st.booleans(), min_size=graph.pages, max_size=graph.pages)))
    assert brought(walk, x) == close(dense @ x, abs=1e-12)
    assert fractions(walk, marks) == close(dense[marks].sum(axis=0), abs=1e-12)
    assert (walk.dangling == (dense.sum(axis=0) == 0)).all()


@given(graphs(), dampings)
def test_the_error_bound_of_the_solution_is_nothing_and_of_ones_covers_their_error(graph: Graph, d: float) -> None:
    walk, x = transition(graph), scores_of(graph, d)
    assert error_bound(walk, x, d) == close(0, abs=1e-9)
    assert np.abs(1 - x).sum() <= error_bound(walk, np.ones(graph.pages), d) + 1e-9


def test_the_error_bound_has_what_its_own_rounding_can_hide() -> None:
    walk = transition(linked(2, [(1, 2)]))
    exact = [Fraction(15, 100), Fraction(15, 100) * Fraction(185, 100)]
    scores = np.array([0.15, 0.15 + 0.85 * 0.15])
    off = sum(abs(Fraction(one) - other) for one, other in zip(scores.tolist(), exact, strict=True))
    assert 0 < off <= error_bound(walk, scores, 0.85) < 1e-12


def test_the_error_bound_refuses_a_damping_of_1() -> None:
    with pytest.raises(BadSetting):
        error_bound(transition(linked(1, [])), np.ones(1), 1.0)


@given(graphs(), dampings, st.integers(0, 12))
def test_proposition_2_1_the_extended_web_gives_the_same_scores_and_one_more(
    graph: Graph, d: float, steps: int
) -> None:
    """Eq. 12 is on W of the extended web; the paper prints W."""
    walk = matrix(graph)
    x, loss = solved(walk, d), dangling(walk)
    assert solved(extended(walk), d) == close(np.append(x, 1 + d / (1 - d) * loss @ x))
    plain, longer = [np.ones(graph.pages)], np.ones(graph.pages + 1)
    for _ in range(steps):
        plain.append(d * walk @ plain[-1] + (1 - d))
        longer = d * extended(walk) @ longer + (1 - d)
    last = 1 + sum(d ** (steps - s) * loss @ plain[s] for s in range(steps))
    assert longer == close(np.append(plain[-1], last))


def test_figure_4_the_dummy_page_makes_every_column_add_up_to_1() -> None:
    walk = extended(matrix(linked(3, [(1, 2), (1, 3), (2, 3)])))
    assert walk.sum(axis=0) == close(np.ones(4))
    assert walk[3].tolist() == [0, 0, 1, 1]


@given(graphs(), dampings, st.integers(0, 12))
def test_lemma_2_1_what_the_scores_add_up_to(graph: Graph, d: float, steps: int) -> None:
    walk = matrix(graph)
    x, loss = solved(walk, d), dangling(walk)
    assert (x > 0).all()
    assert x.sum() == close(graph.pages - d / (1 - d) * loss @ x)  # Eq. 14
    series = [np.ones(graph.pages)]
    for _ in range(steps):
        series.append(d * walk @ series[-1] + (1 - d))
    lost = sum(d**k * loss @ series[steps - k] for k in range(1, steps + 1))
    assert series[-1].sum() == close(graph.pages - lost)  # Eq. 15
    if not loss.any():
        assert series[-1].sum() == close(graph.pages)  # Corollary 2.1


def test_lemma_2_1_when_all_pages_dangle_the_loss_is_d_n() -> None:
    assert 7 - scores_of(linked(7, []), 0.85).sum() == close(0.85 * 7)


@given(graphs(), dampings)
def test_proposition_2_2_the_scores_of_eq_13_are_those_of_eq_2_normalised(graph: Graph, d: float) -> None:
    walk = matrix(graph)
    pays_all = walk + np.outer(np.ones(graph.pages), dangling(walk)) / graph.pages
    x = solved(walk, d)
    assert solved(pays_all, d) / graph.pages == close(x / x.sum())


@given(graphs(), dampings)
def test_proposition_2_3_and_2_4_there_is_one_solution(graph: Graph, d: float) -> None:
    walk = matrix(graph)
    assert np.abs(np.linalg.eigvals(walk)).max() <= 1 + 1e-6
    if not dangling(walk).any():
        assert np.ones(graph.pages) @ walk == close(np.ones(graph.pages))
    x = np.full(graph.pages, 7.0)
    for _ in range(1000):
        x = d * walk @ x + (1 - d)
    assert x == close(solved(walk, d))


def test_proposition_2_3_it_is_the_columns_of_w_that_add_up_to_1_at_most() -> None:
    """The paper's proof prints the sum over a row, which in a star is as large as the number of pages."""
    walk = matrix(linked(5, [(page, 1) for page in range(1, 6)]))
    assert walk.sum(axis=1).max() == 5
    assert walk.sum(axis=0).max() == 1


@given(graphs(), dampings, st.integers(1, 12))
def test_theorem_2_1_the_normalised_iterations_are_the_same_and_keep_the_sum(
    graph: Graph, d: float, steps: int
) -> None:
    """Eq. 19 lacks d before W + V in the paper: with it as printed the sum grows."""
    walk, pages = matrix(graph), graph.pages
    loss = dangling(walk)
    everyone = np.outer(np.ones(pages), loss) / pages
    stochastic = d * (walk + everyone) + (1 - d) / pages
    assert stochastic.sum(axis=0) == close(np.ones(pages))
    one = other = third = np.full(pages, 1 / pages)
    for _ in range(steps):
        one = d * walk @ one + (one.sum() - d * (walk @ one).sum()) / pages
        other = stochastic @ other
        third = d * (walk + everyone) @ third + (1 - d) / pages
    assert one == close(other)
    assert third == close(other)
    assert one.sum() == close(1)
    printed = (walk + everyone) @ np.full(pages, 1 / pages) + (1 - d) / pages
    assert printed.sum() == close(2 - d)


@given(graphs(largest=6), st.lists(st.integers(0, 3), min_size=1, max_size=6), dampings)
def test_section_2_2_the_scores_stay_bounded_while_the_graph_changes(graph: Graph, turns: list[int], d: float) -> None:
    walk = matrix(graph)
    x = np.ones(graph.pages)
    for turn in turns:
        x = d * np.roll(walk, turn, axis=0) @ x + (1 - d)
        assert x.sum() <= graph.pages + 1e-9
        if not dangling(walk).any():
            assert x.sum() == close(graph.pages)


@given(graphs(largest=6), dampings, st.integers(0, 8))
def test_theorem_3_1_the_scores_count_the_surfers_expected_on_each_page(graph: Graph, d: float, steps: int) -> None:
    """1 - d surfers start on every page at every time and follow links; Eq. 20 has one sum too many in the paper."""
    walk = matrix(graph)
    follow = d * walk  # from page q, follow a link to p with d w_(p,q), or else stop
    expected = np.linalg.matrix_power(follow, steps) @ np.ones(graph.pages)
    for start in range(steps):
        expected += np.linalg.matrix_power(follow, steps - 1 - start) @ np.full(graph.pages, 1 - d)
    x = np.ones(graph.pages)
    for _ in range(steps):
        x = d * walk @ x + (1 - d)
    assert x == close(expected)


@pytest.mark.parametrize("d", [0.0, 0.5, 0.85])
def test_section_1_2_the_pages_of_a_regular_island_have_score_1(d: float) -> None:
    assert scores_of(linked(7, regular(7, 3)), d) == close(np.ones(7))


def test_section_2_3_without_damping_all_scores_are_1() -> None:
    assert scores_of(linked(4, [(1, 2), (3, 2)]), 0.0) == close(np.ones(4))
