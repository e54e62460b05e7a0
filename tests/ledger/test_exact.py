"""The exact ledger: conservation, exactness, the certificate, growth, focus, settling, exploring."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from centime.ledger.exact import ExactLedger
from centime.ledger.memory_rows import row_batch
from centime.model.errors import BadRow, BadSetting, UnknownPage
from centime.model.graph import Graph, graph_from_links
from centime.model.row_batch import RowBatch
from tests.ledger.made import random_web
from tests.ledger.reference import Row, dense_importance


def rows_of(web: Graph) -> dict[int, Row]:
    return {page: [(int(target), 1.0) for target in web.row(page)] for page in range(web.pages)}


class LedgerMachine(RuleBasedStateMachine):
    """Whatever is read, found, lost, focused or settled, money is conserved and the certificate holds."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = ExactLedger(damping=0.85)
        self.rows: dict[int, Row] = {}
        self.classes: list[int] = []
        self.weights = [1.0]
        self.join(count=2, focus=0)

    def page(self, seed: int) -> int:
        return seed % self.ledger.pages

    @rule(count=st.integers(0, 5), focus=st.integers(0, 3))
    def join(self, count: int, focus: int) -> None:
        focus %= len(self.weights)
        before = self.ledger._accounts.owed(None)
        assert self.ledger.join(count, focus=focus) == len(self.classes)
        after = self.ledger._accounts.owed(None)
        assert np.array_equal(after, np.append(before, np.zeros(count, dtype=np.int64))), (
            "nobody notices a page that joins"
        )
        self.classes += [focus] * count

    @rule(
        page=st.integers(0, 10**6),
        links=st.lists(st.tuples(st.integers(0, 10**6), st.sampled_from([0.0, 0.3, 1.0, 7.0]))),
    )
    def visit_by_weight(self, page: int, links: list[tuple[int, float]]) -> None:
        row = [(self.page(target), weight) for target, weight in links]
        self.rows[self.page(page)] = row
        self.ledger.visit(self.page(page), [target for target, _ in row], [weight for _, weight in row])

    @rule(page=st.integers(0, 10**6), links=st.lists(st.integers(0, 10**6), max_size=12))
    def visit(self, page: int, links: list[int]) -> None:
        self.rows[self.page(page)] = [(self.page(target), 1.0) for target in links]
        self.ledger.visit(self.page(page), [self.page(target) for target in links])

    @rule(page=st.integers(0, 10**6))
    def forget(self, page: int) -> None:
        self.rows[self.page(page)] = []
        self.ledger.forget(self.page(page))

    @rule(page=st.integers(0, 10**6), onward=st.integers(0, 10**6))
    def redirect(self, page: int, onward: int) -> None:
        self.rows[self.page(page)] = [(self.page(onward), 1.0)]
        self.ledger.redirect(self.page(page), self.page(onward))

    @rule(focus=st.integers(0, 4), weight=st.sampled_from([0.0625, 0.5, 1.0, 20.0]))
    def set_focus(self, focus: int, weight: float) -> None:
        self.ledger.set_focus(focus, weight)
        self.weights += [1.0] * (focus + 1 - len(self.weights))
        self.weights[focus] = weight

    @rule(pages=st.lists(st.integers(0, 10**6)), focus=st.integers(0, 10))
    def focus(self, pages: list[int], focus: int) -> None:
        focus %= len(self.weights)
        self.ledger.focus([self.page(page) for page in pages], focus)
        for page in pages:
            self.classes[self.page(page)] = focus

    @rule(payments=st.integers(0, 20))
    def settle_a_little(self, payments: int) -> None:
        assert self.ledger.settle(payments=payments).payments <= payments

    @rule(threshold=st.sampled_from([0.01, 0.3]))
    def settle_to_a_threshold(self, threshold: float) -> None:
        assert self.ledger.settle(threshold=threshold).finished

    @rule()
    def settle(self) -> None:
        done = self.ledger.settle(error=1e-9)
        assert done.finished
        assert done.error <= 1e-9

    @invariant()
    def money_is_conserved_and_the_certificate_holds(self) -> None:
        self.ledger.check()
        emphasis = np.array(self.weights)[self.classes]
        exact = dense_importance(self.ledger.pages, self.rows, 0.85, emphasis)
        importance = self.ledger.importance()
        assert importance.sum() == pytest.approx(self.ledger.pages)
        # The dense solution has an error of its own, of about 1e-12.
        assert np.abs(importance - exact).sum() <= self.ledger.error() * self.ledger.pages + 1e-9
        assert np.abs(importance - exact).max() <= self.ledger.largest_error() + 1e-9


def test_money_is_conserved_and_the_certificate_holds_whatever_happens() -> None:
    run_state_machine_as_test(LedgerMachine, settings=settings(max_examples=40, stateful_step_count=25))


@pytest.mark.parametrize("order", ["random", "greedy", "cycle", "balanced"])
def test_every_order_leads_to_the_same_importance(order: str) -> None:
    web = random_web(40, 150, seed=3)
    ledger = ExactLedger()
    ledger.join(40)
    ledger.explore(web, 40 * 60, order)
    ledger.check()
    assert ledger.read().all()
    assert ledger.error() < 1e-9
    assert ledger.importance() == pytest.approx(dense_importance(40, rows_of(web)), abs=1e-9)


def test_exploring_in_a_given_order_equals_visiting_page_by_page() -> None:
    web = random_web(30, 100, seed=1)
    order = np.random.default_rng(2).integers(0, 30, 200)
    one, other = ExactLedger(), ExactLedger()
    one.join(30)
    other.join(30)
    one.explore(web, 200, order)
    for page in order:
        other.visit(int(page), web.row(page))
    assert np.array_equal(one.importance(), other.importance())
    assert one.payments == other.payments == 200


def test_a_page_read_twice_in_a_batch_keeps_its_last_row() -> None:
    ledger = ExactLedger()
    ledger.join(3)
    rows = RowBatch(np.array([0, 1, 2]), np.array([1, 1, 1]), np.array([1, 2, 0], dtype=np.int32), np.empty(0))
    ledger.visit_many([0, 0, 1], rows)
    ledger.check()
    assert ledger.links == 2
    ledger.settle(error=1e-10)
    assert ledger.importance() == pytest.approx(dense_importance(3, {0: [(2, 1)], 1: [(0, 1)]}), abs=1e-9)


@given(st.integers(0, 10**6))
@settings(max_examples=20)
def test_the_weights_of_links_matter_and_a_weight_of_zero_is_no_link(seed: int) -> None:
    chance = np.random.default_rng(seed)
    ledger = ExactLedger(damping=0.7)
    ledger.join(12)
    rows: dict[int, Row] = {}
    for page in range(12):
        targets = chance.integers(0, 12, 5)
        weights = chance.integers(0, 4, 5).astype(float)
        rows[page] = list(zip(targets.tolist(), weights.tolist(), strict=True))
        ledger.visit(page, targets, weights)
    ledger.settle(error=1e-11)
    assert ledger.importance() == pytest.approx(dense_importance(12, rows, 0.7), abs=1e-9)


def test_a_page_read_again_with_other_weights_pays_by_them() -> None:
    ledger = ExactLedger()
    ledger.join(3)
    for weights in ([1.0, 3.0], [3.0, 1.0]):
        ledger.visit(0, [1, 2], weights)
        ledger.settle(error=1e-9)
        ledger.check()
    assert ledger.importance()[1] > ledger.importance()[2]


def test_a_weighted_web_is_explored_by_its_weights() -> None:
    web = graph_from_links(4, [0, 0, 1, 2, 3], [1, 2, 0, 0, 3], [3.0, 1.0, 2.0, 5.0, 0.0])
    ledger = ExactLedger()
    ledger.join(4)
    ledger.explore(web, 400, "cycle")
    ledger.check()
    expected = dense_importance(4, {0: [(1, 3), (2, 1)], 1: [(0, 2)], 2: [(0, 5)], 3: []})
    assert ledger.importance() == pytest.approx(expected, abs=1e-9)


def test_the_certified_error_falls_as_pages_are_settled() -> None:
    ledger = ExactLedger()
    ledger.join(200)
    ledger.explore(random_web(200, 1500, seed=0), 200, "cycle")
    errors = [ledger.error()]
    for _ in range(6):
        ledger.settle(payments=100)
        errors.append(ledger.error())
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < errors[0] / 10


def test_settling_by_threshold_leaves_nothing_above_it_and_costs_only_what_changed() -> None:
    ledger = ExactLedger()
    ledger.join(300)
    ledger.explore(random_web(300, 2000, seed=5), 300, "cycle")
    assert ledger.settle(threshold=0.01).finished
    assert np.abs(ledger.owed()).max() < 0.02  # what the virtual page gives everybody is noticed at the next full look
    ledger.visit(7, [1, 2])
    done = ledger.settle(threshold=0.01)
    assert done.finished
    assert done.payments < 150


def test_a_settlement_stops_when_its_time_is_used_up() -> None:
    ledger = ExactLedger()
    ledger.join(50)
    ledger.explore(random_web(50, 300, seed=5), 50, "cycle")
    for done in (
        ledger.settle(seconds=0.0, error=0.0),
        ledger.settle(seconds=0.0, threshold=0.0),
        ledger.settle(seconds=0.0),
    ):
        assert (done.payments, done.finished) == (0, False)


def test_an_error_that_rounding_cannot_reach_ends_unfinished() -> None:
    ledger = ExactLedger()
    ledger.join(5)
    ledger.explore(random_web(5, 12, seed=5), 5, "cycle")
    done = ledger.settle(error=0.0)
    assert not done.finished
    assert done.error < 1e-11
    assert ledger.settle(error=1e-10).finished
    assert ledger.settle(error=1e-10, payments=3).payments == 0


def test_an_empty_ledger_answers_everything() -> None:
    ledger = ExactLedger()
    ledger.check()
    assert ledger.error() == ledger.largest_error() == 0.0
    assert len(ledger.importance()) == len(ledger.top(5)) == 0
    assert ledger.settle(error=1e-9).finished
    assert ledger.settle(threshold=0.1).finished
    ledger.explore(graph_from_links(0, [], []), 0)
    assert ledger.statistics()["pages"] == 0


def test_a_page_that_links_only_to_itself_keeps_only_what_damping_lets_it() -> None:
    ledger = ExactLedger()
    ledger.join(2)
    ledger.visit(0, [0])
    ledger.settle(error=1e-11)
    assert ledger.importance() == pytest.approx(dense_importance(2, {0: [(0, 1)]}), abs=1e-9)


def test_a_page_of_sixty_thousand_links_pays_them_all() -> None:
    ledger = ExactLedger()
    ledger.join(40)
    ledger.visit(0, np.arange(60_000) % 40)
    ledger.check()
    assert ledger.links == 60_000


def test_the_largest_pages_come_first() -> None:
    ledger = ExactLedger()
    ledger.join(5)
    for page in range(5):
        ledger.visit(page, [3] if page < 3 else [4])
    ledger.settle(error=1e-10)
    assert list(ledger.top(2)) == [4, 3]
    assert list(ledger.top(0)) == []
    assert len(ledger.top(100)) == 5


def test_greedy_reads_pages_never_read_by_what_their_links_could_move() -> None:
    ledger = ExactLedger()
    ledger.join(64)
    ledger.set_focus(1, 50.0)
    ledger.focus([9], 1)
    ledger.explore(random_web(64, 300, seed=1), 1, "greedy")
    assert np.flatnonzero(ledger.read()).tolist() == [9]


def test_greedy_goes_round_when_nothing_is_owed() -> None:
    ledger = ExactLedger()
    ledger.join(3)
    web = graph_from_links(3, [], [])
    ledger.explore(web, 50, "greedy")
    assert ledger.read().all()
    ledger.check()


def test_pages_that_join_between_explorations_are_explored() -> None:
    ledger = ExactLedger()
    ledger.join(3)
    ledger.explore(random_web(3, 6, 0), 10, "greedy")
    ledger.join(100)
    ledger.explore(random_web(103, 600, 0), 300, "greedy")
    assert ledger.read().all()


@pytest.mark.parametrize("damping", [-0.1, 1.0, float("nan")])
def test_damping_lies_below_one(damping: float) -> None:
    with pytest.raises(BadSetting, match="damping"):
        ExactLedger(damping=damping)


def test_damping_of_zero_makes_all_pages_alike() -> None:
    ledger = ExactLedger(damping=0)
    ledger.join(4)
    ledger.visit(0, [1])
    ledger.settle(error=1e-12)
    assert ledger.importance() == pytest.approx(np.ones(4))


def test_wrong_use_is_refused_and_changes_nothing() -> None:
    ledger = ExactLedger()
    ledger.join(3)
    ledger.visit(0, [1])
    before = ledger.importance().tobytes(), ledger.statistics()
    for links, weights in (
        ([3], None),
        ([-1], None),
        ([0.5], None),
        ([[1]], None),
        ([1], [np.nan]),
        ([1], [-1.0]),
        ([1], [1.0, 2.0]),
    ):
        with pytest.raises(BadRow):
            ledger.visit(0, links, weights)
    with pytest.raises(UnknownPage, match="page 3 is not known"):
        ledger.visit(3, [0])
    with pytest.raises(UnknownPage, match="page -1"):
        ledger.importance([-1])
    with pytest.raises(UnknownPage, match="must be integers"):
        ledger.importance(["a"])
    with pytest.raises(BadSetting, match=r"visits need \d rows"):
        ledger.visit_many([0, 1], row_batch([1], None, 3))
    with pytest.raises(BadSetting, match="join them first"):
        ledger.explore(random_web(5, 5, 0), 5)
    limits: list[dict[str, Any]] = [{"error": -1.0}, {"threshold": float("nan")}, {"payments": -1}, {"seconds": -1.0}]
    for limit in [*limits, {"error": 1.0, "threshold": 1.0}]:
        with pytest.raises(BadSetting):
            ledger.settle(**limit)
    for focus, weight in ((1, 0.0), (1, float("inf")), (128, 1.0), (-1, 1.0), (0, 1e9)):
        with pytest.raises(BadSetting):
            ledger.set_focus(focus, weight)
    with pytest.raises(BadSetting, match="has no weight yet"):
        ledger.focus([0], 5)
    with pytest.raises(BadSetting, match="cannot add"):
        ledger.join(-1)
    assert (ledger.importance().tobytes(), ledger.statistics()) == before


@pytest.mark.compiled
def test_a_million_payments_lose_no_unit_and_fit_the_memory_promised() -> None:
    ledger = ExactLedger()
    ledger.join(100_000)
    web = random_web(100_000, 1_000_000, seed=0)
    ledger.explore(web, 1_000_000, "greedy")
    ledger.check()
    assert ledger.error() < 1e-10
    assert ledger.nbytes <= 24 * ledger.pages


def test_links_whose_weights_alone_change_are_paid_anew() -> None:
    ledger = ExactLedger()
    ledger.join(3)
    ledger.visit(0, [1, 2], [3.0, 1.0])
    ledger.settle(error=1e-12)
    before = ledger.importance()
    ledger.visit(0, [1, 2], [1.0, 3.0])
    ledger.settle(error=1e-12)
    assert ledger.importance()[[1, 2]] == pytest.approx(before[[2, 1]])
    ledger.check()
