"""`centime.open_crawl`: a crawl for Python programs, also while it runs: views (`views.py`), reports, searches."""

import math
import time
from collections.abc import Sequence
from itertools import islice
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from centime.api.arguments import folder_path, opened_in, real_number
from centime.api.views import Bodies, Changes, Links, Match, Page, Pages
from centime.cluster.opening import owner_of
from centime.cluster.report.checking import check_any
from centime.cluster.report.merging import merged_facts
from centime.cluster.report.parts import parts_of
from centime.crawl.report.page import find_page
from centime.graphs.names import NamedGraph
from centime.model.counts import whole_number
from centime.model.errors import BadSetting
from centime.model.ids import page_ids
from centime.model.pattern import check_pattern

if TYPE_CHECKING:
    from centime.cluster.report.parts import AllSearches
    from centime.crawl.documents.examiner import Examiner
    from centime.crawl.search.paths import CrawlPaths


class Reader:
    """A crawl opened for reading; made by `open_crawl`, closed by `close` or at the end of a `with` block."""

    def __init__(self, folder: str | PathLike[str]) -> None:
        path = folder_path(folder)
        with opened_in(path):
            self._parts = parts_of(path)
        self._search: AllSearches | None = None
        self._paths: list[CrawlPaths] = []
        self._examiners: dict[Path, Examiner] = {}

    def __repr__(self) -> str:
        return f"<crawl {self.folder}: {self._parts.known:,} pages>"

    @property
    def folder(self) -> Path:
        """The folder of the crawl."""
        return self._parts.path

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that the crawl runs with, by the names of the options of `centime crawl`."""
        return self._parts.settings.facts()

    @property
    def pages(self) -> Pages:
        """All known pages."""
        return Pages(self._parts)

    @property
    def links(self) -> Links:
        """All known links."""
        return Links(self._parts)

    def link_graph(self, *, weighed: bool = True) -> NamedGraph:
        """The known links as a graph with URLs as names; so `centime.pagerank(crawl, by="site")` ranks sites."""
        return self.links.link_graph(weighed=weighed)

    @property
    def bodies(self) -> Bodies:
        """The kept bodies."""
        return Bodies(self._parts)

    @property
    def certified_error(self) -> float | None:
        """The mean over all pages of |importance - exact importance| is at most this; None for OPIC ledgers, and while
        a partition of the crawl was never opened.
        """
        error: float | None = self._parts.errors["certified_error"]
        return error

    def changes(self, *, since: float = 0.0, until: float = float("inf"), match: str = "") -> Changes:
        """The changes seen in a time span, of pages whose URL matches the pattern `match`."""
        window = real_number(since, "since", math.inf), real_number(until, "until", math.inf)
        if not isinstance(match, str):
            raise BadSetting(f"match must be a pattern, as text, not {match!r}")
        check_pattern(match)
        return Changes(self._parts, *window, match)

    def importance(self, url: str) -> float:
        """The importance of a page; UnknownPage if the crawl does not know it."""
        owner = self._parts.owner(url)
        page, _ = find_page(owner, url)
        return float(owner.shard.ledger.importance(np.array([page]))[0])

    def interest(self, url: str) -> float | None:
        """How well a page leads to wanted pages, as computed by `centime rank --vector interest`; None if it wants
        no page in particular. UnknownPage if the crawl does not know the page.
        """
        owner = self._parts.owner(url)
        page, _ = find_page(owner, url)
        kept = owner.shard.interest
        return None if kept is None else float(kept.scores()[page])

    def page(self, url: str) -> dict[str, Any]:
        """Everything about a page, as `centime page --json` writes it."""
        return self._parts.page(url, now=time.time())

    def versions(self, url: str) -> list[dict[str, Any]]:
        """The stored versions of a page, oldest first, as `centime versions --json` writes them."""
        from centime.crawl.report.versions import Versions

        return Versions(owner_of(self.folder, url), url).facts()

    def history(self, url: str, node: int | str) -> list[dict[str, Any]]:
        """The history of a node of a page, named by its XID or a path, as `centime versions --node --json` writes it:
        the versions in which it was inserted, changed, moved or deleted, oldest first.
        """
        from centime.crawl.report.versions import Versions

        return Versions(owner_of(self.folder, url), url).history(str(node))

    def diff(self, url: str, old: int | str | None = None, new: int | str | None = None) -> dict[str, Any]:
        """The changes between two stored versions of a page, named by number or time, as `centime diff --json` writes
        it; by default between the newest one and the one before.
        """
        from centime.crawl.report.versions import Versions

        versions = Versions(owner_of(self.folder, url), url)
        return versions.report(*versions.pair(*(None if one is None else str(one) for one in (old, new))))

    def search(
        self, words: str, *, site: str = "", since: float | None = None, kind: str = "", most: int = 10
    ) -> list[Match]:
        """The best pages that contain all the words, as `centime search` shows them; BadInput if there is no index
        (`centime index`, `update_index`).
        """
        if not all(isinstance(text, str) for text in (words, site, kind)):
            raise BadSetting("words, site and kind are texts")
        first = None if since is None else real_number(since, "since", math.inf)
        if self._search is None:
            self._search = self._parts.searches()
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
        self._search = None
        updates = self._parts.update_index(rebuild=bool(rebuild), step=lambda done: None)
        return merged_facts([one.facts() for one in updates])

    def query(self, xpath: str, *, kind: str = "any", match: str = "", most: int = 10) -> list[dict[str, Any]]:
        """The most important stored pages in which an XPath finds something, as `centime query --json` writes them."""
        from centime.crawl.documents.examiner import Examiner
        from centime.crawl.documents.querying import MOST_RESULTS, check_query, facts_of_answer, query
        from centime.crawl.search.paths import CrawlPaths

        check_query(xpath)
        readers = self._parts.readers
        if not self._examiners:
            self._examiners = {reader.folder.path: Examiner(reader.folder.path) for reader in readers}
            self._paths = [CrawlPaths(reader) for reader in readers]
        answers = self._parts.pages_to_query(xpath, kind, match, paths=self._paths).answers(
            lambda part, some: query(part, xpath, some, kind=kind, asking=self._examiners[part.folder.path])
        )
        chosen = islice((one for one in answers if one.total), whole_number(most, "most"))
        return [facts_of_answer(answer, MOST_RESULTS) for answer in chosen]

    def statistics(self) -> dict[str, Any]:
        """The figures of the crawl, as `centime stats` begins with them."""
        return self._parts.figures(time.time())

    def refused(self, count: int = 50, *, reasons: Sequence[str] = (), match: str = "") -> dict[str, Any]:
        """The links that the crawl did not follow, as `centime refused --json` writes them."""
        if not isinstance(match, str) or isinstance(reasons, str):
            raise BadSetting("match is a pattern, as text, and reasons is a list of words")
        check_pattern(match)
        return self._parts.refused(whole_number(count, "count"), reasons, match)

    def top(self, count: int = 10) -> list[Page]:
        """The most important pages."""
        importance = np.concatenate([reader.shard.ledger.importance() for reader in self._parts.readers])
        best = set(page_ids(np.argsort(-importance, kind="stable")[: whole_number(count, "count")]))
        found = [page for page in self.pages if page.number in best] if best else []
        return sorted(found, key=lambda page: (-page.importance, page.number))

    def check(self) -> list[str]:
        """Verifies every checksum and law; returns what is wrong, one sentence each."""
        return [f"{one.part}: {one.what}" for one in check_any(self.folder).problems]

    def follow(self) -> int:
        """Applies what the crawl has done since; returns the number of journal frames that were applied."""
        return self._parts.follow()

    def close(self) -> None:
        """Closes all files."""
        for examiner in self._examiners.values():
            examiner.close()
        self._parts.close()

    def __enter__(self) -> "Reader":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_crawl(folder: str | PathLike[str]) -> Reader:
    """The crawl in a folder, opened for reading, also while it runs; BadInput if there is none."""
    return Reader(folder)
