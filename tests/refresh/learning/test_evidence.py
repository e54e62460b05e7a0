import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.refresh.book import RefreshBook
from centime.refresh.learning import evidence
from centime.refresh.learning.evidence import MOST_CHANGES, SLOWNESS, SWITCHING, UNIT
from centime.refresh.learning.verdict import Verdict
from centime.refresh.settings import RefreshSettings

joint_interval = evidence.joint_interval
kept_share = evidence.kept_share
stored_changes = evidence.stored_changes
stored_times = evidence.stored_times
stored_interval = evidence.stored_interval
widened = evidence.widened

INTERVALS = st.floats(1.0, 1e8)
RATES = st.floats(1e-9, 1e-2)


@given(st.floats(0.1, 64.0), INTERVALS, INTERVALS, RATES)
def test_the_interval_that_stands_for_several_lies_between_them_and_gives_the_likelihood_their_slope(
    n: float, c: float, interval: float, rate: float
) -> None:
    joint = joint_interval(n, c, interval, rate)

    def slope(t: float) -> float:
        return t / math.expm1(rate * t) if rate * t < 500 else 0.0

    if joint > 0:
        assert min(c, interval) * 0.999 <= joint <= max(c, interval) * 1.001
    wanted = (n * slope(c) + slope(interval)) / (n + 1)
    assert (slope(joint) * rate if joint else 1.0) == pytest.approx(wanted * rate, rel=0.02, abs=1e-6)


def test_intervals_that_are_alike_and_dated_changes_are_exact() -> None:
    assert joint_interval(3.0, 5000.0, 5000.0, 1e-4) == pytest.approx(5000.0)
    assert joint_interval(3.0, 0.0, 0.0, 1e-4) == 0.0


@given(st.floats(0.0, 1e9), st.one_of(st.just(0.0), INTERVALS), st.floats(0.0, 0.999))
def test_times_are_stored_in_one_number_and_come_back_nearly(v: float, c: float, drawn: float) -> None:
    both = stored_times(v, c, drawn)
    assert math.isfinite(both)
    assert float(both) == pytest.approx(v, rel=2.0**-14, abs=1e-30)
    assert stored_interval(both) == pytest.approx(c, rel=0.1)


def test_the_drawn_steps_of_an_interval_are_right_on_average() -> None:
    back = [stored_interval(stored_times(1e6, 7777.0, (i + 0.5) / 1000)) for i in range(1000)]
    assert np.log2(back).mean() == pytest.approx(math.log2(7777.0), abs=0.01)


@given(st.floats(0.0, 64.0))
def test_changes_are_stored_to_a_thousandth_and_never_overflow(n: float) -> None:
    assert int(stored_changes(n)) * UNIT == pytest.approx(min(n, MOST_CHANGES), abs=UNIT)


@given(st.floats(1e-30, 1.0), st.floats(1e-30, 1.0), INTERVALS)
def test_a_read_leaves_a_share_of_the_evidence(old: float, new: float, interval: float) -> None:
    assert 0.0 <= kept_share(old, new, interval) <= 1.0


def test_evidence_that_is_confirmed_fades_slowly_and_evidence_that_is_contradicted_at_once() -> None:
    day = 86_400.0
    assert kept_share(0.9, 0.9, day) == pytest.approx(math.exp(-day / (SLOWNESS * SWITCHING)), rel=1e-4)
    assert kept_share(1e-10, 0.7, 3 * day) < 0.01


@given(st.floats(0.0, 1.0), st.floats(0.0, 64.0), st.floats(1e-3, 1e3), st.floats(1.0, 9.0), st.floats(1e-3, 1e3))
def test_widening_never_adds_evidence(kept: float, n: float, mean: float, spread: float, other: float) -> None:
    share, time = widened(kept, n, (mean, mean * mean * spread), (other, 2 * other * other))
    assert 0.0 < share <= 1.0
    assert 0.5 * share <= time <= 2.0 * share


def test_a_page_that_is_read_often_and_falls_silent_is_soon_believed_to_be_slow() -> None:
    book = RefreshBook(0.0, RefreshSettings(budget=1.0), lambda pages: np.zeros(len(pages), dtype=np.int64))
    one, hour, rates = np.array([0]), 3600.0, []

    def read(hours: float, verdict: Verdict, since: float = 0.0) -> None:
        book.record(one, one, hours * hour, np.array([verdict]), np.array([since * hour]), np.ones(1), np.ones(1))
        rates.append(float(book.rates(one)[0][0]) * 24 * hour)

    read(0.0, Verdict.FIRST)
    for number in range(1, 161):  # 20 days of 8 changes a day, each read shows when the last one was
        read(3.0 * number, Verdict.DATED, 1.0)
    assert rates[-1] > 8.0
    for number in range(1, 81):  # ten quiet days
        read(480.0 + 3.0 * number, Verdict.QUIET)
    assert rates[-1] < 2.0, "and not 3.6, as if all evidence counted alike"
