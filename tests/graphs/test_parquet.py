from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.graphs.convert import write_graph
from centime.graphs.files import read_named
from centime.graphs.names import NamedGraph
from centime.model.errors import BadGraph, BadInput
from centime.model.graph import graph_from_links
from tests.graphs.drawn import graphs, links_of, named_links


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("parquet") / "x.parquet"


def read(path: Path, **columns: Any) -> NamedGraph:
    pq.write_table(pa.table(columns), path)
    return read_named(path)


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint8(), pa.int32(), pa.int64(), pa.uint64()])
def test_numbers_of_every_width_are_read(path: Path, kind: pa.DataType) -> None:
    named = read(path, source=pa.array([1, 2, 1], kind), target=pa.array([0, 1, 2], kind))
    assert links_of(named.graph) == [(1, 0, 1.0), (1, 2, 1.0), (2, 1, 1.0)]
    assert named.names is None


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_text_of_every_kind_is_read(path: Path, kind: pa.DataType) -> None:
    named = read(path, source=pa.array(["b", "é"]).cast(kind), target=pa.array(["é", "a b"]).cast(kind))
    assert named_links(named) == [("b", "é", 1.0), ("é", "a b", 1.0)]
    assert list(named.names or []) == ["b", "é", "a b"]


def test_columns_are_known_by_name_or_else_by_place(path: Path) -> None:
    assert links_of(read(path, To=[0], n=[9], Weight=[2], FROM=[1]).graph) == [(1, 0, 2.0)]
    assert links_of(read(path, x=[0], y=[1], z=[7]).graph) == [(0, 1, 1.0)]
    assert links_of(read(path, x=[1], y=[2], weight=[0.5]).graph) == [(0, 1, 0.5)]


def test_row_groups_are_read_one_after_the_other(path: Path) -> None:
    sources = [page * 7 % 1000 for page in range(3000)]
    pq.write_table(pa.table({"source": sources, "target": range(3000)}), path, row_group_size=100)
    assert links_of(read_named(path).graph) == sorted(((source, page, 1.0) for page, source in enumerate(sources)))


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"source": [0]}, "needs two columns, source and target; there are 1"),
        ({"source": [0], "target": ["a"]}, "'source' and 'target' must both be whole numbers, or both text"),
        ({"source": [0.0, 0.5], "target": [1.0, 1.5]}, "row 1: 0.5 is not the number of a page"),
        ({"source": [0, None], "target": [1, 1]}, "row 1: column 'source' has no value"),
        ({"source": ["a", "b"], "target": ["b", None]}, "row 1: column 'target' has no value"),
        ({"source": ["a", ""], "target": ["b", "c"]}, "row 1: a page has no name"),
        ({"source": [0, -1], "target": [1, 1]}, "row 1: a page number is outside the range 0 to 2147483646"),
        ({"source": [0, 1], "target": [1, 2**31 - 1]}, "row 1: a page number is outside"),
        ({"source": [0, 1], "target": [1, 2_000_000_000]}, "too large for 2 links"),
        ({"source": [0, 1], "target": [1, 0], "weight": [1.0, -1.0]}, "row 1: a weight must be"),
        ({"source": [0, 1], "target": [1, 0], "weight": [float("nan"), 1.0]}, "row 0: a weight must be"),
        ({"source": [0, 1], "target": [1, 0], "weight": ["1", "2"]}, "the weights must be numbers, not string"),
        ({"source": pa.array([], pa.int32()), "target": pa.array([], pa.int32())}, "the file has no links"),
    ],
)
def test_what_is_wrong_is_named_with_its_row(path: Path, columns: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadGraph, match=sentence):
        read(path, **columns)


def test_text_that_is_not_utf_8_is_refused(path: Path) -> None:
    wrong = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"a\xff")])
    with pytest.raises(BadGraph, match=r"rows 0 to 0: the name b'a\\xff' is not UTF-8|damaged"):
        read(path, source=wrong, target=["b"])


def test_a_footer_that_contradicts_itself_is_refused_and_does_not_end_the_process(path: Path) -> None:
    pq.write_table(pa.table({"source": [0, 1], "target": [1, 0]}), path)
    whole = path.read_bytes()
    assert whole.count(b"\x25\x02\x18\x06target") == 1  # it may have no value: its levels are counted
    path.write_bytes(whole.replace(b"\x25\x02\x18\x06target", b"\x25\x00\x18\x06target"))
    with pytest.raises(BadGraph, match="it is damaged"):
        read_named(path)


def test_damage_is_named_with_its_byte(path: Path) -> None:
    sources = [page * 7 % 1000 for page in range(3000)]
    pq.write_table(
        pa.table({"source": sources, "target": range(3000)}), path, row_group_size=1000, use_dictionary=False
    )
    whole = path.read_bytes()
    at = pq.read_metadata(path).row_group(1).column(1).data_page_offset
    path.write_bytes(whole[:at] + bytes(40) + whole[at + 40 :])
    with pytest.raises(BadGraph, match=f"byte {at}: column 'target' of row group 1, which begins there, is damaged"):
        read_named(path)
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    for damaged, place in [
        (b"0 1\n" * 30, 0),
        (whole[:-1] + b"X", len(whole) - 4),
        (whole[:footer] + bytes(50) + whole[footer + 50 :], footer),
        (whole[:-8] + b"\xff\xff\xff\x7fPAR1", len(whole) - 8),
        (b"PAR1", 4),
    ]:
        path.write_bytes(damaged)
        with pytest.raises(BadGraph, match=f"byte {place}: this is not a Parquet file, or it is damaged"):
            read_named(path)


def test_a_bit_that_flips_in_a_file_of_ours_is_found(path: Path) -> None:
    links = np.arange(50_000)
    write_graph(
        NamedGraph(graph_from_links(1000, links % 1000, links * 7919 % 1000, 1.0 + links * 0.37 % 5), None), path
    )
    damaged = bytearray(path.read_bytes())
    chunk = pq.read_metadata(path).row_group(0).column(2)
    damaged[chunk.data_page_offset + chunk.total_compressed_size // 2] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(BadGraph, match="column 'weight' of row group 0"):
        read_named(path)


@given(graphs(), st.data())
def test_damage_gives_a_graph_or_a_named_error(path: Path, graph: NamedGraph, data: st.DataObject) -> None:
    write_graph(graph, path)
    damaged = bytearray(path.read_bytes())
    for place in data.draw(st.lists(st.integers(0, len(damaged) - 1), max_size=6)):
        damaged[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(damaged[: data.draw(st.integers(1, len(damaged)) | st.just(len(damaged)))])
    with suppress(BadInput):
        assert read_named(path).graph.pages > 0


@given(st.binary(min_size=1, max_size=200))
def test_noise_gives_a_named_error(path: Path, noise: bytes) -> None:
    path.write_bytes(noise)
    with pytest.raises(BadInput, match="this is not a Parquet file, or it is damaged"):
        read_named(path)
