import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.lab.refreshing import known_web
from centime.simulate.rules import RULES, weighted_freshness

DESIGN = {  # budget: uniform, proportional, square root, threshold, of 200 000 pages
    0.02: (0.445, 0.541, 0.665, 0.777),
    0.05: (0.588, 0.641, 0.793, 0.849),
    0.1: (0.690, 0.714, 0.867, 0.895),
    0.3: (0.822, 0.820, 0.942, 0.948),
}


def test_the_rules_give_the_freshness_of_the_design_s_table() -> None:
    """The design does not give the parameters of the two laws: those of `known_web` are fitted to it."""
    importance, rates = known_web(20_000)
    pages = len(rates)
    for budget, expected in DESIGN.items():
        found = [
            weighted_freshness(importance, rates, rule(importance, rates, budget * pages)) for rule in RULES.values()
        ]
        assert found == pytest.approx(expected, abs=0.015)
        assert found == sorted(found) or budget == 0.3


@pytest.mark.long
@given(st.lists(st.tuples(st.floats(0.01, 100), st.floats(0.001, 50)), min_size=2, max_size=30), st.floats(0.1, 5))
def test_every_rule_spends_the_budget_and_none_is_better_than_the_threshold(
    pages: list[tuple[float, float]], speed: float
) -> None:
    importance, rates = (np.array(column) for column in zip(*pages, strict=True))
    found = {}
    budget = speed * rates.sum()
    for name, rule in RULES.items():
        intervals = rule(importance, rates, budget)
        assert (1 / intervals).sum() <= budget * (1 + 1e-6)
        found[name] = weighted_freshness(importance, rates, intervals)
    assert found["threshold"] >= max(found.values()) - 0.02 / len(pages) - 1e-6


def test_a_page_never_read_is_never_fresh_and_one_that_never_changes_always() -> None:
    one = np.ones(1)
    assert weighted_freshness(one, one, np.array([np.inf])) == 0.0
    assert weighted_freshness(one, np.zeros(1), one) == 1.0
