import math

import numpy as np
import pytest

from centime.refresh.learning import doubt, posterior
from centime.refresh.learning.doubt import FIRST_AGE, LEAST, MOST, learn_doubt
from centime.refresh.learning.pooling import with_prior
from centime.refresh.tables import DOUBTED, DOUBTING, DOUBTS, RefreshTables, empty_refresh_tables

DAY = 86_400.0
M = 1.0 / (20 * DAY)
weigh = posterior.weigh
fresh_shares = posterior.fresh_shares
note_read = doubt.note_read


def of_a_fast_page() -> RefreshTables:
    """The tables with the posterior of a page that changed twenty times, each time within an hour."""
    t = with_prior(empty_refresh_tables(), M)
    weigh(t, 20.0, 3_600.0, 20 * 3_600.0, M)
    return t


def quiet_share(t: RefreshTables, interval: float, rate: float) -> float:
    """How often a page that takes up another habit at this rate shows no change in an interval."""
    kept = np.exp(-M * t.ratios * interval)
    old, new = float(t.scratch @ kept), float(t.weights @ kept)
    return old - math.expm1(-rate * interval) * (new - old)


@pytest.mark.parametrize("days", [60.0, 150.0, 400.0])
def test_the_rate_at_which_pages_change_their_habits_is_learned(days: float) -> None:
    t, chance, rate = of_a_fast_page(), np.random.default_rng(3), 1.0 / (days * DAY)
    for interval in chance.uniform(2 * DAY, 20 * DAY, 20_000):
        note_read(t, M, interval, bool(chance.random() < quiet_share(t, interval, rate)))
    learn_doubt(t)
    assert t.facts[DOUBTING] == pytest.approx(rate, rel=0.2)


def test_where_no_page_changes_its_habits_nothing_is_doubted_after_some_reads() -> None:
    t = of_a_fast_page()
    learn_doubt(t)
    assert t.facts[DOUBTING] == pytest.approx(1.0 / FIRST_AGE)
    for _ in range(300):
        note_read(t, M, 30 * DAY, False)
    learn_doubt(t)
    assert t.facts[DOUBTING] == 0.0


def test_a_web_that_begins_to_change_its_habits_is_doubted_again() -> None:
    t = of_a_fast_page()
    for _ in range(2_000):
        note_read(t, M, 30 * DAY, False)
    before, reads = float(t.facts[DOUBTED]), 0
    while t.facts[DOUBTING] < LEAST:
        note_read(t, M, 30 * DAY, True)
        learn_doubt(t)
        reads += 1
    assert before > 0.0
    assert reads < 200


def test_doubt_has_a_bound() -> None:
    t = of_a_fast_page()
    for _ in range(10_000):
        note_read(t, M, 3 * DAY, True)
    learn_doubt(t)
    assert t.facts[DOUBTING] == MOST


def test_a_page_that_the_prior_takes_for_faster_teaches_nothing() -> None:
    t = with_prior(empty_refresh_tables(), M)
    weigh(t, 0.0, 0.0, 400 * DAY, M)
    note_read(t, M, 30 * DAY, True)
    assert t.facts[DOUBTS] == t.facts[DOUBTED] == 0.0


def test_an_old_copy_of_a_page_that_is_doubted_counts_as_one_of_any_page() -> None:
    t = of_a_fast_page()
    sure = fresh_shares(t, M, 30 * DAY)
    t.facts[DOUBTING] = 1.0 / (40 * DAY)
    doubted = fresh_shares(t, M, 30 * DAY)
    assert doubted[0] == pytest.approx(quiet_share(t, 30 * DAY, 1.0 / (40 * DAY)), rel=0.02)
    assert doubted[0] > sure[0]
    assert doubted[1] > sure[1]
