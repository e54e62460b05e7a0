"""Other link matrices: the estimate is the dominant eigenvector, the fixpoint of (L + I), on periodic graphs too."""

import numpy as np
import numpy.typing as npt
import pytest

from centime.ledger.matrix import undirected
from centime.ledger.opic import OpicLedger
from centime.ledger.strategy import STRATEGIES, Strategy
from centime.model.errors import BadRow
from centime.model.graph import Graph, graph_from_links


def dense(graph: Graph) -> npt.NDArray[np.float64]:
    matrix = np.zeros((graph.pages, graph.pages))
    np.add.at(matrix, (np.repeat(np.arange(graph.pages), graph.out_degree), graph.targets), 1.0)
    return matrix


def fixpoint(matrix: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """x -> x (L + I), scaled to mean 1, until it stands still."""
    x = np.ones(len(matrix))
    for _ in range(1000):
        x = x @ matrix + x
        x /= x.mean()
    return x


def strongly_connected(pages: int, links: int, seed: int) -> Graph:
    chance = np.random.default_rng(seed)
    ring = np.arange(pages)
    sources, targets = chance.integers(0, pages, links), chance.integers(0, pages, links)
    return graph_from_links(pages, np.append(ring, sources), np.append((ring + 1) % pages, targets))


GRAPHS = {
    "cycle": graph_from_links(4, [0, 1, 2, 3], [1, 2, 3, 0]),
    "bipartite": graph_from_links(5, [0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 4], [2, 3, 4, 2, 3, 4, 0, 1, 0, 1, 0, 1]),
    "star": graph_from_links(6, [0, 0, 0, 0, 0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0, 0, 0, 0, 0]),
    "random": strongly_connected(12, 30, 1),
    "duplicates and self-links": graph_from_links(3, [0, 0, 0, 1, 2, 2], [1, 1, 0, 2, 0, 2]),
    "undirected": undirected(strongly_connected(12, 20, 2)),
}


@pytest.mark.compiled
@pytest.mark.parametrize("order", STRATEGIES)
@pytest.mark.parametrize("name", GRAPHS)
def test_all_ones_leads_to_the_dominant_eigenvector(name: str, order: Strategy) -> None:
    web = GRAPHS[name]
    ledger = OpicLedger(matrix="all-ones", damping=1.0)
    ledger.join(web.pages)
    ledger.explore(web, 2000, order)
    ledger.check()
    assert ledger.importance() == pytest.approx(fixpoint(dense(web)), abs=0.04)


def test_the_error_of_all_ones_goes_on_falling() -> None:
    web = GRAPHS["random"]
    expected = fixpoint(dense(web))
    ledger = OpicLedger(matrix="all-ones", damping=1.0)
    ledger.join(web.pages)
    errors = []
    for visits in (300, 2700):
        ledger.explore(web, visits, "greedy")
        errors.append(np.abs(ledger.importance() - expected).max())
    assert errors[1] < errors[0] / 5


@pytest.mark.parametrize("name", ["cycle", "bipartite", "star"])
def test_the_random_walk_without_a_virtual_page_leads_to_the_fixpoint_on_periodic_graphs(name: str) -> None:
    web = GRAPHS[name]
    ledger = OpicLedger(damping=1.0)
    ledger.join(web.pages)
    ledger.explore(web, 2000, "random")
    walk = dense(web) / web.out_degree[:, np.newaxis]
    assert ledger.importance() == pytest.approx(fixpoint(walk), abs=0.03)


def test_damping_adds_the_virtual_page_to_all_ones() -> None:
    web = GRAPHS["random"]
    matrix, d = dense(web), 0.7
    x = np.ones(web.pages)
    for _ in range(2000):
        x = d * (x @ matrix) / (x @ matrix).mean() + (1 - d)
    ledger = OpicLedger(matrix="all-ones", damping=d)
    ledger.join(web.pages)
    ledger.explore(web, 2000, "cycle")
    assert ledger.importance() == pytest.approx(x, abs=0.03)


def test_all_ones_survives_graphs_that_lead_nowhere() -> None:
    """No cycle, so no eigenvector: all cash ends with the bank, again and again, and none is lost."""
    web = graph_from_links(4, [0, 0, 1, 2], [1, 2, 3, 3])
    ledger = OpicLedger(matrix="all-ones", damping=1.0, payout=1.0)
    ledger.join(4)
    for _ in range(20):
        ledger.explore(web, 4, "cycle")
        ledger.check()
    assert ledger.importance().argmax() == 3


def test_a_page_of_very_many_links_cannot_overdraw_the_bank() -> None:
    ledger = OpicLedger(matrix="all-ones", damping=1.0)
    ledger.join(2)
    ledger.explore(graph_from_links(2, [0, 1], [1, 0]), 5000, "cycle")
    for page in (1, 0, 1, 1):
        ledger.visit(page, np.full(65_000, 1))
        ledger.check()
    assert ledger.importance().argmax() == 1


def test_all_ones_has_no_weights() -> None:
    ledger = OpicLedger(matrix="all-ones")
    ledger.join(2)
    with pytest.raises(BadRow, match="cannot have weights"):
        ledger.visit(0, [1], [1.0])
    with pytest.raises(BadRow, match="cannot have weights"):
        ledger.explore(graph_from_links(2, [0], [1], [1.0]), 1)


def test_an_undirected_graph_has_every_link_once_in_both_directions() -> None:
    web = undirected(graph_from_links(4, [0, 0, 1, 2, 2], [1, 1, 0, 2, 3], [1.0, 2.0, 3.0, 4.0, 5.0]))
    assert [web.row(page).tolist() for page in range(4)] == [[1], [0], [2, 3], [2]]
    assert undirected(graph_from_links(0, [], [])).pages == 0
