import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from centime.refresh.learning.rates import (
    ESTIMATORS,
    Vector,
    dated_rate,
    estimates,
    finite_rate,
    likeliest_rate,
    log_likelihood,
    printed_dated_rate,
    printed_rate,
)

lengths = st.floats(1.0, 1e7)
some = st.lists(lengths, min_size=1, max_size=12)


def vector(values: list[float]) -> Vector:
    return np.array(values, dtype=np.float64)


def score(rate: float, quiet: float, changed: Vector, dated: int) -> float:
    return float(np.sum(changed / np.expm1(np.minimum(rate * changed, 700.0)))) + dated / rate - quiet


def printed(rate: Vector, quiet: float, changed: Vector) -> Vector:
    """The logarithm of Eq. 9, with its sum."""
    logs: Vector = -rate * quiet + np.log(-np.expm1(-rate[:, None] * changed[None, :]).sum(axis=1))
    return logs


@given(quiet=lengths, changed=some, dated=st.integers(0, 5))
@settings(deadline=None)
def test_the_score_changes_its_sign_at_the_likeliest_rate(quiet: float, changed: list[float], dated: int) -> None:
    rate = likeliest_rate(quiet, vector(changed), dated)
    assert (
        score(rate * (1 - 1e-9), quiet, vector(changed), dated)
        > 0
        > score(rate * (1 + 1e-9), quiet, vector(changed), dated)
    )


@given(quiet=lengths, changed=some)
@settings(deadline=None, max_examples=50)
def test_no_rate_of_a_grid_is_likelier(quiet: float, changed: list[float]) -> None:
    intervals = vector(changed)
    best = likeliest_rate(quiet, intervals)
    best_log = log_likelihood(best, quiet, intervals)
    grid = np.geomspace(best / 50, best * 50, 2001)
    logs = [log_likelihood(float(rate), quiet, intervals) for rate in grid]
    assert max(logs) <= best_log + 1e-9
    assert grid[int(np.argmax(logs))] == pytest.approx(best, rel=0.01)


@given(quiet=lengths, changed=some)
@settings(deadline=None, max_examples=50)
def test_no_rate_of_a_grid_makes_the_printed_form_larger(quiet: float, changed: list[float]) -> None:
    intervals = vector(changed)
    best = printed_rate(quiet, intervals)
    grid = np.geomspace(best / 50, best * 50, 2001)
    logs = printed(grid, quiet, intervals)
    assert logs.max() <= printed(vector([best]), quiet, intervals)[0] + 1e-9
    assert grid[int(np.argmax(logs))] == pytest.approx(best, rel=0.01)


@given(changes=st.integers(1, 40), quiet=st.integers(1, 40), interval=lengths)
@settings(deadline=None)
def test_regular_intervals_give_the_closed_forms(changes: int, quiet: int, interval: float) -> None:
    seen, intervals = np.full(changes, interval), changes + quiet
    assert likeliest_rate(quiet * interval, seen) == pytest.approx(
        -math.log(1 - changes / intervals) / interval, rel=1e-12
    )
    assert finite_rate(quiet * interval, seen, intervals) == pytest.approx(
        -math.log(1 - changes / (intervals + 0.5)) / interval, rel=1e-12
    )
    assert printed_rate(quiet * interval, seen) == pytest.approx(math.log(1 + 1 / quiet) / interval, rel=1e-12)


@given(quiet=lengths, changed=some, scale=st.floats(1e-3, 1e3))
@settings(deadline=None)
def test_another_unit_of_time_gives_the_same_rate_in_that_unit(
    quiet: float, changed: list[float], scale: float
) -> None:
    intervals = vector(changed)
    for estimate in (likeliest_rate, printed_rate, dated_rate):
        assert estimate(quiet * scale, intervals * scale) * scale == pytest.approx(estimate(quiet, intervals), rel=1e-9)
    assert printed_dated_rate(intervals * scale) * scale == pytest.approx(printed_dated_rate(intervals), rel=1e-9)


@given(quiet=lengths, changed=some, more=lengths)
@settings(deadline=None)
def test_more_quiet_time_lowers_and_another_change_raises_the_likeliest_rate(
    quiet: float, changed: list[float], more: float
) -> None:
    rate = likeliest_rate(quiet, vector(changed))
    assert (
        likeliest_rate(quiet + more, vector(changed))
        < rate
        < likeliest_rate(quiet, vector([*changed, more])) * (1 + 1e-12)
    )
    assert finite_rate(quiet, vector(changed), len(changed) + 1) < rate


@given(quiet=lengths, since=some)
@settings(deadline=None)
def test_dated_changes_alone_have_their_maximum_at_the_corrected_form_and_the_printed_one_is_above(
    quiet: float, since: list[float]
) -> None:
    ages = vector(since)
    corrected = dated_rate(quiet, ages)
    assert likeliest_rate(quiet + ages.sum(), vector([]), len(since)) == pytest.approx(corrected, rel=1e-12)
    assert corrected == pytest.approx(len(since) / (quiet + sum(since)), rel=1e-12)
    assert printed_dated_rate(ages) > corrected


def test_with_many_changes_the_printed_sum_is_far_below_the_product() -> None:
    seen = np.full(20, 1.0)
    assert printed_rate(20.0, seen) == pytest.approx(math.log(1 + 1 / 20))
    assert likeliest_rate(20.0, seen) == pytest.approx(math.log(2))


def test_without_a_change_the_rate_is_nothing_and_with_changes_alone_infinite_or_corrected() -> None:
    none, three = vector([]), vector([1.0, 2.0, 3.0])
    assert [likeliest_rate(5.0, none), printed_rate(5.0, none), dated_rate(5.0, none), printed_dated_rate(none)] == [
        0,
        0,
        0,
        0,
    ]
    assert (finite_rate(5.0, none, 2), finite_rate(0.0, none, 0)) == (0, 0)
    assert likeliest_rate(0.0, three) == printed_rate(0.0, three) == math.inf
    assert dated_rate(0.0, vector([0.0])) == math.inf
    assert finite_rate(0.0, three, 3) == pytest.approx(likeliest_rate(1.0, three))


def test_the_likelihood_has_its_limits_at_nothing_and_infinity() -> None:
    none, one = vector([]), vector([2.0])
    assert (log_likelihood(0.0, 5.0, none), log_likelihood(0.0, 5.0, one)) == (0.0, -math.inf)
    assert (log_likelihood(math.inf, 0.0, one), log_likelihood(math.inf, 1.0, one)) == (0.0, -math.inf)
    assert log_likelihood(0.5, 4.0, one, 1) == pytest.approx(-2.0 + math.log(0.5) + math.log(1 - math.exp(-1)))


def test_a_sliver_of_quiet_time_is_no_trouble() -> None:
    rate = likeliest_rate(1e-200, vector([1.0, 1.0]))
    assert rate == pytest.approx(math.log(2) + 200 * math.log(10), rel=1e-9)


def test_many_pages_at_once_have_the_rates_of_each_alone() -> None:
    chance = np.random.default_rng(5)
    intervals, changed = chance.uniform(0.2, 1.8, (30, 6)), chance.random((30, 6)) < 0.5
    since = intervals * chance.random((30, 6))
    found = estimates(intervals, changed, since)
    assert tuple(found) == ESTIMATORS
    for page in range(30):
        quiet, seen = intervals[page][~changed[page]].sum(), intervals[page][changed[page]]
        ages = since[page][changed[page]]
        alone = (
            printed_rate(quiet, seen),
            likeliest_rate(quiet, seen),
            finite_rate(quiet, seen, 6),
            printed_dated_rate(ages),
            dated_rate(quiet, ages),
        )
        assert [found[name][page] for name in ESTIMATORS] == pytest.approx(alone, rel=1e-12)


def test_over_many_pages_the_likeliest_rate_finds_the_truth_and_eq_10_as_printed_does_not() -> None:
    chance, rate = np.random.default_rng(1), 0.7
    intervals = chance.exponential(1.0, (400, 500))
    changed = chance.random(intervals.shape) < -np.expm1(-rate * intervals)
    since = -np.log1p(chance.random(intervals.shape) * np.expm1(-rate * intervals)) / rate
    means = {name: float(values.mean()) for name, values in estimates(intervals, changed, since).items()}
    for name in ("Eq. 9 product", "Eq. 9 product, finite", "Eq. 10 corrected"):
        assert means[name] == pytest.approx(rate, rel=0.02)
    assert means["Eq. 9 printed"] < 0.02 * rate
    assert means["Eq. 10 printed"] > 2 * rate
