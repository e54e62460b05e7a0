import numpy as np
import pytest

from centime.lab.error import mean_error, true_importance
from centime.lab.reader import Reader
from centime.lab.synthetic.graphs import power_law
from centime.ledger.exact import ExactLedger
from centime.ledger.opic import OpicLedger
from centime.ledger.strategy import Strategy


def test_reading_by_worth_reads_every_page_before_any_page_twice() -> None:
    web = power_law(400, 0)
    ledger = ExactLedger()
    reader = Reader(ledger, "worth", web.pages)
    for _ in range(20):
        reader.read(web, 20)
    assert ledger.read().all()
    reader.settle(1e-10)
    assert mean_error(reader.importance(), true_importance(web)) < 1e-6


def test_reading_by_worth_reads_a_page_as_often_as_the_root_of_its_importance_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    web = power_law(1000, 0)
    importance = true_importance(web)
    ledger = ExactLedger()
    reader = Reader(ledger, "worth", web.pages)
    visits = np.zeros(web.pages)
    explore = ledger.explore

    def count(web_: object, number: int, order: object) -> None:
        visits[np.asarray(order, dtype=np.int64)] += 1
        explore(web, number, np.asarray(order, dtype=np.int64))

    monkeypatch.setattr(ledger, "explore", count)
    for _ in range(2000):
        reader.read(web, 10)
    expected = np.sqrt(importance) / np.sqrt(importance).sum() * visits.sum()
    small = expected < 200  # a page is read at most once a step
    assert np.corrcoef(visits[small], expected[small])[0, 1] > 0.99


@pytest.mark.parametrize("order", ["greedy", "cycle", "random", "balanced"])
def test_other_orders_are_those_of_the_ledger_and_nothing_is_settled(order: Strategy) -> None:
    web = power_law(300, 0)
    alone = OpicLedger(seed=4)
    alone.join(web.pages)
    alone.explore(web, 150, order)
    reader = Reader(OpicLedger(seed=4), order, web.pages)
    reader.read(web, 150)
    reader.settle(1e-9)
    assert (reader.importance() == alone.importance()).all()
