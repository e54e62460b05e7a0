"""The verifier of the off-line scores: the definition as a dense system, solved by elimination in extended
precision."""

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from centime.model.graph import Graph, graph_from_links

Wide = npt.NDArray[np.longdouble]


@st.composite
def graphs(draw: st.DrawFn, most_pages: int = 10, *, weighted: bool = True) -> Graph:
    """Small graphs with duplicate links, self-links, dangling pages, and sometimes weights of all sizes, also 0."""
    pages = draw(st.integers(1, most_pages))
    page = st.integers(0, pages - 1)
    links = draw(st.lists(st.tuples(page, page), max_size=4 * pages))
    weight = st.sampled_from([0.0, 0.5, 1.0, 3.0, 1e300, 1e-300])
    weights = draw(st.none() | st.lists(weight, min_size=len(links), max_size=len(links))) if weighted else None
    return graph_from_links(pages, [link[0] for link in links], [link[1] for link in links], weights)


def vectors(pages: int) -> st.SearchStrategy[list[float]]:
    """One number for each page, many of them 0, not all."""
    return st.lists(st.sampled_from([0.0, 0.0, 1.0, 2.5, 1e-3]), min_size=pages, max_size=pages).filter(any)


def walk(graph: Graph) -> Wide:
    """W: column j is the row of page j, its weights adding up to 1; a page without any weight has a column of zeros."""
    matrix = np.zeros((graph.pages, graph.pages), dtype=np.longdouble)
    for page in range(graph.pages):
        place = slice(graph.offsets[page], graph.offsets[page + 1])
        weights = (np.ones(len(graph.row(page))) if graph.weights is None else graph.weights[place]).astype(
            np.longdouble
        )
        if weights.sum() > 0:
            np.add.at(matrix[:, page], graph.row(page), weights / weights.sum())
    return matrix


def plain(graph: Graph, damping: float, personalisation: npt.ArrayLike | None = None) -> Wide:
    """The solution of x = dWx + (1-d)e, e adding up to N."""
    emphasis = np.ones(graph.pages) if personalisation is None else np.asarray(personalisation)
    emphasis = emphasis.astype(np.longdouble) * graph.pages / emphasis.astype(np.longdouble).sum()
    share = np.longdouble(damping)
    return solved(np.eye(graph.pages, dtype=np.longdouble) - share * walk(graph), (1 - share) * emphasis)


def pagerank_of(graph: Graph, damping: float, personalisation: npt.ArrayLike | None = None) -> Wide:
    """The same, scaled to mean 1 (Proposition 2.2)."""
    solution = plain(graph, damping, personalisation)
    scaled: Wide = solution * graph.pages / solution.sum()
    return scaled


def solved(matrix: Wide, right: Wide) -> Wide:
    """Gauss, with the largest pivot of each column."""
    matrix, right = matrix.copy(), right.copy()
    size = len(right)
    for column in range(size):
        pivot = column + int(np.argmax(np.abs(matrix[column:, column])))
        matrix[[column, pivot]], right[[column, pivot]] = matrix[[pivot, column]], right[[pivot, column]]
        for row in range(column + 1, size):
            factor = matrix[row, column] / matrix[column, column]
            matrix[row] -= factor * matrix[column]
            right[row] -= factor * right[column]
    for row in range(size - 1, -1, -1):
        right[row] = (right[row] - matrix[row, row + 1 :] @ right[row + 1 :]) / matrix[row, row]
    return right
