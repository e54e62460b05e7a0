import io
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from centime.graphs.files import read_graph
from centime.model.errors import BadGraph, BadInput
from tests.graphs.drawn import graphs, links_of


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("npz") / "x.npz"


@given(
    st.integers(1, 9),
    st.sampled_from(["csr", "csc", "coo"]),
    st.sampled_from([np.float64, np.float32, np.int64, np.uint8, np.bool_]),
    st.booleans(),
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8), st.integers(1, 9)), max_size=30),
)
def test_what_scipy_saved_is_read(
    path: Path, pages: int, form: str, kind: type, compressed: bool, entries: list[tuple[int, int, int]]
) -> None:
    matrix: npt.NDArray[Any] = np.zeros((pages, pages), dtype=kind)
    for source, target, weight in entries:
        matrix[source % pages, target % pages] = weight
    scipy.sparse.save_npz(path, scipy.sparse.coo_array(matrix).asformat(form), compressed=compressed)
    graph = read_graph(path)
    found = np.zeros((pages, pages))
    for source, target, found_weight in links_of(graph):
        found[source, target] = found_weight
    np.testing.assert_array_equal(found, matrix.astype(float))


def test_blocks_cut_rows_anywhere(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("centime.graphs.npz.BLOCK_LINKS", 3)
    dense = (np.arange(100).reshape(10, 10) % 3) * np.array([[1], [0], [1], [1], [1], [0], [0], [1], [1], [1]])
    for form in ("csr", "csc", "coo"):
        scipy.sparse.save_npz(path, scipy.sparse.coo_array(dense).asformat(form))
        graph = read_graph(path)
        np.testing.assert_array_equal(
            scipy.sparse.csr_array((graph.weights, graph.targets, graph.offsets)).toarray(), dense
        )


CSR: dict[str, Any] = {
    "format": b"csr",
    "shape": np.array([2, 2]),
    "indptr": np.array([0, 1, 2]),
    "indices": np.array([1, 0]),
    "data": np.array([1.0, 2.0]),
}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"format": b"dia"}, "must be in the form csr, csc or coo, not 'dia'"),
        ({"shape": np.array([2, 3])}, r"must be square .* its shape is \[2, 3\]"),
        ({"shape": np.array([2**31, 2**31])}, "must be square with at most"),
        ({"shape": np.array([-1, -1])}, "must be square"),
        ({"shape": [0, 0], "indptr": [0], "indices": np.empty(0, int), "data": np.empty(0)}, "the graph has no pages"),
        ({"shape": np.arange(10_000)}, "shape of the matrix is too long"),
        ({"indptr": np.array([0, 2])}, "one more row pointer than rows"),
        ({"indptr": np.array([0, 3, 2])}, "one more row pointer than rows"),
        ({"indptr": np.array([1, 1, 2])}, "one more row pointer than rows"),
        ({"indptr": np.array([0, 1, 3])}, "differ in length|damaged"),
        ({"indptr": np.arange(9)}, "indptr of the matrix has the wrong type or length"),
        ({"indices": np.array([1, 2])}, "entry 1: the page is outside the 2"),
        ({"indices": np.array([-1, 0])}, "page numbers outside the range 0 to 1"),
        ({"indices": np.array([2**40, 0])}, "page numbers outside the range 0 to 1"),
        ({"indices": np.array([1.0, 0.0])}, "indices of the matrix has the wrong type"),
        ({"indices": np.array([[1, 0]])}, "indices of the matrix is not a plain array"),
        ({"data": np.array([1.0])}, "differ in length|damaged"),
        ({"data": np.array([1.0, -2.0])}, "entry 1: a weight must be a finite number"),
        ({"data": np.array([np.nan, 2.0])}, "entry 0: a weight must be a finite number"),
        ({"data": np.array([1j, 2.0])}, "data of the matrix has the wrong type"),
        ({"data": np.array(["a", None], dtype=object)}, "damaged|not a plain array"),
        ({"format": b"coo", "row": np.array([0, 5]), "col": np.array([0, 1])}, "entry 1: the page is outside the"),
        ({"format": b"coo", "row": np.array([0])}, "damaged"),
    ],
)
def test_what_is_wrong_is_named(path: Path, change: dict[str, Any], sentence: str) -> None:
    np.savez(path, **{**CSR, **change})
    with pytest.raises(BadGraph, match=sentence):
        read_graph(path)


def test_a_picture_and_an_archive_of_something_else_are_refused(path: Path) -> None:
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    with pytest.raises(BadGraph, match="this is not an archive of a sparse matrix, or it is damaged"):
        read_graph(path)
    np.savez(path, a=np.arange(3))
    with pytest.raises(BadGraph, match="this is not an archive of a sparse matrix"):
        read_graph(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("format.npy", b"not an array")
    with pytest.raises(BadGraph, match="this is not an archive of a sparse matrix"):
        read_graph(path)


def test_an_array_that_tells_of_more_than_it_has_is_refused(path: Path) -> None:
    np.savez(path, **CSR)
    members = {name: zipfile.ZipFile(path).read(name) for name in zipfile.ZipFile(path).namelist()}
    huge = io.BytesIO()
    np.lib.format.write_array_header_1_0(huge, {"descr": "<i8", "fortran_order": False, "shape": (2**60,)})
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, huge.getvalue() if name == "indices.npy" else content)
    with pytest.raises(BadGraph, match="cut off after 0 of"):
        read_graph(path)


def test_damage_is_named_with_its_byte(path: Path) -> None:
    np.savez(path, **CSR)
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        indices = archive.getinfo("indices.npy")
    # A byte of the values: only the checksum reveals that it is wrong.
    inside = indices.header_offset + 30 + len(indices.filename) + indices.file_size
    for damaged, place, where in [
        (b"\x89PNG" + whole[:10], 0, ""),
        (whole[:100], 100, ""),
        (
            whole[: inside - 1] + bytes([whole[inside - 1] ^ 64]) + whole[inside:],
            indices.header_offset,
            " in indices.npy, which begins there",
        ),
    ]:
        path.write_bytes(damaged)
        with pytest.raises(
            BadGraph, match=f"byte {place}: this is not an archive of a sparse matrix, or it is damaged{where}$"
        ):
            read_graph(path)
    np.savez(path, **{name: value for name, value in CSR.items() if name != "data"})
    with pytest.raises(
        BadGraph, match=r"byte [0-9]+: this is not an archive .* the list that begins there has no data.npy"
    ):
        read_graph(path)


@given(graphs(named=False), st.data())
def test_damage_gives_a_graph_or_a_named_error(path: Path, graph: Any, data: st.DataObject) -> None:
    matrix = scipy.sparse.csr_array(
        (np.ones(graph.graph.links), graph.graph.targets, graph.graph.offsets), shape=2 * (graph.graph.pages,)
    )
    scipy.sparse.save_npz(path, matrix, compressed=data.draw(st.booleans()))
    damaged = bytearray(path.read_bytes())
    for place in data.draw(st.lists(st.integers(0, len(damaged) - 1), max_size=6)):
        damaged[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(damaged[: data.draw(st.integers(1, len(damaged)) | st.just(len(damaged)))])
    with suppress(BadInput):
        assert read_graph(path).pages > 0


@given(st.binary(min_size=1, max_size=200))
def test_noise_gives_a_named_error(path: Path, noise: bytes) -> None:
    path.write_bytes(noise)
    with pytest.raises(BadInput):
        read_graph(path)
