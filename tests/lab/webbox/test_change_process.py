import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.lab.webbox import WebBox
from centime.lab.webbox.change_process import DAY, HIGHEST_RATE, LOWEST_RATE

pytestmark = pytest.mark.compiled

BOX = WebBox(hosts=20, pages=4_000, seed=1)

pages = st.integers(0, BOX.pages - 1)
days = st.floats(-10, 4_000)


@given(pages, days, days)
def test_versions_never_fall(page: int, one: float, other: float) -> None:
    early, late = sorted((BOX.start + one * DAY, BOX.start + other * DAY))
    assert 0 <= BOX.version(page, early) <= BOX.version(page, late)


@given(pages, st.floats(0, 1_000))
def test_versions_count_the_changes(page: int, until: float) -> None:
    time = BOX.start + until * DAY
    changes = BOX.changes(page, time)
    assert len(changes) == BOX.version(page, time)
    assert (np.diff(changes) >= 0).all()
    for number, change in enumerate(changes[:20].tolist()):
        assert BOX.start < change <= time + 0.01
        assert BOX.version(page, change - 0.01) <= number < BOX.version(page, change)


@pytest.mark.parametrize("until", [0.5, 100.0, 128.0, 1_000.0])
def test_the_number_of_changes_follows_the_law_of_poisson(until: float) -> None:
    means = BOX.rates() * until
    counts = BOX.versions(BOX.start + until * DAY)
    scores = (counts - means) / np.sqrt(means)
    assert abs(scores.mean()) < 4 / math.sqrt(len(scores))
    often = means > 1
    assert abs((scores[often] ** 2).mean() - 1) < 0.15


def test_gaps_between_changes_are_exponential() -> None:
    page = int(BOX.rates().argmax())
    gaps = np.diff(BOX.changes(page, BOX.start + 1_000 * DAY)) * BOX.rate(page) / DAY
    assert len(gaps) > 5_000
    assert gaps.mean() == pytest.approx(1, abs=0.06)
    assert (gaps > 1).mean() == pytest.approx(math.exp(-1), abs=0.03)
    assert abs(np.corrcoef(gaps[:-1], gaps[1:])[0, 1]) < 0.05


def test_rates_are_lognormal_about_the_median_asked_for() -> None:
    rates = WebBox(hosts=500, pages=20_000, changes_per_day=0.5).rates()
    assert np.median(rates) == pytest.approx(0.5, rel=0.15)
    assert 1.1 < np.log(rates).std() < 1.7
    assert LOWEST_RATE <= rates.min() < rates.max() <= HIGHEST_RATE


def test_before_its_first_change_a_page_is_as_old_as_its_rate_says() -> None:
    ages = (BOX.start - BOX.changed(BOX.start)) / DAY * BOX.rates()
    assert (ages >= 0).all()
    assert ages[BOX.rates() > 0.05].mean() == pytest.approx(1, abs=0.1)


def test_changed_is_the_last_of_the_changes() -> None:
    time = BOX.start + 200 * DAY
    for page in range(0, BOX.pages, 400):
        changes = BOX.changes(page, time)
        if len(changes):
            assert BOX.changed(time, page, page + 1)[0] == changes[-1]
