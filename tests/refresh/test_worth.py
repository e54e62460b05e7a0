import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import integrate

from centime.refresh.worth import LONGEST, OPTIMAL, PAPER, UNIFORM, age_at, index_at

SHAPES = st.floats(0.2, 75.0)
RATES = st.floats(1e-2, 1e10)
AGES = st.floats(1e-3, 1e9)
WEIGHTS = st.sampled_from([(0.0, 1.0), (1.0, 0.0), (0.3, 2.0), (1e-6, 1.0)])
RULES = st.sampled_from([OPTIMAL, PAPER, UNIFORM])


@given(RULES, WEIGHTS, SHAPES, RATES, AGES, st.floats(1.0, 10.0))
def test_the_index_never_falls_with_age_and_is_a_number(
    rule: float, weights: tuple[float, float], shape: float, rate: float, age: float, times: float
) -> None:
    here, later = (index_at(rule, *weights, shape, rate, 1.0, a) for a in (age, age * times))
    assert math.isfinite(here)
    assert math.isfinite(later)
    assert 0 <= here <= later * (1 + 1e-12)


@given(WEIGHTS, st.floats(0.2, 20.0), st.floats(1e-3, 30.0))
def test_the_index_is_age_times_penalty_less_the_penalty_so_far(
    weights: tuple[float, float], shape: float, age: float
) -> None:
    alpha, beta = weights

    def penalty(a: float) -> float:
        return alpha * shape * a + beta * -math.expm1(-shape * math.log1p(a))

    total = integrate.quad(penalty, 0, age, epsabs=0, epsrel=1e-12)[0]
    assert index_at(OPTIMAL, alpha, beta, shape, 1.0, 1.0, age) == pytest.approx(
        age * penalty(age) - total, rel=1e-6, abs=1e-9
    )


@given(SHAPES, st.floats(1e-12, 1e-4))
def test_small_ages_lose_no_digits(shape: float, u: float) -> None:
    # the next term of the series is below (S+4)^3 u^3, so two terms and a bound say enough
    value = index_at(OPTIMAL, 0.0, 1.0, shape, 1.0, 1.0, u)
    z = (shape + 1) * u
    expected = shape * u * u * (0.5 - z / 3 + z * (shape + 2) * u / 8)
    assert value == pytest.approx(expected, rel=((shape + 4) * u) ** 3 + 1e-9)


@given(st.floats(1e-9, 1e-2), st.floats(1.0, 1e7))
def test_a_rate_known_for_sure_gives_the_formula_of_a_poisson_process(rate: float, age: float) -> None:
    z = rate * age
    assume(1e-3 < z < 50)
    shape = 1e9
    expected = (1 - math.exp(-z) * (1 + z)) / rate
    assert index_at(OPTIMAL, 0.0, 1.0, shape, shape / rate, 1.0, age) == pytest.approx(expected, rel=1e-5)


@given(RULES, WEIGHTS, SHAPES, RATES, st.floats(1e-6, 1e6), st.floats(1e-12, 1e12))
def test_a_page_is_worth_the_threshold_at_the_age_at_which_it_should_be(
    rule: float, weights: tuple[float, float], shape: float, rate: float, scale: float, threshold: float
) -> None:
    age = age_at(rule, *weights, shape, rate, scale, threshold)
    assert age > 0
    if math.isinf(age):
        assert index_at(rule, *weights, shape, rate, scale, LONGEST) <= threshold * (1 + 1e-9)
    else:
        assert index_at(rule, *weights, shape, rate, scale, age) == pytest.approx(threshold, rel=1e-7)


def test_pages_that_surely_change_too_fast_are_never_worth_it() -> None:
    assert age_at(OPTIMAL, 0.0, 1.0, 50.0, 50.0 * 60, 1.0, 1000.0) == math.inf
    assert age_at(OPTIMAL, 0.0, 1.0, 50.0, 50.0 * 60, 100.0, 1000.0) < 3600.0
    assert age_at(OPTIMAL, 0.1, 1.0, 50.0, 50.0 * 60, 1.0, 1000.0) < math.inf  # age counts too


def test_the_papers_rule_goes_by_the_root_of_importance_and_rate() -> None:
    rate = 1e-5
    assert age_at(PAPER, 0.0, 1.0, 2.0, 2.0 / rate, 3.0, 7.0**2) == pytest.approx(7 / math.sqrt(3 * rate))


def test_without_a_threshold_every_age_is_old_enough() -> None:
    assert age_at(OPTIMAL, 0.0, 1.0, 2.0, 100.0, 1.0, 0.0) == 0.0
