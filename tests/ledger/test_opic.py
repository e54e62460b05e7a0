"""OPIC: the limit whatever the order, focus, discovery, saving, wrong use."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from centime.lab.synthetic.plain import power_law
from centime.ledger.cash import MEAN_CASH
from centime.ledger.history.window import FixedWindow, ImprovedFixedWindow, Interpolation, VariableWindow, Window
from centime.ledger.memory_rows import row_batch
from centime.ledger.opic import OpicLedger
from centime.ledger.strategy import STRATEGIES, Strategy
from centime.model.errors import BadRow, BadSetting, UnknownPage
from centime.model.graph import Graph, graph_from_links
from centime.rank.power import power_iteration
from tests.ledger.made import WINDOWS, copy_of, held, random_web, same


@pytest.mark.parametrize(
    "window",
    [
        None,
        *(
            pytest.param(window, marks=pytest.mark.compiled)
            for window in (FixedWindow(64), ImprovedFixedWindow(64), VariableWindow(64), Interpolation(64))
        ),
    ],
    ids=str,
)
@pytest.mark.parametrize("order", STRATEGIES)
def test_every_order_leads_to_the_same_importance(order: Strategy, window: Window | None) -> None:
    web = random_web(30, 150, 3)
    expected = power_iteration(web).scores
    ledger = OpicLedger(window=window)
    ledger.join(30)
    ledger.explore(web, 3000, order)
    error = float(np.abs(ledger.importance() - expected).mean())
    assert error < (0.02 if window is None else 0.1)
    ledger.check()


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_a_saved_ledger_goes_on_as_if_it_had_not_been(window: Window | None) -> None:
    web = random_web(130, 900, 5)
    ledger = OpicLedger(window=window, count_visits=True, seed=9)
    ledger.join(100)
    ledger.set_focus(3, 2.5)
    ledger.explore(random_web(100, 700, 5), 250, "balanced")
    ledger.join(30, focus=3)
    ledger.feed_unread(0.2)
    ledger.explore(web, 120, "random")
    again = copy_of(ledger)
    for one in (ledger, again):
        one.explore(web, 101, "random")
        one.explore(web, 150, "greedy")
        one.explore(web, 77, "balanced")
        one.join(2)
        one.visit(131, [3, 4, 5], [1, 2, 3])
    assert same(ledger, again)
    assert ledger.importance().tobytes() == again.importance().tobytes()


def test_exploring_in_a_given_order_equals_visiting_page_by_page() -> None:
    web = random_web(20, 100, 2)
    order = np.random.default_rng(0).integers(0, 20, 300)
    one, other = OpicLedger(), OpicLedger()
    one.join(20)
    other.join(20)
    one.explore(web, 300, order)
    for page in order:
        other.visit(page, web.row(page))
    assert same(one, other)


def test_a_weighted_web_is_explored_by_its_weights() -> None:
    web = graph_from_links(3, [0, 0, 1, 2], [1, 2, 0, 0], [3.0, 1.0, 1.0, 1.0])
    ledger = OpicLedger()
    ledger.join(3)
    ledger.explore(web, 3000, "greedy")
    assert np.abs(ledger.importance() - power_iteration(web).scores).max() < 0.01


def test_the_web_may_be_another_one_at_each_call() -> None:
    ledger = OpicLedger(window=Interpolation(4))
    ledger.join(10)
    for target in (3, 7):
        ledger.explore(graph_from_links(10, np.arange(10), np.full(10, target)), 500, "greedy")
        assert ledger.importance().argmax() == target


def test_the_error_factor_is_the_total_over_what_was_paid() -> None:
    ledger = OpicLedger()
    ledger.join(4)
    assert ledger.error_factor() == float("inf")
    ledger.explore(random_web(4, 9, 1), 50, "cycle")
    assert ledger.error_factor() == pytest.approx(1 / ledger.turnovers)
    assert ledger.error_factor() == 4 * MEAN_CASH / ledger.paid


def test_with_greedy_a_page_is_read_as_often_as_it_is_important() -> None:
    web = random_web(40, 200, 4)
    ledger = OpicLedger(count_visits=True)
    ledger.join(40)
    ledger.explore(web, 400, "greedy")
    ledger.restart_frequency()
    assert ledger.frequency().tolist() == [0.0] * 40
    ledger.explore(web, 4000, "greedy")
    assert ledger.frequency().mean() == pytest.approx(1)
    assert np.abs(ledger.frequency() - power_iteration(web).scores).mean() < 0.15


def test_visits_that_were_not_counted_give_no_frequency() -> None:
    with pytest.raises(BadSetting, match="count_visits"):
        OpicLedger().frequency()


def test_a_focus_class_gets_its_weight_from_the_virtual_page() -> None:
    web = Graph(np.zeros(11, dtype=np.int64), np.empty(0, dtype=np.int32))
    ledger = OpicLedger()
    ledger.set_focus(5, 3.0)
    ledger.join(10)
    ledger.focus([1, 2, 2], 5)
    ledger.explore(web, 4000, "cycle")
    importance = ledger.importance()
    assert importance[[1, 2]] / importance[0] == pytest.approx([3, 3], rel=0.02)


def test_pages_never_read_can_be_fed_and_others_get_the_rest() -> None:
    ledger = OpicLedger(payout=1.0, damping=0.0)
    ledger.join(4)
    ledger.visit(0, [1])
    before = held(ledger)
    ledger.feed_unread(0.6)
    ledger.visit(1, [0])
    gained = held(ledger) - before
    assert gained[0] == pytest.approx(before[1] * 0.4 / 4, rel=1e-6)
    assert gained[[2, 3]] == pytest.approx([before[1] * (0.4 / 4 + 0.6 / 2)] * 2, rel=1e-6)
    ledger.check()


def test_extra_cash_comes_from_the_purse() -> None:
    ledger = OpicLedger(payout=0.0)
    ledger.join(3)
    ledger.visit(0, [])
    assert ledger.purse == pytest.approx(1 / 3)
    ledger.extra([2, 2, 1], 0.75)
    assert ledger.cash().tolist() == [0.0, 1.25, 1.5]
    assert ledger.purse == pytest.approx(1 / 12)
    ledger.extra([], 1.0)
    ledger.check()


def test_greedy_goes_round_when_nobody_has_cash() -> None:
    web = Graph(np.zeros(6, dtype=np.int64), np.empty(0, dtype=np.int32))
    ledger = OpicLedger(payout=0.0, count_visits=True)
    ledger.join(5)
    ledger.explore(web, 25, "greedy")
    assert ledger.frequency().tolist() == [1.0] * 5
    ledger.explore(web, 10, "balanced")
    assert ledger.frequency().tolist() == [1.0] * 5
    assert ledger.importance().tolist() == [1.0] * 5
    ledger.check()


def test_without_measures_importance_is_by_cash_and_without_cash_alike() -> None:
    ledger = OpicLedger(window=FixedWindow(2), payout=0.0)
    ledger.join(2)
    ledger.visit(0, [])
    assert ledger.importance().tolist() == [2.0, 0.0]
    ledger._clock.elapsed += 3 << 40
    assert ledger.importance().tolist() == [0.0, 2.0]
    ledger.visit(1, [])
    ledger._clock.elapsed += 3 << 40
    assert ledger.importance().tolist() == [1.0, 1.0]


def test_an_empty_ledger_answers_everything() -> None:
    for window in WINDOWS:
        ledger = OpicLedger(window=window)
        assert ledger.importance().tolist() == []
        assert ledger.cash().tolist() == []
        ledger.feed_unread(0.5)
        ledger.extra([], 1.0)
        ledger.check()
        assert ledger.statistics()["pages"] == 0
        ledger.explore(Graph(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32)), 0, "greedy")
        assert copy_of(ledger).join(3) == 0
        with pytest.raises(UnknownPage, match="empty"):
            ledger.explore(Graph(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32)), 1, "greedy")


def test_a_page_that_links_only_to_itself_keeps_all_but_the_virtual_pages_share() -> None:
    ledger = OpicLedger(payout=0.0)
    ledger.join(2)
    ledger.visit(0, [0, 0])
    assert ledger.cash([0])[0] == pytest.approx(0.85)
    assert ledger.purse == pytest.approx(0.15 / 2)


def test_a_page_of_sixty_five_thousand_links_pays_them_all() -> None:
    ledger = OpicLedger()
    ledger.join(3)
    ledger.visit(0, np.arange(65_000) % 2 + 1)
    ledger.visit(1, np.arange(65_000) % 2 + 1, np.full(65_000, 1e-300))
    ledger.check()
    assert ledger.cash([2])[0] > 1


def test_wrong_use_is_refused_and_changes_nothing() -> None:
    ledger = OpicLedger()
    ledger.join(3)
    before = copy_of(ledger)
    web = random_web(4, 5, 1)
    unknown: Any = "other"
    wrong: list[tuple[type[Exception], Any]] = [
        (BadRow, lambda: ledger.visit(0, [3])),
        (BadRow, lambda: ledger.visit(0, [1], [float("nan")])),
        (BadRow, lambda: ledger.visit(0, [1], [-1.0])),
        (UnknownPage, lambda: ledger.visit(3, [0])),
        (BadSetting, lambda: ledger.visit_many([0, 1], row_batch([1], None, 3))),
        (BadSetting, lambda: ledger.explore(web, 1)),
        (BadSetting, lambda: ledger.explore(random_web(3, 5, 1), -1)),
        (BadSetting, lambda: ledger.explore(random_web(3, 5, 1), -1, "random")),
        (BadSetting, lambda: ledger.join(-1)),
        (BadSetting, lambda: ledger.join(1, focus=1)),
        (BadSetting, lambda: ledger.join(1, focus=128)),
        (BadSetting, lambda: ledger.set_focus(0, 0)),
        (BadSetting, lambda: ledger.set_focus(0, float("nan"))),
        (BadSetting, lambda: ledger.set_focus(128, 1)),
        (BadSetting, lambda: ledger.focus([0], 1)),
        (UnknownPage, lambda: ledger.focus([3], 0)),
        (UnknownPage, lambda: ledger.extra([-1], 0.5)),
        (BadSetting, lambda: ledger.extra([1], 1.5)),
        (BadSetting, lambda: ledger.feed_unread(float("nan"))),
        (BadSetting, lambda: setattr(ledger, "damping", 1.1)),
        (BadSetting, lambda: setattr(ledger, "payout", -0.1)),
        (BadSetting, lambda: OpicLedger(damping=float("nan"))),
        (BadSetting, lambda: OpicLedger(matrix=unknown)),
    ]
    for error, attempt in wrong:
        with pytest.raises(error):
            attempt()
        assert same(ledger, before)


def test_statistics_say_where_the_bytes_are() -> None:
    ledger = OpicLedger(window=Interpolation(8), count_visits=True)
    ledger.join(1000)
    numbers = ledger.statistics()
    assert numbers["window"] == "Interpolation(turnovers=8)"
    assert [numbers[name] for name in ("bytes_cash", "bytes_history", "bytes_focus", "bytes_visits")] == [
        8000,
        8000,
        0,
        4000,
    ]
    assert ledger.nbytes == 20_000
    ledger.feed_unread(0.5)
    assert ledger.nbytes == 21_000
    assert OpicLedger().statistics()["window"] == "none"


@pytest.mark.compiled
def test_the_papers_convergence_comes_out() -> None:
    pages = 20_000
    web = power_law(pages, 1)
    expected = power_iteration(web).scores
    errors: dict[Strategy, list[float]] = {"random": [], "greedy": [], "cycle": []}
    found = {}
    for order, series in errors.items():
        ledger = OpicLedger()
        ledger.join(pages)
        for _ in range(5):
            ledger.explore(web, pages, order)
            series.append(float(100 * (np.abs(ledger.importance() - expected) / expected).mean()))
        before = ledger.paid
        ledger.explore(web, 5 * pages, order)
        found[order] = (ledger.paid - before) / (5 * pages) / MEAN_CASH
        ledger.check()
    assert all(one > later for series in errors.values() for one, later in pairwise(series))
    assert errors["greedy"][-1] < errors["cycle"][-1] < errors["random"][-1]
    assert found["random"] == pytest.approx(1, abs=0.1), "Section 3.1: the page read has 1/n of the cash with Random"
    assert found["greedy"] == pytest.approx(2.2, abs=0.3), "and about 2/n with Greedy"
