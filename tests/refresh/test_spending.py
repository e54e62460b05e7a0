"""The budget is spent: the book's budget grows while less is read, and is never below the true one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.refresh.spending import ENOUGH, MOST, Spending


def after(spent_share: float, rounds: int, start: float = 1.0) -> Spending:
    spending = Spending(factor=start)
    for second in range(1, int(rounds * ENOUGH) + 3):
        spending.observe(float(second), spent_share, 1.0, 1.0)
    return spending


def test_the_factor_makes_up_for_what_is_missing() -> None:
    assert after(0.8, 1).factor == pytest.approx(1.25, rel=0.02)
    assert after(0.1, 1).factor == 2.0
    assert after(0.995, 3).factor == 1.0
    assert after(1.0, 2, start=2.0).factor == pytest.approx(2.0 * 0.98 * 0.98)


def test_a_crawl_that_was_stopped_has_spent_nothing() -> None:
    spending = Spending()
    spending.observe(1.0, 1.0, 1.0, 1.0)
    assert spending.observe(1e6, 1.0, 1.0, 1.0)
    assert spending.factor == 2.0, "a whole year counts as one comparison"


@pytest.mark.parametrize("budget", [1e-5, 1e-3, 0.1, 10.0])
def test_what_is_missing_is_found_at_any_budget(budget: float) -> None:
    spending, now = Spending(), 1.0
    for _ in range(200):
        now += 10.0 / budget  # ten reads at once, in the time of twenty
        spending.observe(now, 5.0, budget, 1.0)
    assert spending.factor > 8.0


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0, 1e6)), max_size=60), st.floats(1e-6, 1e6))
def test_the_factor_stays_between_one_and_the_most(steps: list[tuple[float, float]], budget: float) -> None:
    spending, now = Spending(), 0.0
    for step, spent in steps:
        now += step
        before = spending.factor
        changed = spending.observe(now, spent, budget, 1.0)
        assert 1.0 <= spending.factor <= MOST
        assert changed == (spending.factor != before)


def test_a_budget_of_bytes_is_not_raised_because_few_large_pages_decide_what_was_spent() -> None:
    spending, now, chance, factors = Spending(), 1.0, np.random.default_rng(3), []
    costs = chance.lognormal(0.0, 2.0, 20_000)
    mean = float(costs.mean())
    for cost in costs.tolist():
        now += cost  # a byte per second is spent, neither more nor less
        spending.observe(now, cost, 1.0, mean)
        factors.append(spending.factor)
    assert np.mean(factors) < 1.1
