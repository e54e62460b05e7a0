"""Reports of pages from the spider middleware to the scheduler of the same crawler, by the request of each page."""

from typing import NamedTuple
from weakref import WeakKeyDictionary

from scrapy import Request
from scrapy.crawler import Crawler

from centime.processes.clock import RunClock


class Report(NamedTuple):
    """A response that reached the spider, and the pages that its callback has requested so far."""

    url: str
    time: float
    status: int
    headers: tuple[tuple[str, str], ...]  # those that say something about the page, names in lower case
    digest: str  # of the body
    size: int  # bytes of the body
    moved: tuple[tuple[str, str, int], ...]  # redirects on the way to it: from, to, status
    links: list[str]


class Reports:
    """The reports of requests that are running."""

    def __init__(self) -> None:
        self.reported = False  # the middleware is there
        self.clock = RunClock()
        self._of: dict[Request, Report] = {}

    def add(self, request: Request, report: Report) -> None:
        """Keeps the report of a response until its request is done."""
        self._of[request] = report

    def find(self, request: Request | None) -> Report | None:
        """The report of a request that is running."""
        return None if request is None else self._of.get(request)

    def take(self, request: Request) -> Report | None:
        """The same, when the request is done."""
        return self._of.pop(request, None)


_of_crawlers: "WeakKeyDictionary[Crawler, Reports]" = WeakKeyDictionary()


def reports_of(crawler: Crawler) -> Reports:
    """The reports that the components of a crawler share."""
    return _of_crawlers.setdefault(crawler, Reports())
