import math
from dataclasses import replace

import numpy as np
import pytest

from centime.model.errors import BadSetting
from centime.refresh.settings import RefreshSettings
from centime.simulate.change_history import ChangeHistory, poisson_history
from centime.simulate.forecast import expected_coming, expected_now, intervals_at, threshold_for, worth_of
from centime.simulate.informed import Informed
from centime.simulate.named import POLICIES, checked_names, policy_named
from centime.simulate.ours import Ours
from centime.simulate.processes import world_named
from centime.simulate.simulation import DAY, Run, simulate

PAGES = 1000


@pytest.fixture(scope="module")
def history() -> ChangeHistory:
    chance = np.random.default_rng(8)
    rates = chance.lognormal(math.log(0.1), 1.2, PAGES) / DAY
    importance = chance.pareto(1.5, PAGES) + 0.1
    hosts = np.arange(PAGES) // 50
    return poisson_history(
        rates, importance / importance.mean(), 150, hosts=hosts, dated=np.arange(PAGES) % 2 == 0, seed=2
    )


@pytest.fixture(scope="module")
def realised(history: ChangeHistory) -> dict[str, float]:
    settings = RefreshSettings(budget=0.1 * PAGES / DAY)
    return {
        name: simulate(
            history, policy_named(name, history, settings), settings.budget, warm=100 * DAY, tick=4 * 3600
        ).freshness
        for name in POLICIES
    }


@pytest.mark.long
def test_ours_is_near_the_oracle_and_above_all_others(realised: dict[str, float]) -> None:
    assert realised["optimal"] >= 0.92 * realised["oracle"]
    assert realised["optimal"] <= realised["oracle"] + 0.01
    assert all(realised["optimal"] > realised[name] for name in ("uniform", "paper", "nutch", "storm"))


def test_the_same_history_gives_the_same_result(history: ChangeHistory, realised: dict[str, float]) -> None:
    settings = RefreshSettings(budget=0.1 * PAGES / DAY)
    again = simulate(history, Ours(history, settings), settings.budget, warm=100 * DAY, tick=4 * 3600)
    assert again.freshness == realised["optimal"]


def test_what_the_beliefs_foretell_is_what_is_realised(history: ChangeHistory) -> None:
    settings = RefreshSettings(budget=0.1 * PAGES / DAY)
    policy = Ours(history, settings)
    run = Run(history, policy, settings.budget, warm=100 * DAY, tick=4 * 3600)
    run.advance(100 * DAY)
    beliefs = policy.beliefs(run.now)
    intervals = intervals_at(beliefs, threshold_for(beliefs, settings.budget))
    foretold = expected_coming(beliefs, intervals, 50 * DAY)
    run.advance(history.end)
    assert run.result().freshness == pytest.approx(foretold.freshness, abs=0.03)


def test_the_book_and_the_forecast_decide_alike_and_the_forecast_foretells_by_what_is_believed(
    history: ChangeHistory,
) -> None:
    settings = RefreshSettings(budget=0.1 * PAGES / DAY)
    policy = Ours(history, settings)
    run = Run(history, policy, settings.budget, warm=40 * DAY, tick=4 * 3600)
    run.advance(40 * DAY)
    book, beliefs, pages = policy.book, policy.beliefs(run.now), np.arange(PAGES)
    assert worth_of(beliefs) == pytest.approx(book.worth(pages, run.now, history.importance), rel=1e-5)
    intervals = intervals_at(beliefs, book.threshold)
    due = book.due_times(pages, history.importance, probed=False) - book.read_times(pages)
    read = np.isfinite(due)
    assert 0 < read.sum() < PAGES
    assert (np.isfinite(intervals) == read).all()
    assert intervals[read] == pytest.approx(due[read], rel=1e-5)
    for _ in range(2):
        book.refile(run.now, lambda pages: history.importance[pages])
    assert threshold_for(policy.beliefs(run.now), book.settings.budget) == pytest.approx(book.threshold, rel=0.03)
    fresh = (1 + beliefs.age / beliefs.scale) ** -beliefs.shape
    believed = (history.importance * fresh).sum() / history.importance.sum()
    assert expected_now(beliefs).freshness == pytest.approx(believed)


def test_names_are_put_in_order_and_unknown_ones_refused(history: ChangeHistory) -> None:
    assert checked_names(["oracle", "uniform", "oracle"]) == ["uniform", "oracle"]
    assert checked_names(["all"]) == list(POLICIES)
    with pytest.raises(BadSetting, match="unknown policy 'best'"):
        checked_names(["best"])
    with pytest.raises(BadSetting, match="unknown policy 'best'"):
        policy_named("best", history, RefreshSettings(budget=1.0))


@pytest.mark.long
def test_rhythms_are_found_used_and_planned_with_as_in_a_crawl() -> None:
    world = world_named("rhythms", 200, 120, seed=1)
    budget, warm = 0.3 * 200 / DAY, 60 * DAY
    policy = Ours(world.history, RefreshSettings(budget=budget))
    run = Run(world.history, policy, budget, warm=warm)
    run.advance(warm)
    assert world.period is not None
    found = [page for page, beat in policy.beats.items() if beat.rhythm.period == world.period[page]]
    assert len(found) > 0.95 * len(policy.beats) > 20
    beliefs = policy.beliefs(run.now)
    planned = expected_coming(beliefs, intervals_at(beliefs, threshold_for(beliefs, budget)), 60 * DAY).freshness
    run.advance(world.history.end)
    assert planned == pytest.approx(run.result().freshness, abs=0.05)
    oracle = simulate(world.history, Informed(world, budget), budget, warm=warm)
    assert run.result().freshness > 0.85 * oracle.freshness


def test_a_budget_of_bytes_is_spent_although_few_large_pages_have_most_of_them() -> None:
    chance = np.random.default_rng(3)
    costs = 2e4 * chance.lognormal(0.0, 2.0, 100)
    history = poisson_history(chance.lognormal(math.log(0.1), 1.2, 100) / DAY, np.ones(100), 60, seed=2)
    history = replace(history, costs=costs)
    settings = RefreshSettings(budget=0.02 * float(costs.sum()) / DAY, by_bytes=True)
    found = simulate(history, Ours(history, settings), settings.budget, warm=20 * DAY, tick=4 * 3600)
    assert 0.97 <= found.spent <= 1.03  # the largest page costs more than a day
