"""The rate at which pages go away, from reads that find them or not."""

import numpy as np
import pytest

from centime.refresh.learning.mortality import Mortality


def test_the_rate_is_that_of_a_simulation_in_which_pages_die() -> None:
    chance, rate, seen = np.random.default_rng(5), 1 / 120.0, Mortality()
    for _ in range(2_000):
        left = chance.exponential(1 / rate)
        while True:
            interval = chance.exponential(20.0)
            if left < interval:
                seen.died(interval)
                break
            left -= interval
            seen.lived(interval)
    assert seen.rate == pytest.approx(rate, rel=0.06)


def test_a_page_that_is_back_was_not_dead_and_without_deaths_the_rate_is_zero() -> None:
    seen = Mortality()
    assert seen.rate == 0.0
    seen.lived(100.0)
    assert seen.rate == 0.0
    seen.died(20.0)
    assert seen.rate == pytest.approx(1 / 110.0)
    seen.returned()
    seen.returned()
    assert seen.rate == 0.0
