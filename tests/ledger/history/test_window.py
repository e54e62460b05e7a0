"""Windows: every policy against its formula worked out from a plain list of measures; time that wraps round changes
nothing."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from centime.ledger.cash import MEAN_CASH
from centime.ledger.history import whole_history as history
from centime.ledger.history.clock import G0, TURNOVER, Clock
from centime.ledger.history.measures import LARGEST_SIZE, MeasuredHistory
from centime.ledger.history.whole_history import InterpolatedHistory, TotalHistory
from centime.ledger.history.window import (
    FixedWindow,
    ImprovedFixedWindow,
    Interpolation,
    VariableWindow,
    Window,
    window_facts,
    window_from_facts,
)
from centime.ledger.opic import OpicLedger
from centime.model.errors import BadSetting
from centime.model.graph import graph_from_links

PAGES = 3
Reads = list[tuple[int, int, int]]  # page, cash, ticks since the read before

windows = st.one_of(
    st.builds(FixedWindow, st.sampled_from([0.5, 2.0])),
    st.builds(ImprovedFixedWindow, st.sampled_from([0.5, 2.0]), st.integers(2, 4)),
    st.builds(VariableWindow, st.integers(2, 5)),
)
reads = st.lists(st.tuples(st.integers(0, PAGES - 1), st.integers(0, 10**9), st.integers(1, TURNOVER)), max_size=40)


def expected_flow(window: Window, measures: list[tuple[int, int]], cash: int, now: int) -> float:
    """The formulas of `measures`, from all measures (cash, time) of a page."""
    inside = [
        measure
        for measure in measures
        if not isinstance(window, VariableWindow) and now - measure[1] < window.turnovers * TURNOVER
    ]
    if isinstance(window, FixedWindow):
        return sum(amount for amount, _ in inside) / max(1, min(window.turnovers * TURNOVER, now))
    minimum = window.measures if isinstance(window, VariableWindow) else getattr(window, "minimum", 0)
    kept = measures[-max(len(inside), minimum) :]
    if isinstance(window, ImprovedFixedWindow) and kept and kept == inside:
        return sum(amount for amount, _ in kept) / max(1, min(window.turnovers * TURNOVER, now))
    if len(kept) > 1:
        return (sum(amount for amount, _ in kept[1:]) + cash) / max(1, now - kept[0][1])
    return (sum(amount for amount, _ in kept) + cash) / max(1, now)


@given(window=windows, reads=reads, origin=st.sampled_from([0, G0 - 3 * TURNOVER]), batch=st.integers(1, 7))
@settings(max_examples=60)
def test_windows_estimate_what_their_formulas_say(window: Any, reads: Reads, origin: int, batch: int) -> None:
    kept = MeasuredHistory(window)
    clock = Clock(origin)
    kept.join(PAGES, 0.0, clock)
    measures: list[list[tuple[int, int]]] = [[] for _ in range(PAGES)]
    now = 0
    times = []
    for page, amount, ticks in reads:
        now += ticks
        times.append(now)
        measures[page].append((amount, now))
    for start in range(0, len(reads), batch):
        some = reads[start : start + batch]
        kept.record(
            np.array([page for page, _, _ in some]),
            np.array([amount for _, amount, _ in some]),
            (np.array(times[start : start + batch]) + origin) % G0,
        )
    clock.elapsed = now
    cash = np.array([7, 0, 10**8])
    expected = [expected_flow(window, measures[page], int(cash[page]), now) for page in range(PAGES)]
    assert kept.flows(cash, clock).tolist() == pytest.approx(expected)
    assert kept.unread().tolist() == [not measures[page] for page in range(PAGES)]


@given(reads=reads, origin=st.sampled_from([0, G0 - 3 * TURNOVER]))
@settings(max_examples=60)
def test_interpolation_follows_the_papers_formula(reads: Reads, origin: int) -> None:
    length = 2.0
    kept = InterpolatedHistory(Interpolation(length))
    clock = Clock(origin)
    kept.join(PAGES, 0.0, clock)
    past, last = [0.0] * PAGES, [0] * PAGES

    def interpolated(page: int, cash: int, now: int) -> float:
        age = (now - last[page]) / TURNOVER
        return past[page] * (length - age) / length + cash if age < length else cash * length / age

    now = 0
    for page, amount, ticks in reads:
        now += ticks
        past[page], last[page] = interpolated(page, amount, now), now
        kept.record(np.array([page]), np.array([amount]), np.array([(now + origin) % G0]))
    clock.elapsed = now
    cash = np.array([7, 0, 10**8])
    expected = [interpolated(page, int(cash[page]), now) for page in range(PAGES)]
    assert kept.flows(cash, clock).tolist() == pytest.approx(expected, rel=1e-4, abs=1e4)
    assert kept.sum(clock) == pytest.approx(sum(past), rel=1e-4, abs=1e4)


@pytest.mark.parametrize(
    "window", [FixedWindow(2), ImprovedFixedWindow(2), VariableWindow(3), Interpolation(2)], ids=str
)
def test_a_clock_that_wraps_round_changes_nothing(window: Window) -> None:
    chance = np.random.default_rng(1)
    web = graph_from_links(20, chance.integers(0, 20, 80), chance.integers(0, 20, 80))
    ledger = OpicLedger(window=window)
    facts, arrays = ledger.state()
    facts["clock"]["origin"] = G0 - 5 * TURNOVER // 2
    wrapping = OpicLedger.from_state(facts, arrays)
    for one in (ledger, wrapping):
        one.join(20)
        for order in ("greedy", "random", "cycle"):
            one.explore(web, 60, order)
    assert wrapping._clock.now < ledger._clock.now
    assert wrapping.importance().tobytes() == ledger.importance().tobytes()
    assert wrapping.measures_per_page() == ledger.measures_per_page()
    assert wrapping.error_factor() == ledger.error_factor()


@pytest.mark.parametrize(
    ("window", "expected"),
    [(FixedWindow(2), 2), (ImprovedFixedWindow(2), 3), (VariableWindow(5), 5), (Interpolation(2), 1), (None, 1)],
    ids=str,
)
def test_a_page_keeps_as_many_measures_as_its_window_says(window: Window | None, expected: int) -> None:
    ledger = OpicLedger(window=window, damping=0.0, payout=1.0)
    ledger.join(10)
    ledger.explore(graph_from_links(10, range(10), [0] * 10), 400, "cycle")
    turnovers_per_cycle = 2  # a page is read when it has twice its mean cash, see Section 3.1
    if isinstance(window, FixedWindow):
        expected = round(window.turnovers / turnovers_per_cycle)
    assert ledger.measures_per_page() == pytest.approx(expected, abs=0.3)


def test_the_error_factor_of_a_window_is_one_over_its_length() -> None:
    chance = np.random.default_rng(1)
    web = graph_from_links(50, chance.integers(0, 50, 300), chance.integers(0, 50, 300))
    for window in (FixedWindow(5), Interpolation(5)):
        ledger = OpicLedger(window=window)
        ledger.join(50)
        ledger.explore(web, 1000, "greedy")
        assert ledger.error_factor() == pytest.approx(1 / 5, rel=0.1)


def test_a_page_with_very_many_measures_groups_them_and_loses_no_cash() -> None:
    most = 1 << (LARGEST_SIZE - 1)
    kept = MeasuredHistory(FixedWindow(1000))
    kept.join(2, 0.0, Clock())
    amounts = np.arange(1, most + 101, dtype=np.int64)
    kept.record(np.zeros(len(amounts), dtype=np.int64), amounts, np.arange(len(amounts)))
    clock = Clock(elapsed=len(amounts))
    assert kept.measures(clock) * 2 == 1 + 100, "all of the first 4096 are within a 1024th of the window"
    assert kept.sum(clock) == amounts.sum()
    kept.record(np.array([1, 1]), np.array([5, 6]), np.array([most, most + 1]))
    assert kept.sum(clock) == amounts.sum() + 11, "rings that were left are used again"
    assert len(kept._times) <= 4 * most


def test_a_page_read_very_often_forgets_what_is_older_than_the_window() -> None:
    window = TURNOVER  # as long as 20 000 visits
    times = np.arange(60_000, dtype=np.int64) * (window // 20_000)
    kept = MeasuredHistory(FixedWindow(1))
    kept.join(1, 0.0, Clock())
    for part in range(0, len(times), 1000):
        kept.record(np.zeros(1000, dtype=np.int64), np.ones(1000, dtype=np.int64), times[part : part + 1000])
    clock = Clock(elapsed=int(times[-1]))
    assert kept.sum(clock) == pytest.approx(20_000, rel=1 / 1000)
    assert 1024 <= kept.measures(clock) <= 4096


def test_a_history_that_outgrows_its_room_is_halved_and_shares_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = np.random.default_rng(1)
    web = graph_from_links(20, chance.integers(0, 20, 80), chance.integers(0, 20, 80))
    ledger, halving = OpicLedger(), OpicLedger()
    for one, most in ((ledger, 1 << 62), (halving, 200 * 20 * MEAN_CASH)):
        monkeypatch.setattr(history, "LARGEST_SUM", most)
        one.join(20)
        one.explore(web, 4000, "cycle")
        one.join(2)
    assert halving._history.sum(halving._clock) < 201 * 20 * MEAN_CASH < ledger._history.sum(ledger._clock)
    assert halving.importance()[:20] == pytest.approx(ledger.importance()[:20], rel=0.02)
    assert halving.unread().tolist() == [False] * 20 + [True] * 2
    halving.check()


def test_a_default_history_that_does_not_fit_is_halved_with_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = TotalHistory()
    kept.join(2, 0.0, Clock())
    kept.record(np.array([0, 1]), np.array([100, 300]), np.array([0, 0]))
    monkeypatch.setattr(history, "LARGEST_SUM", 500)
    kept.join(2, 0.5, Clock())
    assert kept.flows(np.zeros(4, dtype=np.int64), Clock()).tolist() == [50, 150, 50, 50]


@pytest.mark.parametrize("turnovers", [0, -1, 1025, float("nan"), float("inf")])
@pytest.mark.parametrize("kind", [FixedWindow, ImprovedFixedWindow, Interpolation])
def test_windows_of_absurd_length_are_refused(kind: Callable[[float], Window], turnovers: float) -> None:
    with pytest.raises(BadSetting, match="turnovers long"):
        kind(turnovers)


@pytest.mark.parametrize("number", [1, 1025, 2.5])
def test_windows_of_too_few_or_too_many_measures_are_refused(number: Any) -> None:
    with pytest.raises(BadSetting, match="measures per page"):
        VariableWindow(number)
    with pytest.raises(BadSetting, match="measures per page"):
        ImprovedFixedWindow(1, number)


@pytest.mark.parametrize(
    "window", [None, FixedWindow(2.5), ImprovedFixedWindow(2, 4), VariableWindow(8), Interpolation(16)], ids=str
)
def test_windows_come_back_from_their_facts(window: Window | None) -> None:
    assert window_from_facts(json.loads(json.dumps(window_facts(window)))) == window
