"""A budget is never overdrawn by more than its room."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.crawl.engine.budget import Bucket


@given(rate=st.floats(0.1, 1000), steps=st.lists(st.floats(0, 2), min_size=1, max_size=50))
def test_over_any_time_no_more_is_spent_than_rate_times_time_and_the_room(rate: float, steps: list[float]) -> None:
    bucket = Bucket(rate, 0.0)
    now, spent = 0.0, 0.0
    for step in steps:
        now += step
        whole = int(bucket.left(now))
        if whole > 0:
            bucket.spend(whole)
            spent += whole
        assert spent <= rate * now + max(1.0, rate) + 1e-6


def test_an_overdrawn_budget_is_made_up_for_by_waiting() -> None:
    bucket = Bucket(10.0, 0.0)
    bucket.left(0.0)
    bucket.spend(21.0)
    assert bucket.left(1.0) == pytest.approx(-10.0)
    assert bucket.wait() == pytest.approx(1.1)
    assert bucket.left(1.0 + bucket.wait() + 1e-9) >= 1.0


def test_without_a_rate_there_is_no_end() -> None:
    bucket = Bucket(None, 0.0)
    bucket.spend(1e9)
    assert bucket.left(0.0) == float("inf")
    assert bucket.wait() == 0.0
