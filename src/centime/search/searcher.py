"""Searches an index. It waits for no other process, and sees the last commit of the writer of the index, even without
permission to write: on a disk that is mounted read-only, or in the folder of another user.
"""

import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tantivy

from centime.model.errors import BadInput, CentimeError, DamagedFile
from centime.search.index_files import SHOWN, IndexFiles
from centime.search.query import Wanted
from centime.search.ranking import Hit, Prominence, best_hits
from centime.search.snippet import Snippet, Snippets

TRIES = 4  # to open an index to which another process commits at the same time


@dataclass(frozen=True, slots=True)
class FoundPage:
    """A page that matches a query."""

    page: int
    url: str
    title: str
    score: float  # BM25 times importance
    importance: float
    kind: str
    language: str
    time: int  # when this version was first seen
    snippet: Snippet


class IndexSearcher:
    """An index opened for searches; `BadInput` if there is none, or it is of another crawl or version."""

    def __init__(self, files: IndexFiles, command: str) -> None:
        self._files, self._command = files, command
        if not files.about.exists():
            raise BadInput(f"{files.folder}: there is no index yet: run {command}")
        if why := files.unfit():
            raise BadInput(f"{files.folder}: the index cannot be used: {why}; run {command}")
        self._links: weakref.finalize[Any, Any] | None = None  # removes the folder of links
        self._stamp = 0  # of the commit that they lead to
        with self._damage():
            self._index = files.open() if files.is_lockable() else self._linked()

    def reload(self) -> None:
        """Switches to the newest commit."""
        with self._damage():
            if self._links is None:
                self._index.reload()
            elif self._files.opstamp() != self._stamp:
                self._index = self._linked()

    def _linked(self, tries: int = TRIES) -> tantivy.Index:
        """The index through links to the files of its last commit."""
        stamp, place = self._files.opstamp(), tempfile.mkdtemp(prefix="centime-index-")
        links = weakref.finalize(self, shutil.rmtree, place, ignore_errors=True)
        try:
            index = self._files.open_linked(Path(place))
        except (ValueError, OSError):
            links()
            if tries > 1 and self._files.opstamp() != stamp:  # another process committed meanwhile
                return self._linked(tries - 1)
            raise
        if self._links is not None:
            self._links()
        self._stamp, self._links = stamp, links
        return index

    def count(self, wanted: Wanted) -> int:
        """How many pages match."""
        with self._damage():
            found: Any = self._index.searcher().search(wanted.query(self._index.schema), 1)
            return int(found.count)

    def products(self, wanted: Wanted, prominence: Prominence) -> list[float]:
        """The scores of all pages that match, the best first: what `find` must agree with."""
        with self._damage():
            searcher = self._index.searcher()
            hits = searcher.search(wanted.query(self._index.schema), max(1, searcher.num_docs), count=False).hits
            pages = np.array(searcher.fast_field_values("page", [place for _, place in hits]), dtype=np.int64)
            products = np.array([score for score, _ in hits]) * prominence.importance[pages]
            return sorted(map(float, products), reverse=True)

    def find(self, wanted: Wanted, prominence: Prominence, most: int) -> list[FoundPage]:
        """The best pages, the best first."""
        with self._damage():
            schema, searcher = self._index.schema, self._index.searcher()
            query = wanted.query(schema)
            hits = best_hits(searcher, schema, query, prominence, most)
            times = searcher.fast_field_values("time", [hit.place for hit in hits])
            snippets = Snippets(searcher, query, schema, wanted.phrases)
            return [
                _found(hit, searcher.doc(hit.place).to_dict(), int(time or 0), prominence, snippets)
                for hit, time in zip(hits, times, strict=True)
            ]

    @contextmanager
    def _damage(self) -> Iterator[None]:
        """Turns damage of the index into an error with a sentence. Tantivy raises a panic for some of it, which is no
        Exception."""
        try:
            yield
        except (ValueError, OSError) as trouble:
            if why := self._files.closed():
                raise CentimeError(f"{self._files.folder}: the index {why}") from trouble
            raise DamagedFile(f"{self._files.folder}: the index is damaged; run {self._command} --rebuild") from trouble
        except BaseException as trouble:
            if type(trouble).__name__ != "PanicException":
                raise
            raise DamagedFile(f"{self._files.folder}: the index is damaged; run {self._command} --rebuild") from None


def _found(hit: Hit, stored: dict[str, list[Any]], time: int, prominence: Prominence, snippets: Snippets) -> FoundPage:
    url, kind, language = (str(stored.get(name, [""])[0]) for name in ("url", "kind", "language"))
    title, text = (bytes(stored[SHOWN[name]][0]).decode() for name in ("title", "text"))
    return FoundPage(
        page=hit.page,
        url=url,
        title=title,
        score=hit.score,
        importance=float(prominence.importance[hit.page]),
        kind=kind,
        language=language,
        time=time,
        snippet=snippets.of(text),
    )
