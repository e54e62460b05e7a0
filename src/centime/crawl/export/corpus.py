"""A corpus for retrieval: the text of every stored page, one row each, as JSON lines or a Parquet table.

Rows are those of the full-text index (docs/search.md): no pages that are gone, that redirect, that ask not to be
indexed, or that have no text. They are written as they are read, so memory does not grow with their number.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

from centime.crawl.documents.page_texts import page_texts
from centime.crawl.engine.state import CrawlState
from centime.crawl.report.opening import moment
from centime.crawl.report.top import importance_of_ranked
from centime.crawl.search.newest import NewestBody, StoredBodies
from centime.crawl.search.updating import wanted_pages
from centime.discover.canonical import canonical
from centime.files.replacement import replacing_files
from centime.model.address import host_of
from centime.model.document import NOFOLLOW
from centime.model.errors import DamagedFile, FileGone
from centime.parse.document import read_document
from centime.search.page_text import PageText

ROWS_AT_ONCE = 500
MOST_LINKS = 10_000  # of a page
Step = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class CorpusLink:
    """A link of a page."""

    url: str
    text: str  # of its anchor
    external: bool  # it leads to another host
    nofollow: bool  # the link, or the whole page, asks not to be followed


@dataclass(frozen=True, slots=True)
class CorpusRow:
    """The text of a page."""

    url: str
    title: str
    text: str  # a paragraph in each line
    language: str | None
    kind: str
    content_type: str | None  # as the server declares it
    canonical: str | None  # the URL that the page names as its own
    importance: float
    changed: str | None  # when this version was first seen
    seen: str | None  # when it was last seen
    links: list[CorpusLink]


class CorpusText(NamedTuple):
    """The text of a page, and what it was read from."""

    body: NewestBody
    data: bytes
    content_type: str
    importance: float
    text: PageText


class Corpus:
    """The rows of a crawl; `unreadable` counts the bodies that could not be read."""

    def __init__(
        self, opened: CrawlState, step: Step = lambda share: None, chosen: Callable[[str], bool] = lambda url: True
    ) -> None:
        self._opened = opened
        self._chosen = chosen  # which URLs count
        self._step = step
        self.rows = 0
        self.unreadable = 0

    @property
    def known(self) -> int:
        """The number of known pages, also of those without a body."""
        return self._opened.shard.pages.count

    def texts(self) -> Iterator[CorpusText]:
        """The pages that count and have a text."""
        with page_texts(self._opened.folder.path) as texts:
            for body, data, content_type, importance in self._bodies():
                made = texts.of(data, content_type, body.url)
                if made.text:
                    self.rows += 1
                    yield CorpusText(body, data, content_type, importance, made)

    def _bodies(self) -> Iterator[tuple[NewestBody, bytes, str, float]]:
        """The bodies of the pages that count, each with its Content-Type and the importance of its page."""
        importance = importance_of_ranked(self._opened)
        wanted, _ = wanted_pages(self._opened)
        source = StoredBodies(self._opened)
        for body in source.every():
            self._step(1 / source.count)
            if not wanted[body.page] or not self._chosen(body.url):
                continue
            try:
                data, content_type = source.read(body)
            except (DamagedFile, FileGone, OSError):
                self.unreadable += 1
                continue
            yield body, data, content_type, float(importance[body.page])

    def __iter__(self) -> Iterator[CorpusRow]:
        for body, data, content_type, importance, made in self.texts():
            named, links = links_of(data, content_type, body.url)
            yield CorpusRow(
                url=body.url,
                title=made.title,
                text=made.text,
                language=made.language or None,
                kind=made.kind,
                content_type=content_type or None,
                canonical=named,
                importance=importance,
                changed=moment(body.time),
                seen=moment(body.seen),
                links=links,
            )


def links_of(data: bytes, content_type: str, url: str) -> tuple[str | None, list[CorpusLink]]:
    """The URL that a page names as its own, and its links to other pages, in its order, each once, with the text of its
    first anchor.
    """
    read = read_document(data, url=url, content_type=content_type, anchors=True)
    made: dict[CorpusLink, None] = {}
    for href, text, flags in zip(read.hrefs, read.anchors, read.flags, strict=True):
        target = canonical(href, read.base or url)
        if target is not None and target != url:
            nofollow = read.nofollow or bool(flags & NOFOLLOW)
            made[CorpusLink(target, " ".join(text.split()), host_of(target) != host_of(url), nofollow)] = None
            if len(made) == MOST_LINKS:
                break
    return (canonical(read.canonical, read.base or url) if read.canonical else None), list(made)


def write_json_lines(rows: Iterable[CorpusRow], file: BinaryIO) -> None:
    """Writes each row as one line of JSON."""
    for row in rows:
        file.write(json.dumps(asdict(row), ensure_ascii=False).encode(errors="replace") + b"\n")


def write_table(rows: Iterator[CorpusRow], path: Path) -> None:
    """Writes the rows as a Parquet file, which appears when it is complete."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    time = pa.timestamp("s", tz="UTC")
    texts = [(name, pa.string()) for name in ("url", "title", "text", "language", "kind", "content_type", "canonical")]
    link = pa.struct([("url", pa.string()), ("text", pa.string()), ("external", pa.bool_()), ("nofollow", pa.bool_())])
    numbers = [("importance", pa.float64()), ("changed", time), ("seen", time)]
    schema = pa.schema([*texts, *numbers, ("links", pa.list_(link))])
    with replacing_files(path) as files, pq.ParquetWriter(files.new(path), schema, compression="zstd") as writer:
        while some := list(islice(rows, ROWS_AT_ONCE)):
            columns = {name: [getattr(row, name) for row in some] for name in schema.names}
            for name in ("changed", "seen"):
                columns[name] = [None if one is None else datetime.fromisoformat(one) for one in columns[name]]
            columns["links"] = [[asdict(one) for one in links] for links in columns["links"]]
            writer.write_table(pa.table(columns, schema=schema))
