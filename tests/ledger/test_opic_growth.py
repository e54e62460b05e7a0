"""Pages that join a crawl: the cash they bring, the past they are given, and the order of the richest."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from centime.ledger.cash import MEAN_CASH
from centime.ledger.history.clock import G0, TURNOVER
from centime.ledger.history.newcomers import MOST_MOMENTS, Newcomers
from centime.ledger.history.window import FixedWindow, ImprovedFixedWindow, Interpolation, VariableWindow, Window
from centime.ledger.memory_rows import WebRows
from centime.ledger.opic import OpicLedger
from centime.ledger.richest import RICHEST, Richest
from centime.model.graph import Graph, graph_from_links
from centime.model.row_batch import RowBatch

WINDOWS: list[Window | None] = [None, FixedWindow(4), ImprovedFixedWindow(4), VariableWindow(4), Interpolation(4)]


def growing_web(pages: int) -> Graph:
    """A core of ten pages that link to each other, and pages that only the core links to."""
    chance = np.random.default_rng(7)
    sources = np.concatenate(
        [np.repeat(np.arange(10), 10), chance.integers(0, 10, 3 * (pages - 10)), np.arange(10, pages)]
    )
    targets = np.concatenate(
        [np.tile(np.arange(10), 10), np.repeat(np.arange(10, pages), 3), chance.integers(0, 10, pages - 10)]
    )
    return graph_from_links(pages, sources, targets)


def part_of(web: Graph, pages: int) -> Graph:
    sources = np.repeat(np.arange(web.pages), web.out_degree)
    known = (sources < pages) & (web.targets < pages)
    return graph_from_links(pages, sources[known], web.targets[known])


def grown(window: Window | None, default_history: bool) -> OpicLedger:
    """A ledger of the core that then learns of 60 pages, some at a time, and of 20 more at the end."""
    web = growing_web(90)
    ledger = OpicLedger(window=window, default_history=default_history)
    ledger.join(10)
    ledger.explore(part_of(web, 10), 100, "greedy")
    for pages in range(15, 71, 5):
        ledger.join(5)
        ledger.explore(part_of(web, pages), 100, "greedy")
    ledger.join(20)
    ledger.check()
    return ledger


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_a_new_page_starts_with_the_importance_of_recent_ones(window: Window | None) -> None:
    ledger = grown(window, default_history=True)
    importance = ledger.importance()
    newcomers = importance[10:70].mean()
    assert importance[70:] == pytest.approx(np.full(20, newcomers), rel=0.4)
    assert newcomers < importance[:10].mean() / 3, "and that is less than that of the pages found first"
    assert ledger.unread()[70:].all()


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_without_a_default_history_a_new_page_starts_with_nothing(window: Window | None) -> None:
    assert grown(window, default_history=False).importance()[70:].max() < 0.1


@pytest.mark.compiled
@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_a_page_with_a_default_history_comes_to_its_own_importance(window: Window | None) -> None:
    ledger = grown(window, default_history=True)
    web = growing_web(90)
    ledger.explore(web, 2000, "greedy")
    settled = OpicLedger()
    settled.join(90)
    settled.explore(web, 2000, "greedy")
    assert np.abs(ledger.importance() - settled.importance()).mean() < 0.25
    ledger.check()


def test_what_a_page_brings_goes_to_everybody() -> None:
    ledger = OpicLedger()
    ledger.join(2)
    assert ledger.cash().tolist() == [1.0, 1.0]
    ledger.join(2)
    assert ledger.cash().tolist() == [1.5, 1.5, 0.5, 0.5]
    assert ledger._virtual.total == 4 * MEAN_CASH


def test_newcomers_are_measured_from_when_they_joined_even_when_the_clock_wraps() -> None:
    newcomers = Newcomers([], [])
    assert newcomers.importance == 0
    newcomers.join(10, G0 - TURNOVER)
    newcomers.join(20, TURNOVER)
    newcomers.read(np.array([3]), np.array([10**12]), np.array([TURNOVER]))
    assert newcomers.importance == 0, "pages that were there from the start do not count"
    newcomers.read(np.array([15, 25]), np.array([MEAN_CASH, MEAN_CASH]), np.array([2 * TURNOVER, 2 * TURNOVER]))
    assert newcomers.importance == pytest.approx(2 / (3 + 1), rel=0.01)
    newcomers.read(np.array([26]), np.array([100 * MEAN_CASH]), np.array([2 * TURNOVER]))
    assert newcomers.importance == 1


def test_histories_of_a_growing_crawl_do_not_run_away() -> None:
    chance = np.random.default_rng(0)
    ledger = OpicLedger()
    ledger.join(3)
    for _ in range(500):
        ledger.visit(int(chance.integers(0, ledger.pages)), chance.integers(0, ledger.pages, 10))
        ledger.join(1)
    mean = ledger._history.sum(ledger._clock) / ledger.pages / MEAN_CASH
    assert mean < ledger.turnovers
    assert ledger.error_factor() == pytest.approx(ledger._virtual.total / ledger.paid)


def test_only_so_many_moments_of_joining_are_remembered() -> None:
    newcomers = Newcomers([], [])
    for page in range(3 * MOST_MOMENTS):
        newcomers.join(page, page)
    state = newcomers.state()
    assert len(state["firsts"]) == len(state["times"]) <= MOST_MOMENTS
    assert state["firsts"] == state["times"], "what is forgotten is forgotten whole"
    assert state["firsts"][0] == 0
    assert state["firsts"][-1] == 3 * MOST_MOMENTS - 1


@given(seed=st.integers(0, 10**6), kinds=st.booleans())
@settings(max_examples=30)
def test_the_page_taken_has_the_largest_cash_within_a_factor_of_one_and_a_half(seed: int, kinds: bool) -> None:
    chance = np.random.default_rng(seed)
    sources, targets = (
        np.append(np.arange(30), chance.integers(0, 30, 60)),
        np.append(chance.permutation(30), chance.zipf(2, 60) % 30),
    )
    web = WebRows(graph_from_links(30, sources, targets))
    rows = RowBatch(web.starts, web.lengths, web.targets, web.weights)
    ledger = OpicLedger()
    ledger.join(30)
    if kinds:
        ledger.feed_unread(0.5)
    richest = Richest(30)
    for _ in range(100):
        largest = int(ledger._virtual.held().max())
        plan, amounts = np.array([RICHEST]), np.empty(1, dtype=np.int64)
        assert richest.read(ledger._virtual.cash, 1.0, rows, plan, amounts) == 1
        assert amounts[0] * 1.5 >= largest
        ledger.check()


def test_when_no_page_is_filed_any_more_all_are_filed_anew() -> None:
    ledger = OpicLedger(payout=0.0)
    ledger.join(3)
    ledger.visit(2, [0])
    ledger.visit(1, [2] * 20 + [0] * 80)
    rows = RowBatch(np.zeros(3, dtype=np.int64), np.zeros(3, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0))
    plan, amounts = np.full(3, RICHEST), np.empty(3, dtype=np.int64)
    assert Richest(3).read(ledger._virtual.cash, 0.85, rows, plan, amounts) == 2
    assert plan[:2].tolist() == [0, 2]


def test_a_page_that_only_the_virtual_page_pays_is_read_by_greedy() -> None:
    web = graph_from_links(100, np.arange(100), np.arange(100) % 10)
    ledger = OpicLedger(count_visits=True)
    ledger.join(100)
    ledger.explore(web, 2000, "greedy")
    assert ledger.frequency().min() > 0
