"""Every ledger gives a crawl what `PageLedger` says, and its capabilities mean what they say."""

import inspect
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from centime.ledger.exact import ExactLedger
from centime.ledger.history.window import Interpolation
from centime.ledger.memory_rows import MemoryRows, row_batch
from centime.ledger.opic import OpicLedger
from centime.ledger.protocol import PageLedger
from centime.model.row_batch import Pages, RowBatch

PAGES = 6
LINKS = {0: [1, 2, 5], 1: [0], 2: [], 3: [0, 3], 4: [5], 5: [4, 0]}
LEDGERS = ("exact", "opic", "interpolation")
MEMBERS = [*sorted(name for name in vars(PageLedger) if not name.startswith("_")), "watch"]


def ledger_of(name: str) -> PageLedger:
    """An empty ledger of each kind; mypy proves here that the classes have what the protocol asks for."""
    if name == "exact":
        return ExactLedger(rows=MemoryRows())
    return OpicLedger(window=Interpolation(2.0) if name == "interpolation" else None)


def crawled(name: str) -> PageLedger:
    ledger = ledger_of(name)
    ledger.set_focus(1, 4.0)
    assert ledger.join(PAGES - 2) == 0
    assert ledger.join(2, focus=1) == PAGES - 2
    for page, targets in LINKS.items():
        ledger.visit_many([page], row_batch(targets, None, PAGES))
    return ledger


def restored(name: str, facts: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> PageLedger:
    return ExactLedger.from_state(facts, arrays) if name == "exact" else OpicLedger.from_state(facts, arrays)


@pytest.mark.parametrize("kind", [ExactLedger, OpicLedger])
@pytest.mark.parametrize("member", MEMBERS)
def test_a_ledger_has_every_member_and_takes_its_arguments(kind: type, member: str) -> None:
    if member == "watch":
        assert kind().watch is None
        return
    wanted, offered = vars(PageLedger)[member], getattr(kind, member)
    if not inspect.isfunction(wanted):
        assert not inspect.isfunction(offered), "a property"
        return
    parameters = inspect.signature(offered).parameters
    for name, parameter in inspect.signature(wanted).parameters.items():
        assert parameters[name].kind == parameter.kind
        assert parameters[name].default == parameter.default or parameter.default is inspect.Parameter.empty
    assert inspect.getdoc(offered)


@pytest.mark.parametrize("name", LEDGERS)
def test_a_crawl_reads_pages_and_gets_importance_of_mean_1(name: str) -> None:
    ledger = crawled(name)
    ledger.check()
    assert ledger.pages == PAGES
    assert ledger.damping == 0.85
    assert ledger.nbytes > 0
    importance = ledger.importance()
    assert np.isclose(importance.mean(), 1.0)
    some = [4, 1]
    assert np.array_equal(ledger.importance(some), importance[some])
    assert ledger.owed().shape == (PAGES,)
    assert np.array_equal(ledger.owed(some), ledger.owed()[some])
    assert ledger.inflow(np.array(some)).shape == (2,)
    assert len(ledger.class_shares()) >= 2
    assert ledger.unit() > 0


@pytest.mark.parametrize("name", LEDGERS)
def test_a_ledger_names_the_pages_that_it_pays(name: str) -> None:
    ledger = crawled(name)
    named: list[int] = []
    ledger.watch = lambda pages: named.extend(range(PAGES) if pages is None else pages.tolist())
    ledger.visit_many([4], row_batch([5], None, PAGES))
    assert 5 in named


@pytest.mark.parametrize("name", LEDGERS)
def test_a_ledger_that_keeps_links_knows_them_and_one_that_does_not_says_so(name: str) -> None:
    ledger = crawled(name)
    assert ledger.keeps_links == (name == "exact")
    assert ledger.links == (sum(map(len, LINKS.values())) if ledger.keeps_links else None)
    kept = {"lengths", "targets"}
    assert kept <= set(ledger.state()[1]) if ledger.keeps_links else not kept & set(ledger.state()[1])
    assert not kept & set(ledger.state(with_rows=False)[1])


@pytest.mark.parametrize("name", LEDGERS)
def test_a_store_of_links_is_used_by_a_ledger_that_keeps_links_alone(name: str) -> None:
    class Recording(MemoryRows):
        asked = 0

        def gather(self, pages: Pages) -> RowBatch:
            self.asked += 1
            return super().gather(pages)

    ledger, rows = crawled(name), Recording()
    for page, targets in LINKS.items():
        rows.replace(np.array([page]), row_batch(targets, None, PAGES))
    ledger.use_rows(rows)
    ledger.visit_many([3], row_batch([1], None, PAGES))
    ledger.check()
    assert (rows.asked > 0) == ledger.keeps_links


@pytest.mark.parametrize("name", LEDGERS)
def test_a_ledger_that_certifies_an_error_lowers_it_by_paying_and_the_others_have_none(name: str) -> None:
    ledger = crawled(name)
    error, before = ledger.error(), ledger.importance()
    if error is None:
        assert ledger.largest_error() is None
        assert not ledger.owed().any()
        assert ledger.settle(error=0.0, payments=100) is None
        assert ledger.advance(0.0, 100) == 0
        assert np.array_equal(ledger.importance(), before), "nothing was paid"
        return
    assert ledger.largest_error() == error * PAGES / 2
    assert ledger.owed().any()
    assert ledger.advance(0.0, 3) == 3
    done = ledger.settle(error=1e-9, payments=10_000)
    assert done is not None
    assert done.finished
    assert done.error <= 1e-9 < error
    assert ledger.error() == done.error


@pytest.mark.parametrize("name", LEDGERS)
def test_a_ledger_comes_back_from_its_state_and_goes_on_alike(name: str) -> None:
    ledger = crawled(name)
    again = restored(name, *ledger.state())
    for one in (ledger, again):
        one.visit_many(
            [0, 5], row_batch([3, 4], None, PAGES)._replace(starts=np.zeros(2, np.int64), lengths=np.full(2, 2))
        )
        one.advance(0.0, 5)
    assert np.array_equal(ledger.importance(), again.importance())
