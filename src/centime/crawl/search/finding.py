"""Searches a crawl: the pages that match, by BM25 times their present importance."""

from typing import Any

import numpy as np

from centime.crawl.engine.state import CrawlState
from centime.crawl.report.opening import moment
from centime.crawl.report.top import importance_of_ranked
from centime.crawl.report.visits import are_present, last_visits
from centime.crawl.search.updating import index_files, must_have_bodies
from centime.model.errors import BadSetting
from centime.model.outcome import PageKind
from centime.search.indexed_pages import BrokenIndex, IndexedPages
from centime.search.query import wanted
from centime.search.ranking import Prominence
from centime.search.searcher import FoundPage, IndexSearcher

MOST = 10_000  # the most pages that a search returns


class CrawlSearch:
    """Searches over one crawl; follows it if its state or its index changes."""

    def __init__(self, opened: CrawlState) -> None:
        self._opened = opened
        self._frame = -1
        self._prominence = Prominence(np.empty(0))
        self._files = index_files(opened)
        if not self._files.about.exists():
            must_have_bodies(opened)  # otherwise the advice to make an index would be useless
        self._searcher = IndexSearcher(self._files, f"centime index {opened.folder.path}")

    def find(
        self, words: str, *, site: str = "", since: float | None = None, kind: str = "", most: int = 10
    ) -> list[FoundPage]:
        """The best pages, the best first."""
        if not 1 <= most <= MOST:
            raise BadSetting(f"a search gives 1 to {MOST} pages, not {most}")
        looked_for = wanted(words, site=site, since=since, kind=kind)
        self._follow()
        return self._searcher.find(looked_for, self._prominence, most)

    def count(self, words: str, *, site: str = "", since: float | None = None, kind: str = "") -> int:
        """How many pages match."""
        return self._searcher.count(wanted(words, site=site, since=since, kind=kind))

    def changed_since(self) -> int:
        """How many pages were new, changed or gone at a visit after the index was last brought up to date."""
        try:
            pages = IndexedPages.read(self._files.pages)
        except BrokenIndex:
            return self._opened.shard.pages.count
        known = self._opened.shard.pages
        if known.last_time() <= pages.seen_until:
            return 0
        pages.reserve(known.count)
        last = last_visits(known, "time", "changed_time", "kind")
        newer = are_present(last["kind"]) & (last["changed_time"] > pages.seen_until)
        gone = (last["kind"] == PageKind.DEAD) & (last["time"] > pages.seen_until)
        newer[self._opened.shard.requisites.every()] = False
        return int(np.count_nonzero(newer | (gone & (pages.digests[: known.count] != 0))))

    def _follow(self) -> None:
        if self._opened.shard.frame != self._frame:
            self._prominence = Prominence(importance_of_ranked(self._opened))
            self._frame = self._opened.shard.frame
        self._searcher.reload()


def found_facts(found: FoundPage) -> dict[str, Any]:
    """The facts of a page that was found, for a report."""
    return {
        "url": found.url,
        "title": found.title,
        "score": found.score,
        "importance": found.importance,
        "kind": found.kind,
        "language": found.language or None,
        "time": moment(found.time),
        "snippet": found.snippet.text,
        "marks": [list(mark) for mark in found.snippet.marks],
        "html": found.snippet.html(),
    }
