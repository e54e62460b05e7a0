from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.graphs.files import read_named
from centime.graphs.sidecar import read_sidecar
from centime.model.errors import BadGraph, BadInput
from tests.graphs.drawn import links_of


def test_names_beside_numbers_are_theirs(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1 2\n")
    (tmp_path / "a.txt.names").write_text("zero\r\none\ntwo")
    named = read_named(tmp_path / "a.txt")
    assert list(named.names or []) == ["zero", "one", "two"]
    assert links_of(named.graph) == [(1, 2, 1.0)]


def test_names_beside_names_fix_their_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("c,a\n")
    (tmp_path / "a.csv.names").write_text("a\nb\nc\n")
    named = read_named(tmp_path / "a.csv")
    assert list(named.names or []) == ["a", "b", "c"]
    assert links_of(named.graph) == [(2, 0, 1.0)]


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (b"a\n\nb\n", r"a\.mtx\.names, line 2: the line is empty, or repeats"),
        (b"a\nb\na\n", "line 3: the line is empty, or repeats the name of an earlier line"),
        (b"a\nb\n\xff\n", "b'.xff' is not UTF-8"),
        (b"a\nb\n", "2 names for 3 pages"),
        (b"a\nb\nc\nd\n", "4 names for 3 pages"),
    ],
)
def test_names_that_do_not_fit_are_refused(tmp_path: Path, names: bytes, sentence: str) -> None:
    (tmp_path / "a.mtx").write_text("%%MatrixMarket matrix coordinate pattern general\n3 3 1\n1 2\n")
    (tmp_path / "a.mtx.names").write_bytes(names)
    with pytest.raises(BadGraph, match=sentence):
        read_named(tmp_path / "a.mtx")


@given(st.binary(min_size=1, max_size=60))
def test_noise_gives_names_or_a_named_error(tmp_path_factory: pytest.TempPathFactory, noise: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "noise.npz"
    path.with_name("noise.npz.names").write_bytes(noise)
    with suppress(BadInput):
        table = read_sidecar(path)
        assert table is not None
        text = noise.decode("utf-8-sig").replace("\r\n", "\n").removesuffix("\r").removesuffix("\n")
        assert list(table.names()) == text.split("\n")
