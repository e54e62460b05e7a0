"""OPIC: conservation, Lemma 2.3, the limit whatever the order, focus, discovery, saving."""

import json
from fractions import Fraction
from itertools import pairwise
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from centime.lab.plain import power_law
from centime.ledger.cash import MEAN_CASH
from centime.ledger.opic import Matrix, OpicLedger
from centime.ledger.order import STRATEGIES, Strategy
from centime.ledger.rows import row_batch
from centime.ledger.window import FixedWindow, ImprovedFixedWindow, Interpolation, VariableWindow, Window
from centime.model.errors import BadRow, BadSetting, LedgerImbalance, UnknownPage
from centime.model.graph import Graph, graph_from_links
from centime.rank.power import power_iteration

WINDOWS: list[Window | None] = [None, FixedWindow(2), ImprovedFixedWindow(2), VariableWindow(4), Interpolation(4)]


def random_web(pages: int, links: int, seed: int) -> Graph:
    chance = np.random.default_rng(seed)
    return graph_from_links(pages, chance.integers(0, pages, links), chance.integers(0, pages, links))


def held(ledger: OpicLedger) -> npt.NDArray[np.int64]:
    return ledger._virtual.held()


def copy_of(ledger: OpicLedger) -> OpicLedger:
    facts, arrays = ledger.state()
    return OpicLedger.from_state(json.loads(json.dumps(facts)), arrays)


def same(one: OpicLedger, other: OpicLedger) -> bool:
    facts, arrays = one.state()
    other_facts, other_arrays = other.state()
    return facts == other_facts and all(array.tobytes() == other_arrays[name].tobytes() for name, array in arrays.items())


class LedgerMachine(RuleBasedStateMachine):
    """Whatever is read, found, focused, fed or saved, no unit of cash is lost, and it is known what was read."""

    def __init__(self, window: Window | None = None, matrix: Matrix = "random-walk") -> None:
        super().__init__()
        self.ledger = OpicLedger(window=window, matrix=matrix, count_visits=True, seed=1)
        self.weighted = matrix == "random-walk"
        self.classes = [0]
        self.visits: list[int] = []
        self.join(count=3, focus=0)

    def page(self, seed: int) -> int:
        return seed % self.ledger.pages

    @rule(count=st.integers(0, 4), focus=st.integers(0, 3))
    def join(self, count: int, focus: int) -> None:
        assert self.ledger.join(count, focus=self.classes[focus % len(self.classes)]) == len(self.visits)
        self.visits += [0] * count

    @rule(
        page=st.integers(0, 99), links=st.lists(st.tuples(st.integers(0, 99), st.sampled_from([0.0, 0.3, 1.0, 7.0]))), weigh=st.booleans()
    )
    def visit(self, page: int, links: list[tuple[int, float]], weigh: bool) -> None:
        targets = [self.page(target) for target, _ in links]
        self.ledger.visit(self.page(page), targets, [weight for _, weight in links] if weigh and self.weighted else None)
        self.visits[self.page(page)] += 1

    @rule(seed=st.integers(0, 99), visits=st.integers(0, 6), order=st.sampled_from(STRATEGIES))
    def explore(self, seed: int, visits: int, order: Strategy) -> None:
        before = self.ledger.visits
        self.ledger.explore(random_web(self.ledger.pages, 3 * self.ledger.pages, seed), visits, order)
        assert self.ledger.visits == before + visits
        self.visits = self.ledger._visit_counts().tolist()

    @rule(focus=st.integers(0, 127), weight=st.sampled_from([0.0625, 1.0, 20.0]))
    def set_focus(self, focus: int, weight: float) -> None:
        before = held(self.ledger)
        self.ledger.set_focus(focus, weight)
        assert np.array_equal(before, held(self.ledger))
        self.classes.append(focus)

    @rule(pages=st.lists(st.integers(0, 99)), focus=st.integers(0, 10))
    def focus(self, pages: list[int], focus: int) -> None:
        before = held(self.ledger)
        self.ledger.focus([self.page(page) for page in pages], self.classes[focus % len(self.classes)])
        assert np.array_equal(before, held(self.ledger)), "nobody's cash changes with its class"

    @rule(share=st.sampled_from([0.0, 0.3, 1.0]))
    def feed_unread(self, share: float) -> None:
        before = held(self.ledger)
        self.ledger.feed_unread(share)
        assert np.array_equal(before, held(self.ledger))

    @rule(pages=st.lists(st.integers(0, 99)), share=st.sampled_from([0.0, 0.3, 1.0]))
    def extra(self, pages: list[int], share: float) -> None:
        self.ledger.extra([self.page(page) for page in pages], share)

    @rule(damping=st.sampled_from([0.0, 0.5, 0.85, 1.0]), payout=st.sampled_from([0.0, 0.25, 1.0]))
    def tune(self, damping: float, payout: float) -> None:
        self.ledger.damping, self.ledger.payout = damping, payout

    @rule()
    def save(self) -> None:
        again = copy_of(self.ledger)
        assert same(self.ledger, again)
        self.ledger = again

    @invariant()
    def nothing_is_lost(self) -> None:
        self.ledger.check()
        assert self.ledger._visit_counts().tolist() == self.visits
        assert self.ledger.unread().tolist() == [count == 0 for count in self.visits]

    @invariant()
    def the_mean_importance_is_one(self) -> None:
        importance = self.ledger.importance()
        assert (importance >= 0).all()
        assert importance.mean() == pytest.approx(1)
        assert self.ledger.importance([1])[0] == importance[1]


@pytest.mark.parametrize("matrix", get_args(Matrix))
@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_no_unit_is_lost_whatever_happens(window: Window | None, matrix: Matrix) -> None:
    class Machine(LedgerMachine):
        def __init__(self) -> None:
            super().__init__(window, matrix)

    run_state_machine_as_test(Machine, settings=settings(max_examples=10, stateful_step_count=20, deadline=None))


@given(
    seed=st.integers(0, 10**6),
    visits=st.lists(st.integers(0, 5), max_size=25),
    damping=st.sampled_from([0.0, 0.5, 0.85, 1.0]),
    weighted=st.booleans(),
)
@settings(max_examples=40)
def test_lemma_2_3_holds_after_every_step_up_to_a_unit_for_each_payment(
    seed: int, visits: list[int], damping: float, weighted: bool
) -> None:
    pages = 6
    chance = np.random.default_rng(seed)
    rows = [chance.integers(0, pages, size=chance.integers(0, 9)) for _ in range(pages)]
    weights = [chance.integers(1, 9, size=len(row)) if weighted else np.ones(len(row), dtype=np.int64) for row in rows]
    ledger = OpicLedger(damping=damping, default_history=False)
    ledger.join(pages)
    start = held(ledger)
    level = ledger._virtual.level[0]
    payments = np.zeros(pages, dtype=np.int64)
    share = [[Fraction(0)] * pages for _ in range(pages)]
    for page, row in enumerate(rows):
        for target, weight in zip(row, weights[page], strict=True):
            share[page][target] += Fraction(int(weight), int(weights[page].sum())) * Fraction(damping)
    for page in visits:
        ledger.visit(page, rows[page], weights[page] if weighted else None)
        np.add.at(payments, rows[page], 1)
        history = np.maximum(ledger._history.state()["history"], 0)  # below 0: never read
        by_virtual_page = ledger._virtual.level[0] - level
        for target in range(pages):
            left = int(history[target]) + int(held(ledger)[target])
            by_links = sum(share[source][target] * int(history[source]) for source in range(pages))
            right = int(start[target]) + by_links + int(by_virtual_page)
            assert -1e-3 <= right - left <= payments[target] * 1.001


@pytest.mark.parametrize("window", [None, FixedWindow(64), ImprovedFixedWindow(64), VariableWindow(64), Interpolation(64)], ids=str)
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
        (BadSetting, lambda: OpicLedger(matrix="other")),  # type: ignore[arg-type]
    ]
    for error, attempt in wrong:
        with pytest.raises(error):
            attempt()
        assert same(ledger, before)


def test_a_unit_that_is_missing_is_found() -> None:
    for change in ("stored", "pots", "counts"):
        ledger = OpicLedger()
        ledger.join(3)
        array = getattr(ledger._virtual.cash, change)
        array[0] += 1
        with pytest.raises(LedgerImbalance, match="should be"):
            ledger.check()


def test_a_page_in_debt_is_found() -> None:
    ledger = OpicLedger()
    ledger.join(2)
    ledger._virtual.stored.values[:] += [-2 * MEAN_CASH, 2 * MEAN_CASH]
    with pytest.raises(LedgerImbalance, match="debt"):
        ledger.check()


def test_statistics_say_where_the_bytes_are() -> None:
    ledger = OpicLedger(window=Interpolation(8), count_visits=True)
    ledger.join(1000)
    numbers = ledger.statistics()
    assert numbers["window"] == "Interpolation(turnovers=8)"
    assert [numbers[name] for name in ("bytes_cash", "bytes_history", "bytes_focus", "bytes_visits")] == [8000, 8000, 0, 4000]
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


@pytest.mark.compiled
def test_ten_million_payments_lose_no_unit_and_fit_the_memory_promised() -> None:
    pages = 50_000
    ledger = OpicLedger(window=Interpolation(8))
    ledger.join(pages)
    ledger.explore(power_law(pages, 1), 1_000_000, "greedy")
    ledger.check()
    assert ledger.nbytes == 16 * pages
