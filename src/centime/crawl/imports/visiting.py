"""Makes a visit from what a file says about a page, as a fetcher would have made it at that time.

A finding with a body goes the whole way of a page (`crawl/worker/visit.py`): only the network is replaced by the file.
So its links, its directives, its signature, its sitemap or feed, and its stored body are as if it had been fetched. Of
other findings, the outcome counts, and the links if the file has them; their content can only be compared with what
such files say (`Mark.FOREIGN`), by the digest that they have.
"""

from collections.abc import Coroutine
from typing import Any, NamedTuple, cast

import msgspec
import xxhash

from centime.change.part import ComparedPart
from centime.crawl.imports.elsewhere import reference
from centime.crawl.imports.finding import IMPORTED, Finding
from centime.crawl.worker.chain import Chains
from centime.crawl.worker.needs import NeedReader
from centime.crawl.worker.outlinks import NO_LINKS, reading_links
from centime.crawl.worker.visit import fresh_for, packed_links, visit
from centime.discover.canonical import canonical
from centime.fetch.answer import outcome_of, target_of
from centime.model.address import fingerprint
from centime.model.document import Document
from centime.model.ids import PageId
from centime.model.media_type import media_type_of
from centime.model.outcome import Outcome, PageKind
from centime.model.response import Request, Response
from centime.settings.crawl import FetcherSettings
from centime.shard.message import Knowledge, Lease, Visit, pack
from centime.shard.shard import Shard
from centime.store.keeper import Keeper

EARLIEST = 631_152_000.0  # 1990: there were no pages before
AHEAD_SECONDS = 86_400.0  # by which the clock of another machine may be ahead
PARTS = ("image/", "font/", "audio/", "video/", "text/css", "text/javascript", "application/javascript")
NOWHERE = PageId(0)


class Made(NamedTuple):
    """A visit to import."""

    url: str
    time: float
    packed: bytes
    knowledge: Knowledge
    reference: bytes = b""  # the line of the index of bodies that stay where they are


class _Stored:
    """Answers with the file's response instead of using the network."""

    product = "centime"

    def __init__(self) -> None:
        self.answers: list[Response] = []

    async def fetch(self, request: Request) -> list[Response]:
        """The answer that the file has; there is no second request."""
        return [self.answers.pop() if self.answers else Response(url=request.url, outcome=Outcome.LOST)]


class VisitMaker:
    """Makes visits for a shard. `keeper` keeps their bodies."""

    def __init__(self, shard: Shard, settings: FetcherSettings, keeper: Keeper | None, now: float) -> None:
        self._shard = shard
        self._links = reading_links(settings, now)
        self._needs = NeedReader(settings.requisites, self._links.scope)
        self._part = ComparedPart(settings.select, settings.ignore, refreshes=settings.refreshes)
        self._keeper = keeper
        self._stored = _Stored()
        self._latest = now + AHEAD_SECONDS

    def url_of(self, finding: Finding) -> str:
        """The canonical URL of a page; empty if it is not a page."""
        return canonical(finding.url) or ""

    def out_of_scope(self, url: str) -> str:
        """Why the crawl does not accept a canonical URL that it does not know, in a word; empty if it does."""
        if self.page_of(url) is not None:
            return ""
        reason = self._links.scope.reason(url)
        return "" if reason is None else reason.label

    def page_of(self, url: str) -> PageId | None:
        """The number of the page with a canonical URL, if it is known."""
        return self._shard.pages.table.find_one(fingerprint(url)) if url else None

    def refusal_as_written(self, url: str) -> str:
        """The same for a URL as a file has it."""
        own = canonical(url)
        return "not the URL of a page" if own is None else self.out_of_scope(own)

    def refusal(self, url: str, page: PageId | None, finding: Finding) -> str:
        """Why a visit is left out, in a word or two; empty if it is imported. `page` is its page if that is known."""
        if not url:
            return "not the URL of a page"
        if not finding.only_links and not EARLIEST < finding.time < self._latest:
            return "no possible time"
        if url.endswith("/robots.txt") and url.count("/") == 3:
            return "robots.txt"
        if page is not None:
            last = self._shard.pages.records.last_time(page)
            if last and (finding.only_links or finding.time <= last):
                return "known"
            return "" if finding.revisits is None else self._doubt(page, finding.revisits)
        if finding.revisits is not None:
            return "revisit of nothing"
        reason = self._links.scope.reason(url)
        if reason is not None:
            return reason.label
        if self._type(finding).startswith(PARTS):
            return "part of a page"
        return ""

    def made(self, url: str, page: PageId | None, finding: Finding) -> Made | None:
        """The visit of a page that is not refused; None if its outcome says nothing of the page now."""
        outcome = Outcome.UNCHANGED if finding.revisits is not None else outcome_of(finding.status, conditional=False)
        if outcome not in IMPORTED:
            return None
        if finding.body is not None or finding.revisits is not None:
            known = page is not None and self._shard.pages.records.last_time(page)
            lease = self._shard.lease_of(page, url) if page is not None and known else Lease(NOWHERE, url)
            whole = self._whole(lease, finding, outcome)
            stays = self._keeper is None and outcome is Outcome.READ
            line = reference(url, finding) if stays else b""
            return Made(url, finding.time, pack(whole), Knowledge.WHOLE, line)
        depth = 0 if page is None else int(self._shard.pages.origin(page)["depth"])
        foreign, knowledge = self._foreign(Lease(NOWHERE, url, depth), finding, outcome)
        return Made(url, finding.time, pack(foreign), knowledge)

    def _doubt(self, page: PageId, original: float) -> str:
        """Why a revisit does not prove that a page is unchanged: it was not read, or has changed since the original."""
        last = self._shard.pages.last(page)
        if last is None or not last.signature:
            return "revisit of nothing"
        return "revisit of an older body" if original and last.changed_time > original + 1.0 else ""

    def _whole(self, lease: Lease, finding: Finding, outcome: Outcome) -> Visit:
        body = finding.body or b""
        response = Response(
            url=lease.url,
            outcome=outcome,
            status=finding.status,
            headers=finding.headers,
            body=body if outcome is Outcome.READ else b"",
            truncated=finding.truncated,
            target=self._target(lease.url, finding) if outcome.redirect else "",
            asked_at=finding.time,
            wire_bytes=len(body),
        )
        self._stored.answers = [response]
        chains = cast(Chains, self._stored)
        lease = msgspec.structs.replace(lease, doubt=False)
        made = _at_once(visit(lease, chains, self._links, self._keeper, None, self._needs, self._part))
        detail = made.detail
        if self._keeper is None and finding.place and outcome is Outcome.READ and not (made.is_sitemap or detail):
            detail = f"its body is in {finding.place}"
        return msgspec.structs.replace(made, page=NOWHERE, detail=detail)

    def _foreign(self, lease: Lease, finding: Finding, outcome: Outcome) -> tuple[Visit, Knowledge]:
        found, knowledge = NO_LINKS, Knowledge.SEEN
        target = self._target(lease.url, finding) if outcome.redirect else ""
        if target:
            found, knowledge = self._links.of_redirect(lease, target), Knowledge.LINKED
        elif outcome is Outcome.GONE:
            knowledge = Knowledge.LINKED
        elif finding.hrefs is not None and outcome is Outcome.READ:
            flags = finding.flags or bytes(len(finding.hrefs))
            document = Document(kind=PageKind.OTHER, base=finding.base, hrefs=finding.hrefs, flags=flags)
            found, knowledge = self._links.of_page(lease, document, nofollow=False), Knowledge.LINKED
        if finding.only_links:
            knowledge = Knowledge.LINKS
        digest = xxhash.xxh3_128_digest(finding.digest.rpartition(":")[2].upper().encode()) if finding.digest else b""
        headers = dict(finding.headers)
        return Visit(
            page=NOWHERE,
            outcome=outcome,
            kind=_kind(outcome, self._type(finding)),
            status=finding.status,
            asked_at=finding.time,
            wire_bytes=finding.size,
            body_bytes=finding.size,
            truncated=finding.truncated,
            signature=int.from_bytes(digest[:8], "big") if outcome is Outcome.READ else 0,
            digest=digest or bytes(16),
            etag=headers.get("etag", ""),
            modified=headers.get("last-modified", ""),
            content_type=headers.get("content-type", ""),
            same_depth=outcome.redirect,
            fresh_for=fresh_for(headers.get("cache-control", "")),
            foreign=True,
            target=target if outcome is Outcome.MOVED else "",
            **cast(dict[str, Any], packed_links(found)),
        ), knowledge

    @staticmethod
    def _target(url: str, finding: Finding) -> str:
        return target_of(url, next((value for name, value in finding.headers if name == "location"), ""))

    @staticmethod
    def _type(finding: Finding) -> str:
        return media_type_of(next((value for name, value in finding.headers if name == "content-type"), "")).name


def _kind(outcome: Outcome, media_type: str) -> PageKind:
    if outcome is not Outcome.READ:
        return PageKind.DEAD if outcome is Outcome.GONE else PageKind.ERROR
    if media_type in ("", "text/html", "application/xhtml+xml"):
        return PageKind.HTML
    return PageKind.XML if media_type.endswith(("/xml", "+xml")) else PageKind.OTHER


def _at_once(work: Coroutine[Any, Any, Visit]) -> Visit:
    """The result of a coroutine that never waits."""
    try:
        work.send(None)
    except StopIteration as end:
        return cast(Visit, end.value)
    raise RuntimeError("a stored page was waited for")
