import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import integrate, optimize

from centime.refresh.learning import belief
from centime.refresh.learning.evidence import SLOWNESS, SWITCHING

quiet = belief.quiet
dated = belief.dated
changed = belief.changed
kept_share = belief.kept_share

EVIDENCE = st.tuples(st.floats(0.0, 63.0), st.floats(0.0, 1e8))
PRIORS = st.tuples(st.floats(0.02, 10.0), st.floats(1e-9, 1e-2))
INTERVALS = st.floats(1.0, 1e9)


@given(EVIDENCE, PRIORS, INTERVALS)
def test_a_change_adds_at_most_one_and_never_takes_evidence_away(
    evidence: tuple[float, float], prior: tuple[float, float], interval: float
) -> None:
    s, b = changed(*evidence, *prior, interval)
    assert 0 <= s - evidence[0] <= 1 + 1e-9
    assert b - evidence[1] >= 0
    # seeing a change never makes one believe in fewer changes
    k, m = prior
    before = (k + evidence[0]) / (k / m + evidence[1])
    assert (k + s) / (k / m + b) >= before * (1 - 1e-9)


@given(st.floats(0.0, 20.0), st.floats(0.0, 20.0), st.floats(0.3, 5.0), st.floats(0.1, 3.0), st.floats(0.01, 30.0))
@example(19.0, 0.0, 5.0, 0.25, 1.0)
def test_a_change_somewhere_is_matched_by_its_first_two_moments(
    s: float, b: float, k: float, m: float, interval: float
) -> None:
    shape, rate = k + s, k / m + b
    middle = math.log(shape / rate)
    highest = shape * middle - shape  # the integral has an absolute tolerance, so the density is about 1 there

    def moment(power: int) -> float:
        def density(z: float) -> float:  # λ = e^z, so that the density has no pole at 0
            height = math.exp((shape + power) * z - rate * math.exp(z) - highest)
            return height * -math.expm1(-math.exp(z) * interval)

        return float(integrate.quad(density, middle - 60 / shape - 5, middle + 6, limit=400, points=[middle])[0])

    mean = moment(1) / moment(0)
    variance = moment(2) / moment(0) - mean**2
    after_s, after_b = changed(s, b, k, m, interval)
    assert (k + after_s) / (k / m + after_b) == pytest.approx(mean, rel=1e-4)
    assert (k + after_s) / (k / m + after_b) ** 2 == pytest.approx(variance, rel=1e-3)


def test_quiet_intervals_and_dated_changes_are_exact() -> None:
    assert quiet(2.0, 100.0, 10.0) == (2.0, 100.0 + 10.0)
    assert dated(2.0, 100.0, 3.0) == (2.0 + 1.0, 100.0 + 3.0)


def test_a_change_in_no_time_counts_as_one_dated_now() -> None:
    s, b = changed(1.0, 100.0, 0.5, 1e-3, 1e-6)
    assert s == pytest.approx(2.0)
    assert b == pytest.approx(100, rel=1e-6)


def test_a_change_in_ages_says_nothing() -> None:
    assert changed(1.0, 100.0, 0.5, 1e-3, 1e30) == pytest.approx((1.0, 100.0), rel=1e-6)


@given(EVIDENCE, PRIORS, INTERVALS, st.one_of(st.just(math.inf), st.just(-1.0), st.floats(0.0, 1.0)))
def test_an_observation_leaves_a_share_of_the_evidence(
    evidence: tuple[float, float], prior: tuple[float, float], interval: float, since: float
) -> None:
    shown = since * interval if 0.0 <= since <= 1.0 else since
    assert 0.0 <= kept_share(*evidence, *prior, interval, shown) <= 1.0


def test_evidence_that_is_confirmed_fades_slowly_with_time_and_not_with_reads() -> None:
    day = 86_400.0
    k, m = 1.0, 1.0 / day
    often = 1.0
    for _ in range(64):
        often *= kept_share(0.0, 0.0, k, m, day / 64, math.inf)
    once = kept_share(0.0, 0.0, k, m, day, math.inf)
    assert often == pytest.approx(math.exp(-day / (SLOWNESS * SWITCHING)), rel=1e-4)
    assert once == pytest.approx(often, rel=1e-4)


def test_a_page_that_froze_loses_the_evidence_of_its_changes_at_once() -> None:
    day = 86_400.0
    k, m = 0.5, 1.0 / (10 * day)
    s, b = 60.0, 60.0 / 8 * day  # eight changes a day
    assert kept_share(s, b, k, m, 3 * day, math.inf) < 0.01, "three quiet days"
    assert kept_share(s, b, k, m, 60 * day, 50 * day) < 0.01, "a last change fifty days ago"
    assert kept_share(s, b, k, m, 0.1 * day, math.inf) > 0.99, "two hours are nothing unusual"
    assert kept_share(s, b, k, m, 2 * day, -1.0) > 0.98, "another change is expected"


def test_a_page_that_wakes_up_loses_the_evidence_of_its_rest_soon() -> None:
    day = 86_400.0
    k, m = 0.5, 1.0 / (10 * day)
    s, b = 0.0, 1000 * day
    kept = 1.0
    for _ in range(6):
        share = kept_share(s, b, k, m, 5 * day, -1.0)
        kept *= share
        s, b = changed(s * share, b * share, k, m, 5 * day)
    assert kept < 0.3
    assert (k + s) / (k / m + b) > 0.02 / day


def most_likely(intervals: npt.NDArray[np.float64], changes: npt.NDArray[np.bool_]) -> float:
    """The rate at which exp(-λ Σ quiet) Π (1 - exp(-λ c)) is largest."""
    if changes.all() or not changes.any():
        return math.inf if changes.all() else 0.0

    def slope(rate: float) -> float:
        return float(
            (intervals[changes] / np.expm1(np.minimum(rate * intervals[changes], 700.0))).sum()
            - intervals[~changes].sum()
        )

    return float(optimize.brentq(slope, 1e-9, 1e9))


def test_ten_irregular_observations_tell_the_rate_within_35_percent_and_better_than_the_most_likely_rate_does() -> None:
    random = np.random.default_rng(3)
    k, ours, theirs, sums = 0.6, [], [], np.zeros(2)
    for _ in range(800):
        rate = random.gamma(k, 1 / k)
        intervals = np.exp(random.normal(0.0, 0.7, 10)) / math.sqrt(rate)
        changes = random.random(10) < -np.expm1(-rate * intervals)
        s, b = 0.0, 0.0
        for interval, change in zip(intervals.tolist(), changes.tolist(), strict=True):
            s, b = changed(s, b, k, 1.0, interval) if change else quiet(s, b, interval)
        mean = (k + s) / (k + b)
        ours.append(abs(mean / rate - 1))
        theirs.append(abs(most_likely(intervals, changes) / rate - 1))
        sums += mean, rate
    assert np.median(ours) < 0.35
    assert np.median(ours) < np.median(theirs)
    assert abs(sums[0] / sums[1] - 1) < 0.05
