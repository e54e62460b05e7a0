"""OPIC loses no unit of cash: conservation, Lemma 2.3, and what is found when units are missing."""

from fractions import Fraction
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from centime.lab.synthetic.plain import power_law
from centime.ledger.cash import MEAN_CASH
from centime.ledger.history.window import Interpolation, Window
from centime.ledger.opic import Matrix, OpicLedger
from centime.ledger.strategy import STRATEGIES, Strategy
from centime.model.errors import LedgerImbalance
from tests.ledger.made import WINDOWS, copy_of, held, random_web, same


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
        page=st.integers(0, 99),
        links=st.lists(st.tuples(st.integers(0, 99), st.sampled_from([0.0, 0.3, 1.0, 7.0]))),
        weigh=st.booleans(),
    )
    def visit(self, page: int, links: list[tuple[int, float]], weigh: bool) -> None:
        targets = [self.page(target) for target, _ in links]
        self.ledger.visit(
            self.page(page), targets, [weight for _, weight in links] if weigh and self.weighted else None
        )
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


@pytest.mark.compiled
def test_ten_million_payments_lose_no_unit_and_fit_the_memory_promised() -> None:
    pages = 50_000
    ledger = OpicLedger(window=Interpolation(8))
    ledger.join(pages)
    ledger.explore(power_law(pages, 1), 1_000_000, "greedy")
    ledger.check()
    assert ledger.nbytes == 16 * pages
