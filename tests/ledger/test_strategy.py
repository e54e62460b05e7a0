"""Page orders: every strategy gives the visits asked for, the same again from the same state."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.ledger.strategy import STRATEGIES, PageOrder, Strategy, known_pages, repeated, runs_without_repeats
from centime.model.errors import BadSetting, UnknownPage
from centime.model.row_batch import Pages


def first(count: int) -> Pages:
    return np.arange(count)


def nothing(count: int) -> Pages:
    return np.empty(0, dtype=np.int64)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("largest", [first, nothing])
def test_every_strategy_gives_as_many_known_pages_as_asked(strategy: Strategy, largest: Callable[[int], Pages]) -> None:
    for pages, visits in ((1, 5), (10, 3), (1000, 5000)):
        chosen = np.concatenate(list(PageOrder().batches(strategy, visits, pages, largest)))
        assert len(chosen) == visits
        assert chosen.min() >= 0
        assert chosen.max() < pages


def test_a_cycle_goes_round_and_greedy_asks_for_the_largest() -> None:
    order = PageOrder()
    assert np.concatenate(list(order.batches("cycle", 7, 5, nothing))).tolist() == [0, 1, 2, 3, 4, 0, 1]
    assert np.concatenate(list(order.batches("cycle", 2, 5, nothing))).tolist() == [2, 3]
    assert np.concatenate(list(order.batches("greedy", 2, 200, first))).tolist() == [0, 1]


def test_half_of_a_balanced_order_goes_round() -> None:
    for pages in (10, 6400):
        marked = np.full(1, pages - 1)
        chosen = np.concatenate(list(PageOrder().batches("balanced", 1000, pages, partial(np.repeat, marked))))
        assert 450 <= (chosen == pages - 1).sum() - 1000 // pages // 2 <= 550


def test_random_reads_all_pages_alike() -> None:
    chosen = np.concatenate(list(PageOrder(1).batches("random", 20_000, 10, nothing)))
    assert np.bincount(chosen).min() > 1800


def test_the_order_goes_on_from_its_state() -> None:
    order = PageOrder(5)
    list(order.batches("random", 10, 1000, nothing))
    list(order.batches("balanced", 3, 1000, nothing))
    again = PageOrder.from_state(order.state())
    for strategy in ("random", "balanced", "cycle"):
        one, other = (np.concatenate(list(o.batches(strategy, 50, 1000, nothing))) for o in (order, again))
        assert np.array_equal(one, other)


def test_wrong_strategies_are_refused() -> None:
    for strategy, visits, error in (
        ("best", 1, BadSetting),
        ("cycle", -1, BadSetting),
        ([0, 1], 3, BadSetting),
        ([[0, 1]], 1, BadSetting),
        ([0.5], 1, BadSetting),
        ([0, 9], 2, UnknownPage),
    ):
        with pytest.raises(error):
            list(PageOrder().batches(strategy, visits, 5, nothing))
    with pytest.raises(UnknownPage, match="empty"):
        list(PageOrder().batches("cycle", 1, 0, nothing))


def test_known_pages_are_those_below_the_number_of_pages() -> None:
    assert known_pages([], 0).tolist() == []
    assert known_pages(3, 4).tolist() == [3]


def test_a_repetition_is_every_place_but_the_first() -> None:
    assert repeated(np.array([3, 1, 3, 3, 1, 0])).tolist() == [False, False, True, True, True, False]


@given(st.lists(st.integers(0, 5), max_size=30))
def test_runs_without_repeats_are_the_longest(pages: list[int]) -> None:
    runs = [pages[start:end] for start, end in runs_without_repeats(np.array(pages, dtype=np.int64))]
    assert [page for run in runs for page in run] == pages
    assert all(len(set(run)) == len(run) for run in runs)
    assert all(after[0] in run for run, after in pairwise(runs))
