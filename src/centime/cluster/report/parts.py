"""The parts of a crawl for reports: the one reader of a plain crawl, or one for each partition.

Every report is made of the reports of the parts (`merging.py`), so that there is one way for both kinds of crawl. First
each partition's ledger receives the sums of all others, so that importance is on one scale, with a mean of 1 over all
pages. The certified error is that of the certificate of all parts. The parts need not show the same moment, and do not
while the crawl runs.

Over 400 lines because it is one class: every report reads the parts through it, so that none forgets one of them.
"""

import heapq
import logging
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from centime.cluster.folder import is_cluster, read_about
from centime.cluster.global_rows import GlobalRows
from centime.cluster.nodes.gathering import bring_here
from centime.cluster.opening import folders_of, missing_in_words, whole_settings
from centime.cluster.report.merging import Facts, Rows, merged_facts, merged_rows
from centime.crawl.engine.reader import CrawlReader
from centime.crawl.notify.delivery import read_troubles
from centime.crawl.report.changes import Changes, atom, find_changes, newest_first
from centime.crawl.report.export import export
from centime.crawl.report.graph import LinkedPages, linked_pages
from centime.crawl.report.host_report import ORDERS as HOST_ORDERS
from centime.crawl.report.host_report import host_table
from centime.crawl.report.opening import look_at
from centime.crawl.report.page import about_page
from centime.crawl.report.planning.believed import Believed, believed
from centime.crawl.report.planning.plan import plan_of
from centime.crawl.report.planning.waiting import LEVELS
from centime.crawl.report.refused import refused_urls
from centime.crawl.report.rising import without_errors
from centime.crawl.report.statistics import all_statistics
from centime.crawl.report.top import top_pages
from centime.crawl.report.versions import with_sentences
from centime.discover.canonical import canonical
from centime.ledger.accounts import Sums
from centime.ledger.certificate import Certificate, certified
from centime.model.address import partition_of
from centime.model.errors import BadInput
from centime.model.row_batch import Pages
from centime.settings.crawl import CrawlSettings
from centime.shard.transfers.exchanging import transfers_of

if TYPE_CHECKING:
    from centime.cluster.report.queried import QueriedParts
    from centime.crawl.documents.catalog import Entry
    from centime.crawl.documents.querying import Pair
    from centime.crawl.search.finding import CrawlSearch
    from centime.crawl.search.paths import CrawlPaths
    from centime.crawl.search.updating import Update
    from centime.crawl.sites.selection import Selection
    from centime.search.searcher import FoundPage

_log = logging.getLogger("centime.damage")

Step = Callable[[float], None]
NUMBERS = {name: number for number, name in LEVELS.items()}


class Parts:
    """A crawl, opened for reports."""

    def __init__(self, path: Path, readers: Sequence[CrawlReader], missing: int = 0) -> None:
        self.path = path
        self.readers = readers
        self._missing = missing  # partitions that were never opened, or are not there: then nothing is certified
        self.is_cluster = len(readers) + missing > 1
        if self.is_cluster:
            self._share_sums()

    @property
    def known(self) -> int:
        """The number of known pages."""
        return sum(reader.shard.pages.count for reader in self.readers)

    @cached_property
    def certificate(self) -> Certificate | None:
        """The certificate of all partitions together; None for a plain crawl."""
        if not self.is_cluster or self._missing:
            return None
        return certified([transfers_of(reader.shard).report() for reader in self.readers])

    @property
    def errors(self) -> Facts:
        """The certified error over all pages, and the largest of one page."""
        if not self.is_cluster:
            ledger = self.readers[0].shard.ledger
            return {"certified_error": ledger.error(), "largest_error": ledger.largest_error()}
        error = None if self.certificate is None else self.certificate.shown
        return {"certified_error": error, "largest_error": None if error is None else error * self.known / 2}

    @cached_property
    def linked(self) -> LinkedPages:
        """All pages and links, in one numbering."""
        if not self.is_cluster:
            return linked_pages(self.readers[0])
        rows = GlobalRows([reader.shard for reader in self.readers])
        kinds = rows.kinds if rows.have_kinds else None
        return LinkedPages(str(self.path), rows.count, rows.rows, rows.urls, kinds=kinds)

    @property
    def frame(self) -> int:
        """The number of frames of all journals, which grows with every change of the state."""
        return sum(reader.shard.frame for reader in self.readers)

    @property
    def firsts(self) -> list[int]:
        """The number of the first page of each part, if the pages of all are numbered one after the other."""
        counts = [reader.shard.pages.count for reader in self.readers]
        return [sum(counts[:place]) for place in range(len(counts))]

    def urls(self, numbers: Pages) -> list[str]:
        """The URLs of pages, by their numbers among those of all parts."""
        firsts = np.array(self.firsts)
        owners = np.searchsorted(firsts, numbers, side="right") - 1
        found = np.empty(len(numbers), dtype=object)
        for owner in np.unique(owners).tolist():
            mine = owners == owner
            found[mine] = self.readers[owner].shard.pages.texts.get_many(numbers[mine] - firsts[owner])
        urls: list[str] = found.tolist()
        return urls

    # ---- reports

    def top(self, count: int, by: str = "importance", *, site: bool = False, now: float = 0.0, **more: Any) -> Facts:
        """The first pages or sites (`top_pages`, `top_sites`)."""
        if by == "site-importance":
            from centime.crawl.sites.ranked import top_sites

            return top_sites(self.linked, self.readers[0].settings.damping, count)
        reports = [top_pages(reader, count, by, site=site, now=now, **more) for reader in self.readers]
        if not self.is_cluster:
            return reports[0]
        if by == "rising":
            reports = [without_errors(report) for report in reports]
        rows = sorted((row for one in reports for row in one.pop("top")), key=lambda row: _place(row, by))
        return merged_facts(reports) | self.errors | {"known": self.known, "by": by, "top": _ranked(rows[:count])}

    def statistics(self, now: float) -> Facts:
        """All counts and facts."""
        reports = [
            all_statistics(reader, now)
            | {
                "subscribers_in_trouble": sum(
                    name in reader.shard.requests.subscriptions for name in read_troubles(reader.folder.path)
                )
            }
            for reader in self.readers
        ]
        if not self.is_cluster:
            return reports[0]
        about = read_about(self.path)
        settings = reports[0]["settings"] | about.totals | {"partition": None, "partitions": about.partitions}
        return (
            merged_facts(reports)
            | {"certified_error": self.errors["certified_error"], "folder": str(self.path)}
            | {"settings": settings, "partitions": about.partitions}
        )

    def hosts(self, count: int, by: str = "known", *, now: float = 0.0) -> Facts:
        """The first hosts."""
        reports = [host_table(reader, count, by, now=now) for reader in self.readers]
        if not self.is_cluster:
            return reports[0]
        rows = merged_rows([one.pop("top") for one in reports], HOST_ORDERS[by], count)
        return merged_facts(reports) | {"by": by, "top": rows}

    def page(self, url: str, *, now: float, step: Step = lambda done: None) -> Facts:
        """One page, from the partition that owns it."""
        reader = self.owner(url)
        if not self.is_cluster:
            return about_page(reader, url, now=now, step=step)
        report = about_page(reader, url, now=now, step=step, beyond=GlobalRows([one.shard for one in self.readers]))
        ahead = sum(
            int(np.count_nonzero(one.shard.ledger.importance() > report["importance"]))
            for one in self.readers
            if one.shard.pages.count
        )
        return report | {"rank": ahead + 1, "known": self.known, "largest_error": self.errors["largest_error"]}

    def changes(self, since: float, until: float) -> "AllChanges":
        """The changes that were seen between two times."""
        return AllChanges(self, [find_changes(reader, since, until) for reader in self.readers])

    def refused(self, count: int, reasons: Sequence[str], match: str) -> Facts:
        """The links that were refused."""
        reports = [refused_urls(reader, count, reasons, match) for reader in self.readers]
        if not self.is_cluster:
            return reports[0]
        rows = sorted((row for one in reports for row in one.pop("urls")), key=lambda row: -(row["links"] or 0))
        return merged_facts(reports) | {"urls": rows[:count]}

    def export(self, form: str, path: Path, step: Step, *, text: bool = False, sites: Path | None = None) -> Facts:
        """Writes an export."""
        return export(self.readers, self.linked, form, path, step, text=text, sites=sites)

    def select(self, marks: Path | None, **wanted: Any) -> "Selection":
        """The sites that are proposed to be kept (`select_sites`)."""
        from centime.crawl.sites.selection import select_sites

        return select_sites(self.readers, self.linked, marks, **wanted)

    def update_index(self, *, rebuild: bool, step: Step) -> "list[Update]":
        """Brings the index of each part up to date."""
        from centime.crawl.search.updating import update_index

        share = 1 / len(self.readers)
        return [update_index(one, rebuild=rebuild, step=lambda done: step(done * share)) for one in self.readers]

    def search(self, words: str, *, site: str, since: float | None, kind: str, most: int) -> "Found":
        """The pages that match, the best first. The words of a partition count by how rare they are in it."""
        searches = self.searches()
        best = searches.find(words, site=site, since=since, kind=kind, most=most)
        matches = searches.count(words, site=site, since=since, kind=kind)
        return Found(best, matches, searches.changed_since())

    def searches(self) -> "AllSearches":
        """The indexes of all parts, opened; BadInput if one is missing."""
        from centime.crawl.search.finding import CrawlSearch

        return AllSearches([CrawlSearch(reader) for reader in self.readers])

    def figures(self, now: float) -> Facts:
        """The figures with which the statistics begin."""
        reports = [reader.statistics(now) for reader in self.readers]
        if not self.is_cluster:
            return reports[0]
        return merged_facts(reports) | {
            "certified_error": self.errors["certified_error"],
            "folder": str(self.path),
            "partitions": len(reports) + self._missing,
        }

    @property
    def settings(self) -> CrawlSettings:
        """The settings of the whole crawl."""
        settings = self.readers[0].settings
        return whole_settings(settings, read_about(self.path).totals) if self.is_cluster else settings

    def believed(self, now: float) -> Believed:
        """The beliefs about the pages of all parts."""
        return believed(self.path, self.settings, self.readers, now)

    def plan(self, now: float, **wanted: Any) -> Facts:
        """The forecast under budgets, with one threshold over all pages (`plan_of`)."""
        return plan_of(self.believed(now), now=now, **wanted)

    def documents(self, step: Callable[[int], None], catalogs: Sequence[Path]) -> "Iterator[Entry]":
        """Every XML document that is stored, the most important first."""
        from centime.crawl.documents.catalog import updated_catalog

        each = [updated_catalog(reader, step, catalogs) for reader in self.readers]
        return heapq.merge(*each, key=lambda entry: entry.importance, reverse=True)

    def document(self, url: str) -> Facts | None:
        """State and facts of the stored XML document of a page; None if it has none."""
        from centime.crawl.documents.catalog import document_facts

        return document_facts(self.owner(url), url)

    def pages_to_query(
        self, xpath: str, kind: str, match: str, *, at: str | None = None, paths: "Sequence[CrawlPaths | None]" = ()
    ) -> "QueriedParts":
        """The pages in which an XPath may find something."""
        from centime.cluster.report.queried import QueriedParts
        from centime.crawl.documents.querying import pages_to_query

        indexes = paths or [None] * len(self.readers)
        each = zip(self.readers, indexes, strict=True)
        return QueriedParts(
            self.readers, [pages_to_query(reader, xpath, kind, match, at=at, paths=one) for reader, one in each]
        )

    def stored_pairs(self, match: str, since: float, step: Callable[[int], None]) -> "list[list[Pair]]":
        """The pairs of stored versions of each part, newest first."""
        from centime.crawl.documents.querying import stored_pairs

        return [stored_pairs(reader, match, since, step) for reader in self.readers]

    def changed_results(self, xpath: str, pairs: "list[list[Pair]]", step: Callable[[int], None]) -> Iterator[Facts]:
        """The pairs of versions in which an XPath finds different results, newest first."""
        from centime.crawl.documents.querying import changed_results

        each = zip(self.readers, pairs, strict=True)
        found = [changed_results(reader, xpath, some, step) for reader, some in each]
        return heapq.merge(*found, key=lambda row: row["seen"] or "", reverse=True)

    def follow(self) -> int:
        """Applies what was written since, in all parts; returns how many frames."""
        frames = sum(reader.follow() for reader in self.readers)
        for name in ("certificate", "linked"):
            self.__dict__.pop(name, None)
        if frames and self.is_cluster:
            self._share_sums()
        return frames

    def close(self) -> None:
        """Closes all files."""
        for reader in self.readers:
            reader.close()

    def owner(self, url: str) -> CrawlReader:
        """The part that has a page, or would have it."""
        name = canonical(url) if self.is_cluster else None
        if name is None:
            return self.readers[0]
        owner = partition_of(name, len(self.readers) + self._missing)
        for reader in self.readers:
            if reader.settings.partition == owner:
                return reader
        raise BadInput(f"{self.path}: partition {owner}, which owns {url}, was never opened")

    def _share_sums(self) -> None:
        """Puts importance on one scale: each ledger receives the sums of all others."""
        ledgers = [transfers_of(reader.shard).ledger for reader in self.readers]
        for mine in ledgers:
            others = Sums()
            for ledger in ledgers:
                others = others if ledger is mine else others.plus(ledger.sums)
            mine.receive_sums(others)


class AllSearches:
    """Searches over the indexes of all parts."""

    def __init__(self, searches: "Sequence[CrawlSearch]") -> None:
        self._searches = searches

    def find(self, words: str, *, site: str, since: float | None, kind: str, most: int) -> "list[FoundPage]":
        """The best pages."""
        found = [one.find(words, site=site, since=since, kind=kind, most=most) for one in self._searches]
        return list(islice(heapq.merge(*found, key=lambda page: page.score, reverse=True), most))

    def count(self, words: str, *, site: str, since: float | None, kind: str) -> int:
        """How many pages match."""
        return sum(one.count(words, site=site, since=since, kind=kind) for one in self._searches)

    def changed_since(self) -> int:
        """How many pages have changed since they were indexed."""
        return sum(one.changed_since() for one in self._searches)


class Found:
    """The results of a search."""

    def __init__(self, pages: "list[FoundPage]", matches: int, changed_since: int) -> None:
        self.pages = pages
        self.matches = matches
        self.changed_since = changed_since


class AllChanges:
    """The changes of all parts."""

    def __init__(self, parts: Parts, changes: list[Changes]) -> None:
        self._parts = parts
        self._changes = changes

    def __len__(self) -> int:
        return sum(map(len, self._changes))

    def newest_first(self, match: str, most: int | None, *, sentences: bool = False) -> Iterator[dict[str, Any]]:
        """The changes of pages whose URL matches, newest first, perhaps with the sentences that differ."""
        each = [
            newest_first(reader, changes, match, most)
            for reader, changes in zip(self._parts.readers, self._changes, strict=True)
        ]
        if sentences:
            each = [
                with_sentences(reader.folder.path, rows) for reader, rows in zip(self._parts.readers, each, strict=True)
            ]
        return islice(heapq.merge(*each, key=lambda row: row["seen_seconds"], reverse=True), most)

    def atom(self, rows: Iterator[dict[str, Any]], address: str) -> Iterator[str]:
        """Changes as an Atom feed."""
        return atom(self._parts.readers[0], rows, address, self._parts.path.resolve().name)


def parts_of(path: Path) -> Parts:
    """A crawl, plain or in partitions, opened for reports, each part as of the last frame that was flushed."""
    old = bring_here(path)
    begun = folders_of(path)
    for sentence in (*([old] if old else []), *missing_in_words(path)):
        _log.warning("%s: %s", path, sentence)
    count = read_about(path).partitions if is_cluster(path) else 1
    return Parts(path, [look_at(folder) for folder in begun], count - len(begun))


def _ranked(rows: Rows) -> Rows:
    return [row | {"rank": rank} for rank, row in enumerate(rows, 1)]


def _place(row: dict[str, Any], by: str) -> tuple[float, ...]:
    """The key by which rows of `top` are sorted, as in one folder."""
    if by == "change":
        return -row["changes_per_visit"], -row["changes"]
    if by == "rising":
        return (-row["rise"],)
    if by == "errors" and "failing" in row:
        return (-row["failing"],)
    if by == "worth" and "level" in row:
        return NUMBERS[row["level"]], -(row["worth"] or 0.0), -row["importance"]
    return (-row["importance"],)
