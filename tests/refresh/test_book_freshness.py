"""The book on pages whose change rates are known: what its decisions are worth beside those of an oracle."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from centime.refresh.book import RefreshBook
from centime.refresh.observation import CHANGED, FIRST, QUIET
from centime.refresh.settings import Policy, RefreshSettings

DAY = 86400.0
Floats = npt.NDArray[np.float64]


class Web(NamedTuple):
    hosts: npt.NDArray[np.int64]
    importance: Floats
    rates: Floats


class Run(NamedTuple):
    freshness: float
    spent: float
    book: RefreshBook


def make_web(pages: int, seed: int) -> Web:
    random = np.random.default_rng(seed)
    hosts = random.integers(0, pages // 100, pages)
    importance = random.pareto(1.5, pages) + 0.1
    rates = np.exp(random.normal(0.0, 0.7, pages // 100))[hosts] * np.exp(random.normal(0.0, 1.3, pages)) / (20 * DAY)
    return Web(hosts, importance / importance.mean(), rates)


def freshness_of(web: Web, intervals: Floats) -> float:
    """The share of the copy that is fresh, by importance, when every page is read at its interval."""
    z = web.rates * intervals
    return float((web.importance * np.where(np.isinf(z), 0.0, -np.expm1(-z) / z)).sum() / web.importance.sum())


def oracle(web: Web, budget: float) -> float:
    """The freshness of the threshold rule for known rates: the best there is."""
    grid = np.exp(np.linspace(math.log(1e-5), math.log(60.0), 20_000))
    index = np.where(grid < 1e-3, grid**2 / 2 - grid**3 / 3, 1 - np.exp(-grid) * (1 + grid))
    low, high = 1e-3, 1e12
    for _ in range(100):
        middle = math.sqrt(low * high)
        y = middle * web.rates / web.importance
        intervals = np.where(y < index[-1], np.interp(y, index, grid), np.inf) / web.rates
        low, high = (middle, high) if (1 / intervals).sum() > budget else (low, middle)
    return freshness_of(web, intervals)


def refresh(
    web: Web, reads_per_day: float, days: float, warm: float, policy: Policy = "optimal", step: float = DAY / 24
) -> Run:
    random = np.random.default_rng(1)
    count = len(web.rates)
    budget = reads_per_day * count / DAY
    book = RefreshBook(0.0, RefreshSettings(budget=budget, policy=policy), lambda pages: web.hosts[pages])
    zeros = np.zeros(count)
    book.record(np.arange(count), web.hosts, 0.0, np.full(count, FIRST), zeros, zeros + 1, web.importance)
    last, now, reads, fresh = np.zeros(count), 0.0, 0, []
    while now < days * DAY:
        now += step
        while len(pages := book.inspect(now, lambda pages: web.importance[pages], 1000)[0]):
            changed = random.random(len(pages)) < -np.expm1(-web.rates[pages] * (now - last[pages]))
            last[pages] = now
            none = np.zeros(len(pages))
            book.record(
                pages, web.hosts[pages], now, np.where(changed, CHANGED, QUIET), none, none + 1, web.importance[pages]
            )
            reads += len(pages) * (now > warm * DAY)
        if now > warm * DAY:  # in the middle of the step, by the true rates
            fresh.append((web.importance * np.exp(-web.rates * (now + step / 2 - last))).sum() / web.importance.sum())
    return Run(float(np.mean(fresh)), reads / (budget * (days - warm) * DAY), book)


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("reads_per_day", "days", "step"), [(0.02, 500, DAY / 6), (0.1, 160, DAY / 12), (0.3, 60, DAY / 24)]
)
def test_after_warming_up_the_copy_is_as_fresh_as_an_oracle_would_have_it_within_a_twentieth(
    reads_per_day: float, days: float, step: float
) -> None:
    web = make_web(2000, 4)
    run = refresh(web, reads_per_day, days, days / 2, step=step)
    assert run.freshness > 0.95 * oracle(web, reads_per_day * 2000 / DAY)
    assert run.spent == pytest.approx(1.0, abs=0.05)


@pytest.mark.compiled
def test_with_little_to_spend_the_optimal_rule_beats_the_papers_and_the_papers_the_uniform() -> None:
    web = make_web(2000, 4)
    optimal, paper, uniform = (
        refresh(web, 0.02, 400, 200, policy, DAY / 6).freshness for policy in ("optimal", "paper", "uniform")
    )
    assert optimal > 1.10 * paper
    assert paper > 1.10 * uniform


@pytest.mark.compiled
def test_what_is_kept_of_the_demand_stays_near_what_a_pass_counts() -> None:
    web = make_web(2000, 4)
    book = refresh(web, 0.1, 40, 20, step=DAY / 4).book
    kept = book.demand(book.threshold)
    threshold = book.threshold
    book.refile(40 * DAY, lambda pages: web.importance[pages])
    assert book.demand(threshold) == pytest.approx(kept, rel=0.02)
    book.check(lambda pages: web.importance[pages], in_full=True)
