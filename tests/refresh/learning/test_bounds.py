"""The bounds that people are shown hold in crawls of a few pages, whose rates nothing but their own reads can tell."""

import math

import numpy as np
import pytest

from centime.refresh.book import RefreshBook
from centime.refresh.learning.bounds import CONFIDENCE
from centime.refresh.learning.verdict import Verdict
from centime.refresh.settings import RefreshSettings

DAY = 86_400.0
Rates = np.ndarray


def watched(rates: Rates, every: float, reads: int, chance: np.random.Generator) -> RefreshBook:
    """A book of pages that change by these Poisson rates and are all read so many times, so far apart."""
    pages, hosts, ones = np.arange(len(rates)), np.zeros(len(rates), dtype=np.int64), np.ones(len(rates))
    settings = RefreshSettings(budget=len(rates) / every, least_interval=every / 2)
    book = RefreshBook(0.0, settings, lambda some: np.zeros(len(some), dtype=np.int64))
    for number in range(reads):
        changed = chance.random(len(rates)) < -np.expm1(-rates * every)
        verdicts = np.where(changed, Verdict.CHANGED, Verdict.QUIET) if number else np.full(len(rates), Verdict.FIRST)
        book.record(pages, hosts, number * every, verdicts, 0 * ones, ones, ones)
        book.inspect(number * every, lambda some: np.ones(len(some)), 10)
    return book


@pytest.mark.parametrize(("every", "reads"), [(30.0, 2), (600.0, 5), (DAY, 30)])
def test_in_a_crawl_of_three_pages_the_bounds_cover_rates_of_any_size(every: float, reads: int) -> None:
    chance = np.random.default_rng([reads, int(every)])
    covered = []
    for _ in range(40):
        rates = np.exp(chance.uniform(math.log(1e-3), math.log(30.0), 3)) / every
        low, high = watched(rates, every, reads, chance).bounds(np.arange(3))
        covered += ((low <= rates) & (rates <= high)).tolist()
    assert np.mean(covered) >= CONFIDENCE - 0.05  # five pages of 120 fewer than promised, at most


def test_a_page_that_changes_every_half_minute_is_not_told_to_change_twelve_times_a_day() -> None:
    book = watched(np.full(3, 1 / 35), 10.0, 30, np.random.default_rng(2))
    pages = np.arange(3)
    low, high = book.bounds(pages)
    assert (low > 500 / DAY).all()
    assert (high < 10_000 / DAY).all()
    assert book.rates(pages)[0] == pytest.approx(np.full(3, 1 / 35), rel=0.6)


def test_a_page_that_changes_between_any_two_reads_has_no_high_bound() -> None:
    low, high = watched(np.array([1000.0]), 10.0, 20, np.random.default_rng(1)).bounds(np.arange(1))
    assert 0.1 < low[0] < 1.0
    assert math.isinf(high[0])


def test_a_page_that_was_never_seen_to_change_has_no_low_bound() -> None:
    book = watched(np.array([1e-12]), 10.0, 20, np.random.default_rng(1))
    low, high = book.bounds(np.array([0, 1, 5]))
    assert low.tolist() == [0.0, 0.0, 0.0]
    assert high[0] == pytest.approx(2.3 / 190, rel=0.3)
    assert np.isinf(high[1:]).all(), "never read, and no other pages show what is usual"


def test_many_pages_show_what_is_usual_for_a_page_that_was_never_read_again() -> None:
    chance = np.random.default_rng(3)
    book = watched(np.full(400, 1e-4), 3600.0, 12, chance)
    book.refile(12 * 3600.0, lambda some: np.ones(len(some)))
    low, high = book.bounds(np.array([400]))
    assert low[0] == 0.0
    assert 1e-4 < high[0] < 1e-3
