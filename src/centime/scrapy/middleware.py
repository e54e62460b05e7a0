"""The spider middleware: reports each response that reaches the spider, and the requests that its callback yields as
the links of the page.

It belongs next to the engine (a low number in SPIDER_MIDDLEWARES), so that it sees the requests that the others let
through. Links are the requests that the spider makes, also duplicates. Requests with another method than GET are not
links, and their responses are not pages.
"""

from collections.abc import AsyncIterator, Iterable
from typing import Any

import xxhash
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response

from centime.scrapy.reports import Report, Reports, reports_of

HEADERS = ("content-type", "etag", "last-modified", "cache-control")


class SpiderMiddleware:
    """Reports responses and their links to `centime.scrapy.Scheduler`."""

    def __init__(self, reports: Reports) -> None:
        self._reports = reports
        reports.reported = True

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> "SpiderMiddleware":
        """The middleware of a crawler."""
        return cls(reports_of(crawler))

    def process_spider_input(self, response: Response) -> None:
        """Reports a response before its callback is called."""
        request = response.request
        if request is None or request.method != "GET":
            return
        body = response.body
        self._reports.add(
            request,
            Report(
                url=response.url,
                time=self._reports.clock(),
                status=response.status,
                headers=_headers_of(response),
                digest=xxhash.xxh3_128_hexdigest(body),
                size=len(body),
                moved=_redirects(request, response.url),
                links=[],
            ),
        )

    def process_spider_output(self, response: Response, result: Iterable[Any]) -> Iterable[Any]:
        """Passes on what a callback yields, and reports the requests among it."""
        report = self._reports.find(response.request)
        for one in result:
            if report is not None and isinstance(one, Request) and one.method == "GET":
                report.links.append(one.url)
            yield one

    async def process_spider_output_async(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """The same for callbacks that are asynchronous generators."""
        report = self._reports.find(response.request)
        async for one in result:
            if report is not None and isinstance(one, Request) and one.method == "GET":
                report.links.append(one.url)
            yield one


def _headers_of(response: Response) -> tuple[tuple[str, str], ...]:
    found = ((name, response.headers.get(name)) for name in HEADERS)
    return tuple((name, value.decode("latin-1")) for name, value in found if value)


def _redirects(request: Request, url: str) -> tuple[tuple[str, str, int], ...]:
    """The redirects that led to a page; those by an element of a page count as temporary ones."""
    chain = [*request.meta.get("redirect_urls", ()), url]
    reasons = request.meta.get("redirect_reasons", ())
    statuses = [reason if isinstance(reason, int) else 302 for reason in reasons]
    return tuple(zip(chain, chain[1:], statuses, strict=False))
