"""All known pages as one table with a row for each page, in Parquet or CSV, to be queried with SQL.

The table is written a batch of pages at a time, so memory is a batch, and the importance and the number of links in of
all pages. In the row of a page that was never visited, the columns that a visit fills are null. Times are UTC. A
signature is text: data frames make floating point, which loses digits, of a column of large numbers with a gap.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from centime.crawl.engine.state import CrawlState
from centime.crawl.report.graph import LinkedPages
from centime.crawl.report.top import importance_of_all
from centime.crawl.report.visits import KINDS, OUTCOMES, batches, kinds_of
from centime.files.replacement import replacing_files
from centime.store.record import NO_PAGE, Mark

TIME = pa.timestamp("ms", tz="UTC")
SCHEMA = pa.schema(
    [
        ("page", pa.int64()),
        ("url", pa.string()),
        ("host", pa.string()),
        ("importance", pa.float64()),
        ("kind", pa.string()),
        ("depth", pa.int16()),
        ("links_out", pa.int32()),
        ("links_in", pa.int32()),
        ("outcome", pa.string()),
        ("status", pa.int16()),
        ("visits", pa.int64()),
        ("changes", pa.int64()),
        ("failures", pa.int16()),
        ("first_visit", TIME),
        ("last_visit", TIME),
        ("content_since", TIME),
        ("last_modified", TIME),
        ("wire_bytes", pa.int64()),
        ("body_bytes", pa.int64()),
        ("latency_milliseconds", pa.int64()),
        ("signature", pa.string()),
        ("leads_to", pa.int64()),
        ("truncated", pa.bool_()),
        ("noindex", pa.bool_()),
        ("nofollow", pa.bool_()),
        ("noarchive", pa.bool_()),
        ("requisite", pa.bool_()),
    ]
)
TIMES = {
    "first_visit": "first_time",
    "last_visit": "time",
    "content_since": "changed_time",
    "last_modified": "modified_time",
}
NUMBERS = ("visits", "changes", "failures", "wire_bytes", "body_bytes", "latency_milliseconds")
FARTHEST = 253_402_300_799.0  # the end of year 9999

Step = Callable[[float], None]


def page_batches(
    states: Sequence[CrawlState], linked: LinkedPages, step: Step = lambda done: None
) -> Iterator[pa.RecordBatch]:
    """The table as record batches; `step` receives the number of further pages done, twice for each page. Partitions
    come one after the other, in the numbering of `linked`.
    """
    links_in = np.zeros(linked.count, dtype=np.int64)
    for pages, _, targets in linked.rows():
        links_in += np.bincount(targets, minlength=linked.count)
        step(len(pages))
    first = 0
    for opened in states:
        importance = importance_of_all(opened)
        hosts = pa.array([host.name for host in opened.shard.hosts.all], type=pa.string())
        for pages in batches(opened.shard.pages.count):
            columns = _columns(opened, pages, hosts, first) | {
                "importance": importance[pages],
                "links_in": links_in[first + pages],
            }
            arrays = [
                column
                if isinstance(column, pa.Array) and column.type == field.type
                else pa.array(column, type=field.type)
                for field in SCHEMA
                for column in (columns[field.name],)
            ]
            yield pa.record_batch(arrays, schema=SCHEMA)
            step(len(pages))
        first += opened.shard.pages.count


def write_pages(
    states: Sequence[CrawlState], linked: LinkedPages, path: Path, *, csv: bool, step: Step = lambda done: None
) -> None:
    """Writes the table, which appears when it is complete."""
    with replacing_files(path) as files, _writer(files.new(path), csv=csv) as writer:
        for batch in page_batches(states, linked, step):
            writer.write_batch(batch)


def _writer(path: Path, *, csv: bool) -> Any:
    if csv:
        return pyarrow.csv.CSVWriter(path, SCHEMA, write_options=pyarrow.csv.WriteOptions(quoting_style="needed"))
    return pq.ParquetWriter(path, SCHEMA, compression="zstd")


def _columns(opened: CrawlState, pages: npt.NDArray[np.int64], hosts: pa.Array, first: int) -> dict[str, Any]:
    known = opened.shard.pages
    heads, origins = known.records.heads(pages), known.origins_of(pages)
    never = heads["visits"] == 0
    redirect = heads["redirect"].astype(np.int64)
    columns: dict[str, Any] = {
        "page": first + pages,
        "url": url_column(opened, int(pages[0]), int(pages[-1]) + 1),
        "host": hosts.take(pa.array(origins["host"].astype(np.int64))),
        "kind": _words(KINDS, kinds_of(heads["kind"], heads["outcome"]), None),
        "outcome": _words(OUTCOMES.values(), heads["outcome"], never),
        "depth": origins["depth"].astype(np.int16),
        "requisite": opened.shard.requisites.nesting(pages) > 0,
        "status": pa.array(heads["status"].astype(np.int16), mask=heads["status"] == 0),
        "links_out": known.rows.gather(pages).lengths.astype(np.int32),
        "signature": [f"{one:016x}" if one else None for one in heads["signature"].tolist()],
        "leads_to": pa.array(first + redirect, mask=never | (redirect == NO_PAGE)),
    }
    for name in NUMBERS:
        column = heads[name].astype(np.int16 if name == "failures" else np.int64)
        columns[name] = column if name in ("visits", "changes", "failures") else pa.array(column, mask=never)
    for name, field in TIMES.items():
        columns[name] = pa.array(
            (np.clip(heads[field], 0.0, FARTHEST) * 1000).astype(np.int64), type=TIME, mask=heads[field] <= 0
        )
    for mark in (Mark.TRUNCATED, Mark.NOINDEX, Mark.NOFOLLOW, Mark.NOARCHIVE):
        columns[str(mark.name).lower()] = pa.array((heads["marks"] & mark) > 0, mask=never)
    return columns


def url_column(opened: CrawlState, begin: int, end: int) -> pa.Array:
    """The URLs of pages `begin` to `end` - 1 as an Arrow column over the bytes of the file."""
    bounds, octets = opened.shard.pages.texts.packed(begin, end)
    return pa.StringArray.from_buffers(end - begin, pa.py_buffer(bounds.astype(np.int32)), pa.py_buffer(octets))


def _words(names: Iterable[str], numbers: npt.NDArray[Any], mask: npt.NDArray[np.bool_] | None) -> pa.Array:
    return pa.array(list(names)).take(pa.array(numbers.astype(np.int64), mask=mask))
