"""The visit of one page, from lease to result, on one screen.

    lease -> fetch -> parse -> make links canonical -> keep those in scope -> visit

Before it, `shard/queueing.py` leased the page because it was the best page of a host ready to fetch. After it,
`shard/filing.py` records the visit and pays its links. ("The path of one page" in ARCHITECTURE.md shows all steps.)

This code waits only for the network, and no content of the web makes it raise an exception.
"""

import re
from dataclasses import replace

import msgspec
import numpy as np

from centime.change.look import Look, seen_again, seen_selected
from centime.change.part import WHOLE, ComparedPart
from centime.change.seen import Seen
from centime.crawl.worker.chain import MOST_HOPS, Chains
from centime.crawl.worker.conditions import WatchedPage, watched
from centime.crawl.worker.hook import HookCaller
from centime.crawl.worker.hubs import announced_hubs
from centime.crawl.worker.needs import NeedReader, Needs
from centime.crawl.worker.outlinks import NO_LINKS, LinkReader, Outlinks, may_be_sitemap
from centime.discover.feed import read_feed
from centime.discover.refusal import Reason
from centime.discover.sitemap import Sitemap, read_sitemap
from centime.fetch.directives import parse_directives
from centime.fetch.watch import NOT_CONNECTED
from centime.model.address import fingerprint
from centime.model.document import Document
from centime.model.outcome import Outcome, PageKind
from centime.model.response import Request, Response
from centime.parse.document import read_document
from centime.parse.header_links import with_header_links
from centime.parse.text_sample import text_sample
from centime.shard.message import LIE, NOT_DOUBTED, PLAIN, TEXT_FOLLOWS, TRUE, WITHOUT_TLS, Lease, Role, Visit
from centime.shard.people.subscriptions import Watched
from centime.store.keeper import Keeper


async def visit(
    lease: Lease,
    chains: Chains,
    links: LinkReader,
    archive: Keeper | None,
    hook: HookCaller | None = None,
    needs: NeedReader | None = None,
    part: ComparedPart = WHOLE,
) -> Visit:
    """Fetches and parses one page; returns its outcome, with the fingerprints of its links and, if `needs` reads them,
    the URLs of its requisites.
    """
    if exclusion := links.scope.exclusion(lease.url):  # the pattern was added after the page became known
        return Visit(page=lease.page, outcome=Outcome.EXCLUDED, kind=PageKind.ERROR, detail=exclusion)
    most_bytes = needs.settings.most_bytes if needs is not None and lease.nesting else 0
    if archive is not None and (lease.etag or lease.modified) and not _is_kept(lease, archive):
        lease = msgspec.structs.replace(lease, etag="", modified="")  # request the whole body
    *followed, response = await chains.fetch(
        Request(url=lease.url, etag=lease.etag, modified=lease.modified, patience=lease.patience, most_bytes=most_bytes)
    )
    doubted = NOT_DOUBTED
    if lease.doubt and response.outcome is Outcome.UNCHANGED:
        doubted, response = await _checked(lease, response, chains, part)
    directives = parse_directives(response.headers, chains.product)
    if archive is not None:
        for redirect in followed:
            archive.answered(redirect)
    if lease.role & Role.GUESSED and lease.url.startswith("https://") and _is_without_tls(response):
        return _with_http(lease, response)
    if response.outcome is not Outcome.READ:
        noarchive = archive is not None and archive.obeys_noarchive and directives.noarchive
        if archive is not None and response.outcome is Outcome.UNCHANGED:
            archive.verified(response)
        elif archive is not None and not noarchive:
            archive.answered(response)
        result = _without_document(lease, response, links, needs, noarchive=noarchive)
        return msgspec.structs.replace(result, doubted=doubted)
    document = read_document(
        response.body,
        url=lease.url,
        content_type=response.content_type,
        truncated=response.truncated,
        requisites=needs is not None and needs.wanted,
    )
    noarchive = archive is not None and archive.obeys_noarchive and (document.noarchive or directives.noarchive)
    if archive is not None and not noarchive:
        archive.keep(response, document, unchanged=bool(lease.digest) and lease.digest == document.digest)
    needed = needs.of_document(lease, document, response.headers) if needs is not None and not noarchive else Needs()
    is_page = not lease.nesting or (needs is not None and needs.is_page(lease, document))
    if not is_page:
        return _visit(
            lease,
            response,
            kind=document.kind,
            body_bytes=len(response.body),
            signature=document.signature,
            digest=document.digest,
            detail=document.trouble,
            fresh_for=fresh_for(response.header("cache-control")),
            needed=needed.texts,
            needs_cut=needed.cut,
            noarchive=noarchive,
        )
    document = part.of(with_header_links(document, response.headers, lease.url), lease.url, response.body)
    trouble = await hook.call(lease.page, response, document, skip=lease.skips_hook) if hook is not None else ""
    nofollow = document.nofollow or directives.nofollow
    sitemap, lacking = _sitemap(lease, document, response.body)
    found = links.of_sitemap(lease, sitemap) if sitemap else links.of_page(lease, document, nofollow=nofollow)
    seen, response = await _compared(lease, response, document, chains, part)
    feed = read_feed(response.body) if _may_be_feed(document) else None
    return _visit(
        lease,
        response,
        kind=PageKind.XML if sitemap else document.kind,
        body_bytes=len(response.body),
        nofollow=nofollow,
        noindex=document.noindex or directives.noindex,
        signature=document.signature,
        digest=document.digest,
        detail=trouble or (sitemap.trouble if sitemap else "") or lacking or document.trouble,
        **packed_links(found),
        **_shape(lease.url, links, document, response.body),
        same_depth=sitemap is not None,
        role=Role.SITEMAP if sitemap and sitemap.is_index else PLAIN,
        is_sitemap=sitemap is not None,
        sitemaps=links.of_robots(lease, response.sitemaps),
        index_of=links.index_of(lease.url),
        fresh_for=fresh_for(response.header("cache-control")),
        claims=links.claims(lease, sitemap, feed),
        hubs=() if feed is None else announced_hubs(feed, response.headers, lease.url),
        watched=_watched(lease, response, document),
        needed=needed.texts,
        needs_cut=needed.cut,
        is_page=bool(lease.nesting),
        noarchive=noarchive,
        seen=seen,
        doubted=doubted,
    )


def _watched(lease: Lease, response: Response, document: Document) -> tuple[Watched, ...]:
    """The results of the conditions of subscriptions."""
    if not lease.watch:
        return ()
    page = WatchedPage(response.body, document.kind, document.encoding, response.content_type, lease.url)
    return watched(page, lease.watch)


def _is_kept(lease: Lease, archive: Keeper) -> bool:
    """Whether the known copy of a page is stored, or need not be."""
    return (lease.noarchive and archive.obeys_noarchive) or archive.holds(lease.url, lease.digest)


async def _compared(
    lease: Lease, response: Response, document: Document, chains: Chains, part: ComparedPart
) -> tuple[Seen | None, Response]:
    """How the content compares with the stored copy; reads the page again if that shows which parts are volatile
    (`change/look.py`). Also the response, with the costs of both reads. The fetcher waits for the host's delay.
    """
    if document.words is None or not (part.refreshes or lease.state):
        return None, response
    same = bool(lease.digest) and lease.digest == document.digest
    if document.selected:
        return seen_selected(document.words, lease.state, lease.signature, same=same), response
    if same:
        return seen_again(document.words, lease.state, lease.advice.table), response
    look = Look(document.words, lease.state, lease.advice, lease.signature, response.body)
    if not look.wants_twin:
        return look.seen(), response
    *_, again = await chains.fetch(Request(url=lease.url, patience=lease.patience))
    response = _with_costs(response, again)
    if again.outcome is not Outcome.READ:
        return look.seen(), response
    twin = read_document(again.body, url=lease.url, content_type=again.content_type)
    return look.seen(part.of(twin, lease.url, again.body).words), response


async def _checked(lease: Lease, response: Response, chains: Chains, part: ComparedPart) -> tuple[int, Response]:
    """Whether the answer that a page is unchanged is true, and the response that counts: that of a request without a
    condition if the answer was a lie.
    """
    *_, whole = await chains.fetch(Request(url=lease.url, patience=lease.patience))
    if whole.outcome is not Outcome.READ:
        return NOT_DOUBTED, _with_costs(response, whole)
    document = read_document(whole.body, url=lease.url, content_type=whole.content_type)
    document = part.of(document, lease.url, whole.body)
    same = document.digest == lease.digest or document.signature == lease.signature
    if same or (
        document.words is not None
        and not document.selected
        and lease.state
        and not Look(document.words, lease.state, lease.advice, lease.signature).changed
    ):
        return TRUE, _with_costs(response, whole)
    return LIE, _with_costs(whole, response)


def _with_costs(response: Response, other: Response) -> Response:
    """A response with the costs of another request to the same host added."""
    return replace(
        response,
        asked_at=max(response.asked_at, other.asked_at),
        held=response.held + other.held,
        wire_bytes=response.wire_bytes + other.wire_bytes,
    )


def _without_document(
    lease: Lease, response: Response, links: LinkReader, needs: NeedReader | None, *, noarchive: bool
) -> Visit:
    kind = PageKind.DEAD if response.outcome is Outcome.GONE else PageKind.ERROR
    detail = response.detail
    if lease.nesting:
        target = response.target if response.outcome.redirect else ""
        needed = needs.of_redirect(lease, target) if target and needs is not None else Needs()
        detail = f"redirects to {target[:500]!r}" if target else detail
        return _visit(
            lease,
            response,
            kind=kind,
            detail=detail,
            needed=needed.texts,
            needs_cut=needed.cut,
            noarchive=noarchive,
        )
    found = links.of_redirect(lease, response.target) if response.outcome.redirect else NO_LINKS
    if response.outcome.redirect and not len(found.links):
        detail = links.refused_target(lease, response.target)
    elif response.outcome.redirect and found.links[0] == fingerprint(lease.url):
        detail = "redirects to itself"
    elif found.texts and lease.hops >= MOST_HOPS:
        found = NO_LINKS._replace(
            links=found.links,
            refused=found.links.tobytes(),
            refused_for=bytes([Reason.REDIRECTS | TEXT_FOLLOWS]),
            refused_texts=found.texts,
        )
        detail = f"{MOST_HOPS} redirects in a row led here: its target is followed only if it is known"
    return _visit(
        lease,
        response,
        kind=kind,
        **packed_links(found),
        **links.own_shape(lease.url),
        same_depth=True,
        role=lease.role & Role.SITEMAP,
        sitemaps=links.of_robots(lease, response.sitemaps),
        detail=detail,
        noarchive=noarchive,
        target=response.target[:LONGEST_TARGET] if response.outcome is Outcome.MOVED else "",
    )


def _is_without_tls(response: Response) -> bool:
    """Whether nothing answers with TLS; also if this became clear when robots.txt was fetched."""
    no_robots = response.outcome is Outcome.NO_ROBOTS and NOT_CONNECTED in response.detail
    return response.outcome in NO_TLS or no_robots


def _with_http(lease: Lease, response: Response) -> Visit:
    """A redirect to the same page without TLS, because a person gave no scheme and nothing answers with TLS."""
    url = lease.url.replace("https://", "http://", 1)
    target = np.array([fingerprint(url)], dtype=np.uint64)
    why = response.detail or response.outcome.name.lower().replace("_", " ")
    return _visit(
        lease,
        replace(response, outcome=Outcome.MOVED_TEMPORARILY),
        kind=PageKind.ERROR,
        **packed_links(NO_LINKS._replace(links=target, fresh=target, texts=url.encode())),
        same_depth=True,
        role=lease.role & Role.SITEMAP,
        detail=f"{WITHOUT_TLS} {url} is fetched: no answer with https ({why})",
    )


def _sitemap(lease: Lease, document: Document, body: bytes) -> tuple[Sitemap | None, str]:
    """The page as a sitemap, or None; and what is wrong if it is announced as a sitemap but is not one."""
    if not lease.role & Role.SITEMAP:
        return (read_sitemap(body) if may_be_sitemap(lease.url, document, body) else None), ""
    sitemap = read_sitemap(body)
    if sitemap.entries or not sitemap.trouble or may_be_sitemap(lease.url, document, body):
        return sitemap, ""
    return None, "" if _may_be_feed(document) else f"It is called a sitemap and is none. {sitemap.trouble}"


def _shape(url: str, links: LinkReader, document: Document, body: bytes) -> dict[str, int | bytes]:
    """The fields of a visit to a suspicious URL that was read: its shape, and a sample of its text."""
    shape = links.own_shape(url)
    if shape and document.words is not None:
        text = body.decode(document.encoding, "replace").encode() if "16" in document.encoding else body
        shape["sample"] = text_sample(text, url)
    return shape


def packed_links(found: Outlinks) -> dict[str, bytes]:
    """The fields of a visit that have its links."""
    return {name: part if isinstance(part, bytes) else part.tobytes() for name, part in found._asdict().items()}


def _may_be_feed(document: Document) -> bool:
    return document.root in ("rss", "feed", "RDF")


def fresh_for(cache_control: str) -> float:
    """The max-age of a Cache-Control header in seconds; 0 without one."""
    found = _MAX_AGE(cache_control)
    return float(found[1]) if found else 0.0


_MAX_AGE = re.compile(r"(?<![-\w])max-age\s*=\s*\"?(\d{1,9})", re.IGNORECASE).search
LONGEST_TARGET = 2_000  # characters
NO_TLS = (Outcome.NO_CONNECTION, Outcome.BAD_TLS, Outcome.TIMED_OUT)


def _visit(lease: Lease, response: Response, **found: object) -> Visit:
    validators: dict[str, object] = {
        "etag": response.header("etag"),
        "modified": response.header("last-modified"),
        "content_type": response.content_type,
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
        elsewhere=response.elsewhere,
    )
    return msgspec.structs.replace(result, **(validators | found))
