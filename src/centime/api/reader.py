"""`centime.open_crawl`: a crawl's pages, links, changes and bodies for Python programs, also while the crawl runs.

Each is a view: iterate it for values, or call `to_arrow` for a table that pandas, polars and DuckDB take as it is.
Views read the state as of the last `follow`; nothing on disk is changed.
"""

import math
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from centime.api.arguments import folder_path, opened_in, real_number, whole_number
from centime.crawl.check.check import check_crawl
from centime.crawl.engine.reader import CrawlReader
from centime.crawl.engine.state import rows_of
from centime.crawl.report.bodies import Stored, capture_facts, every_stored, read_stored
from centime.crawl.report.changes import find_changes, newest_first
from centime.crawl.report.opening import look_at
from centime.crawl.report.page import about_page, find_page
from centime.crawl.report.refused import refused_urls
from centime.crawl.report.visits import KINDS, OUTCOMES, batches, kinds_of
from centime.model.arrow import arrow
from centime.model.errors import BadSetting
from centime.model.ids import PageId, page_ids
from centime.model.pattern import check_pattern
from centime.store.folder import CrawlFolder

if TYPE_CHECKING:
    import pyarrow

    from centime.crawl.search.finding import CrawlSearch

TIMESTAMP = "%Y%m%d%H%M%S"


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
    content_since: float  # when the content was first seen as it is


class Link(msgspec.Struct, frozen=True, gc=False):
    """A link from a page to a page."""

    source: str
    target: str


class Change(msgspec.Struct, frozen=True, gc=False):
    """A change of a page that a visit saw."""

    url: str
    change: str  # new, changed, gone or back
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
        return datetime.strptime(self._capture.timestamp, TIMESTAMP).replace(tzinfo=UTC)

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
        """The bytes of the body; DamagedFile if they are not stored as they were."""
        return read_stored(self._folder, self._capture)[0]


class _View:
    """Rows of a crawl."""

    def __init__(self, reader: CrawlReader) -> None:
        self._reader = reader


class Pages(_View):
    """All known pages, in the order in which they became known."""

    def __len__(self) -> int:
        return self._reader.shard.pages.count

    def __iter__(self) -> Iterator[Page]:
        shard = self._reader.shard
        for numbers in batches(shard.pages.count):
            heads = shard.pages.records.heads(numbers)
            visited = heads["visits"] > 0
            columns = (
                numbers.tolist(),
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

        return pa.Table.from_batches(page_batches(self._reader), schema=SCHEMA)


class Links(_View):
    """All known links between known pages."""

    def __len__(self) -> int:
        return sum(int(lengths.sum()) for _, lengths, _ in rows_of(self._reader.shard))

    def __iter__(self) -> Iterator[Link]:
        texts = self._reader.shard.pages.texts
        for pages, lengths, targets in rows_of(self._reader.shard, batch=4096):
            sources = np.repeat(pages, lengths)
            for source, target in zip(texts.get_many(sources), texts.get_many(targets), strict=True):
                yield Link(source, target)

    def to_arrow(self) -> "pyarrow.Table":
        """All links as a table of page numbers: `source`, `target`."""
        pa = arrow()
        schema = pa.schema([("source", pa.int64()), ("target", pa.int64())])
        parts = [
            pa.record_batch([np.repeat(pages, lengths), targets.astype(np.int64)], schema=schema)
            for pages, lengths, targets in rows_of(self._reader.shard)
        ]
        return pa.Table.from_batches(parts, schema=schema)


class Changes(_View):
    """The changes that visits saw, newest first."""

    def __init__(self, reader: CrawlReader, since: float, until: float, match: str) -> None:
        super().__init__(reader)
        self._window, self._match = (since, until), match

    def __iter__(self) -> Iterator[Change]:
        for row in newest_first(self._reader, find_changes(self._reader, *self._window), self._match):
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


class Bodies(_View):
    """The bodies that the crawl has kept (`--keep`), file by file; of versions page by page."""

    def __iter__(self) -> Iterator[Body]:
        folder = self._reader.folder
        return (Body(folder, stored) for stored in every_stored(folder))

    def to_arrow(self) -> "pyarrow.Table":
        """The bodies as a table with their bytes: everything is in memory then."""
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


class Reader:
    """A crawl opened for reading; made by `open_crawl`, closed by `close` or at the end of a `with` block."""

    def __init__(self, folder: str | PathLike[str]) -> None:
        path = folder_path(folder)
        with opened_in(path):
            self._reader = look_at(path)
        self._search: CrawlSearch | None = None

    @property
    def folder(self) -> Path:
        """The folder of the crawl."""
        return self._reader.folder.path

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that the crawl runs with, by the names of the options of `centime crawl`."""
        return self._reader.settings.facts()

    @property
    def pages(self) -> Pages:
        """All known pages."""
        return Pages(self._reader)

    @property
    def links(self) -> Links:
        """All known links."""
        return Links(self._reader)

    @property
    def bodies(self) -> Bodies:
        """The kept bodies."""
        return Bodies(self._reader)

    @property
    def certified_error(self) -> float | None:
        """The mean over all pages of |importance - exact importance| is at most this; None for OPIC ledgers."""
        return self._reader.shard.ledger.error()

    def changes(self, *, since: float = 0.0, until: float = float("inf"), match: str = "") -> Changes:
        """The changes seen in a time, of pages in whose URL the pattern `match` is found."""
        window = real_number(since, "since", math.inf), real_number(until, "until", math.inf)
        if not isinstance(match, str):
            raise BadSetting(f"match must be a pattern, as text, not {match!r}")
        check_pattern(match)
        return Changes(self._reader, *window, match)

    def importance(self, url: str) -> float:
        """The importance of a page; UnknownPage if the crawl does not know it."""
        page, _ = find_page(self._reader, url)
        return float(self._reader.shard.ledger.importance(np.array([page]))[0])

    def page(self, url: str) -> dict[str, Any]:
        """Everything about a page, as `centime page --json` writes it."""
        return about_page(self._reader, url, now=time.time())

    def versions(self, url: str) -> list[dict[str, Any]]:
        """The stored versions of a page, oldest first, as `centime versions --json` writes them."""
        from centime.crawl.report.versions import Versions

        return Versions(self.folder, url).facts()

    def diff(self, url: str, old: int | str | None = None, new: int | str | None = None) -> dict[str, Any]:
        """What changed between two stored versions of a page, named by number or time, as `centime diff --json` writes
        it; by default between the newest one and the one before.
        """
        from centime.crawl.report.versions import Versions

        versions = Versions(self.folder, url)
        return versions.report(*versions.pair(*(None if one is None else str(one) for one in (old, new))))

    def search(
        self, words: str, *, site: str = "", since: float | None = None, kind: str = "", most: int = 10
    ) -> list[Match]:
        """The best pages in which all the words stand, as `centime search` shows them; BadInput if there is no index
        (`centime index`, `update_index`).
        """
        from centime.crawl.search.finding import CrawlSearch

        if not all(isinstance(text, str) for text in (words, site, kind)):
            raise BadSetting("words, site and kind are texts")
        first = None if since is None else real_number(since, "since", math.inf)
        if self._search is None:
            self._search = CrawlSearch(self._reader)
        found = self._search.find(words, site=site, since=first, kind=kind, most=whole_number(most, "most"))
        return [
            Match(
                url=page.url,
                title=page.title,
                score=page.score,
                importance=page.importance,
                kind=page.kind,
                language=page.language,
                time=float(page.time),
                snippet=page.snippet.text,
                marks=page.snippet.marks,
            )
            for page in found
        ]

    def update_index(self, *, rebuild: bool = False) -> dict[str, Any]:
        """Brings the full-text index in the folder up to date, as `centime index --json` reports it; InUse if another
        process writes it. Everything else of a `Reader` writes nothing.
        """
        from centime.crawl.search.updating import update_index

        self._search = None
        return update_index(self._reader, rebuild=bool(rebuild)).facts()

    def query(self, xpath: str, *, kind: str = "any", match: str = "", most: int = 10) -> list[dict[str, Any]]:
        """The most important stored pages in which an XPath finds something, as `centime query --json` writes them."""
        from centime.crawl.documents.querying import MOST_RESULTS, check_query, facts_of_answer, pages_of_kind, query

        check_query(xpath)
        answers = query(self._reader, xpath, pages_of_kind(self._reader, kind, match))
        chosen = islice((one for one in answers if one.total), whole_number(most, "most"))
        return [facts_of_answer(answer, MOST_RESULTS) for answer in chosen]

    def statistics(self) -> dict[str, Any]:
        """The figures of the crawl, as `centime stats` begins with them."""
        return self._reader.statistics(time.time())

    def refused(self, count: int = 50, *, reasons: Sequence[str] = (), match: str = "") -> dict[str, Any]:
        """The links that the crawl did not follow, as `centime refused --json` writes them."""
        if not isinstance(match, str) or isinstance(reasons, str):
            raise BadSetting("match is a pattern, as text, and reasons is a list of words")
        check_pattern(match)
        return refused_urls(self._reader, whole_number(count, "count"), reasons, match)

    def top(self, count: int = 10) -> list[Page]:
        """The most important pages."""
        importance = self._reader.shard.ledger.importance()
        best = set(page_ids(np.argsort(-importance, kind="stable")[: whole_number(count, "count")]))
        found = [page for page in self.pages if page.number in best] if best else []
        return sorted(found, key=lambda page: (-page.importance, page.number))

    def check(self) -> list[str]:
        """Verifies every checksum and law; returns what is wrong, one sentence each."""
        return [f"{one.part}: {one.what}" for one in check_crawl(self.folder).problems]

    def follow(self) -> int:
        """Takes in what the crawl has done since; returns the number of journal frames that were applied."""
        return self._reader.follow()

    def close(self) -> None:
        """Closes all files."""
        self._reader.close()

    def __enter__(self) -> "Reader":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_crawl(folder: str | PathLike[str]) -> Reader:
    """The crawl in a folder, opened for reading, also while it runs; BadInput if there is none."""
    return Reader(folder)
