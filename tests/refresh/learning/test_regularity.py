"""The 90 % interval of a page's change rate covers its rate, or the page is called irregular: seeded simulations."""

from collections.abc import Callable

import numpy as np
import pytest

from centime.refresh.book import RefreshBook
from centime.refresh.learning.regularity import (
    BOUND,
    HIDDEN,
    Dispersion,
    Pattern,
    allowed,
    dispersion,
    pattern_of,
    pooled,
)
from centime.refresh.learning.verdict import Verdict
from centime.refresh.settings import RefreshSettings

DAY = 86_400.0
NOTHING = Dispersion(0.0, 0.0)
PAGES, READS = 200, 60
Chance = np.random.Generator
Changes = Callable[[Chance, float, float], np.ndarray]


def poisson(chance: Chance, rate: float, end: float) -> np.ndarray:
    return np.sort(chance.uniform(0.0, end, chance.poisson(rate * end)))


def in_bursts(chance: Chance, rate: float, end: float) -> np.ndarray:
    """On for a seventh of the time, four mean gaps long."""
    edges = np.cumsum(chance.exponential(np.tile([24.0, 4.0], int(rate * end / 10) + 20) / rate))
    changes = poisson(chance, 7 * rate, end)
    return np.asarray(changes[np.searchsorted(edges, changes) % 2 == 1])


def by_the_clock(chance: Chance, rate: float, end: float) -> np.ndarray:
    return np.arange(chance.uniform(0.0, 1.0) / rate, end, 1.0 / rate)


def simulated(changes: Changes, correlated: bool) -> tuple[float, list[Dispersion | None], np.ndarray]:
    """The share of pages whose rate lies in its interval, the dispersion of each page, and which rates those are."""
    chance = np.random.default_rng(11)
    rates = np.exp(chance.normal(0.0, 1.0, PAGES)) / DAY
    importance = rates * DAY if correlated else np.ones(PAGES)
    book = RefreshBook(0.0, RefreshSettings(budget=1.0), lambda pages: pages // 50)
    log: list[tuple[float, int, bool]] = []
    for page, rate in enumerate(rates.tolist()):
        # a page is read every 0.3 to 3 of its mean gaps, at irregular times
        times = np.cumsum(chance.uniform(0.2, 1.8, READS + 1)) * np.exp(chance.uniform(-1.2, 1.1)) / rate
        happened = changes(chance, rate, times[-1] + 1.0)
        seen = np.searchsorted(happened, times)
        log += zip(times.tolist(), [page] * len(times), np.diff(seen, prepend=seen[0]) > 0, strict=True)
    own: list[list[tuple[float, bool]]] = [[] for _ in range(PAGES)]
    for number, (time, page, changed) in enumerate(sorted(log)):
        verdict = Verdict.FIRST if not own[page] else Verdict.CHANGED if changed else Verdict.QUIET
        own[page].append((time, bool(changed)))
        one = np.array([page])
        book.record(one, one // 50, time, np.array([verdict]), np.zeros(1), np.ones(1), importance[one])
        if number % PAGES == 0:
            book.refile(time, lambda pages: importance[pages])
    low, high = book.bounds(np.arange(PAGES))
    found = [
        dispersion(np.array([time for time, _ in reads]), np.array([changed for _, changed in reads])) for reads in own
    ]
    inside = (low < rates) & (rates < high)
    return float(inside.mean()), found, inside


@pytest.mark.long
@pytest.mark.parametrize("correlated", [False, True])
def test_of_poisson_pages_nine_in_ten_are_covered_and_few_are_called_irregular(correlated: bool) -> None:
    covered, found, _ = simulated(poisson, correlated)
    assert 0.85 <= covered <= 0.95
    own = [pattern_of(one, NOTHING, lambda: NOTHING) for one in found]
    assert sum(pattern in (Pattern.BURSTS, Pattern.EVEN) for pattern in own) < 0.06 * PAGES
    assert abs(pooled(found).z) < BOUND, "not biased, although each rate is fitted to its page"


@pytest.mark.long
@pytest.mark.parametrize(("changes", "pattern"), [(in_bursts, Pattern.BURSTS), (by_the_clock, Pattern.EVEN)])
def test_pages_in_bursts_and_by_the_clock_are_covered_or_called_irregular(changes: Changes, pattern: Pattern) -> None:
    covered, found, inside = simulated(changes, False)
    assert not 0.85 <= covered <= 0.95, "the belief alone is wrong about them"
    whole = pooled(found)
    patterns = [pattern_of(one, whole, lambda: NOTHING) for one in found]
    called = np.array([one not in (Pattern.CHANCE, Pattern.UNKNOWN) for one in patterns])
    assert np.mean(inside | called) >= 0.85
    assert abs(whole.z) > 20.0
    assert patterns.count(pattern) > 0.4 * PAGES
    other = Pattern.EVEN if pattern is Pattern.BURSTS else Pattern.BURSTS
    assert patterns.count(other) < 0.03 * PAGES


def test_too_few_reads_show_nothing() -> None:
    times = np.arange(40.0)
    assert dispersion(times[:8], np.arange(8) % 2 == 1) is None
    assert dispersion(times, np.arange(40) < 3) is None, "two changes"
    assert dispersion(times, np.arange(40) != 5) is None, "one quiet interval"
    assert dispersion(times, np.arange(40) % 3 == 1) is not None


def test_a_host_whose_pages_change_in_bursts_makes_its_other_pages_irregular() -> None:
    host = Dispersion(50.0, 100.0)
    assert pattern_of(None, host, lambda: NOTHING) is Pattern.HOST_BURSTS
    assert pattern_of(Dispersion(0.1, 1.0), host, lambda: NOTHING) is Pattern.HOST_BURSTS
    assert pattern_of(Dispersion(0.1, 1.0), Dispersion(-50.0, 100.0), lambda: NOTHING) is Pattern.HOST_EVEN
    assert pattern_of(Dispersion(0.1, 1.0), Dispersion(30.0, 100.0), lambda: NOTHING) is Pattern.UNKNOWN
    assert pattern_of(Dispersion(0.1, 1.0), Dispersion(3.0, 400.0), lambda: NOTHING) is Pattern.CHANCE


def test_where_hosts_show_too_little_the_whole_crawl_tells_unless_the_page_contradicts_it() -> None:
    bursts, few = Dispersion(100.0, 100.0), Dispersion(1.0, 1.0)
    assert pattern_of(None, few, lambda: bursts) is Pattern.CRAWL_BURSTS
    assert pattern_of(Dispersion(0.1, 1.0), few, lambda: bursts) is Pattern.CRAWL_BURSTS
    assert pattern_of(Dispersion(0.0, 25.0), few, lambda: bursts) is Pattern.CHANCE, "5 were expected of its z"
    assert pattern_of(None, few, lambda: Dispersion(-100.0, 100.0)) is Pattern.CRAWL_EVEN
    assert pattern_of(None, few, lambda: Dispersion(1.0, 1.0)) is Pattern.UNKNOWN, "it may be chance"
    assert pattern_of(None, few, lambda: Dispersion(1e4, 1e6)) is Pattern.CHANCE, "it is sure, but small"


def test_chance_is_claimed_only_if_reads_would_have_shown_a_pattern() -> None:
    quiet, few = Dispersion(0.0, 400.0), Dispersion(0.0, 100.0)
    assert pattern_of(Dispersion(0.0, 20.0), few, lambda: few) is Pattern.UNKNOWN, "nor would bursts show in so few"
    assert pattern_of(quiet, few, lambda: few) is Pattern.CHANCE
    assert pattern_of(None, quiet, lambda: few) is Pattern.CHANCE
    assert pattern_of(None, few, lambda: quiet) is Pattern.CHANCE
    assert pattern_of(None, few, lambda: Dispersion(40.0, 400.0)) is Pattern.UNKNOWN, "bursts may be there"
    assert pattern_of(None, quiet, lambda: quiet, rhythmic=True) is Pattern.UNKNOWN, "its moments may be unknown"
    assert pattern_of(quiet, quiet, lambda: quiet, rhythmic=True) is Pattern.CHANCE, "its own reads show it"


@pytest.mark.parametrize("every", [0.3, 0.9, 1.7, 50.0])
def test_bounds_of_an_unknown_pattern_hold_for_a_page_that_changes_by_the_clock(every: float) -> None:
    times = np.arange(0.0, 20 * every, every)
    changed = np.diff(np.floor(times), prepend=0.0) > 0
    low, high = allowed(5.0, 9.0, times, changed)
    assert low <= 1.0
    assert high == HIDDEN * 9.0
    assert allowed(0.001, 0.5, times, changed)[0] == 0.001, "the low bound is never raised"


def test_a_page_that_was_read_once_has_no_low_bound_without_a_pattern() -> None:
    once = np.array([3.0])
    assert allowed(5.0, np.inf, once, np.array([False])) == (0.0, np.inf)
    assert allowed(5.0, 6.0, once[:0], np.zeros(0, dtype=np.bool_))[0] == 0.0
