import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from centime.simulate import forecast
from centime.simulate.change_history import Times, poisson_history
from centime.simulate.forecast import (
    Beliefs,
    Rhythms,
    demand_at,
    expected_coming,
    expected_now,
    expected_steady,
    intervals_at,
    threshold_for,
)
from centime.simulate.rules import threshold, weighted_freshness
from centime.simulate.scanning import Oracle
from centime.simulate.simulation import DAY, simulate

shapes = st.one_of(st.floats(0.2, 60.0), st.sampled_from([1.0, 2.0, 1.0 + 1e-12, 2.0 - 1e-7, 1.0 + 3e-5]))
ages = st.floats(1e-4, 1e4)


def one(
    shape: float, scale: float, age: float = 0.0, importance: float = 1.0, alpha: float = 0.0, beta: float = 1.0
) -> Beliefs:
    return Beliefs(
        shape=np.array([shape]),
        scale=np.array([scale]),
        importance=np.array([importance]),
        cost=np.ones(1),
        age=np.array([age]),
        alpha=alpha,
        beta=beta,
    )


def surely(rates: Times, importance: Times) -> Beliefs:
    """Beliefs that know the rates."""
    shape = np.full(len(rates), 1e6)
    return Beliefs(
        shape=shape, scale=shape / rates, importance=importance, cost=np.ones(len(rates)), age=np.zeros(len(rates))
    )


def fresh(shape: float, age: float) -> float:
    return math.exp(-shape * math.log1p(age))


@given(shapes, ages)
def test_freshness_and_age_now_are_those_of_the_belief(shape: float, age: float) -> None:
    found = expected_now(one(shape, DAY, age * DAY))
    assert found.freshness == pytest.approx(fresh(shape, age))
    assert found.age_days == pytest.approx(
        quad(lambda u: -math.expm1(-shape * math.log1p(u)), 0, age, limit=200)[0], rel=1e-4, abs=1e-9
    )


@given(shapes, st.floats(1e-3, 1e3), ages, st.floats(0.01, 100))
def test_the_coming_time_is_the_integral_over_it(shape: float, interval: float, age: float, horizon: float) -> None:
    beliefs = one(shape, DAY, age * DAY)
    worth = float(forecast.worth_of(one(shape, DAY, interval * DAY))[0])
    interval = float(intervals_at(beliefs, worth)[0]) / DAY
    begin = age if age < interval else 0.0
    edges: list[tuple[float, float]] = []
    time = 0.0
    while time < horizon and len(edges) < 400:
        edges.append((begin, min(interval, begin + horizon - time)))
        time += edges[-1][1] - begin
        begin = 0.0
    if len(edges) == 400:
        return
    whole = sum(quad(lambda u: fresh(shape, u), low, high, limit=200)[0] for low, high in edges)
    found = expected_coming(beliefs, intervals_at(beliefs, worth), horizon * DAY)
    assert found.freshness == pytest.approx(whole / horizon, rel=2e-3, abs=1e-6)


@given(shapes, st.floats(1e-2, 1e3))
def test_the_steady_state_is_the_mean_over_an_interval(shape: float, interval: float) -> None:
    beliefs = one(shape, DAY)
    worth = float(forecast.worth_of(one(shape, DAY, interval * DAY))[0])
    found = expected_steady(beliefs, intervals_at(beliefs, worth))
    interval = float(intervals_at(beliefs, worth)[0]) / DAY
    assert found.freshness == pytest.approx(
        quad(lambda u: fresh(shape, u), 0, interval, limit=200)[0] / interval, rel=1e-3
    )
    age = quad(lambda u: (interval - u) * -math.expm1(-shape * math.log1p(u)), 0, interval, limit=200)[0] / interval
    assert found.age_days == pytest.approx(age, rel=2e-3, abs=1e-6)


def test_a_page_whose_reads_are_never_worth_it_is_never_fresh() -> None:
    beliefs = one(3.0, DAY)
    assert intervals_at(beliefs, DAY).tolist() == [math.inf]
    assert expected_steady(beliefs, intervals_at(beliefs, DAY)).freshness == 0.0
    assert expected_steady(beliefs, intervals_at(beliefs, DAY)).age_days == math.inf


@given(st.floats(0, 2), st.floats(0, 2), shapes, st.floats(0.01, 100))
def test_the_interval_is_where_the_index_reaches_the_threshold(
    alpha: float, beta: float, shape: float, age: float
) -> None:
    beliefs = one(shape, DAY, age * DAY, 2.0, alpha, beta)
    worth = float(forecast.worth_of(beliefs)[0])
    last = float(forecast.worth_of(one(shape, DAY, age * DAY * 0.999, 2.0, alpha, beta))[0])
    if worth > last * (1 + 1e-9) > 0:
        assert intervals_at(beliefs, worth)[0] == pytest.approx(age * DAY, rel=1e-3)


def test_the_threshold_spends_the_budget_also_when_found_on_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = np.random.default_rng(1)
    beliefs = Beliefs(
        shape=chance.uniform(0.5, 9.0, 4000),
        scale=chance.lognormal(13, 1, 4000),
        importance=chance.lognormal(0, 1, 4000),
        cost=chance.lognormal(9, 0.5, 4000),
        age=np.zeros(4000),
    )
    worths = [threshold_for(beliefs, budget) for budget in (1.0, 10.0, 100.0)]
    assert [demand_at(beliefs, worth) for worth in worths] == pytest.approx([1.0, 10.0, 100.0], rel=1e-3)
    assert all(high > low for high, low in pairwise(worths))
    monkeypatch.setattr(forecast, "MOST_PAGES", 2000)
    assert demand_at(beliefs, threshold_for(beliefs, 10.0)) == pytest.approx(10.0, rel=0.15)


def test_beliefs_that_know_the_rates_foretell_the_closed_form_and_what_the_simulation_realises() -> None:
    chance = np.random.default_rng(3)
    rates = chance.lognormal(math.log(0.1), 1.0, 1500) / DAY
    importance = chance.pareto(1.5, 1500) + 0.1
    importance /= importance.mean()
    budget = 0.1 * 1500 / DAY
    beliefs = surely(rates, importance)
    worth = threshold_for(beliefs, budget)
    steady = expected_steady(beliefs, intervals_at(beliefs, worth))
    assert steady.freshness == pytest.approx(
        weighted_freshness(importance, rates, threshold(importance, rates, budget)), abs=1e-3
    )
    history = poisson_history(rates, importance, 200, seed=4)
    realised = simulate(history, Oracle(history), budget, warm=80 * DAY)
    assert realised.freshness == pytest.approx(steady.freshness, abs=0.012)


@given(shapes, st.floats(0.05, 50.0), st.floats(0.0, 0.3))
def test_with_deaths_the_steady_state_is_the_mean_of_both_chances(shape: float, interval: float, deaths: float) -> None:
    beliefs = replace(one(shape, DAY), death_rate=deaths / DAY)
    expected = quad(lambda u: fresh(shape, u) * math.exp(-deaths * u), 0, interval, limit=200)[0] / interval
    assert expected_steady(beliefs, np.array([interval * DAY])).freshness == pytest.approx(expected, rel=1e-3)
    assert expected_now(replace(beliefs, age=np.array([2 * DAY]))).freshness == pytest.approx(
        fresh(shape, 2.0) * math.exp(-2.0 * deaths)
    )


def test_the_forecast_with_deaths_is_what_a_simulation_of_pages_that_die_and_are_born_realises() -> None:
    chance, shape, interval, deaths, age, horizon = np.random.default_rng(1), 1.5, 3.0, 0.1, 1.0, 20.0
    fresh_time = counted = 0.0
    for _ in range(10_000):
        births = chance.uniform(0.0, horizon, chance.poisson(deaths * math.exp(-deaths * age) * horizon))
        for read in (-age, *births.tolist()):  # the first read of each page
            rate, death = chance.gamma(shape, 1.0), read + chance.exponential(1 / deaths)
            while read < horizon:
                stale = min(read + chance.exponential(1 / rate), death)
                fresh_time += max(0.0, min(stale, read + interval, horizon) - max(read, 0.0))
                counted += min(read + interval, horizon) - max(read, 0.0)
                read += interval
                if read > death:
                    break
    beliefs = replace(one(shape, DAY, age * DAY), death_rate=deaths / DAY)
    expected = expected_coming(beliefs, np.array([interval * DAY]), horizon * DAY).freshness
    assert expected == pytest.approx(fresh_time / counted, abs=0.006)


def test_a_page_with_a_rhythm_is_read_in_every_period_or_never() -> None:
    beliefs = replace(
        surely(np.full(3, 1.0 / DAY), np.array([1.0, 1.0, 0.01])),
        rhythms=Rhythms(
            period=np.array([0.0, 7 * DAY, 7 * DAY]), caught=np.array([0.0, 0.95, 0.9]), fresh=np.array([0.0, 1.0, 0.0])
        ),
    )
    worth = DAY
    intervals = intervals_at(beliefs, worth)
    assert intervals[1] == 7 * DAY
    assert math.isinf(intervals[2])
    assert intervals[0] == intervals_at(replace(beliefs, rhythms=None), worth)[0]
    alone = expected_steady(beliefs.taken(np.array([1])), intervals[1:2]).freshness
    assert alone == expected_coming(beliefs.taken(np.array([1])), intervals[1:2], 30 * DAY).freshness == 0.95
    assert expected_now(beliefs.taken(np.array([1, 2]))).freshness == pytest.approx(1.0 / 1.01)
