from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from centime.model.errors import BadGraph
from centime.model.graph import LARGEST_PAGE_COUNT, Graph, graph_from_links, row_shares

Link = tuple[int, int, float]


@st.composite
def link_lists(draw: st.DrawFn) -> tuple[int, list[Link]]:
    """A small graph, possibly with duplicate links, self-links and pages without links."""
    pages = draw(st.integers(1, 12))
    page = st.integers(0, pages - 1)
    return pages, draw(st.lists(st.tuples(page, page, st.integers(0, 8).map(float)), max_size=40))


def graph_of(pages: int, links: list[Link], *, weighted: bool) -> Graph:
    sources, targets, weights = ([link[part] for link in links] for part in range(3))
    return graph_from_links(pages, sources, targets, weights if weighted else None)


def links_of(graph: Graph) -> list[Link]:
    weights = np.ones(graph.links) if graph.weights is None else graph.weights
    sources = np.repeat(np.arange(graph.pages), graph.out_degree)
    return list(zip(sources.tolist(), graph.targets.tolist(), weights.tolist(), strict=True))


def arrays(
    offsets: list[int],
    targets: list[int],
    weights: list[float] | None = None,
    *,
    offset_type: type = np.int64,
    target_type: type = np.int32,
) -> Callable[[], Graph]:
    return lambda: Graph(
        np.array(offsets, dtype=offset_type),
        np.array(targets, dtype=target_type),
        None if weights is None else np.array(weights),
    )


@given(link_lists(), st.booleans())
def test_a_graph_keeps_every_link_of_its_list_in_order(case: tuple[int, list[Link]], weighted: bool) -> None:
    pages, links = case
    expected = sorted(links, key=lambda link: link[0])
    if not weighted:
        expected = [(source, target, 1.0) for source, target, _ in expected]
    graph = graph_of(pages, links, weighted=weighted)
    assert links_of(graph) == expected
    assert (graph.pages, graph.links) == (pages, len(links))


@given(link_lists())
def test_degrees_count_the_links_that_leave_and_reach_a_page(case: tuple[int, list[Link]]) -> None:
    pages, links = case
    graph = graph_of(pages, links, weighted=False)
    assert graph.out_degree.tolist() == [sum(source == page for source, _, _ in links) for page in range(pages)]
    assert graph.in_degree.tolist() == [sum(target == page for _, target, _ in links) for page in range(pages)]
    assert [len(graph.row(page)) for page in range(pages)] == graph.out_degree.tolist()


@given(link_lists(), st.booleans())
def test_transposing_turns_every_link_round_as_scipy_does(case: tuple[int, list[Link]], weighted: bool) -> None:
    graph = graph_of(*case, weighted=weighted)
    weights = np.ones(graph.links) if graph.weights is None else graph.weights
    turned = sparse.csr_array((weights, graph.targets, graph.offsets), shape=(graph.pages, graph.pages)).tocsc()
    transposed = graph.transpose()
    assert np.array_equal(transposed.offsets, turned.indptr)
    assert np.array_equal(transposed.targets, turned.indices)
    if transposed.weights is None:
        assert not weighted
    else:
        assert np.array_equal(transposed.weights, turned.data)


@given(link_lists(), st.booleans())
def test_transposing_twice_sorts_the_rows_and_changes_nothing_else(
    case: tuple[int, list[Link]], weighted: bool
) -> None:
    graph = graph_of(*case, weighted=weighted)
    assert links_of(graph.transpose().transpose()) == sorted(links_of(graph), key=lambda link: link[:2])


def test_the_shares_of_a_row_add_up_to_one_however_large_its_weights() -> None:
    graph = graph_from_links(4, [0, 0, 1, 2, 2], [1, 2, 0, 0, 1], [1.0, 3.0, 0.0, 1e308, 1e308])
    assert graph.weights is not None
    shares, carries = row_shares(graph.offsets, graph.weights)
    assert shares.tolist() == [0.25, 0.75, 0.0, 0.5, 0.5]
    assert carries.tolist() == [True, False, True, False]
    assert graph.weights[0] == 1.0
    assert graph.unweighted().weights is None


def test_a_graph_without_pages_is_a_graph() -> None:
    graph = graph_from_links(0, [], [])
    assert (graph.pages, graph.links, graph.transpose().pages) == (0, 0, 0)


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (arrays([0, 1], [0], offset_type=np.int32), "64-bit offsets and 32-bit targets"),
        (arrays([0, 1], [0], target_type=np.int64), "64-bit offsets and 32-bit targets"),
        (arrays([], []), "run from 0 to its number of links"),
        (arrays([1, 1], [0]), "run from 0 to its number of links"),
        (arrays([0, 2], [0]), "run from 0 to its number of links"),
        (arrays([0, 2, 1], [0]), "must not decrease"),
        (arrays([0, 1], [1]), "out of the graph's 1 pages"),
        (arrays([0, 1], [-1]), "out of the graph's 1 pages"),
        (arrays([0, 1], [0], [1.0, 2.0]), "one 64-bit weight per link"),
        (arrays([0, 1], [0], [1]), "one 64-bit weight per link"),
        (arrays([0, 1], [0], [-1.0]), "finite number, zero or more"),
        (arrays([0, 1], [0], [float("nan")]), "finite number, zero or more"),
        (lambda: graph_from_links(2, [0, 1], [0]), "two lists of the same length"),
        (lambda: graph_from_links(2, [[0]], [[0]]), "two lists of the same length"),
        (lambda: graph_from_links(2, [0.5], [1]), "must be integers"),
        (lambda: graph_from_links(2, [0], [1], [1.0, 2.0]), "1 links need 1 weights, not 2"),
        (lambda: graph_from_links(LARGEST_PAGE_COUNT + 1, [], []), "from 0 to 2147483647 pages"),
        (lambda: graph_from_links(-1, [], []), "from 0 to 2147483647 pages"),
        (lambda: graph_from_links(2, [2], [0]), "out of the graph's 2 pages"),
        (lambda: graph_from_links(2, [0], [2]), "out of the graph's 2 pages"),
        (lambda: graph_from_links(2, [-1], [0]), "out of the graph's 2 pages"),
        (lambda: graph_from_links(2, [0], [-1]), "out of the graph's 2 pages"),
    ],
)
def test_a_graph_that_breaks_its_rules_is_refused_with_a_sentence(build: Callable[[], Graph], sentence: str) -> None:
    with pytest.raises(BadGraph, match=sentence):
        build()
