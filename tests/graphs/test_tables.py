"""Tables are recognised by what they offer, so pyarrow stands for all libraries, and small classes for their parts."""

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from centime.graphs import tables
from centime.graphs.foreign import as_graph
from centime.model.errors import BadGraph
from tests.graphs.test_values import labelled

TEXT: dict[str, list[Any]] = {
    "Source": ["a", "b", "a"],
    "Anchor": ["x", "y", "z"],
    "Destination": ["b", "c", "c"],
    "weight": [1.0, 2.0, 1.0],
}
LINKS = [("a", "b", 1.0), ("a", "c", 1.0), ("b", "c", 2.0)]


class Stream:
    """Offers the Arrow C stream and nothing else, as a query of DuckDB or a frame of polars does."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


class Interchange:
    """Offers the data frame interchange protocol and nothing else."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __dataframe__(self, *options: Any, **named: Any) -> Any:
        return self.table.__dataframe__(*options, **named)


class Frame:
    """Offers columns by name, as pandas without pyarrow does."""

    def __init__(self, columns: dict[str, Any]) -> None:
        self.columns = list(columns)
        self.values = columns

    def __getitem__(self, name: str) -> Any:
        return np.asarray(self.values[name])


def parts(columns: dict[str, Any]) -> list[Any]:
    table = pa.table(columns)
    return [table, table.to_batches()[0], Stream(table), Interchange(table), Frame(columns)]


@pytest.mark.parametrize("table", parts(TEXT), ids=lambda table: type(table).__name__)
def test_columns_are_found_by_their_names(table: object) -> None:
    assert labelled(as_graph(table)) == LINKS
    assert labelled(as_graph(table, weight=None))[2] == ("b", "c", 1.0)
    assert labelled(as_graph(table, source="Anchor", target="Source"))[0] == ("x", "a", 1.0)


@pytest.mark.parametrize("table", parts({"u": [10, 7], "v": [7, 2**40]}), ids=lambda table: type(table).__name__)
def test_whole_numbers_stay_numbers(table: object) -> None:
    assert labelled(as_graph(table)) == [(10, 7, 1.0), (7, 2**40, 1.0)]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([10.0, 7.0]),
        pa.array(np.array([10, 7], dtype=np.float16)),
        pa.array([Decimal(10), Decimal(7)], pa.decimal128(38, 0)),
        pa.array([Decimal(10), Decimal(7)], pa.decimal128(9, 2)),
        pa.array([10, 7]).dictionary_encode(),
    ],
    ids=lambda column: str(column.type)[:10],
)
def test_whole_numbers_of_any_type_stay_numbers(column: pa.Array) -> None:
    table = pa.table({"source": column, "target": column, "weight": column})
    assert labelled(as_graph(table)) == [(10, 10, 10.0), (7, 7, 7.0)]


def test_runs_of_equal_pages_are_read() -> None:
    runs = pa.RunEndEncodedArray.from_arrays([2, 3], ["a", "b"])
    assert [link[:2] for link in labelled(as_graph(pa.table({"source": runs, "target": ["b", "c", "c"]})))] == [
        ("a", "b"),
        ("a", "c"),
        ("b", "c"),
    ]


def test_two_columns_may_have_the_same_name_unless_they_are_those_of_links() -> None:
    columns = [pa.array(["a"]), pa.array(["b"]), pa.array(["c"]), pa.array(["d"])]
    assert labelled(as_graph(pa.table(columns, names=["x", "source", "target", "x"]))) == [("b", "c", 1.0)]
    with pytest.raises(BadGraph, match="two columns have the name 'source'"):
        as_graph(pa.table(columns, names=["source", "source", "target", "x"]))


def test_all_text_types_of_arrow_and_several_batches_are_read() -> None:
    for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())):
        columns = {
            name: pa.chunked_array([pa.array(TEXT[name][:1]), pa.array(TEXT[name][1:])]).cast(kind)
            for name in ("Source", "Destination")
        }
        assert [link[:2] for link in labelled(as_graph(pa.table(columns)))] == [link[:2] for link in LINKS]


class Pandas:
    """A frame of pandas: only some of its columns are fit for Arrow, and their names may be numbers."""

    loc = None

    def __init__(self, columns: dict[Any, Any], index: list[Any] | None = None) -> None:
        self.columns = list(columns)
        self.index = index or list(range(len(columns)))
        self.values = columns

    def __getitem__(self, names: list[Any]) -> "Pandas":
        return Pandas({name: self.values[name] for name in names})

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return pa.table({str(name): self.values[name] for name in self.columns}).__arrow_c_stream__(requested_schema)


def test_of_a_frame_only_the_columns_of_links_are_converted() -> None:
    assert labelled(as_graph(Pandas(TEXT | {"odd": [1, "x", None]}))) == LINKS
    assert labelled(as_graph(Pandas({0: [9], 1: [3], 2: [0.5]}), source=0, target=1, weight=2)) == [(9, 3, 0.5)]  # type: ignore[arg-type]
    with pytest.raises(BadGraph, match="its columns are its rows, as those of a matrix"):
        as_graph(Pandas({"a": [0, 1], "b": [1, 0]}, index=["a", "b"]))


def test_a_mapping_is_columns_if_source_and_target_are_named() -> None:
    assert labelled(as_graph(TEXT, source="Source", target="Destination")) == LINKS


def test_without_pyarrow_a_data_frame_is_read_by_its_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "find_spec", lambda name: None)

    class Both(Frame, Stream):
        pass

    assert labelled(as_graph(Both(TEXT))) == LINKS


@pytest.mark.parametrize(
    ("columns", "options", "sentence"),
    [
        ({"source": ["a", None], "target": ["b", "c"]}, {}, "row 1: column 'source' has no value"),
        ({"source": [3.0, 0.5], "target": [1.0, 2.0]}, {}, "row 1: 0.5 is not the number of a page"),
        ({"source": [2.0**60], "target": [1]}, {}, "row 0: .* is not the number of a page"),
        ({"source": [1], "target": pa.array([Decimal("0.5")])}, {}, "rows 0 to 0: a page number has a fraction"),
        ({"source": [True], "target": [False]}, {}, "must both be whole numbers, or both text"),
        ({"source": ["a"], "target": [1]}, {}, "must both be whole numbers, or both text"),
        ({"source": ["a"], "target": [""]}, {}, "row 0: a page has no name"),
        ({"source": ["a"], "target": ["b"], "weight": [-1.0]}, {}, "row 0: a weight must be"),
        ({"source": ["a"], "target": ["b"]}, {"source": "u"}, "no column 'u'; the columns are source, target"),
        ({"a": ["a"], "b": ["b"]}, {"source": "a"}, "give both columns"),
        ({"a": ["a"]}, {}, "needs two columns"),
        ({"a": ["a"], "b": ["b"]}, {"source": "a", "target": "a"}, "source and target are the same column, 'a'"),
        ({"a": ["a"], "b": ["b"]}, {"weight": "w"}, "no column 'w' of weights; the columns are a, b"),
        ({"a": pa.array([], pa.int64()), "b": pa.array([], pa.int64())}, {}, "has no links"),
        ({"a": pa.array([2**64 - 1], pa.uint64()), "b": pa.array([1], pa.uint64())}, {}, "above 2\\^63 - 1"),
    ],
)
def test_a_table_that_is_no_list_of_links_gets_a_sentence(
    columns: dict[str, Any], options: dict[str, str], sentence: str
) -> None:
    with pytest.raises(BadGraph, match=sentence):
        as_graph(pa.table(columns), **options)


def test_what_arrow_cannot_convert_and_pages_that_are_no_names_get_a_sentence() -> None:
    class Refused:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            raise pa.ArrowInvalid("a column of several types\nand more")

    with pytest.raises(BadGraph, match=r"cannot be converted to Arrow: a column of several types$"):
        as_graph(Refused())
    with pytest.raises(BadGraph, match="a name is not Unicode text"):
        as_graph(Pandas({"source": ["a\ud800"], "target": ["b"]}))
    with pytest.raises(BadGraph, match="whole numbers or text, not float64"):
        as_graph(Frame({"source": [0.5], "target": [1.0]}))


def test_a_dictionary_of_views_and_a_table_that_is_still_to_be_computed_are_tables() -> None:
    views = pa.array(["a", "b", "c"], pa.string_view())
    names = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.uint32()), views)
    table = pa.table({"source": names, "target": names.take(pa.array([1, 2, 0]))})

    class Lazy:
        collect_schema = None

        def collect(self) -> pa.Table:
            return table

    for one in (table, Lazy()):
        found = as_graph(one)
        assert found.names is not None
        assert list(found.names) == ["a", "b", "c"]
        assert found.graph.targets.tolist() == [1, 2, 0]
