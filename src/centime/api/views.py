"""Views of a crawl for Python programs: its pages, links, changes and bodies.

Iterate a view for values, or call `to_arrow` for a table that pandas, polars and DuckDB read directly. Views read the
state as of the last `follow` of their reader; nothing on disk is changed.
"""

from collections.abc import Iterator, Sized
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from centime.cluster.report.parts import Parts
from centime.crawl.engine.reader import CrawlReader
from centime.crawl.report.bodies import Stored, capture_facts, every_stored, read_stored, seconds_of
from centime.crawl.report.graph import crawl_graph
from centime.crawl.report.visits import KINDS, OUTCOMES, batches, kinds_of
from centime.graphs.names import NamedGraph
from centime.model.arrow import arrow
from centime.model.ids import PageId
from centime.store.folder import CrawlFolder

if TYPE_CHECKING:
    import pyarrow

BATCH = 4096  # rows whose URLs are read at once


class Page(msgspec.Struct, frozen=True, gc=False):
    """A known page. Times are seconds since the epoch, 0 if there was none."""

    number: PageId
    url: str
    importance: float  # the mean over all pages is 1
    kind: str  # unread, html, xml, dtd, other, error, dead or redirect
    outcome: str  # of the last visit, "" if the page was never visited
    status: int
    depth: int
    visits: int
    changes: int
    last_visit: float
    content_since: float  # when the present content was first seen


class Link(msgspec.Struct, frozen=True, gc=False):
    """A link from a page to a page."""

    source: str
    target: str


class Change(msgspec.Struct, frozen=True, gc=False):
    """A change of a page that a visit saw."""

    url: str
    change: str  # new, changed, gone, moved or back
    seen: float
    importance: float
    status: int


class Match(msgspec.Struct, frozen=True, gc=False):
    """A page that a search found."""

    url: str
    title: str
    score: float  # BM25 times importance
    importance: float
    kind: str  # html, xml, text, pdf or other
    language: str  # as the page declares it: "en"; "" if it does not
    time: float  # when this version was first seen, in seconds since the epoch
    snippet: str
    marks: tuple[tuple[int, int], ...]  # where the words are in the snippet: begin and end


class Body:
    """A stored body; `read` fetches the bytes."""

    __slots__ = ("_capture", "_folder")

    def __init__(self, folder: CrawlFolder, capture: Stored) -> None:
        self._folder = folder
        self._capture = capture

    @property
    def url(self) -> str:
        """The URL of the page."""
        return self._capture.url

    @property
    def time(self) -> datetime:
        """When it was fetched."""
        return datetime.fromtimestamp(seconds_of(self._capture.timestamp), UTC)

    @property
    def status(self) -> int:
        """The HTTP status; 0 for a visit that found the same body as before."""
        return self._capture.status

    @property
    def content_type(self) -> str:
        """The MIME type."""
        return str(capture_facts(self._capture)["mime"])

    @property
    def digest(self) -> str:
        """SHA-1 of the body in base 32, as in the WARC record; of a version xxh3-128 in hexadecimal digits."""
        return self._capture.digest

    def read(self) -> bytes:
        """The bytes of the body; DamagedFile if the stored bytes are damaged."""
        return read_stored(self._folder, self._capture)[0]


class View:
    """Rows of a crawl."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def __repr__(self) -> str:
        count = f"{len(self):,} " if isinstance(self, Sized) else ""
        return f"<{count}{type(self).__name__.lower()} of {self._parts.path}>"


class Pages(View):
    """All known pages, in the order in which they became known; of a crawl in partitions, one partition after the
    other.
    """

    def __len__(self) -> int:
        return self._parts.known

    def __iter__(self) -> Iterator[Page]:
        for first, reader in zip(self._parts.firsts, self._parts.readers, strict=True):
            yield from self._pages(first, reader)

    def _pages(self, first: int, reader: CrawlReader) -> Iterator[Page]:
        shard = reader.shard
        for numbers in batches(shard.pages.count):
            heads = shard.pages.records.heads(numbers)
            visited = heads["visits"] > 0
            columns = (
                (first + numbers).tolist(),
                shard.pages.texts.get_many(numbers),
                shard.ledger.importance(numbers).tolist(),
                [KINDS[kind] for kind in kinds_of(heads["kind"], heads["outcome"]).tolist()],
                [OUTCOMES[outcome] if one else "" for outcome, one in zip(heads["outcome"], visited, strict=True)],
                heads["status"].tolist(),
                shard.pages.origins_of(numbers)["depth"].tolist(),
                heads["visits"].tolist(),
                heads["changes"].tolist(),
                heads["time"].tolist(),
                heads["changed_time"].tolist(),
            )
            yield from (Page(*row) for row in zip(*columns, strict=True))

    def to_arrow(self) -> "pyarrow.Table":
        """All pages as a table, with the columns of `centime export --format parquet`."""
        pa = arrow()
        from centime.crawl.report.table import SCHEMA, page_batches

        return pa.Table.from_batches(page_batches(self._parts.readers, self._parts.linked), schema=SCHEMA)


class Links(View):
    """All known links between known pages."""

    def link_graph(self, *, weighed: bool = True) -> NamedGraph:
        """The links as a graph with URLs as names, for `centime.pagerank` and `centime.as_graph`; with the weights that
        the crawl gives to links unless `weighed` is false.
        """
        return crawl_graph(self._parts.linked, weighed=weighed)

    def __len__(self) -> int:
        return sum(int(lengths.sum()) for _, lengths, _ in self._parts.linked.rows())

    def __iter__(self) -> Iterator[Link]:
        for pages, lengths, targets in self._parts.linked.rows():
            ends = np.cumsum(lengths)
            for begin in range(0, len(pages), BATCH):
                some = slice(begin, begin + BATCH)
                sources = np.repeat(pages[some], lengths[some])
                links = targets[ends[begin] - lengths[begin] :][: len(sources)].astype(np.int64)
                for source, target in zip(self._parts.urls(sources), self._parts.urls(links), strict=True):
                    yield Link(source, target)

    def to_arrow(self) -> "pyarrow.Table":
        """All links as a table of page numbers: `source`, `target`."""
        pa = arrow()
        schema = pa.schema([("source", pa.int64()), ("target", pa.int64())])
        parts = [
            pa.record_batch([np.repeat(pages, lengths), targets.astype(np.int64)], schema=schema)
            for pages, lengths, targets in self._parts.linked.rows()
        ]
        return pa.Table.from_batches(parts, schema=schema)


class Changes(View):
    """The changes that visits saw, newest first."""

    def __init__(self, parts: Parts, since: float, until: float, match: str) -> None:
        super().__init__(parts)
        self._window, self._match = (since, until), match

    def __iter__(self) -> Iterator[Change]:
        for row in self._parts.changes(*self._window).newest_first(self._match, None):
            yield Change(row["url"], row["change"], row["seen_seconds"], row["importance"], row["status"] or 0)

    def to_arrow(self) -> "pyarrow.Table":
        """The changes as a table."""
        pa = arrow()
        kinds = [
            ("url", pa.string()),
            ("change", pa.string()),
            ("seen", pa.float64()),
            ("importance", pa.float64()),
            ("status", pa.int64()),
        ]
        rows = [msgspec.structs.astuple(change) for change in self]
        columns = list(zip(*rows, strict=True)) or [()] * len(kinds)
        arrays = [pa.array(column, type=kind) for column, (_, kind) in zip(columns, kinds, strict=True)]
        table = pa.Table.from_arrays(arrays, names=[name for name, _ in kinds])
        seconds = pa.array([round(row[2] * 1000) for row in rows], type=pa.timestamp("ms", tz="UTC"))
        return table.set_column(2, "seen", seconds)


class Bodies(View):
    """The bodies that the crawl has kept (`--keep`), file by file; of versions page by page."""

    def __iter__(self) -> Iterator[Body]:
        folders = [reader.folder for reader in self._parts.readers]
        return (Body(folder, stored) for folder in folders for stored in every_stored(folder))

    def to_arrow(self) -> "pyarrow.Table":
        """The bodies as a table with their bytes: all of them are in memory at once."""
        pa = arrow()
        rows = list(self)
        return pa.table(
            {
                "url": pa.array([body.url for body in rows], type=pa.string()),
                "time": pa.array([body.time for body in rows], type=pa.timestamp("s", tz="UTC")),
                "status": pa.array([body.status for body in rows], type=pa.int64()),
                "content_type": pa.array([body.content_type for body in rows], type=pa.string()),
                "content": pa.array([body.read() for body in rows], type=pa.large_binary()),
            }
        )
