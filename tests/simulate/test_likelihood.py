import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.refresh.learning.rates import likeliest_rate
from centime.refresh.learning.verdict import Verdict
from centime.simulate.likelihood import START_RATE, RateEstimates

DAY = 86_400.0


def observed(intervals: list[tuple[float, bool]]) -> float:
    estimates = RateEstimates(1)
    for interval, changed in intervals:
        verdict = np.array([Verdict.CHANGED if changed else Verdict.QUIET], dtype=np.uint8)
        estimates.observe(np.array([0]), np.array([interval]), verdict)
    return float(estimates.rates[0])


@given(st.lists(st.tuples(st.floats(600, 400 * DAY), st.booleans()), min_size=2, max_size=40))
def test_the_rate_is_the_likeliest_one_where_something_changed_and_something_did_not(
    intervals: list[tuple[float, bool]],
) -> None:
    changed = np.array([interval for interval, did in intervals if did])
    quiet = sum(interval for interval, did in intervals if not did)
    rate = observed(intervals)
    assert 0 < rate < np.inf
    if len(changed) and quiet:
        exact = likeliest_rate(quiet, changed)
        assert rate == pytest.approx(exact, rel=0.02 if exact * changed.min() < 2 else 0.15)


def test_without_a_change_the_rate_falls_and_with_nothing_else_it_rises() -> None:
    quiet = [observed([(DAY, False)] * count) for count in (1, 5, 25, 125)]
    changed = [observed([(DAY, True)] * count) for count in (1, 5, 25, 125)]
    assert quiet == sorted(quiet, reverse=True)
    assert changed == sorted(changed)
    assert max(quiet) < min(changed)


def test_a_page_read_once_has_the_mean_rate() -> None:
    estimates = RateEstimates(3)
    assert estimates.rates.tolist() == [START_RATE] * 3
    for _ in range(400):
        estimates.observe(np.array([0]), np.array([DAY]), np.array([Verdict.CHANGED], dtype=np.uint8))
        estimates.observe(np.array([0]), np.array([DAY]), np.array([Verdict.QUIET], dtype=np.uint8))
    estimates.observe(
        np.array([1, 2]), np.array([np.nan, DAY]), np.array([Verdict.FIRST, Verdict.FAILED], dtype=np.uint8)
    )
    assert estimates.rates[1] == estimates.rates[2] == pytest.approx(0.5 / DAY, rel=0.03)
