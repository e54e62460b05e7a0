import numpy as np
import pytest

from centime.lab.error import true_importance
from centime.lab.synthetic.discovery import Discovery, Pages
from centime.lab.synthetic.graphs import power_law, weblike
from centime.ledger.exact import ExactLedger
from centime.model.graph import Graph, graph_from_links


def first_found(unread: Pages, count: int) -> Pages:
    return unread[:count]


def read_all(web: Graph, seeds: list[int], batch: int) -> tuple[Discovery, ExactLedger]:
    ledger = ExactLedger()
    known = Discovery(web, ledger, np.array(seeds))
    while len(known.unread):
        known.read_next(batch, first_found)
    return known, ledger


def test_pages_become_known_when_a_page_that_links_to_them_is_read() -> None:
    web = graph_from_links(5, [0, 0, 1, 3], [1, 2, 3, 0])
    known = Discovery(web, ExactLedger(), np.array([0]))
    assert (known.known, known.read) == (1, 0)
    known.read_next(1, first_found)
    assert (known.found[: known.known].tolist(), known.read) == ([0, 1, 2], 1)
    known.read_next(2, first_found)
    assert (known.found[: known.known].tolist(), known.read) == ([0, 1, 2, 3], 3)
    for _ in range(2):  # the second time there is nothing left
        known.read_next(9, first_found)
        assert (known.read, len(known.unread)) == (4, 0)


@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_a_web_read_to_the_end_is_the_web(batch: int) -> None:
    web = power_law(300, 2)
    known, ledger = read_all(web, [0, 5], batch)
    assert known.known == known.read == web.pages
    ledger.check()
    ledger.settle(error=1e-10)
    importance = np.empty(web.pages)
    importance[known.found] = ledger.importance()
    assert np.allclose(importance, true_importance(web), rtol=1e-7)


def test_the_known_graph_is_what_the_ledger_knows() -> None:
    web = weblike(1000, 3)
    ledger = ExactLedger()
    known = Discovery(web, ledger, np.flatnonzero(web.out_degree > 0)[:3])
    for _ in range(20):
        known.read_next(5, first_found)
    graph = known.known_graph()
    assert (graph.pages, graph.links) == (ledger.pages, ledger.links)
    ledger.settle(error=1e-10)
    assert np.allclose(ledger.importance(), true_importance(graph), rtol=1e-7)
