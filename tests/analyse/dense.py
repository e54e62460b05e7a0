"""The independent verifier: the paper's definitions with dense matrices, for graphs of a few pages."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from centime.model.graph import Graph, graph_from_links

Matrix = npt.NDArray[np.float64]
Vector = npt.NDArray[np.float64]


def linked(pages: int, links: Iterable[tuple[int, int]]) -> Graph:
    """The graph of a list of links, pages numbered from 1 as in the paper's figures."""
    pairs = list(links)
    return graph_from_links(pages, [source - 1 for source, _ in pairs], [target - 1 for _, target in pairs])


def matrix(graph: Graph) -> Matrix:
    """W."""
    walk = np.zeros((graph.pages, graph.pages))
    for page in range(graph.pages):
        place = slice(graph.offsets[page], graph.offsets[page + 1])
        weights = np.ones(len(graph.row(page))) if graph.weights is None else graph.weights[place]
        if len(weights) and weights.max() > 0:
            np.add.at(walk[:, page], graph.row(page), weights / weights.max() / (weights / weights.max()).sum())
    return walk


def solved(walk: Matrix, damping: float) -> Vector:
    """x* of Eq. 2, by elimination."""
    ones = np.ones(len(walk))
    return np.linalg.solve(np.eye(len(walk)) - damping * walk, (1 - damping) * ones).astype(np.float64)


def scores_of(graph: Graph, damping: float) -> Vector:
    """x* of a graph."""
    return solved(matrix(graph), damping)


@st.composite
def graphs(draw: st.DrawFn, largest: int = 12, weighted: bool = True) -> Graph:
    """Any small graph: with dangling pages, self-links, repeated links, weights."""
    pages = draw(st.integers(1, largest))
    page = st.integers(0, pages - 1)
    links = draw(st.lists(st.tuples(page, page), max_size=4 * pages))
    weight = st.sampled_from([0.0, 0.5, 1.0, 3.0, 1e300, 1e-300])
    weights = draw(st.none() | st.lists(weight, min_size=len(links), max_size=len(links))) if weighted else None
    return graph_from_links(pages, [link[0] for link in links], [link[1] for link in links], weights)


def communities(graph: Graph) -> st.SearchStrategy[list[int]]:
    """Any community of a graph, as page numbers."""
    return st.lists(st.integers(0, graph.pages - 1), min_size=1, max_size=graph.pages, unique=True).map(sorted)


dampings = st.floats(0.05, 0.95)


def regular(pages: int, degree: int) -> list[tuple[int, int]]:
    """The links of a regular graph: every page links to the next `degree` ones, round the circle; numbered from 1."""
    return [(page + 1, (page + step) % pages + 1) for page in range(pages) for step in range(1, degree + 1)]


def others(pages: int, community: Sequence[int]) -> list[int]:
    """The pages outside a community."""
    return sorted(set(range(pages)) - set(community))
