import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.refresh import curves, demand, worth
from centime.refresh.curves import curves_for
from centime.refresh.demand import LOW, POINTS, demand_at, solve_threshold
from centime.refresh.worth import OPTIMAL, PAPER, UNIFORM, age_at

age_ratio = worth.age_ratio
guess_ratio = curves.guess_ratio
row_of = curves.row_of
add_demand = demand.add_demand

RULES = ((OPTIMAL, 0.0, 1.0), (OPTIMAL, 0.5, 1.0), (PAPER, 0.0, 1.0), (UNIFORM, 0.0, 1.0))
CURVES = {rule: curves_for(*rule) for rule in RULES}

SETTINGS = st.sampled_from(sorted(CURVES))
PAGES = st.lists(
    st.tuples(st.floats(0.02, 74.0), st.floats(10.0, 1e9), st.floats(1e-3, 1e4), st.floats(1.0, 1e6)),
    min_size=1,
    max_size=8,
)


def test_the_curves_are_numbers_and_fall() -> None:
    for drawn in CURVES.values():
        assert np.isfinite(drawn).all()
        assert (np.diff(drawn, axis=1) <= 0).all()


@given(SETTINGS, st.floats(0.02, 74.0), st.floats(1e-9, 0.5))
def test_a_guess_is_near_where_the_index_is_not_flat(
    settings: tuple[float, float, float], shape: float, y: float
) -> None:
    u = age_ratio(*settings, shape, y / shape, 1e12, 0.0)
    guess = guess_ratio(CURVES[settings], row_of(shape), y / shape)
    assert guess == pytest.approx(u, rel=0.05)


@given(SETTINGS, PAGES, st.integers(40, POINTS - 2), st.floats(1.0, 1e6))
def test_the_demand_is_the_sum_over_pages(
    settings: tuple[float, float, float], pages: list[tuple[float, float, float, float]], g: int, least: float
) -> None:
    demand = np.zeros(POINTS)
    threshold, expected = 2.0 ** (LOW + g / 2), 0.0
    for shape, rate, scale, cost in pages:
        add_demand(demand, CURVES[settings], row_of(shape), rate, scale, cost, least, 1.0)
        expected += cost / max(age_at(*settings, shape, rate, scale, threshold), least)
    most = sum(cost for *_, cost in pages) / least
    assert demand[g] == pytest.approx(expected, rel=0.05, abs=0.01 * most)
    assert (np.diff(demand) <= 1e-12 * most).all()
    assert demand_at(demand, threshold) == pytest.approx(demand[g], rel=1e-6, abs=1e-12 * most)
    for shape, rate, scale, cost in pages:
        add_demand(demand, CURVES[settings], row_of(shape), rate, scale, cost, least, -1.0)
    assert np.abs(demand).max() <= 1e-9 * most


@given(SETTINGS, PAGES, st.floats(1e-9, 1.0))
def test_the_demand_at_the_threshold_for_a_budget_is_the_budget(
    settings: tuple[float, float, float], pages: list[tuple[float, float, float, float]], share: float
) -> None:
    demand = np.zeros(POINTS)
    for shape, rate, scale, cost in pages:
        add_demand(demand, CURVES[settings], row_of(shape), rate, scale, cost, 60.0, 1.0)
    budget = demand[0] * share
    threshold = solve_threshold(demand, budget)
    if 0 < threshold < math.inf:
        above, below = demand_at(demand, threshold * 0.99), demand_at(demand, threshold * 1.01)
        assert below * (1 - 1e-6) <= budget <= above * (1 + 1e-6)


def test_more_budget_than_all_can_take_sets_no_threshold_and_none_sets_it_out_of_reach() -> None:
    demand = np.zeros(POINTS)
    add_demand(demand, CURVES[OPTIMAL, 0.0, 1.0], row_of(1.0), 1e6, 1.0, 1.0, 3600.0, 1.0)
    assert demand[0] == pytest.approx(1 / 3600)
    assert solve_threshold(demand, 1.0) == 0.0
    assert solve_threshold(demand, 0.0) == math.inf
    assert demand_at(demand, 0.0) == pytest.approx(1 / 3600)
    assert demand_at(demand, math.inf) == 0.0


def test_the_paper_s_threshold_is_the_square_of_its_k() -> None:
    random = np.random.default_rng(1)
    demand, roots, budget = np.zeros(POINTS), 0.0, 1e-3
    for _ in range(200):
        x, rate = random.pareto(1.5) + 0.1, math.exp(random.normal(-14.0, 1.0))
        roots += math.sqrt(x * rate)
        add_demand(demand, CURVES[PAPER, 0.0, 1.0], row_of(2.0), 2.0 / rate, x, 1.0, 1.0, 1.0)
    assert solve_threshold(demand, budget) == pytest.approx((roots / budget) ** 2, rel=0.02)
