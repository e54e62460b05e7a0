"""The replies of the sites of a box: pages, robots.txt, sitemaps, feeds and traps.

Conditional requests are answered by the site's declarations, not by the truth: a site that lies about Last-Modified
replies 304 for a page that has changed.
"""

import zlib
from collections.abc import Callable

import numpy as np

from centime.lab.webbox import announcement, trap
from centime.lab.webbox.box import WebBox
from centime.lab.webbox.clock import from_http_date, http_date
from centime.lab.webbox.layout import (
    ANY_ETAG,
    BARE,
    COMPRESSES,
    DEAD,
    DTD,
    ETAG_FICKLE,
    ETAG_WEAK,
    HTML,
    LATIN,
    MODIFIED_MISSING,
    MODIFIED_NOW,
    MODIFIED_OLD,
    MOVED,
    MOVED_TEMPORARILY,
    NOISY,
    TEXT,
    TRAITS,
    TRAPPED,
    XML,
)
from centime.lab.webbox.markup import FACTS, FEEDS, HUGE, LONGEST_BODY, PATH_END, SLOW, TRAP, write_page
from centime.lab.webbox.noise import noise
from centime.lab.webbox.reply import Reply, Request, answer, sentence

CONTENT_TYPES = {
    HTML: b"text/html",
    BARE: b"text/html",
    XML: b"application/xml",
    TEXT: b"text/plain",
    DTD: b"application/xml-dtd",
}
HUGE_BYTES = 3_000_000
PADDING = b"<p>" + b"A huge page without an end. " * 100 + b"</p>\n"
DECADE = 315_360_000


class SiteAnswers:
    """The replies of all sites of a box; all pages are written into one buffer, one at a time."""

    def __init__(self, webbox: WebBox, now: Callable[[], float]) -> None:
        self.webbox = webbox
        self.now = now
        self._traits: list[int] = webbox.layout.sites[:-1, TRAITS].tolist()
        self._added = (TRAP if webbox.traps else 0) | (FEEDS if webbox.feeds else 0)
        self._buffer = np.empty(LONGEST_BODY, dtype=np.uint8)
        self._view = memoryview(self._buffer.data)
        self._facts = np.zeros(FACTS, dtype=np.int64)
        self._times = np.zeros(1)
        self._served = 0

    def reply(self, request: Request, site: int) -> Reply:
        """The reply of a site to a request."""
        page = self.webbox.page_at(site, request.path)
        now = self.now()
        if page is not None:
            write_page(
                self.webbox.layout,
                self.webbox.ink_of(site),
                page,
                now,
                self._added,
                self._buffer,
                self._facts,
                self._times,
            )
            if self._view[: self._facts[PATH_END]] == request.path:
                return self._page(request, page, self._traits[site], now)
        return self._outside_truth(request, site, now)

    def _page(self, request: Request, page: int, traits: int, now: float) -> Reply:
        form, version, path_end, body_end, quirk = self._facts.tolist()
        if form in (MOVED, MOVED_TEMPORARILY):
            target = b"Location: %s\r\n" % self._view[path_end:body_end].tobytes()
            return answer(request, 301 if form == MOVED else 302, b"text/plain", b"This page has moved.\n", target)
        if form == DEAD:
            return sentence(request, 410 if page % 4 == 0 else 404, "There is no page here.")
        noisy = self.webbox.noise and form == HTML  # such a page has no validators: its bytes are never the same
        etag, modified = (b"", b"") if noisy else (self._etag(page, version, traits), self._modified(traits, now))
        headers = (b"ETag: %s\r\n" % etag if etag else b"") + (b"Last-Modified: %s\r\n" % modified if modified else b"")
        headers += b"Date: %s\r\n" % http_date(int(now))
        delay = self.webbox.delay_seconds if quirk == SLOW else 0.0
        if _unchanged(request, etag, modified):
            return Reply(304, b"HTTP/1.1 304 Not Modified\r\n%s\r\n" % headers, delay)
        body = self._view[path_end:body_end].tobytes()
        if quirk == HUGE:
            body += PADDING * (HUGE_BYTES // len(PADDING))
        if traits & NOISY and form == HTML:
            self._served += 1
            body += b"<p>Served at %s, session %08x.</p>\n" % (http_date(int(now)), self._served)
        if noisy:
            self._served += 1
            body += noise(self._served)
        if traits & COMPRESSES:
            headers += b"Vary: Accept-Encoding\r\n"
            if b"gzip" in request.accept_encoding:
                body = zlib.compress(body, 1, wbits=31)
                headers += b"Content-Encoding: gzip\r\n"
        content_type = CONTENT_TYPES[form] + (b"; charset=iso-8859-1" if traits & LATIN else b"; charset=utf-8")
        reply = answer(request, 200, content_type, body, headers)
        return reply._replace(delay_seconds=delay) if delay else reply

    def _etag(self, page: int, version: int, traits: int) -> bytes:
        if not traits & ANY_ETAG:
            return b""
        if traits & ETAG_FICKLE:
            self._served += 1
            version = self._served
        return (b'W/"%x-%x"' if traits & ETAG_WEAK else b'"%x-%x"') % (page, version)

    def _modified(self, traits: int, now: float) -> bytes:
        if traits & MODIFIED_MISSING:
            return b""
        if traits & MODIFIED_OLD:
            return http_date(int(self.webbox.start) - DECADE)
        return http_date(int(now if traits & MODIFIED_NOW else self._times[0]))

    def _outside_truth(self, request: Request, site: int, now: float) -> Reply:
        found = announcement.of_path(self.webbox, site, request.path, now)
        if found is not None:
            return answer(request, 200, found.content_type, found.body, b"Date: %s\r\n" % http_date(int(now)))
        if self.webbox.traps and self._traits[site] & TRAPPED:
            body = trap.body_of(request.path)
            if body is not None:
                return answer(request, 200, b"text/html; charset=utf-8", body)
        return sentence(request, 404, "There is no page here.")


def _unchanged(request: Request, etag: bytes, modified: bytes) -> bool:
    if request.if_none_match:
        known = [tag.strip().removeprefix(b"W/") for tag in request.if_none_match.split(b",")]
        return bool(etag) and (etag.removeprefix(b"W/") in known or known == [b"*"])
    if request.if_modified_since and modified:
        return request.if_modified_since == modified or from_http_date(modified) <= from_http_date(
            request.if_modified_since
        )
    return False
