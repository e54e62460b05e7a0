"""The index of paths of a crawl (`search/path_index.py`): updates from stored bodies, and queries for candidates.

The index has the newest body of every page that `centime query` examines, also of pages that are gone or that ask not
to be indexed. XML that is well formed by itself is read here (`search/scanned_terms.py`). All other bodies are parsed
by the process that examines documents, with its limits; a body beyond these limits is a candidate for every query, as
are pages whose newest body is not in the index yet.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from centime.crawl.documents.examiner import Examiner, examiner
from centime.crawl.documents.examining import Task
from centime.crawl.engine.state import CrawlState
from centime.crawl.report.bodies import captures_of
from centime.crawl.search.newest import NewestBody, StoredBodies, digest_number
from centime.files.disk import make_folder
from centime.files.listing import files_below
from centime.model.errors import CentimeError
from centime.model.outcome import PageKind
from centime.parse.kind import kind_of
from centime.search.path_index import SEGMENT_POSTINGS, BrokenPaths, PathIndex
from centime.search.path_terms import EVERYTHING, Terms, hashed
from centime.search.scanned_terms import TermScanner
from centime.search.xpath_condition import ANYTHING, condition_of
from centime.store.versions.database import keeping_open

BATCH = 32  # documents that are examined at once
MOST_BYTES = 8 << 20  # of a body; a larger one is always a candidate
_ALWAYS: Terms = np.array([hashed(EVERYTHING)], dtype=np.uint64)

Step = Callable[[float], None]


def path_index(opened: CrawlState) -> PathIndex:
    """The index of paths of a crawl."""
    return PathIndex(opened.folder.index / "paths", opened.folder.identity)


@dataclass
class PathUpdate:
    """The figures of an update."""

    documents: int = 0  # in the index now
    read: int = 0
    bytes: int = 0  # of the index


def update_paths(opened: CrawlState, *, rebuild: bool = False, step: Step = lambda share: None) -> PathUpdate:
    """Brings the index up to date. The caller holds the lock of the index; if the update is interrupted, finished work
    counts."""
    make_folder(opened.folder.index)
    index = path_index(opened)
    try:
        if rebuild or not index.load():
            index.clear()
    except BrokenPaths:
        index.clear()
    update = PathUpdate()
    count = opened.shard.pages.count
    digests = index.digests(count)
    waiting: dict[int, tuple[int, Terms]] = {}
    batch: list[NewestBody] = []
    postings = 0
    source = StoredBodies(opened)
    is_mixed = source.is_mixed
    scanner = TermScanner()
    with examiner(opened.folder.path) as asking, keeping_open():
        for body in source.since(index.position):
            step(1 / source.count)
            found = _resolved(opened, body, digests, is_mixed=is_mixed)
            if found is None:
                continue
            digests[body.page] = digest_number(found.digest)
            batch.append(found)
            if len(batch) == BATCH:
                made = _documents(source, batch, scanner, asking)
                postings += sum(len(terms) for _, terms in made.values())
                waiting |= made
                batch.clear()
            if postings >= SEGMENT_POSTINGS:
                update.read += len(waiting)
                index.add(waiting)
                waiting.clear()
                postings = 0
        waiting |= _documents(source, batch, scanner, asking)
    if waiting:
        update.read += len(waiting)
        index.add(waiting)
    if index.position != source.position or index.state() is None:
        index.position = source.position
        index.save()
    update.documents = int(np.count_nonzero(digests))
    update.bytes = sum(path.stat().st_size for path in files_below(opened.folder.index / "paths"))
    return update


def _resolved(opened: CrawlState, body: NewestBody, digests: Terms, *, is_mixed: bool) -> NewestBody | None:
    """The body of a page that `centime query` looks into, unless it is in the index. A crawl whose --keep was changed
    has bodies in two places; the newest of both counts.
    """
    if digests[body.page] == digest_number(body.digest):
        return None
    if not is_mixed:
        return body
    newest = captures_of(opened.folder.path, body.url)[-1]
    if digests[body.page] == digest_number(newest.digest):
        return None
    return NewestBody(body.page, body.url, newest.digest, body.time, body.seen, newest)


def _documents(
    source: StoredBodies, batch: Sequence[NewestBody], scanner: TermScanner, asking: Examiner
) -> dict[int, tuple[int, Terms]]:
    """By page, the digests and the terms of some documents."""
    made: dict[int, tuple[int, Terms]] = {}
    tasks: dict[NewestBody, Task] = {}
    for body in batch:
        made[body.page] = digest_number(body.digest), _ALWAYS
        with suppress(CentimeError, OSError):  # the query says so
            data, content_type = source.read(body)
            if len(data) > MOST_BYTES:
                continue
            terms = scanner.terms(data, content_type) if kind_of(data, content_type) is PageKind.XML else None
            if terms is not None:
                made[body.page] = digest_number(body.digest), terms
            else:
                tasks[body] = Task(body.url, body=data, content_type=content_type)
    for body, found in zip(tasks, asking.examine_many(list(tasks.values())), strict=True):
        if not found.error:
            made[body.page] = digest_number(body.digest), np.frombuffer(found.terms, dtype=np.uint64)
    return made


class CrawlPaths:
    """Candidates for queries over one crawl; follows it if its bodies or its index change."""

    def __init__(self, opened: CrawlState) -> None:
        self._opened = opened
        self._index = path_index(opened)
        self._state: Any = None
        self._digests: Terms = np.zeros(0, dtype=np.uint64)

    def candidates(self, xpath: str) -> npt.NDArray[np.int64] | None:
        """The pages in which an XPath may find something, sorted; None if the index does not know."""
        condition = condition_of(xpath)
        if condition == ANYTHING or not self._follow():
            return None
        found = self._index.candidates(condition).astype(np.int64)
        known = found[found < self._opened.shard.pages.count]
        stale = np.fromiter(self._stale(), dtype=np.int64)
        return np.union1d(known, stale) if len(stale) else known

    def _follow(self) -> bool:
        state = self._index.state()
        count = self._opened.shard.pages.count
        if state is None:
            return False
        if state != self._state or count != len(self._digests):
            try:
                if not self._index.load():
                    return False
            except BrokenPaths:
                return False
            self._state, self._digests = state, self._index.digests(count)
        return True

    def _stale(self) -> Iterator[int]:
        """The pages whose newest body is not in the index."""
        for body in StoredBodies(self._opened).since(self._index.position):
            if self._digests[body.page] != digest_number(body.digest):
                yield int(body.page)
