"""Turns the links of a page, as written, into the fingerprints of the pages that they lead to.

Canonical form, scope and traps are evaluated once per link, and the result is remembered (in `Canonicaliser` by the
link as written, here by canonical URL), because the pages of a site repeat their templates. The shard receives the text
of a URL only if this fetcher has not sent it lately. `_sent` is a direct-mapped table of fingerprints, so its size is
bounded; a forgotten fingerprint only costs the bytes of sending its text again. It is emptied now and then, because the
shard may have refused a URL that it would admit by now (`shard/bounds.py`).
"""

import numpy as np
import numpy.typing as npt

from centime.discover.canonical import Canonicaliser, canonical, index_of
from centime.discover.feed import Feed
from centime.discover.scope import Scope
from centime.discover.sitemap import Sitemap, is_sitemap
from centime.discover.traps import trap
from centime.model.address import fingerprint
from centime.model.document import NOFOLLOW, Document
from centime.model.outcome import PageKind
from centime.parse.encoding import with_queries_in
from centime.refresh.credit import CHANGE_FREQUENCIES
from centime.shard.message import CLAIM, Lease

Fingerprints = npt.NDArray[np.uint64]
SENT_BITS = 20
FORGOTTEN_AFTER = 200_000  # pages
VERDICTS = 1 << 18  # canonical URLs whose verdict is remembered, at most
VERDICT_CHARACTERS = 32 << 20  # and the length of all of them

_FOLLOWED = frozenset(flags for flags in range(256) if not flags & NOFOLLOW)


def may_be_sitemap(url: str, document: Document, body: bytes) -> bool:
    """Whether a document is a sitemap: by its root element, or, if it was not parsed as XML, because its body is a
    compressed, plain-text or mislabelled sitemap.
    """
    return document.root in ("urlset", "sitemapindex") or (not document.root and is_sitemap(url, body))


class LinkReader:
    """The links of pages, as one fetcher sees them."""

    def __init__(self, scope: Scope, max_depth: int | None, *, sitemaps: bool = True) -> None:
        self.scope = scope
        self.max_depth = max_depth
        self.sitemaps = sitemaps  # those that robots.txt names are followed
        self._canonical = Canonicaliser()
        self._verdicts: dict[str, int] = {}  # canonical URL -> its fingerprint, or 0 if it is refused
        self._sent: Fingerprints = np.zeros(1 << SENT_BITS, dtype=np.uint64)
        self._characters = 0  # of the URLs in _verdicts
        self._pages = 0  # since _sent was emptied
        self.refused = 0

    def of_page(self, lease: Lease, document: Document, *, nofollow: bool) -> tuple[Fingerprints, Fingerprints, bytes]:
        """The fingerprints of the linked pages, those not sent lately, and the URLs of the latter, a line each."""
        if nofollow:
            return self._chosen([], lease.depth)
        hrefs = document.hrefs
        if not _FOLLOWED.issuperset(document.flags):
            hrefs = tuple(href for href, flag in zip(hrefs, document.flags, strict=True) if not flag & NOFOLLOW)
        if document.kind is PageKind.HTML:
            hrefs = with_queries_in(hrefs, document.encoding)
        return self._chosen(self._canonical.many(hrefs, document.base or lease.url), lease.depth)

    def of_sitemap(self, lease: Lease, sitemap: Sitemap) -> tuple[Fingerprints, Fingerprints, bytes]:
        """The same for the URLs that a sitemap lists, which are as deep as the sitemap itself. The parts of a sitemap
        index may be compressed.
        """
        urls = self._canonical.many([entry.url for entry in sitemap.entries], lease.url)
        if sitemap.is_index or self.scope.kind == "page":  # a sitemap given as a seed stands for the pages it lists
            self._verdicts.update((url, fingerprint(url)) for url in urls if url and self.scope.kind == "page")
            self._verdicts.update(
                (url, fingerprint(url)) for url in urls if url and not self.scope.refusal_of_sitemap(url)
            )
        return self._chosen(urls, lease.depth - 1)

    def of_robots(self, lease: Lease, sitemaps: tuple[str, ...]) -> bytes:
        """The canonical URLs of the sitemaps that robots.txt names, a line each. They are one link away from the page
        for which robots.txt was fetched.
        """
        if not sitemaps or not self.sitemaps or (self.max_depth is not None and lease.depth >= self.max_depth):
            return b""
        urls = self._canonical.many(sitemaps, lease.url)
        return "\n".join([url for url in urls if url and not self.scope.refusal_of_sitemap(url)]).encode()

    def claims(self, lease: Lease, sitemap: Sitemap | None, feed: Feed | None) -> bytes:
        """What a sitemap or a feed claims about the changes of the pages that it lists, as packed CLAIM entries."""
        if sitemap is not None and not sitemap.is_index:
            listed = [
                (entry.url, max(entry.modified, entry.published), CHANGE_FREQUENCIES.get(entry.frequency, 0.0))
                for entry in sitemap.entries
            ]
        elif feed is not None:
            listed = [(entry.link, entry.updated, 0.0) for entry in feed.entries]
        else:
            return b""
        listed = [one for one in listed if one[1] or one[2]]
        urls = self._canonical.many([url for url, _, _ in listed], lease.url)
        claims = [(fingerprint(url), *one[1:]) for url, one in zip(urls, listed, strict=True) if url]
        if feed is not None and feed.ttl_seconds:
            claims.append((fingerprint(lease.url), 0.0, feed.ttl_seconds))
        return np.array(claims, dtype=CLAIM).tobytes()

    def of_redirect(self, lease: Lease, target: str) -> tuple[Fingerprints, Fingerprints, bytes]:
        """The same for the target of a redirect, which is as deep as the page itself."""
        return self._chosen(self._canonical.many((target,), lease.url), lease.depth - 1)

    def refused_target(self, lease: Lease, target: str) -> str:
        """The target of a redirect that is not followed, and why not."""
        url = canonical(target, lease.url)
        reason = "it is not the URL of a page" if url is None else self.scope.refusal(url) or "it looks like a trap"
        return f"redirects to {(url or target)[:500]!r}: {reason}"

    def index_of(self, url: str) -> int:
        """The fingerprint of the folder whose index page this URL may be; 0 if none."""
        folder = index_of(url)
        return fingerprint(folder) if folder else 0

    def _chosen(self, urls: "list[str | None]", depth: int) -> tuple[Fingerprints, Fingerprints, bytes]:
        verdicts = self._verdicts
        if len(verdicts) > VERDICTS or self._characters > VERDICT_CHARACTERS:
            verdicts.clear()
            self._characters = 0
        accepted: dict[int, str] = {}
        for url in urls:
            if url is None:
                continue
            number = verdicts.get(url)
            if number is None:
                number = verdicts[url] = self._verdict(url)
                self._characters += len(url)
            if number:
                accepted[number] = url
        self._pages += 1
        if self._pages > FORGOTTEN_AFTER:
            self._pages = 0
            self._sent.fill(0)
        targets = np.fromiter(accepted, dtype=np.uint64, count=len(accepted))
        if self.max_depth is not None and depth >= self.max_depth:
            return targets, np.empty(0, dtype=np.uint64), b""  # known pages are still links; new ones would be too deep
        slots = (targets & np.uint64((1 << SENT_BITS) - 1)).astype(np.int64)
        new = self._sent[slots] != targets
        if not new.any():
            return targets, np.empty(0, dtype=np.uint64), b""
        self._sent[slots[new]] = targets[new]
        lines = "\n".join([url for url, is_new in zip(accepted.values(), new.tolist(), strict=True) if is_new])
        return targets, targets[new], lines.encode()

    def _verdict(self, url: str) -> int:
        if self.scope.refusal(url) or trap(url):
            self.refused += 1
            return 0
        return fingerprint(url)
