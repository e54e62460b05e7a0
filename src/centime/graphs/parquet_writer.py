"""Writes Parquet files with the columns `source`, `target` and, if links have weights, `weight`.

Pages are integers, or text if they have names. The metadata of the file has the number of pages and the number of the
first page, so reading it gives the same graph. Memory: a row group.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from centime.graphs.names import PageNames
from centime.graphs.parquet import FIRST_KEY, PAGES_KEY
from centime.graphs.survey import Survey
from centime.model.graph import Targets

GROUP_ROWS = 1 << 20


def write_parquet(survey: Survey, path: Path, suffixes: list[str]) -> None:
    """Writes the file; `suffixes` are not used."""
    kind = pa.int32() if survey.names is None else pa.large_string()
    columns = [("source", kind), ("target", kind), *([("weight", pa.float64())] if survey.weighted else [])]
    first = survey.first if survey.names is None else 0
    schema = pa.schema(columns, metadata={PAGES_KEY: str(survey.pages), FIRST_KEY: str(first)})
    with pq.ParquetWriter(path, schema, compression="zstd", write_page_checksum=True) as writer:
        waiting: list[pa.RecordBatch] = []
        rows = 0
        for block in survey.blocks():
            arrays = [_column(pages, survey.names, first) for pages in (block.sources, block.targets)]
            weights = [] if block.weights is None else [pa.array(block.weights.copy())]
            waiting.append(pa.record_batch([*arrays, *weights], schema=schema))
            rows += len(block.sources)
            if rows >= GROUP_ROWS:
                writer.write_table(pa.Table.from_batches(waiting))
                waiting, rows = [], 0
        if waiting:
            writer.write_table(pa.Table.from_batches(waiting))


def _column(pages: Targets, names: PageNames | None, first: int) -> pa.Array:
    if names is None:
        return pa.array(pages + np.int32(first))
    used, place = np.unique(pages, return_inverse=True)
    ends = np.zeros(len(used) + 1, dtype=np.int64)
    np.cumsum(names.offsets[used + np.int64(1)] - names.offsets[used], out=ends[1:])
    heap = np.concatenate(
        [names.heap[:0], *(names.heap[names.offsets[page] : names.offsets[page + 1]] for page in used)]
    )
    return pa.LargeStringArray.from_buffers(len(used), pa.py_buffer(ends), pa.py_buffer(heap)).take(pa.array(place))
