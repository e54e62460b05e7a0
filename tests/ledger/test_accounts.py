"""Accounts: the unit keeps its value as the ledger grows, and an imbalance never goes unnoticed."""

import numpy as np
import pytest

from centime.ledger import accounts
from centime.ledger.exact import ExactLedger
from centime.ledger.payment import ALL_PAID, EMPHASIS, LINKS, PAID, RECEIVED, VIRTUAL
from centime.model.errors import LedgerImbalance
from tests.ledger.reference import dense_importance


def small_ledger() -> ExactLedger:
    ledger = ExactLedger()
    ledger.join(6)
    for page in range(5):
        ledger.visit(page, [(page + 1) % 6, (page * page) % 6])
    return ledger


@pytest.mark.parametrize("total", [ALL_PAID, VIRTUAL, EMPHASIS, LINKS])
def test_a_total_that_is_wrong_by_one_is_found(total: int) -> None:
    ledger = small_ledger()
    ledger.check()
    ledger._accounts.books.totals[total] += 1
    with pytest.raises(LedgerImbalance):
        ledger.check()


@pytest.mark.parametrize("column", [PAID, RECEIVED])
def test_an_account_that_is_wrong_by_one_is_found(column: int) -> None:
    ledger = small_ledger()
    ledger._accounts.books.money[4, column] += 1
    with pytest.raises(LedgerImbalance):
        ledger.check()


def test_money_that_outgrows_its_room_is_revalued_and_importance_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = small_ledger()
    ledger.settle(error=1e-9)
    before = ledger.importance()
    monkeypatch.setattr(accounts, "MOST_BITS", ledger._accounts.total(ALL_PAID).bit_length() - 3)
    ledger.visit(5, [])
    ledger.check()
    assert ledger._accounts.total(ALL_PAID).bit_length() < accounts.MOST_BITS + 3
    assert ledger.importance() == pytest.approx(before, abs=1e-6)
    ledger.join(50)
    ledger.check()
    assert ledger._accounts.total(ALL_PAID) < 1 << accounts.MOST_BITS


def test_money_that_has_become_little_is_revalued(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = small_ledger()
    monkeypatch.setattr(accounts, "LEAST_MEAN_BITS", 50)
    monkeypatch.setattr(accounts, "MEAN_BITS", 50)
    before = ledger._accounts.mean
    ledger.visit(0, [3])
    ledger.check()
    assert ledger._accounts.mean > 7 * before
    ledger.visit(0, [4])
    assert ledger._accounts.mean < 2**51, "once is enough"
    ledger.settle(error=1e-11)
    rows = {page: [((page + 1) % 6, 1.0), ((page * page) % 6, 1.0)] for page in range(1, 5)} | {0: [(4, 1.0)]}
    assert ledger.importance() == pytest.approx(dense_importance(6, rows), abs=1e-9)


def test_a_ledger_that_grows_page_by_page_stays_exact() -> None:
    ledger = ExactLedger()
    ledger.join()
    chance = np.random.default_rng(0)
    rows = {}
    for page in range(120):
        new = int(chance.integers(0, 4)) if page else 3
        ledger.join(new)
        if page < ledger.pages:
            targets = [*range(ledger.pages - new, ledger.pages), *chance.integers(0, ledger.pages, 2).tolist()]
            rows[page] = [(int(target), 1.0) for target in targets]
            ledger.visit(page, targets)
    ledger.settle(error=1e-10)
    ledger.check()
    assert ledger.importance() == pytest.approx(dense_importance(ledger.pages, rows), abs=1e-8)
