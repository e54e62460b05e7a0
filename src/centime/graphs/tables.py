"""Tables of other libraries with one link per row: Arrow, pandas, polars, DuckDB and any other data frame.

A table is recognised by its interface, and of these libraries only Arrow is imported: the Arrow C stream
(`__arrow_c_stream__`), the data frame interchange protocol (`__dataframe__`), or else `columns` and `table[column]`,
which is enough if pyarrow is not installed. `columns.py` says which columns are used. The pages are those that are
mentioned, see `values.py`.
"""

from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from centime.graphs.heading import choose_columns
from centime.graphs.names import NamedGraph, NameTable
from centime.graphs.values import checked_weights, from_ends, from_numbers
from centime.model.errors import BadGraph
from centime.model.graph import graph_from_links

if TYPE_CHECKING:
    import pyarrow as pa

WHERE = "the table"


def is_table(thing: object) -> bool:
    """Whether a value offers columns."""
    if is_lazy(thing) or hasattr(thing, "__arrow_c_stream__") or hasattr(thing, "__dataframe__"):
        return True
    return hasattr(thing, "columns") and hasattr(thing, "__getitem__")


def is_lazy(thing: object) -> bool:
    """Whether a value is a table that is still to be computed, as polars' LazyFrame."""
    return hasattr(thing, "collect") and hasattr(thing, "collect_schema")


def from_table(table: Any, source: str | None, target: str | None, weight: str | None) -> NamedGraph:
    """The graph of a table with one link per row."""
    if is_lazy(table):
        table = table.collect()
    if hasattr(table, "columns") and hasattr(table, "loc"):
        table = _only_links(table, source, target, weight)
    streams = hasattr(table, "__arrow_c_stream__") or hasattr(table, "__dataframe__")
    if streams and find_spec("pyarrow") is not None:
        return _from_batches(_batches(table), source, target, weight)
    return from_columns({str(name): table[name] for name in table.columns}, source, target, weight)


def _only_links(frame: Any, source: str | None, target: str | None, weight: str | None) -> Any:
    """The columns of links of a frame of pandas, whose other columns need not be fit for Arrow."""
    columns = {str(name): name for name in frame.columns}
    if _is_matrix(frame):
        raise BadGraph(f"{WHERE}: its columns are its rows, as those of a matrix; give scipy.sparse.csr_array(frame)")
    chosen = choose_columns(WHERE, [str(name) for name in frame.columns], source, target, weight)
    return frame[[columns[name] for name in chosen]]


def _is_matrix(frame: Any) -> bool:
    """Whether the rows of a frame have the same labels as its columns."""
    columns = list(frame.columns)
    return any(isinstance(name, str) for name in columns) and columns == list(frame.index)


def from_columns(columns: dict[str, Any], source: str | None, target: str | None, weight: str | None) -> NamedGraph:
    """The graph of columns by name."""
    chosen = [np.asarray(columns[name]) for name in choose_columns(WHERE, list(columns), source, target, weight)]
    for column in chosen[:2]:
        if column.dtype.kind not in "iuUSOT":
            raise BadGraph(f"{WHERE}: pages must be whole numbers or text, not {column.dtype}")
    return from_ends(chosen[0], chosen[1], chosen[2] if len(chosen) == 3 else None)


def _batches(table: Any) -> "Iterator[pa.RecordBatch]":
    import pyarrow as pa

    try:
        if hasattr(table, "__arrow_c_stream__"):
            with pa.RecordBatchReader.from_stream(table) as reader:
                yield from reader
        else:
            from pyarrow.interchange import from_dataframe

            yield from from_dataframe(table).to_batches()
    except UnicodeEncodeError:
        raise BadGraph(f"{WHERE}: a name is not Unicode text: it has half of a surrogate pair") from None
    except pa.ArrowException as wrong:
        raise BadGraph(f"{WHERE}: a column cannot be converted to Arrow: {str(wrong).splitlines()[0]}") from None


def _from_batches(
    batches: "Iterator[pa.RecordBatch]", source: str | None, target: str | None, weight: str | None
) -> NamedGraph:
    from centime.graphs.columns import check_filled, kind_of_ends, link_weights, number_names, plain, whole_numbers

    names = NameTable()
    parts: list[tuple[Any, ...]] = []
    rows, kind = 0, ""
    for batch in batches:
        chosen = choose_columns(WHERE, batch.schema.names, source, target, weight)
        kind = kind_of_ends(WHERE, chosen, batch.schema)
        columns = [plain(batch.column(batch.schema.get_field_index(column))) for column in chosen]
        check_filled(WHERE, chosen, columns, rows)
        if kind == "text":
            ends: tuple[Any, Any] = number_names(WHERE, names, columns[0], columns[1], rows)
        else:
            ends = (whole_numbers(WHERE, columns[0], rows), whole_numbers(WHERE, columns[1], rows))
        parts.append((*ends, *(link_weights(WHERE, column, rows) for column in columns[2:])))
        rows += len(batch)
    if not rows:
        raise BadGraph(f"{WHERE} has no links")
    sources, targets, *weights = (np.concatenate(column) for column in zip(*parts, strict=True))
    counts = checked_weights(weights[0], str) if weights else None
    if kind == "text":
        return NamedGraph(graph_from_links(len(names), sources, targets, counts), names.names())
    return from_numbers(sources, targets, counts, np.empty(0, dtype=np.int64))
