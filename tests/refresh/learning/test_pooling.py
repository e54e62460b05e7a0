import math

import numpy as np
import pytest

from centime.refresh.book import RefreshBook
from centime.refresh.observation import DATED, FIRST, QUIET
from centime.refresh.settings import FIRST_RATE, RefreshSettings
from centime.simulate.change_history import poisson_history
from centime.simulate.ours import Ours
from centime.simulate.simulation import Run

DAY = 86400.0


def ones(pages: np.ndarray) -> np.ndarray:
    return np.ones(len(pages))


def seen(rates: np.ndarray, hosts: np.ndarray, looks: int) -> RefreshBook:
    """A book that has seen the last change of every page so many times, at random moments."""
    random = np.random.default_rng(8)
    book = RefreshBook(0.0, RefreshSettings(budget=1.0), lambda pages: hosts[np.minimum(pages, len(hosts) - 1)])
    pages, zeros = np.arange(len(rates)), np.zeros(len(rates))
    book.record(pages, hosts, 0.0, np.full(len(pages), FIRST), zeros, zeros + 1, zeros + 1)
    for look in range(1, looks + 1):
        since = random.exponential(1 / rates)
        book.record(pages, hosts, look * 2e7, np.where(since < 2e7, DATED, QUIET), since, zeros + 1, zeros + 1)
    return book


@pytest.mark.parametrize("law", ["gamma", "pareto", "two rates"])
def test_a_law_of_any_form_is_learned(law: str) -> None:
    random = np.random.default_rng(2)
    rates = {
        "gamma": lambda: random.gamma(0.8, 1 / (0.8 * 30 * DAY), 4000),
        "pareto": lambda: np.minimum(0.005 * random.random(4000) ** -1.25, 24.0) / DAY,
        "two rates": lambda: random.choice([0.01, 1.0], 4000) / DAY,
    }[law]()
    book = seen(rates, np.zeros(4000, dtype=np.int64), 3)
    for _ in range(30):
        book.refile(1e8, ones)
    _, low, high = book.rates(np.array([5000]))  # never read: the prior itself
    assert book.statistics()["prior_mean_rate"] == pytest.approx(rates.mean(), rel=0.4)
    assert low[0] == pytest.approx(np.quantile(rates, 0.05), rel=1.0)
    assert high[0] == pytest.approx(np.quantile(rates, 0.95), rel=1.0)


@pytest.mark.parametrize("least", [0.0, 0.05])
def test_where_important_pages_change_faster_a_page_is_believed_to_change_as_others_of_its_importance(
    least: float,
) -> None:
    random, count = np.random.default_rng(6), 3000
    importance = np.exp(random.normal(0.0, 1.5, count))
    rates, hosts, zeros = (
        0.05 / DAY * np.maximum(importance, 20 * least),
        np.zeros(count, dtype=np.int64),
        np.zeros(count),
    )
    book = RefreshBook(0.0, RefreshSettings(budget=1.0), lambda pages: hosts[pages])
    pages = np.arange(count)
    book.record(pages, hosts, 0.0, np.full(count, FIRST), zeros, zeros + 1, importance)
    some = pages[: count - 500]  # the others are never read again
    for look in range(1, 4):
        since = random.exponential(1 / rates[some])
        verdicts = np.where(since < 2e7, DATED, QUIET)
        book.record(some, hosts[some], look * 2e7, verdicts, since, zeros[some] + 1, importance[some])
    for _ in range(20):
        book.refile(1e8, lambda pages: importance[pages])
    believed = book.rates(pages[count - 500 :])[0]
    off = np.log2(believed / rates[count - 500 :])
    assert np.abs(off).max() < 2.0
    most = importance[count - 500 :] > np.quantile(importance, 0.95)
    assert abs(off[most].mean()) < 0.4, "also where rates have a floor, so that the line bends"


def test_a_page_never_seen_to_change_is_estimated_to_change_as_its_host_does() -> None:
    hosts = np.repeat(np.arange(3), 500)
    rates = np.array([1.0, 10.0, 100.0])[hosts] / (100 * DAY)
    book = seen(rates, hosts, 5)
    for _ in range(20):
        book.refile(1.2e8, ones)
    worth = book.discovery_worth(np.arange(3))
    assert np.abs(np.log2(worth / np.array([100.0, 10.0, 1.0]) / DAY)).max() < 0.5, "drawn towards the others a little"
    assert np.isfinite(book.discovery_worth(np.array([7]))).all()


def test_a_host_of_one_page_is_taken_to_be_like_the_others() -> None:
    hosts = np.array([0] * 500 + [1])
    book = seen(np.array([1e-6] * 500 + [1e-4]), hosts, 5)
    for _ in range(5):
        book.refile(1.2e8, ones)
    alone, all_others = 1 / book.discovery_worth(np.array([1, 0]))
    assert all_others == pytest.approx(1e-6, rel=0.2)
    assert 1e-6 < alone < 0.5e-4


def test_pages_without_evidence_do_not_hold_the_prior_where_it_was() -> None:
    hosts = np.zeros(1000, dtype=np.int64)
    book = seen(np.full(10, 1e-5), hosts[:10], 20)
    more = np.arange(10, 1000)
    book.record(more, hosts[more], 1.0, np.full(990, FIRST), np.zeros(990), np.ones(990), np.ones(990))
    for _ in range(8):
        book.refile(5e8, ones)
    mean = book.rates(np.array([500]))[0][0]
    assert 0.5e-5 < mean < 2e-5


def test_a_few_live_pages_among_many_that_never_change_are_recognised() -> None:
    rates = np.array([1e-9] * 300 + [0.5] * 3 + [0.05] * 3)
    history = poisson_history(rates, np.ones(306), 200 / 86_400, seed=1)
    policy = Ours(history, RefreshSettings(budget=60.0, least_interval=1.0))
    run = Run(history, policy, 60.0, warm=10.0, tick=0.5)
    run.advance(175.0)
    mean, low, high = policy.book.rates(np.arange(300, 306))
    assert mean[:3] == pytest.approx([0.5] * 3, rel=0.35)
    assert np.count_nonzero((low < rates[300:]) & (rates[300:] < high)) >= 5


def test_before_anything_is_seen_the_prior_is_vague() -> None:
    book = RefreshBook(0.0, RefreshSettings(budget=1.0), lambda pages: pages)
    mean, low, high = book.rates(np.array([3]))
    assert mean == pytest.approx(FIRST_RATE)
    assert low < mean / 50 < mean * 2 < high
    assert math.isfinite(book.discovery_worth(np.array([0]))[0])


@pytest.mark.parametrize("faster", [1e-2, 1e3])
def test_priors_that_are_far_off_are_found_within_a_factor_of_three_in_four_passes(faster: float) -> None:
    rates = np.random.default_rng(3).gamma(0.5, 2 * faster * FIRST_RATE, 3000)
    hosts = np.arange(3000) % 30
    book = RefreshBook(0.0, RefreshSettings(budget=1.0), lambda pages: hosts[pages])
    pages, ones_each, interval = np.arange(3000), np.ones(3000), 3 / rates.mean()
    book.record(pages, hosts, 0.0, np.full(3000, FIRST), 0 * ones_each, ones_each, ones_each)
    since = np.random.default_rng(4).exponential(1 / rates)
    book.record(pages, hosts, interval, np.where(since < interval, DATED, QUIET), since, ones_each, ones_each)
    for _ in range(4):
        book.refile(interval, ones)
    assert 1 / 3 < book.statistics()["prior_mean_rate"] / rates.mean() < 3.0
    book.check(ones, in_full=True)


@pytest.mark.compiled
def test_a_web_a_thousand_times_faster_than_estimated_is_soon_known_and_the_budget_spent() -> None:
    count, chance = 2000, np.random.default_rng(7)
    hosts, ones_each = np.arange(count) % 20, np.ones(count)
    rates = chance.lognormal(0.0, 1.0, count)
    rates *= 1000 * FIRST_RATE / rates.mean()
    budget = 0.3 * rates.sum()
    book = RefreshBook(0.0, RefreshSettings(budget=budget, least_interval=0.01), lambda pages: hosts[pages])
    begun = now = count / budget
    last = now * chance.random(count)
    book.record(np.arange(count), hosts, last, np.full(count, FIRST), 0 * ones_each, ones_each, ones_each)
    reads, spare, found = 0, 0.0, []
    for share in (0.5, 2.0):
        before, at_first = now, reads
        while reads < share * count:
            now += begun / 100
            spare = min(spare + budget * begun / 100, 0.1 * count)
            while spare >= 1 and len(pages := book.inspect(now, ones, int(spare))[0]):
                since = chance.exponential(1 / rates[pages])
                verdicts = np.where(since < now - last[pages], DATED, QUIET)
                book.record(pages, hosts[pages], now, verdicts, since, ones(pages), ones(pages))
                last[pages] = now
                reads += len(pages)
                spare -= len(pages)
        spent = (reads - at_first) / (budget * (now - before))
        found.append((book.statistics()["prior_mean_rate"] / rates.mean(), spent))
    (early, early_spent), (late, late_spent) = found
    assert 0.6 < early < 2.0
    assert early_spent > 0.6
    assert late == pytest.approx(1.0, abs=0.35)
    assert late_spent > 0.98
