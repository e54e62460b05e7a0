"""What a crawl's frontier relies on: the watch gets every page whose inflow changes, and inflow orders pages by
importance."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from centime.ledger import accounts
from centime.ledger.cash import BANK
from centime.ledger.exact import ExactLedger
from centime.ledger.history.window import Interpolation
from centime.ledger.memory_rows import MemoryRows
from centime.ledger.opic import OpicLedger
from centime.ledger.payment import ALL_PAID

PAGES = 12
visits = st.lists(
    st.tuples(st.integers(0, PAGES - 1), st.lists(st.integers(0, PAGES - 1), max_size=5)), min_size=1, max_size=40
)


def ledger_of(name: str) -> ExactLedger | OpicLedger:
    ledger: ExactLedger | OpicLedger = (
        ExactLedger() if name == "exact" else OpicLedger(window=Interpolation(2.0) if name == "interpolation" else None)
    )
    ledger.set_focus(1, 4.0)
    ledger.join(PAGES - 4)
    ledger.join(4, focus=1)
    return ledger


@pytest.mark.parametrize("name", ["exact", "opic", "interpolation"])
@settings(deadline=None)
@given(read=visits)
def test_the_watch_gets_every_page_whose_inflow_changes(name: str, read: list[tuple[int, list[int]]]) -> None:
    ledger = ledger_of(name)
    named: list[npt.NDArray[np.int32] | None] = []
    ledger.watch = named.append
    everybody = np.arange(PAGES, dtype=np.int64)
    for page, links in read:
        before = ledger.inflow(everybody)
        named.clear()
        ledger.visit(page, links)
        ledger.advance(0.01, 20)
        if any(pages is None for pages in named):
            continue
        told = {int(number) for pages in named if pages is not None for number in pages} | {page}
        assert set(np.flatnonzero(ledger.inflow(everybody) != before).tolist()) <= told


@settings(deadline=None)
@given(read=visits)
def test_inflow_plus_class_share_is_in_proportion_to_importance(read: list[tuple[int, list[int]]]) -> None:
    ledger = ledger_of("exact")
    assert isinstance(ledger, ExactLedger)
    for page, links in read:
        ledger.visit(page, links)
    everybody = np.arange(PAGES, dtype=np.int64)
    classes = np.array([0] * (PAGES - 4) + [1] * 4)
    together = ledger.inflow(everybody) + ledger.class_shares()[classes]
    assert np.allclose(together / together.sum(), ledger.importance() / PAGES, rtol=1e-5)
    assert np.allclose(together * ledger.unit(), ledger.importance(), rtol=1e-5)
    assert ExactLedger().unit() == 0.0


@pytest.mark.parametrize("focused", [True, False])
def test_inflow_plus_class_share_of_an_unread_page_is_its_cash(focused: bool) -> None:
    ledger = OpicLedger()
    ledger.join(6)
    if focused:
        ledger.set_focus(1, 2.0)
        ledger.focus([4, 5], 1)
    for page in (0, 1, 2, 0, 1):
        ledger.visit(page, [(page + 1) % 6, 5])
    unread = np.flatnonzero(ledger.unread())
    classes = np.array([0, 0, 0, 0, 1, 1])[unread] if focused else np.zeros(len(unread), dtype=np.int64)
    together = ledger.inflow(unread) + ledger.class_shares()[classes]
    assert np.allclose(together / together.sum(), ledger.cash(unread) / ledger.cash(unread).sum(), rtol=1e-4)
    assert np.allclose(together * ledger.unit(), ledger.cash(unread), rtol=1e-4)


def test_revalued_money_changes_the_inflow_of_all_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = ExactLedger()
    ledger.join(6)
    named: list[npt.NDArray[np.int32] | None] = []
    ledger.watch = named.append
    monkeypatch.setattr(accounts, "MOST_BITS", ledger._accounts.total(ALL_PAID).bit_length() - 3)
    ledger.visit(0, [1])
    assert any(pages is None for pages in named), "by reading"
    named.clear()
    ledger.join(50)
    assert named == [None], "by joining"


def test_settling_with_the_bank_changes_the_inflow_of_all_pages() -> None:
    ledger = OpicLedger(matrix="all-ones", damping=1.0)
    ledger.join(2)
    named: list[npt.NDArray[np.int32] | None] = []
    ledger.watch = named.append
    lent = ledger._virtual.held() // 1000 * 999
    ledger._virtual.stored.values[:] -= lent
    ledger._virtual.pots[BANK] += lent.sum()
    ledger.visit(0, [1])
    ledger.check()
    assert any(pages is None for pages in named)


def test_advancing_pays_no_more_often_than_asked_and_the_same_each_time() -> None:
    random = np.random.default_rng(5)
    links = [random.integers(0, 500, 8) for _ in range(500)]
    inflows = []
    for _ in range(2):
        ledger = ExactLedger()
        ledger.join(500)
        for page in range(500):
            ledger.visit(page, links[page])
        assert ledger.advance(0.0, 7) == 7
        inflows.append(ledger.inflow(np.arange(500)))
    assert np.array_equal(inflows[0], inflows[1])


def test_a_ledger_whose_rows_are_kept_elsewhere_comes_back_without_them() -> None:
    rows = MemoryRows()
    ledger = ExactLedger(rows=rows)
    ledger.join(4)
    ledger.visit(0, [1, 2])
    ledger.visit(1, [0])
    facts, arrays = ledger.state(with_rows=False)
    assert not {"targets", "lengths", "weights"} & set(arrays)
    again = ExactLedger.from_state(facts, arrays, rows)
    again.check()
    for one in (ledger, again):
        one.advance(0.0, 50)
    assert np.array_equal(ledger.importance(), again.importance())
    copied = MemoryRows()
    everybody = np.arange(4, dtype=np.int64)
    copied.replace(everybody, rows.gather(everybody))
    again.use_rows(copied)
    again.visit(0, [3])
    again.check()
    assert rows.gather(everybody[:1]).links().tolist() == [1, 2], "the old store is left alone"
