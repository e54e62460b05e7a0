"""The scheduler for Scrapy: `SCHEDULER = "centime.scrapy.Scheduler"`.

    enqueue_request     dupe filter; the request goes to the log, then it waits
    next_request        finished requests go to the log, a batch of visits to the crawl if one is due; then the
                        best request that waits

A request is done when Scrapy has finished it, and the requests of its callback are in the log by then. So `kill -9`
loses none, and running requests are repeated once. Requests that cannot be pickled wait in memory and are lost with
the process, as with Scrapy's own scheduler.

Over 400 lines because it is one class: what a kill may lose is decided by the order of its steps.
"""

import logging
import pickle
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from scrapy import Request, Spider
from scrapy.core.scheduler import BaseScheduler
from scrapy.crawler import Crawler
from scrapy.dupefilters import BaseDupeFilter, RFPDupeFilter
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.misc import build_from_crawler, load_object
from scrapy.utils.request import request_from_dict

from centime.crawl.imports.finding import Finding
from centime.discover.canonical import canonical
from centime.model.address import fingerprint
from centime.model.errors import BadSetting, CentimeError
from centime.scrapy.downloads import Downloads
from centime.scrapy.pages import CrawledPages
from centime.scrapy.reports import Report, Reports, reports_of
from centime.scrapy.request_log import LoggedRequest, Place, RequestLog
from centime.scrapy.waiting import WaitingRequest, WaitingRequests
from centime.store.folder import SCRAPY

BATCH = 256  # visits that are imported at once
BATCH_SECONDS = 0.5, 5.0  # after which fewer are: more if importing a batch, which has costs of its own, takes long
IN_MEMORY = 2_000  # requests that wait are kept as they are too, so that they need not be restored from the log
IMPORTING = 0.04  # the share of time for it
SYNC_SECONDS = 5.0  # between two waits for the disk, which only a power failure needs
PICKLE = 4
UNPICKLABLE = (ValueError, TypeError, AttributeError, pickle.PicklingError)  # as in Scrapy's disk queues

logger = logging.getLogger(__name__)


class Scheduler(BaseScheduler):
    """The queue of requests of a crawler, in the order of priority and importance, in a folder."""

    def __init__(self, crawler: Crawler, *, steady: Callable[[], float] = time.monotonic) -> None:
        settings = crawler.settings
        self.crawler = crawler
        self.refresh = _pages_to_refresh(settings.get("CENTIME_REFRESH"))
        self.trust = settings.getbool("CENTIME_TRUST")
        self.stats: Any = crawler.stats
        self._reports: Reports = reports_of(crawler)
        self._downloads = Downloads(crawler)
        self._waiting = WaitingRequests(self._downloads.busy, self._downloads.takes)
        self._under_way: dict[Request, WaitingRequest] = {}
        self._unplaced: list[WaitingRequest] = []  # requests whose page was not looked up yet
        self._of_page: dict[int, list[WaitingRequest]] = {}
        self._seen_in_memory: set[bytes] = set()
        self._filter: BaseDupeFilter | None = None  # another one than Scrapy's default
        self._own_filter: RFPDupeFilter | None = None
        self._steady = steady
        self._import_from = self._synced_at = steady()
        self._in_memory = 0
        self._warned = self._failed = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> "Scheduler":
        """The scheduler of a crawler, with its settings."""
        return cls(crawler)

    def folder(self, spider: Spider) -> Path:
        """The folder of the queue and of its crawl."""
        settings = self.crawler.settings
        given, job = settings.get("CENTIME_DIR"), settings.get("JOBDIR")
        if given:
            return Path(given)
        return Path(job) / "centime" if job else Path(".centime") / spider.name

    def open(self, spider: Spider) -> Any:
        """Opens the folder, and continues where the last run has ended."""
        self._spider = spider
        folder = self.folder(spider)
        self._log = RequestLog(folder / SCRAPY, keep=self.refresh > 0, trust=self.trust)
        try:
            self._pages = CrawledPages(folder, self._log.identity, self._reports.clock)
        except BaseException:
            self._log.close()
            raise
        self._log.imported(self._pages.imported)
        self._known_starts = frozenset(self._log.started)
        found = list(self._log.waiting.values())
        self._log.waiting.clear()
        for request, place in found:
            self._wait(WaitingRequest(request.number, request.url, request.slot, request.priority, place))
        if found:
            logger.info("Resuming %d requests of %s", len(found), folder, extra={"spider": spider})
            self._count("centime/resumed", len(found))
        if not self._reports.reported:
            logger.warning(
                "centime.scrapy.SpiderMiddleware is not in SPIDER_MIDDLEWARES: importance is not known, and requests "
                "are ordered by priority alone",
                extra={"spider": spider},
            )
        if not self._downloads.are_known:
            logger.warning("This version of Scrapy does not say which requests are running: a kill would lose those")
        self._import()
        if self.refresh and not found:
            self._make_again()
        return self._open_filter()

    def close(self, reason: str) -> Any:
        """Records all finished requests, and closes the folder; waiting requests stay for the next run."""
        try:
            if not self._failed:
                self._end(self._downloads.ended(self._under_way))
                self._import()
                if reason == "finished" and not self._waiting and not self._under_way:
                    self._log.finish()
                self._pages.settle()
                error = self._pages.error()
                if self.stats is not None and error is not None:
                    self.stats.set_value("centime/pages_known", self._pages.count)
                    self.stats.set_value("centime/certified_error", error)
        finally:
            try:
                self._pages.close()
            finally:
                self._log.close()
        return self._filter.close(reason) if self._filter is not None else None

    def has_pending_requests(self) -> bool:
        """Whether requests wait."""
        return len(self._waiting) > 0 and not self._failed

    def __len__(self) -> int:
        return len(self._waiting)

    def enqueue_request(self, request: Request) -> bool:
        """Stores a request; False if it is a duplicate. When it returns, a kill does not lose the request."""
        if self._failed:
            return False
        seen, start = self._seen_print(request), b""
        if seen is None:
            return False
        if request.meta.get("is_start_request"):
            start = self._print(request)
            if start in self._known_starts:
                self._count("centime/start_requests_known")
                return False
        try:
            self._store(request, seen, start)
        except (CentimeError, OSError) as trouble:
            self._fail(trouble)
            return False
        return True

    def next_request(self) -> Request | None:
        """The request to make next; None if there is none, or no download slot takes one now."""
        if self._failed:
            return None
        try:
            self._end(self._downloads.ended(self._under_way))
            now = self._steady()
            count = len(self._log.unimported)
            if count >= BATCH or (count and now >= self._import_from):
                self._import()
            if now - self._synced_at >= SYNC_SECONDS:
                self._log.sync()
                self._pages.sync()
                self._synced_at = now
            if self._log.is_long:
                self._compact()
            return self._next()
        except (CentimeError, OSError) as trouble:
            self._fail(trouble)
            return None

    # ---- requests

    def _next(self) -> Request | None:
        while (one := self._waiting.take()) is not None:
            if one.page >= 0:
                self._leave(one)
            request = one.request
            if one.place is not None:
                self._in_memory -= request is not None
                if request is None or request in self._under_way:  # the same one may be enqueued twice
                    request = self._loaded(one.place)
            if request is None:
                continue
            self._under_way[request] = one
            self._downloads.give(one.slot, request)
            self._count("scheduler/dequeued")
            self._count("scheduler/dequeued/memory" if one.place is None else "scheduler/dequeued/disk")
            return request
        return None

    def _store(self, request: Request, seen: bytes, start: bytes) -> None:
        slot, url = self._downloads.slot_of(request), canonical(request.url) or ""
        number = self._log.next_number
        pickled = self._pickled(request)
        if pickled is None:
            self._log.next_number += 1
            if seen:
                self._seen_in_memory.add(seen)
            self._wait(WaitingRequest(number, url, slot, request.priority, None, request))
        else:
            place = self._log.push(LoggedRequest(number, seen, url, slot, request.priority, start, pickled))
            self._log.flush()
            kept = request if self._in_memory < IN_MEMORY else None
            self._in_memory += kept is not None
            self._wait(WaitingRequest(number, url, slot, request.priority, place, kept))
        self._count("scheduler/enqueued")
        self._count("scheduler/enqueued/memory" if pickled is None else "scheduler/enqueued/disk")

    def _wait(self, one: WaitingRequest) -> None:
        self._waiting.add(one)
        if one.url:
            self._unplaced.append(one)
            if len(self._unplaced) > 2 * len(self._waiting) + BATCH:  # nothing is imported
                self._unplaced = [one for one in self._unplaced if not one.taken]

    def _pickled(self, request: Request) -> bytes | None:
        try:
            return pickle.dumps(request.to_dict(spider=self._spider), protocol=PICKLE)
        except UNPICKLABLE as trouble:
            if not self._warned:
                self._warned = True
                logger.warning(
                    "Unable to serialize request: %s - reason: %s - it waits in memory and is lost with the process; "
                    "no more of these will be logged (see 'scheduler/unserializable' in the statistics)",
                    request,
                    trouble,
                    extra={"spider": self._spider},
                )
            self._count("scheduler/unserializable")
            return None

    def _loaded(self, place: Place) -> Request | None:
        logged = self._log.read(place)
        try:
            return request_from_dict(pickle.loads(logged.pickled), spider=self._spider)
        except Exception as trouble:  # the code of the spider has changed, which can raise anything
            logger.error(
                "A request for %s cannot be restored (%s: %s); it stays in the log for a run that can",
                logged.url,
                type(trouble).__name__,
                trouble,
                extra={"spider": self._spider},
            )
            self._count("centime/unreadable")
            return None

    def _end(self, ended: Iterable[Request]) -> None:
        """Records requests that Scrapy has finished."""
        for request in ended:
            one = self._under_way.pop(request)
            visits = _visits_of(self._reports.take(request))
            if one.place is not None:
                again = (one.url, one.place) if visits and not request.meta.get("is_start_request") else None
                self._log.done(one.number, visits, again=again)
            elif visits:
                self._log.done(-1, visits)
        self._log.flush()

    # ---- duplicates

    def _open_filter(self) -> Any:
        kind = load_object(self.crawler.settings["DUPEFILTER_CLASS"])
        if kind is RFPDupeFilter:  # its file would not agree with the log after a kill
            debug = self.crawler.settings.getbool("DUPEFILTER_DEBUG")
            self._own_filter = RFPDupeFilter(None, debug, fingerprinter=self.crawler.request_fingerprinter)
            return None
        self._filter = build_from_crawler(kind, self.crawler)
        return self._filter.open()

    def _seen_print(self, request: Request) -> bytes | None:
        """The fingerprint to remember, empty if none; None if the request is a duplicate."""
        if request.dont_filter:
            return b""
        if self._own_filter is None:
            is_seen = self._filter is not None and self._filter.request_seen(request)
            if is_seen and self._filter is not None:
                self._filter.log(request, self._spider)
            return None if is_seen else b""
        found = self._print(request)
        if found in self._log.seen or found in self._seen_in_memory:
            self._own_filter.log(request, self._spider)
            return None
        return found

    def _print(self, request: Request) -> bytes:
        fingerprinter: Any = self.crawler.request_fingerprinter
        return b"" if fingerprinter is None else bytes(fingerprinter.fingerprint(request))

    # ---- the crawl

    def _import(self) -> None:
        """Imports all visits, and says when the next ones are due."""
        started = self._steady()
        self._import_visits()
        took = self._steady() - started
        least, most = BATCH_SECONDS
        self._import_from = started + took + min(most, max(least, took / IMPORTING))

    def _import_visits(self) -> None:
        """Gives the crawl all visits, and the requests that wait the importance of their pages."""
        visits = self._log.unimported
        if visits:
            self._count("centime/visits", self._pages.take(visits, self._log.visits))
            self._log.imported(self._log.visits)
        if not self._pages.is_open:
            return
        changed = self._pages.changed()
        placed = self._place()
        if changed is None:
            pages = list(self._of_page)
        else:
            pages = [*placed, *(page for page in changed if page in self._of_page and page not in placed)]
        weights = self._pages.weights(pages)
        self._waiting.weigh(
            (one, weight) for page, weight in zip(pages, weights, strict=True) for one in self._of_page[page]
        )

    def _place(self) -> set[int]:
        """Finds the pages of requests that were enqueued since; returns them."""
        unplaced = [one for one in self._unplaced if not one.taken]
        placed, self._unplaced = set(), []
        for one, page in zip(unplaced, self._pages.find([fingerprint(one.url) for one in unplaced]), strict=True):
            if page >= 0:
                one.page = page
                self._of_page.setdefault(page, []).append(one)
                placed.add(page)
        return placed

    def _leave(self, one: WaitingRequest) -> None:
        same = self._of_page[one.page]
        same.remove(one)
        if not same:
            del self._of_page[one.page]

    def _make_again(self) -> None:
        """Enqueues the requests of the pages that are most worth reading again."""
        kept = self._log.kept
        pages = self._pages.find([fingerprint(url) for url in kept])
        known = [(place, page) for place, page in zip(kept.values(), pages, strict=True) if page >= 0]
        worth = self._pages.worth([page for _, page in known])
        best = sorted(zip(worth, known, strict=True), key=lambda one: -one[0])[: self.refresh]
        for value, (place, _) in best:
            request = self._loaded(place) if value > 0 else None
            if request is not None:
                again = request.replace(dont_filter=True, meta=request.meta | {"centime_refresh": True})
                self._store(again, b"", b"")
                self._count("centime/refreshed")

    def _compact(self) -> None:
        logged = [one for one in (*self._waiting, *self._under_way.values()) if one.place is not None]
        moved = self._log.compact([one.place for one in logged if one.place is not None])
        for one in logged:
            if one.place is not None:
                one.place = moved[one.place]

    # ---- for people

    def _fail(self, trouble: Exception) -> None:
        """Ends the crawl when its folder cannot be written; requests already written stay for the next run."""
        self._failed = True
        logger.critical("%s. The spider is closed; run it again to continue", trouble, extra={"spider": self._spider})
        engine: Any = self.crawler.engine
        if engine is not None:
            deferred_from_coro(engine.close_spider_async(reason="centime_failed"))

    def _count(self, name: str, count: int = 1) -> None:
        if self.stats is not None:
            self.stats.inc_value(name, count)


def _visits_of(report: Report | None) -> list[Finding]:
    """The visits of a report: redirects on the way, and the page."""
    if report is None or not report.url.startswith(("http://", "https://")):
        return []
    moved = [
        Finding(url, report.time, status=status, headers=(("location", target),))
        for url, target, status in report.moved
    ]
    page = Finding(
        report.url,
        report.time,
        status=report.status,
        headers=report.headers,
        hrefs=tuple(report.links),
        digest=report.digest,
        size=report.size,
    )
    return [*moved, page]


def _pages_to_refresh(given: object) -> int:
    try:
        count = int(str(given or 0))
    except ValueError:
        count = -1
    if count < 0:
        raise BadSetting(f"CENTIME_REFRESH is the number of pages to read again in a run, not {given!r}")
    return count
