"""Writes scores to a table with the columns `page` (the name of the page, or its number) and `score`, in page order.

The suffix of the file gives its format: `.parquet` or `.csv`. The file replaces an older one only when it is complete.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from centime.files.replacement import replacing_files
from centime.graphs.names import PageNames, PageNumbers
from centime.model.errors import BadInput
from centime.rank.scores import Vector

SUFFIXES = (".parquet", ".csv")
BLOCK_ROWS = 1 << 20


def check_table(path: Path) -> None:
    """Raises BadInput if a table cannot be written to this path; call it before the work starts."""
    if path.suffix not in SUFFIXES:
        raise BadInput(f"{path}: a file for scores must end in {' or '.join(SUFFIXES)}")
    if path.is_dir() or not path.parent.is_dir():
        raise BadInput(f"{path}: {'this is a directory' if path.is_dir() else 'there is no such folder'}")


def write_table(
    path: Path, pages: int, part: Callable[[int, int], Vector], names: PageNames | None, base: int = 0
) -> None:
    """Writes the score of each page; `part(a, b)` returns the scores of pages a to b-1.

    Pages without names are numbered from `base`.
    """
    check_table(path)
    numbered = names is None or isinstance(names, PageNumbers)
    schema = pa.schema([("page", pa.int64() if numbered else pa.large_string()), ("score", pa.float64())])
    with replacing_files(path) as files, _writer(files.new(path), path.suffix, schema) as writer:
        for first in range(0, pages, BLOCK_ROWS):
            end = min(pages, first + BLOCK_ROWS)
            column = _labels(names, base, first, end)
            writer.write_batch(pa.record_batch([column, pa.array(part(first, end))], schema=schema))


def score_table(scores: Vector, names: PageNames | None, base: int, order: npt.NDArray[np.int64]) -> pa.Table:
    """The scores of all pages as a table, in this order."""
    labels = _labels(names, base, 0, len(scores))
    return pa.table({"page": labels.take(pa.array(order)), "score": pa.array(scores[order])})


def _writer(path: Path, suffix: str, schema: pa.Schema) -> Any:
    if suffix == ".parquet":
        return pq.ParquetWriter(path, schema, compression="zstd")
    return pyarrow.csv.CSVWriter(path, schema, write_options=pyarrow.csv.WriteOptions(quoting_style="needed"))


def _labels(names: PageNames | None, base: int, first: int, end: int) -> pa.Array:
    """The labels of the pages from `first` to `end - 1`."""
    if names is None:
        return pa.array(np.arange(base + first, base + end))
    offsets = names.offsets[first : end + 1]
    heap = names.heap[offsets[0] : offsets[-1]]
    texts = pa.LargeStringArray.from_buffers(end - first, pa.py_buffer(offsets - offsets[0]), pa.py_buffer(heap))
    return texts.cast(pa.int64()) if isinstance(names, PageNumbers) else texts
