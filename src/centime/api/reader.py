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
from centime.crawl.check.check import check_crawl
from centime.crawl.report.opening import look_at
from centime.crawl.report.page import about_page, find_page
from centime.crawl.report.refused import refused_urls
from centime.model.counts import whole_number
from centime.model.errors import BadSetting
from centime.model.ids import page_ids
from centime.model.pattern import check_pattern

if TYPE_CHECKING:
    from centime.crawl.documents.examiner import Examiner
    from centime.crawl.search.finding import CrawlSearch
    from centime.crawl.search.paths import CrawlPaths


class Reader:
    """A crawl opened for reading; made by `open_crawl`, closed by `close` or at the end of a `with` block."""

    def __init__(self, folder: str | PathLike[str]) -> None:
        path = folder_path(folder)
        with opened_in(path):
            self._reader = look_at(path)
        self._search: CrawlSearch | None = None
        self._paths: CrawlPaths | None = None
        self._examiner: Examiner | None = None

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

    def interest(self, url: str) -> float | None:
        """How well a page leads to what the crawl wants, as `centime rank --vector interest` has it; None if it wants
        no page in particular. UnknownPage if the crawl does not know the page.
        """
        page, _ = find_page(self._reader, url)
        kept = self._reader.shard.interest
        return None if kept is None else float(kept.scores()[page])

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
        from centime.crawl.documents.examiner import Examiner
        from centime.crawl.documents.querying import MOST_RESULTS, check_query, facts_of_answer, pages_to_query, query
        from centime.crawl.search.paths import CrawlPaths

        check_query(xpath)
        if self._examiner is None or self._paths is None:
            self._examiner, self._paths = Examiner(self._reader.folder.path), CrawlPaths(self._reader)
        pages = pages_to_query(self._reader, xpath, kind, match, paths=self._paths).pages
        answers = query(self._reader, xpath, pages, kind=kind, asking=self._examiner)
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
        if self._examiner is not None:
            self._examiner.close()
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
