"""Scores in a file: a table with the columns `page` (its name, or its number if it has none) and `score`, in the order
of the pages.

The end of the name tells the kind: `.parquet` or `.csv`. The file appears when it is whole, in the place of an older
one.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from centime.files.replacement import replacing_files
from centime.graphs.names import PageNames
from centime.model.errors import BadInput
from centime.rank.scores import Vector

SUFFIXES = (".parquet", ".csv")
BLOCK_ROWS = 1 << 20


def check_table(path: Path) -> None:
    """Refuses, before any work is done, a name that cannot become a table."""
    if path.suffix not in SUFFIXES:
        raise BadInput(f"{path}: scores are written to a file that ends in {' or '.join(SUFFIXES)}")
    if path.is_dir() or not path.parent.is_dir():
        raise BadInput(f"{path}: {'this is a directory' if path.is_dir() else 'there is no such folder'}")


def write_table(
    path: Path, pages: int, part: Callable[[int, int], Vector], names: PageNames | None, base: int = 0
) -> None:
    """Writes the score of every page; `part` gives the scores from one page to before another; pages without names
    count from `base`.
    """
    check_table(path)
    schema = pa.schema([("page", pa.int64() if names is None else pa.large_string()), ("score", pa.float64())])
    with replacing_files(path) as files, _writer(files.new(path), path.suffix, schema) as writer:
        for first in range(0, pages, BLOCK_ROWS):
            end = min(pages, first + BLOCK_ROWS)
            column = pa.array(np.arange(base + first, base + end)) if names is None else _texts(names, first, end)
            writer.write_batch(pa.record_batch([column, pa.array(part(first, end))], schema=schema))


def _writer(path: Path, suffix: str, schema: pa.Schema) -> Any:
    if suffix == ".parquet":
        return pq.ParquetWriter(path, schema, compression="zstd")
    return pyarrow.csv.CSVWriter(path, schema, write_options=pyarrow.csv.WriteOptions(quoting_style="needed"))


def _texts(names: PageNames, first: int, end: int) -> pa.Array:
    offsets = names.offsets[first : end + 1]
    heap = names.heap[offsets[0] : offsets[-1]]
    return pa.LargeStringArray.from_buffers(end - first, pa.py_buffer(offsets - offsets[0]), pa.py_buffer(heap))
