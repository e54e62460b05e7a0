import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.model.errors import BadInput, BadSetting
from centime.refresh.learning.verdict import Verdict
from centime.simulate.change_history import ChangeHistory, Numbers, Times, poisson_history
from centime.simulate.rules import threshold, weighted_freshness
from centime.simulate.rules import uniform as uniform_intervals
from centime.simulate.scanning import Oracle, Uniform
from centime.simulate.simulation import DAY, Run, Verdicts, simulate


def history_of(
    changes: Sequence[Sequence[float]], end: float, *, born: Sequence[float] = (), dated: bool = False
) -> ChangeHistory:
    pages = len(changes)
    return ChangeHistory(
        offsets=np.cumsum([0, *map(len, changes)]),
        times=np.array([time for row in changes for time in row], dtype=np.float64),
        hosts=np.zeros(pages, dtype=np.int64),
        importance=np.ones(pages),
        costs=np.ones(pages),
        rates=np.full(pages, 1e-6),
        dated=np.full(pages, dated),
        stood=np.full(pages, 7.0),
        born=np.array(born or [0.0] * pages),
        end=end,
    )


class Listening(Uniform):
    """Round robin that keeps all it was told."""

    def __init__(self, history: ChangeHistory) -> None:
        super().__init__(history)
        self.heard: list[tuple[int, float, int, float]] = []

    def record(self, pages: Numbers, now: float, verdicts: Verdicts, since: Times) -> None:
        super().record(pages, now, verdicts, since)
        self.heard += [(int(p), now, int(v), float(s)) for p, v, s in zip(pages, verdicts, since, strict=True)]


def test_freshness_and_age_are_integrals_between_reads() -> None:
    history = history_of([[15.0, 22.0, 33.0]], 40.0)
    found = simulate(history, Uniform(history), 0.1, warm=0.0, tick=10.0)
    assert found.reads == 4
    assert found.freshness == pytest.approx((10 + 5 + 2 + 3) / 40)
    assert found.age_days * DAY == pytest.approx((5**2 + 8**2 + 7**2) / 2 / 40)


def test_what_lies_before_the_end_of_the_warm_up_does_not_count() -> None:
    history = history_of([[15.0, 22.0, 33.0]], 40.0)
    found = simulate(history, Uniform(history), 0.1, warm=25.0, tick=10.0)
    assert found.reads == 2
    assert found.freshness == pytest.approx(3 / 15)
    assert found.age_days * DAY == pytest.approx((8**2 - 3**2 + 7**2) / 2 / 15)


@pytest.mark.parametrize("dated", [False, True])
def test_a_policy_learns_what_a_crawler_would(dated: bool) -> None:
    history = history_of([[15.0, 18.0]], 30.0, dated=dated)
    policy = Listening(history)
    simulate(history, policy, 0.1, warm=0.0, tick=10.0)
    changed = (Verdict.DATED, 2.0) if dated else (Verdict.CHANGED, 2.0)
    assert policy.heard == [
        (0, 0.0, Verdict.FIRST, 7.0),
        (0, 10.0, Verdict.QUIET, 0.0),
        (0, 20.0, *changed),
        (0, 30.0, Verdict.QUIET, 0.0),
    ]


def test_a_page_counts_from_its_first_read_on_which_is_free() -> None:
    history = history_of([[], [5.0, 26.0]], 40.0, born=[0.0, 20.0])
    policy = Listening(history)
    found = simulate(history, policy, 1e-9, warm=0.0, tick=10.0)
    assert [heard[:3] for heard in policy.heard] == [(0, 0.0, Verdict.FIRST), (1, 20.0, Verdict.FIRST)]
    assert found.freshness == pytest.approx((40 + 6) / 60)


@given(st.floats(0.01, 3.0), st.integers(0, 99))
def test_a_budget_is_spent_and_never_exceeded(per_page: float, seed: int) -> None:
    rates = np.full(20, 0.3 / DAY)
    history = poisson_history(rates, np.ones(20), 20, seed=seed)
    found = simulate(history, Uniform(history), per_page * 20 / DAY, warm=0.0)
    assert found.reads == pytest.approx(per_page * 20 * 20, abs=1)
    assert 0.0 <= found.freshness <= 1.0
    assert found.age_days >= 0.0


def test_what_a_policy_leaves_is_carried_over_for_a_day_at_most() -> None:
    class Late(Uniform):
        def choose(self, now: float, count: int) -> Numbers:
            return super().choose(now, count) if now > 5 * DAY else np.empty(0, dtype=np.int64)

    history = poisson_history(np.full(100, 1.0 / DAY), np.ones(100), 6)
    assert simulate(history, Late(history), 10 / DAY, warm=0.0).reads == 20


def test_the_simulation_of_a_known_rule_agrees_with_its_closed_form() -> None:
    chance = np.random.default_rng(3)
    rates = chance.lognormal(math.log(0.1), 1.0, 1500) / DAY
    importance = chance.pareto(1.5, 1500) + 0.1
    importance /= importance.mean()
    history = poisson_history(rates, importance, 200, seed=4)
    budget = 0.1 * 1500 / DAY
    for policy, rule in ((Uniform(history), uniform_intervals), (Oracle(history), threshold)):
        found = simulate(history, policy, budget, warm=80 * DAY)
        assert found.freshness == pytest.approx(
            weighted_freshness(importance, rates, rule(importance, rates, budget)), abs=0.012
        )


def test_a_run_can_be_looked_at_on_its_way() -> None:
    history = history_of([[15.0, 22.0, 33.0]], 40.0)
    run = Run(history, Uniform(history), 0.1, warm=0.0, tick=10.0)
    run.advance(20.0)
    assert run.result().freshness == pytest.approx(15 / 20)
    run.advance(40.0)
    assert run.result().freshness == pytest.approx(20 / 40)


def test_what_cannot_be_run_is_refused() -> None:
    history = history_of([[15.0]], 40.0)
    with pytest.raises(BadSetting, match="both must be above 0"):
        Run(history, Uniform(history), 0.0, warm=0.0)
    with pytest.raises(BadSetting, match="within the history"):
        Run(history, Uniform(history), 1.0, warm=40.0)
    with pytest.raises(BadInput, match="sorted by time"):
        history_of([[15.0, 14.0]], 40.0)
    with pytest.raises(BadSetting, match="no pages of importance above 0"):
        Run(history_of([[], []], 40.0, born=[0.0, 50.0]), Uniform(history), 1.0, warm=0.0).result()
