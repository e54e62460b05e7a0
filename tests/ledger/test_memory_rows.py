"""Rows: what is kept is what is given back, however rows grow, shrink and gain weights."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from centime.ledger.memory_rows import MemoryRows, WebRows, row_batch
from centime.model.errors import BadRow
from centime.model.graph import graph_from_links
from centime.model.row_batch import RowBatch

Links = list[tuple[int, float]]


def as_lists(rows: RowBatch) -> list[Links]:
    lists = []
    for start, length in zip(rows.starts, rows.lengths, strict=True):
        weights = rows.weights[start : start + length] if len(rows.weights) else np.full(length, 1.0 / max(1, length))
        lists.append(list(zip(rows.targets[start : start + length].tolist(), weights.tolist(), strict=True)))
    return lists


@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.lists(st.tuples(st.integers(0, 99), st.booleans()), max_size=8), st.booleans())
    )
)
@settings(max_examples=100)
def test_memory_gives_back_the_last_row_of_every_page(steps: list[tuple[int, list[tuple[int, bool]], bool]]) -> None:
    rows = MemoryRows()
    model: dict[int, Links] = {}
    for page, links, weighted in steps:
        targets = [target for target, _ in links]
        batch = row_batch(targets, [3.0 if heavy else 1.0 for _, heavy in links] if weighted else None, 100)
        rows.replace(np.array([page]), batch)
        model[page] = as_lists(batch)[0]
    found = as_lists(rows.gather(np.arange(10)))
    for page in range(10):
        assert found[page] == model.get(page, [])
    graph = rows.graph(100)
    assert graph.links == sum(len(links) for links in model.values())
    assert [graph.row(page).tolist() for page in range(10)] == [
        [target for target, _ in model.get(page, [])] for page in range(10)
    ]


def test_nothing_to_replace_is_no_work() -> None:
    rows = MemoryRows()
    rows.replace(np.empty(0, dtype=np.int64), row_batch([], None, 1))
    assert rows.nbytes == 0
    assert as_lists(rows.gather(np.empty(0, dtype=np.int64))) == []


def test_the_weights_of_a_web_add_up_to_one_and_a_row_without_weight_is_empty() -> None:
    web = WebRows(graph_from_links(3, [0, 0, 1, 2], [1, 2, 0, 0], [1.0, 3.0, 0.0, 5.0]))
    assert as_lists(web.gather(np.arange(3))) == [[(1, 0.25), (2, 0.75)], [], [(0, 1.0)]]


def test_a_row_is_checked() -> None:
    assert as_lists(row_batch([2, 1], [3, 1], 3)) == [[(2, 0.75), (1, 0.25)]]
    assert as_lists(row_batch([2, 1], [0, 0], 3)) == [[]]
    assert as_lists(row_batch([0, 1], [1e300, 1e300], 3)) == [[(0, 0.5), (1, 0.5)]]
    with pytest.raises(BadRow, match="page 7; known are 0 to 2"):
        row_batch([1, 7], None, 3)
    with pytest.raises(BadRow, match="page -2"):
        row_batch([-2], None, 3)


@pytest.mark.parametrize("weight", [5e-324, 1e-307, 1e-300, 1.0, 1e308])
def test_only_the_proportion_of_weights_counts_however_small_or_large_they_are(weight: float) -> None:
    assert row_batch([0, 1], [weight, weight], 2).weights.tolist() == [0.5, 0.5]
    assert row_batch([0, 1], [0.0, weight], 2).weights.tolist() == [1.0]
