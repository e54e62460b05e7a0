import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.refresh.book import RefreshBook
from centime.refresh.learning.information import AGE, INTERVAL, gain_of_test
from centime.refresh.learning.verdict import Verdict
from centime.refresh.settings import RefreshSettings
from centime.refresh.tables import GRID_POINTS
from tests.refresh.learning.test_posterior import RATIOS, M, weighed

DAY = 86_400.0


@given(st.floats(0.0, 64.0), st.floats(1e3, 1e7), st.floats(0.0, 1e8), st.floats(1e-3, 1e3))
def test_a_test_gains_what_reads_gain_after_it_shows_no_change(n: float, c: float, v: float, ratio: float) -> None:
    t = weighed(n, c, v)
    rates, w = M * RATIOS, ratio / M
    quiet = t.scratch * np.exp(-rates * AGE * w)  # and the posterior after that, times its probability
    intervals = rates * INTERVAL * w
    fresh = (quiet * -np.expm1(-intervals) / intervals).sum()
    assert len(rates) == GRID_POINTS
    assert gain_of_test(t, M, w) == pytest.approx(fresh - quiet.sum() / INTERVAL, abs=2e-3)


def given_up(apart: float) -> tuple[RefreshBook, float]:
    """A book in which one important page (0) among 400 slow ones changed at each of 12 reads that were so far apart,
    and when the page was last read.
    """
    book = RefreshBook(0.0, RefreshSettings(budget=0.005 * 400 / DAY), lambda pages: pages * 0)
    pages = np.arange(400)
    now, zeros = 0.0, np.zeros(400)
    importance = np.where(pages == 0, 10.0, 0.5)
    book.record(pages, pages * 0, 0.0, np.full(400, Verdict.FIRST), zeros, zeros + 1, importance)
    for look in range(1, 13):
        now = look * apart
        book.record(pages[:1], zeros[:1], now, np.array([Verdict.CHANGED]), zeros[:1], zeros[:1] + 1, importance[:1])
    quiet = np.where(pages[1:] % 2 == 0, Verdict.QUIET, Verdict.CHANGED)
    book.record(pages[1:], zeros[1:], now, quiet, zeros[1:], zeros[1:] + 1, importance[1:])
    for _ in range(6):
        book.refile(now, lambda some: importance[some])
    return book, now


def test_a_page_that_changed_between_reads_far_apart_is_tested_and_one_that_surely_changes_too_fast_is_not() -> None:
    one, ten = np.array([0]), np.array([10.0])
    book, now = given_up(7 * DAY)
    assert np.isinf(book.due_times(one, ten, probed=False)), "by its worth"
    assert book.due_times(one, ten)[0] - now == pytest.approx(AGE * book.threshold / 10.0)
    fast, now = given_up(DAY / 24)
    assert fast.due_times(one, ten)[0] - now > 100 * DAY


def test_changes_that_are_expected_cost_no_evidence_though_pages_are_usually_faster() -> None:
    book = RefreshBook(0.0, RefreshSettings(budget=1.0, first_rate=200 / DAY), lambda pages: pages * 0)
    one = np.array([0])
    for number in range(61):  # a page that changes some times a day
        verdict = Verdict.FIRST if number == 0 else Verdict.QUIET if number in (3, 20) else Verdict.CHANGED
        book.record(one, one, number * DAY / 2, np.array([verdict]), np.zeros(1), np.ones(1), np.ones(1))
    assert book.state()[1]["s"][0] / 1024 > 50.0, "and not 9, as if each change were a reason to doubt the others"
