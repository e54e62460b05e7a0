"""Section 2.3 of "Inside PageRank": essential and inessential pages, Example 2.1."""

import networkx as nx
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given

from centime.analyse.essential import components
from centime.analyse.transition import transition
from centime.model.graph import Graph, graph_from_links
from tests.analyse.dense import graphs, linked, matrix, scores_of

close = pytest.approx
DAMPINGS = [0.1, 0.5, 0.85, 0.999]

FIGURE_5A = linked(5, [(page, 5) for page in range(1, 6)])
FIGURE_5B = linked(3, [(1, 1), (1, 2), (2, 2), (2, 3)])
FIGURE_5C = linked(4, [(1, 2), (2, 3), (3, 1), (4, 3)])


def essential(graph: Graph) -> list[int]:
    """The essential pages, numbered from 1."""
    return (np.flatnonzero(components(transition(graph)).essential) + 1).tolist()


@pytest.mark.parametrize("d", DAMPINGS)
def test_example_2_1_the_scores_of_figure_5_are_the_closed_forms(d: float) -> None:
    """Figure 5(a) is the island of Theorem 5.1, Eq. 37; the paper refers to Eq. 38."""
    assert scores_of(FIGURE_5A, d) == close([1 - d] * 4 + [4 * d + 1])
    square = (2 - d) ** 2
    assert scores_of(FIGURE_5B, d) == close(
        [2 * (1 - d) / (2 - d), 4 * (1 - d) / square, (d**2 - 2 * d + 4) * (1 - d) / square]
    )
    ring = 1 + d + d**2
    expected = [(1 + d + 2 * d**2) / ring, (1 + d + d**2 + d**3) / ring, (1 + 2 * d + d**2) / ring, 1 - d]
    assert scores_of(FIGURE_5C, d) == close(expected)


def test_example_2_1_the_energy_ends_in_the_essential_pages_as_d_nears_1() -> None:
    assert [essential(graph) for graph in (FIGURE_5A, FIGURE_5B, FIGURE_5C)] == [[5], [], [1, 2, 3]]
    near = 1 - 1e-9
    assert scores_of(FIGURE_5A, near) == close([0, 0, 0, 0, 5], abs=1e-7)
    assert scores_of(FIGURE_5B, near) == close([0, 0, 0], abs=1e-7)
    assert scores_of(FIGURE_5C, near) == close([4 / 3, 4 / 3, 4 / 3, 0], abs=1e-7)


@given(graphs())
def test_inessential_pages_are_those_of_definition_2_1_on_the_extended_web(graph: Graph) -> None:
    assert (components(transition(graph)).essential == ~inessential(graph)).all()


@given(graphs(weighted=False))
def test_section_2_3_inessential_pages_have_no_score_as_d_nears_1(graph: Graph) -> None:
    assert (scores_of(graph, 1 - 1e-9)[inessential(graph)] < 1e-4).all()


def inessential(graph: Graph) -> npt.NDArray[np.bool_]:
    """Definition 2.1, by all paths: which pages lead to a page of the extended web from which there is no way back."""
    walk = matrix(graph)
    step = np.eye(graph.pages + 1, dtype=np.bool_)
    step[:-1, :-1] |= walk.T > 0
    step[:-1, -1] = walk.sum(axis=0) == 0
    reach = step
    for _ in range(graph.pages):
        reach = reach @ step
    marks: npt.NDArray[np.bool_] = np.logical_or.reduce(reach & ~reach.T, axis=1)
    return marks[:-1]


@given(graphs(weighted=False))
def test_components_are_those_of_networkx_and_links_lead_to_lower_numbers(graph: Graph) -> None:
    found = components(transition(graph))
    links = list(zip(np.repeat(np.arange(graph.pages), graph.out_degree).tolist(), graph.targets.tolist(), strict=True))
    other: nx.DiGraph[int] = nx.DiGraph(links)
    other.add_nodes_from(range(graph.pages))
    expected = {frozenset(part) for part in nx.strongly_connected_components(other)}
    assert {frozenset(np.flatnonzero(found.component == number).tolist()) for number in range(found.count)} == expected
    assert all(found.component[target] <= found.component[source] for source, target in links)
    assert found.closed == len(set(found.component[found.essential].tolist()))


def test_a_deep_graph_does_not_overflow_a_stack() -> None:
    pages = 300_000
    chain = graph_from_links(pages, range(pages - 1), range(1, pages))
    assert components(transition(chain)).count == pages
    ring = graph_from_links(pages, range(pages), [(page + 1) % pages for page in range(pages)])
    found = components(transition(ring))
    assert (found.count, found.closed, bool(found.essential.all())) == (1, 1, True)
