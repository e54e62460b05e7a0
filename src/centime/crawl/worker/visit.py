"""The visit of one page, from lease to result, on one screen.

    lease -> fetch -> parse -> make links canonical -> keep those in scope -> visit

Before it, `shard/queueing.py` leased the page because it was the best page of a host ready to fetch. After it,
`shard/filing.py` records the visit and pays its links. ("The way of one page" in ARCHITECTURE.md shows all steps.)

This code waits for nothing but the network, and nothing that the web sends makes it raise an exception.
"""

import re
from dataclasses import replace

import msgspec
import numpy as np

from centime.change.look import Look, seen_again
from centime.change.noise import Seen
from centime.crawl.worker.hook import Hook, called
from centime.crawl.worker.outlinks import LinkReader, may_be_sitemap
from centime.crawl.worker.xpath import watched
from centime.discover.feed import read_feed
from centime.discover.sitemap import read_sitemap
from centime.fetch.directives import parse_directives
from centime.fetch.fetcher import Fetcher
from centime.model.document import Document
from centime.model.outcome import Outcome, PageKind
from centime.model.response import Request, Response
from centime.parse.document import read_document
from centime.parse.header_links import with_header_links
from centime.shard.message import LIE, NOT_DOUBTED, TRUE, Lease, Visit
from centime.store.archive import Archive


async def visit(
    lease: Lease, fetcher: Fetcher, links: LinkReader, archive: Archive | None, hook: Hook | None = None
) -> Visit:
    """Fetches and parses one page; returns its outcome, with the fingerprints of its links."""
    if exclusion := links.scope.exclusion(lease.url):  # the pattern was added after the page became known
        return Visit(page=lease.page, outcome=Outcome.DISALLOWED, kind=PageKind.ERROR, detail=exclusion)
    response = await fetcher.fetch(
        Request(url=lease.url, etag=lease.etag, modified=lease.modified, patience=lease.patience)
    )
    doubted = NOT_DOUBTED
    if lease.doubt and response.outcome is Outcome.UNCHANGED:
        doubted, response = await _checked(lease, response, fetcher)
    if response.outcome is not Outcome.READ:
        if archive is not None and response.outcome is Outcome.UNCHANGED:
            archive.verified(response)
        elif archive is not None:
            archive.answered(response)
        return msgspec.structs.replace(_without_document(lease, response, links), doubted=doubted)
    directives = parse_directives(response.headers, fetcher.product)
    document = read_document(
        response.body, url=lease.url, content_type=response.header("content-type"), truncated=response.truncated
    )
    document = with_header_links(document, response.headers, lease.url)
    trouble = called(hook, response, document) if hook is not None else ""
    nofollow = document.nofollow or directives.nofollow
    sitemap = read_sitemap(response.body) if may_be_sitemap(lease.url, document, response.body) else None
    targets, fresh, texts = (
        links.of_sitemap(lease, sitemap) if sitemap else links.of_page(lease, document, nofollow=nofollow)
    )
    if archive is not None:
        archive.keep(response, document, unchanged=bool(lease.digest) and lease.digest == document.digest)
    seen, response = await _compared(lease, response, document, fetcher)
    return _visit(
        lease,
        response,
        kind=PageKind.XML if sitemap else document.kind,
        body_bytes=len(response.body),
        nofollow=nofollow,
        noindex=document.noindex or directives.noindex,
        signature=document.signature,
        digest=document.digest,
        detail=trouble or document.trouble,
        links=targets.tobytes(),
        fresh=fresh.tobytes(),
        texts=texts,
        same_depth=sitemap is not None,
        index_of=links.index_of(lease.url),
        fresh_for=_fresh_for(response.header("cache-control")),
        claims=links.claims(lease, sitemap, read_feed(response.body) if _may_be_feed(document) else None),
        watched=tuple(watched(response.body, document.kind, document.encoding, lease.watch)) if lease.watch else (),
        seen=seen,
        doubted=doubted,
    )


async def _compared(
    lease: Lease, response: Response, document: Document, fetcher: Fetcher
) -> tuple[Seen | None, Response]:
    """How the content compares with the stored copy; reads the page again if that shows what is volatile
    (`change/look.py`). Also the response, with the costs of both reads. The fetcher waits for the host's delay.
    """
    if document.words is None:
        return None, response
    if lease.digest and lease.digest == document.digest:
        return seen_again(document.words, lease.state, lease.advice.table), response
    look = Look(document.words, lease.state, lease.advice, lease.signature, response.body)
    if not look.wants_twin:
        return look.seen(), response
    again = await fetcher.fetch(Request(url=lease.url, patience=lease.patience))
    response = _with_costs(response, again)
    if again.outcome is not Outcome.READ:
        return look.seen(), response
    twin = read_document(again.body, url=lease.url, content_type=again.header("content-type"))
    return look.seen(twin.words), response


async def _checked(lease: Lease, response: Response, fetcher: Fetcher) -> tuple[int, Response]:
    """Whether the answer that a page is unchanged is true, and the response that counts: that of a request without a
    condition if the answer was a lie.
    """
    whole = await fetcher.fetch(Request(url=lease.url, patience=lease.patience))
    if whole.outcome is not Outcome.READ:
        return NOT_DOUBTED, _with_costs(response, whole)
    document = read_document(whole.body, url=lease.url, content_type=whole.header("content-type"))
    same = document.digest == lease.digest or document.signature == lease.signature
    if same or (
        document.words is not None
        and lease.state
        and not Look(document.words, lease.state, lease.advice, lease.signature).changed
    ):
        return TRUE, _with_costs(response, whole)
    return LIE, _with_costs(whole, response)


def _with_costs(response: Response, other: Response) -> Response:
    """A response with what another request to the same host has cost as well."""
    return replace(
        response,
        asked_at=max(response.asked_at, other.asked_at),
        held=response.held + other.held,
        wire_bytes=response.wire_bytes + other.wire_bytes,
    )


def _without_document(lease: Lease, response: Response, links: LinkReader) -> Visit:
    targets, fresh, texts = (
        links.of_redirect(lease, response.target) if response.outcome.redirect else (NONE, NONE, b"")
    )
    kind = PageKind.DEAD if response.outcome is Outcome.GONE else PageKind.ERROR
    detail = response.detail
    if response.outcome.redirect and not len(targets):
        detail = links.refused_target(lease, response.target)
    return _visit(
        lease,
        response,
        kind=kind,
        links=targets.tobytes(),
        fresh=fresh.tobytes(),
        texts=texts,
        same_depth=True,
        detail=detail,
    )


def _may_be_feed(document: Document) -> bool:
    return document.root in ("rss", "feed", "RDF")


def _fresh_for(cache_control: str) -> float:
    """The max-age of a Cache-Control header in seconds; 0 without one."""
    found = _MAX_AGE(cache_control)
    return float(found[1]) if found else 0.0


_MAX_AGE = re.compile(r"(?<![-\w])max-age\s*=\s*\"?(\d{1,9})", re.IGNORECASE).search
NONE = np.empty(0, dtype=np.uint64)


def _visit(lease: Lease, response: Response, **found: object) -> Visit:
    validators: dict[str, object] = {
        "etag": response.header("etag"),
        "modified": response.header("last-modified"),
        "content_type": response.header("content-type"),
    }
    if response.outcome is Outcome.UNCHANGED:
        validators = {"etag": lease.etag, "modified": lease.modified}
    result = Visit(
        page=lease.page,
        outcome=response.outcome,
        status=response.status,
        asked_at=response.asked_at,
        seconds=response.seconds,
        wire_bytes=response.wire_bytes,
        truncated=response.truncated,
        address=response.address,
        crawl_delay=response.crawl_delay,
        retry_after=response.retry_after,
        held=response.held,
    )
    return msgspec.structs.replace(result, **(validators | found))
