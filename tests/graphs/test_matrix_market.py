from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from centime.graphs.files import read_graph
from centime.model.errors import BadGraph, BadInput
from tests.graphs.drawn import links_of

HEADING = "%%MatrixMarket matrix coordinate"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mtx") / "x.mtx"


def dense(path: Path) -> np.ndarray:
    graph = read_graph(path)
    matrix = np.zeros((graph.pages, graph.pages))
    for source, target, weight in links_of(graph):
        matrix[source, target] += weight
    return matrix


@given(
    st.integers(1, 8),
    st.sampled_from(["pattern", "real", "integer"]),
    st.booleans(),
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.integers(1, 9))),
)
def test_what_scipy_wrote_is_read(
    path: Path, pages: int, field: str, symmetric: bool, entries: list[tuple[int, int, int]]
) -> None:
    matrix = np.zeros((pages, pages))
    for source, target, weight in entries:
        matrix[source % pages, target % pages] = 1 if field == "pattern" else weight
        if symmetric:
            matrix[target % pages, source % pages] = matrix[source % pages, target % pages]
    kind = int if field == "integer" else float
    scipy.io.mmwrite(
        path, scipy.sparse.coo_array(matrix.astype(kind)), field=field, symmetry="symmetric" if symmetric else "general"
    )
    np.testing.assert_array_equal(dense(path), matrix)


def test_comments_and_capitals_are_read(path: Path) -> None:
    path.write_text("%%matrixmarket MATRIX Coordinate Real Symmetric\n% a comment\n\n 3 3  2\n3 1 2.5e0\n 2 2 1\n")
    np.testing.assert_array_equal(dense(path), [[0, 0, 2.5], [0, 1, 0], [2.5, 0, 0]])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("0 1\n", "line 1: expected %%MatrixMarket"),
        ("%%MatrixMarket matrix array real general\n2 2\n1\n", "line 1: expected %%MatrixMarket"),
        (f"{HEADING} complex general\n1 1 0\n", "line 1: expected"),
        (f"{HEADING} pattern skew-symmetric\n1 1 0\n", "line 1: expected"),
        (f"{HEADING} pattern general\n% c\n", "ends before the size"),
        (f"{HEADING} pattern general\n2 3 0\n", "line 2: expected rows, columns and entries of a square matrix"),
        (f"{HEADING} pattern general\n2 2\n", "line 2: expected rows"),
        (f"{HEADING} pattern general\n2147483648 2147483648 0\n", "line 2: expected rows"),
        (f"{HEADING} pattern general\n2147483647 2147483647 0\n", "too many for 0 links"),
        (f"{HEADING} pattern general\n0 0 0\n", "the graph has no pages"),
        (f"{HEADING} pattern general\n2 2 1\n1 3\n", "line 3: a page number is not among the 2 pages from 1 on"),
        (f"{HEADING} pattern general\n2 2 2\n1 1\n0 1\n", "line 4: a page number is not among"),
        (f"{HEADING} pattern general\n2 2 2\n1 2\n", "has 1 entries, but its size line declares 2"),
        (f"{HEADING} pattern general\n2 2 1\n1 2 3\n", "line 3: expected two page numbers and nothing else"),
        (f"{HEADING} real general\n2 2 1\n1 2\n", "line 3: expected two page numbers, a weight"),
        (f"{HEADING} real general\n2 2 1\n1 2 -1\n", "line 3: a weight must be"),
        (f"{HEADING} real general\n2 2 1\n1 2 nan\n", "line 3: a weight must be"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(path: Path, text: str, sentence: str) -> None:
    path.write_text(text)
    with pytest.raises(BadGraph, match=sentence):
        read_graph(path)


@given(st.binary(min_size=1, max_size=80) | st.text("%Matrix 123.\n-e", min_size=1).map(str.encode), st.booleans())
def test_noise_gives_a_graph_or_a_named_error(path: Path, noise: bytes, headed: bool) -> None:
    path.write_bytes(b"%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n" * headed + noise)
    with suppress(BadInput):
        assert read_graph(path).pages > 0
