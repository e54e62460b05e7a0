import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from centime.refresh.learning.rhythm import (
    DAY,
    HOUR,
    PERIODS,
    WEEK,
    Flags,
    Rhythm,
    Vector,
    find_rhythm,
    holds,
    next_moment,
)

START = 1_700_000_000.0
phases = st.floats(0, 1, exclude_max=True)
seeds = st.integers(0, 2**32 - 1)


def moments(chance: np.random.Generator, mean: float, visits: int, law: str = "uniform") -> Vector:
    """The times of a first read and of so many visits more."""
    gaps = chance.uniform(0.2, 1.8, visits) if law == "uniform" else chance.exponential(1.0, visits)
    times: Vector = START + chance.uniform(0, WEEK) + mean * np.concatenate([[0.0], np.cumsum(gaps)])
    return times


def by_the_clock(times: Vector, period: float, phase: float) -> tuple[Flags, Vector]:
    """Whether a page that changes at a phase of each period has changed at each read, and when it last did."""
    turn = np.floor((times - phase) / period)
    return np.concatenate([[False], np.diff(turn) > 0]), turn * period + phase


def by_chance(chance: np.random.Generator, times: Vector, rate: float) -> Flags:
    """The same for a page that changes by a Poisson process."""
    return np.concatenate([[False], chance.random(len(times) - 1) < -np.expm1(-rate * np.diff(times))])


@pytest.mark.parametrize("law", ["uniform", "exponential"])
def test_of_twenty_thousand_poisson_pages_fewer_than_one_in_a_thousand_is_taken_for_regular(law: str) -> None:
    chance = np.random.default_rng(7)
    taken = 0
    for page in range(20_000):
        mean = (HOUR / 2, DAY / 2, 2 * DAY, 3.5 * DAY, WEEK)[page % 5]
        times = moments(chance, mean, 20, law)
        taken += find_rhythm(times, by_chance(chance, times, math.exp(chance.normal(0, 1.39)) / mean)) is not None
    assert taken < 20


@pytest.mark.parametrize("period", [DAY, WEEK])
@pytest.mark.parametrize(("law", "visits", "share"), [("uniform", 15, 0.9), ("exponential", 29, 0.97)])
def test_nine_in_ten_daily_and_weekly_pages_are_found_and_rightly(
    period: float, law: str, visits: int, share: float
) -> None:
    chance = np.random.default_rng(3)
    found = 0
    for _ in range(1000):
        times, phase = moments(chance, 0.45 * period, visits, law), chance.uniform(0, period)
        rhythm = find_rhythm(times, by_the_clock(times, period, phase)[0])
        if rhythm is not None:
            assert rhythm.period == period
            assert (phase - rhythm.phase_low) % period <= rhythm.phase_high - rhythm.phase_low
            found += 1
    assert found > share * 1000


@given(seed=seeds, phase=phases, period=st.sampled_from(PERIODS))
@settings(deadline=None, max_examples=60)
def test_just_after_the_phase_the_change_has_happened_and_few_moments_ago(
    seed: int, phase: float, period: float
) -> None:
    times = moments(np.random.default_rng(seed), 0.45 * period, 60)
    rhythm = find_rhythm(times, by_the_clock(times, period, phase * period)[0])
    assert rhythm is not None
    assert rhythm.period == period
    moment = next_moment(rhythm, float(times[-1]))
    assert times[-1] < moment <= times[-1] + period
    last = math.floor((moment - phase * period) / period) * period + phase * period
    assert 0 <= moment - last < 0.2 * period


def test_dates_show_an_hourly_page_that_is_read_once_a_day() -> None:
    times = moments(np.random.default_rng(1), DAY, 8)
    changed, dates = by_the_clock(times, HOUR, 600.0)
    assert changed[1:].all()
    assert find_rhythm(times, changed) is None
    rhythm = find_rhythm(times, changed, dates)
    assert rhythm is not None
    assert rhythm.period == HOUR
    assert rhythm.phase_low <= 600.0 <= rhythm.phase_high <= rhythm.phase_low + 0.021 * HOUR


def test_dates_of_a_poisson_page_are_no_rhythm() -> None:
    chance = np.random.default_rng(2)
    taken = 0
    for _ in range(3000):
        times = moments(chance, DAY, 12)
        rate = 2.0 / DAY
        ages = chance.exponential(1 / rate, len(times))
        changed = np.concatenate([[False], ages[1:] < np.diff(times)])
        taken += find_rhythm(times, changed, times - ages) is not None
    assert taken == 0


def test_a_date_older_than_a_period_speaks_against_it() -> None:
    times = moments(np.random.default_rng(1), DAY, 8)
    changed, dates = by_the_clock(times, HOUR, 600.0)
    assert find_rhythm(times, changed, np.where(np.arange(len(times)) == 4, dates - 2 * HOUR, dates)) is None


def test_one_interval_that_the_clock_does_not_explain_ends_the_rhythm() -> None:
    times = moments(np.random.default_rng(4), 0.45 * DAY, 30)
    changed, _ = by_the_clock(times, DAY, 9 * HOUR)
    assert find_rhythm(times, changed) is not None
    for place in range(1, len(times)):
        other = changed.copy()
        other[place] = not other[place]
        before, now = float(times[place - 1]), float(times[place])
        if now - before < DAY:
            assert find_rhythm(times, other) is None


def test_few_changes_few_visits_and_changes_at_every_read_are_no_rhythm() -> None:
    times = moments(np.random.default_rng(4), 0.45 * DAY, 30)
    changed, _ = by_the_clock(times, DAY, 9 * HOUR)
    fourth = int(np.flatnonzero(changed)[3])
    assert find_rhythm(times[: fourth + 1], changed[: fourth + 1]) is None
    assert find_rhythm(times[:3], changed[:3]) is None
    assert find_rhythm(times, np.ones(len(times), dtype=np.bool_)) is None
    assert find_rhythm(times, np.zeros(len(times), dtype=np.bool_)) is None


@given(period=st.sampled_from(PERIODS), low=phases, width=st.floats(0, 0.5), after=st.floats(0, 4e9))
def test_the_next_moment_is_the_first_after_at_the_end_of_the_phase(
    period: float, low: float, width: float, after: float
) -> None:
    rhythm = Rhythm(period, low * period, (low + width) * period)
    moment = next_moment(rhythm, after)
    assert after < moment <= after + period + 1e-5
    assert abs(math.remainder(moment - rhythm.phase_high, period)) < 1e-5


@given(seed=seeds, period=st.sampled_from(PERIODS), phase=phases, width=st.floats(0, 0.2), mean=st.floats(0.05, 3))
@settings(max_examples=50)
def test_a_rhythm_holds_for_every_interval_of_a_page_that_keeps_it(
    seed: int, period: float, phase: float, width: float, mean: float
) -> None:
    times = moments(np.random.default_rng(seed), mean * period, 40)
    changed, _ = by_the_clock(times, period, phase * period)
    rhythm = Rhythm(period, phase * period - width * period / 2, phase * period + width * period / 2 + 1e-3)
    for before, now, one in zip(times[:-1], times[1:], changed[1:], strict=True):
        assert holds(rhythm, float(before), float(now), changed=bool(one))


def test_a_rhythm_is_given_up_for_a_change_too_many_or_too_few() -> None:
    nine = Rhythm(DAY, 8.5 * HOUR, 9 * HOUR)
    assert not holds(nine, 10 * HOUR, 20 * HOUR, changed=True)
    assert not holds(nine, 8 * HOUR, 10 * HOUR, changed=False)
    assert not holds(nine, 8.7 * HOUR, DAY + 9.1 * HOUR, changed=False)
    assert holds(nine, 8.7 * HOUR, DAY + 8 * HOUR, changed=False)
    assert holds(nine, 8 * HOUR, 8.7 * HOUR, changed=False)
    assert holds(nine, 8 * HOUR, 8.7 * HOUR, changed=True)
