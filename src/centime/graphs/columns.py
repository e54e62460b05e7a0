"""The columns of a table with one link per row, in Arrow's arrays (`heading.py` chooses the columns).

Pages are integers, or text: then they are numbered in the order of their first mention. Data frames make floating point
of integers, and databases decimals (DuckDB's HUGEINT is one); without a fraction, they are integers here too.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from centime.graphs.name_slots import Bytes
from centime.graphs.names import NameTable
from centime.graphs.values import LARGEST_EXACT, Ends
from centime.model.errors import BadGraph
from centime.model.graph import Targets, Weights


def kind_of(kind: pa.DataType) -> str:
    """`numbers` or `text`, or nothing if a column of this type names no pages."""
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        kind = kind.value_type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "numbers"
    return "text" if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind) else ""


def kind_of_ends(where: str, columns: Sequence[str], schema: pa.Schema) -> str:
    """`numbers` if both ends of a link are numbers, `text` if both are text; BadGraph if they are anything else."""
    types = [schema.field(column).type for column in columns[:2]]
    kinds = {kind_of(one) for one in types}
    if len(kinds) != 1 or "" in kinds:
        raise BadGraph(
            f"{where}: the columns {columns[0]!r} and {columns[1]!r} must both be whole numbers, or both text, "
            f"not {types[0]} and {types[1]}"
        )
    return kinds.pop()


def plain(column: pa.Array) -> pa.Array:
    """The values of a column; a dictionary of numbers, or runs, are unpacked."""
    if pa.types.is_run_end_encoded(column.type):
        return pc.run_end_decode(column)
    encoded = pa.types.is_dictionary(column.type) and kind_of(column.type) != "text"
    return column.dictionary_decode() if encoded else column


def whole_numbers(where: str, column: pa.Array, rows: int) -> Ends:
    """The page numbers of a column without missing values; `rows` rows are before these."""
    if pa.types.is_decimal(column.type):
        try:
            return np.asarray(column.cast(pa.int64()))
        except pa.ArrowInvalid:
            raise BadGraph(
                f"{where}, rows {rows} to {rows + len(column) - 1}: a page number has a fraction, or is above 2^63 - 1"
            ) from None
    numbers = column.to_numpy(zero_copy_only=False)
    if numbers.dtype.kind == "f":
        numbers = numbers.astype(np.float64, copy=False)
        good = (numbers == np.trunc(numbers)) & (np.abs(numbers) <= LARGEST_EXACT)
        if not good.all():
            place = int(np.argmin(good))
            raise BadGraph(f"{where}, row {rows + place}: {numbers[place]} is not the number of a page")
    elif numbers.dtype.kind == "u" and (numbers > np.uint64(2**63 - 1)).any():
        raise BadGraph(f"{where}, rows {rows} to {rows + len(column) - 1}: a page number is above 2^63 - 1")
    return np.asarray(numbers, dtype=np.int64)


def check_filled(where: str, names: Sequence[str], columns: Sequence[pa.Array], rows: int) -> None:
    """Raises BadGraph if a value is missing; `rows` rows are before these."""
    for name, column in zip(names, columns, strict=True):
        if column.null_count:
            place = rows + int(np.argmin(np.asarray(column.is_valid())))
            raise BadGraph(f"{where}, row {place}: column {name!r} has no value")


def link_weights(where: str, column: pa.Array, rows: int) -> Weights:
    """The weights of links, which must be finite numbers, zero or more."""
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    values = column.to_numpy(zero_copy_only=False)
    if values.dtype.kind not in "iufb":
        raise BadGraph(f"{where}: the weights must be numbers, not {column.type}")
    weights = np.asarray(values, dtype=np.float64)
    good = np.isfinite(weights) & (weights >= 0)
    if not good.all():
        raise BadGraph(f"{where}, row {rows + int(np.argmin(good))}: a weight must be a finite number, zero or more")
    return weights


def number_names(
    where: str, table: NameTable, source: pa.Array, target: pa.Array, rows: int
) -> tuple[Targets, Targets]:
    """The numbers of the names of a batch; numbers follow the first mention, link by link."""
    text, ends = _text(pa.concat_arrays([_as_text(source), _as_text(target)]))
    links = len(source)
    order = np.arange(2 * links).reshape(2, links).T.ravel()
    empty = ends[:-1] == ends[1:]
    if empty.any():
        raise BadGraph(f"{where}, row {rows + int(np.argmax(empty)) % links}: a page has no name")
    before = table.count
    numbers = table.number(text, ends[:-1][order], ends[1:][order])
    if links and numbers.min() < 0:
        raise BadGraph(f"{where}: the file changed while it was read")
    wrong = table.first_not_text(before)
    if wrong is not None:
        raise BadGraph(f"{where}, rows {rows} to {rows + links - 1}: the name {wrong!r} is not UTF-8 text")
    return numbers[0::2].copy(), numbers[1::2].copy()


def _as_text(column: pa.Array) -> pa.Array:
    """The column as one of large strings, also if it is a dictionary of views, which Arrow does not unpack."""
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary.cast(pa.large_string()).take(column.indices)
    return column.cast(pa.large_string())


def _text(column: pa.Array) -> tuple[Bytes, npt.NDArray[np.int64]]:
    """The bytes of a text column, and the offsets of its values."""
    _, ends, data = column.buffers()
    offsets = np.frombuffer(ends, dtype=np.int64)[column.offset : column.offset + len(column) + 1]
    return np.frombuffer(data, dtype=np.uint8) if data else np.empty(0, dtype=np.uint8), offsets
