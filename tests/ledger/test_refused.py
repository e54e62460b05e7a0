"""A call that a ledger refuses changes nothing, and an error that rounding cannot reach is reported at once."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.ledger.exact import ExactLedger
from centime.ledger.history.window import FixedWindow, Interpolation
from centime.ledger.named import Ledger
from centime.ledger.opic import OpicLedger
from centime.model.errors import BadInput, CentimeError
from centime.model.graph import Graph
from centime.model.row_batch import NO_WEIGHTS, RowBatch

Numbered = ExactLedger | OpicLedger
NAN, INF = math.nan, math.inf

wrong_numbers = st.sampled_from([-1, 4, 10**12, -(10**20), 0.5, NAN, "a", None, True, [0, 9], [[0]], [0.5], [None]])
wrong_weights = st.sampled_from([[NAN], [INF], [-1.0], [1.0, 1.0], ["a"], [None], [[1.0]], NAN, -1])
wrong_shares = st.sampled_from([NAN, INF, -0.1, 1.1, "a", None, 1.3, 0, 10**9, [1.0, 2.0]])


def bits(value: Any) -> Any:
    """The whole state of a ledger, comparable."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, dict):
        return {name: bits(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [bits(part) for part in value]
    return value


def exact() -> ExactLedger:
    ledger = ExactLedger()
    ledger.join(4)
    ledger.set_focus(1, 2.0)
    ledger.visit(0, [1, 2])
    ledger.visit(1, [2, 3], [3.0, 1.0])
    ledger.settle(payments=3)
    return ledger


def opic(**settings: Any) -> OpicLedger:
    ledger = OpicLedger(**settings)
    ledger.join(4)
    ledger.set_focus(1, 2.0)
    ledger.visit(0, [1, 2])
    ledger.visit(1, [2, 3])
    return ledger


MAKERS: list[Callable[[], Numbered]] = [
    exact,
    opic,
    lambda: opic(window=FixedWindow(4.0), count_visits=True),
    lambda: opic(window=Interpolation(4.0), matrix="all-ones"),
]


def calls(ledger: Numbered, number: Any, weights: Any, share: Any) -> list[tuple[str, Callable[[], object]]]:
    """Calls of all methods that change a ledger, each with something that it must refuse or may accept."""
    row = RowBatch(np.zeros(1, np.int64), np.ones(1, np.int64), np.zeros(1, np.int32), NO_WEIGHTS)
    other = Graph(np.array([0, 1], dtype=np.int64), np.zeros(1, dtype=np.int32))
    same = Graph(np.array([0, 1, 1, 1, 1], dtype=np.int64), np.zeros(1, dtype=np.int32))
    made: list[tuple[str, Callable[[], object]]] = [
        ("join count", lambda: ledger.join(number)),
        ("join focus", lambda: ledger.join(1, focus=number)),
        ("visit page", lambda: ledger.visit(number, [1])),
        ("visit targets", lambda: ledger.visit(0, number)),
        ("visit weights", lambda: ledger.visit(0, [1], weights)),
        ("visit_many pages", lambda: ledger.visit_many(number, row)),
        ("visit_many rows", lambda: ledger.visit_many([0, 1], row)),
        ("explore web", lambda: ledger.explore(other, 1)),
        ("explore visits", lambda: ledger.explore(same, -1)),
        ("explore order", lambda: ledger.explore(same, 2, number)),
        ("explore strategy", lambda: ledger.explore(same, 2, "by luck")),
        ("set_focus class", lambda: ledger.set_focus(number, 2.0)),
        ("set_focus weight", lambda: ledger.set_focus(1, share)),
        ("focus pages", lambda: ledger.focus(number, 1)),
        ("focus class", lambda: ledger.focus([0], number)),
    ]
    if isinstance(ledger, ExactLedger):
        made += [
            ("forget", lambda: ledger.forget(number)),
            ("redirect", lambda: ledger.redirect(number, 1)),
            ("redirect target", lambda: ledger.redirect(0, number)),
            ("settle error", lambda: ledger.settle(error=share, payments=2)),
            ("settle threshold", lambda: ledger.settle(threshold=share, payments=2)),
            ("settle payments", lambda: ledger.settle(payments=share)),
            ("settle seconds", lambda: ledger.settle(error=0.5, seconds=share)),
            ("settle both", lambda: ledger.settle(error=0.5, threshold=0.5)),
        ]
    else:
        made += [
            ("damping", lambda: setattr(ledger, "damping", share)),
            ("payout", lambda: setattr(ledger, "payout", share)),
            ("feed_unread", lambda: ledger.feed_unread(share)),
            ("extra pages", lambda: ledger.extra(number, 0.5)),
            ("extra share", lambda: ledger.extra([0], share)),
        ]
    return made


@given(st.sampled_from(MAKERS), wrong_numbers, wrong_weights, wrong_shares)
def test_a_refused_call_leaves_a_ledger_as_it_was_to_the_last_bit(
    make: Callable[[], Numbered], number: Any, weights: Any, share: Any
) -> None:
    ledger, refused = make(), 0
    for k in range(len(calls(ledger, number, weights, share))):
        before = bits(ledger.state())
        name, call = calls(ledger, number, weights, share)[k]
        try:
            call()
        except (CentimeError, ValueError, TypeError, IndexError, OverflowError):
            refused += 1
            assert bits(ledger.state()) == before, name
        else:
            ledger = make()
    assert refused >= 4
    ledger.check()


NAMES: list[tuple[str, Callable[[Ledger], object]]] = [
    ("a weight that is no number", lambda ledger: ledger.visit("x", {"y": NAN})),
    ("a weight that is infinite", lambda ledger: ledger.visit("a", {"y": INF, "z": 1.0})),
    ("a weight below 0", lambda ledger: ledger.visit("a", {"b": -1.0})),
    ("a weight that is a word", lambda ledger: ledger.visit("x", {"y": "much"})),
    ("a name without a hash", lambda ledger: ledger.visit("x", [["y"]])),  # type: ignore[list-item]
    ("one string", lambda ledger: ledger.visit("x", "yz")),
    ("no list", lambda ledger: ledger.visit("x", 5)),  # type: ignore[arg-type]
    ("a list that fails", lambda ledger: ledger.visit("x", (1 // k for k in (1, 0)))),
    ("an unknown page", lambda ledger: ledger.forget("x")),
    ("a redirect to nothing", lambda ledger: ledger.redirect("x", [])),  # type: ignore[arg-type]
    ("a focus on nobody", lambda ledger: ledger.focus(["a", "x"], 2.0)),
    ("a focus of no weight", lambda ledger: ledger.focus(["a"], NAN)),
    ("a focus between weights", lambda ledger: ledger.focus(["a"], 1.3)),
    ("an error that is no number", lambda ledger: ledger.settle(error=NAN)),
]


@pytest.mark.parametrize(("name", "call"), NAMES, ids=[name for name, _ in NAMES])
def test_a_refused_call_leaves_no_name_behind(name: str, call: Callable[[Ledger], object]) -> None:
    ledger = Ledger()
    ledger.visit("a", ["b", "c"])
    ledger.focus(["c"], 4.0)
    before = bits([ledger.numbers.state(), ledger._names, ledger._number, ledger._classes])
    with pytest.raises((CentimeError, ValueError, TypeError, ZeroDivisionError)):
        call(ledger)
    assert bits([ledger.numbers.state(), ledger._names, ledger._number, ledger._classes]) == before
    ledger.visit("x", {"y": 1.0})
    ledger.check()


@pytest.mark.parametrize("error", [0.0, 1e-300, 1e-18])
def test_an_error_that_rounding_cannot_reach_ends_soon_and_says_what_can_be_reached(error: float) -> None:
    chance = np.random.default_rng(3)
    ledger = ExactLedger()
    ledger.join(300)
    for page in range(300):
        ledger.visit(page, chance.integers(0, 300, 7))
    done = ledger.settle(error=error)
    assert not done.finished
    assert done.payments < 300 * 1000
    assert error < done.least_error <= done.error < 100 * done.least_error
    ledger.check()
    assert ledger.settle(error=2 * done.error).finished


@pytest.mark.parametrize("links", range(1, 12))
def test_units_that_go_around_for_ever_do_not_keep_settling_busy(links: int) -> None:
    ledger = ExactLedger(damping=0.99)
    ledger.join(1)
    ledger.visit(0, [0] * links)
    assert ledger.settle(error=0.0, payments=20_000).payments < 20_000


def test_a_ledger_without_pages_is_settled() -> None:
    assert ExactLedger().settle(error=0.0).finished
    assert ExactLedger().least_error() == 0.0


def test_the_number_of_payments_is_whole() -> None:
    with pytest.raises(BadInput, match="whole number"):
        exact().settle(payments=2.5)  # type: ignore[arg-type]
