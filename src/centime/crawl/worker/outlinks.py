"""From the links that a page wrote to the fingerprints of the pages it leads to.

Canonical form, scope and traps are asked once for each link; what came out is remembered (`Canonicaliser` by the link
as written, here by fingerprint), because the pages of a site repeat their templates. The shard learns the text of a URL
only if this fetcher has not sent it lately: `sent` is a direct-mapped memory of fingerprints, so it is bounded, and
forgetting costs a few bytes and nothing else.
"""

import numpy as np
import numpy.typing as npt
import xxhash

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
VERDICTS = 1 << 18  # as many canonical URLs are remembered with what was decided about them

_FOLLOWED = frozenset(flags for flags in range(256) if not flags & NOFOLLOW)
_hash = xxhash.xxh3_64_intdigest


def may_be_sitemap(url: str, document: Document, body: bytes) -> bool:
    """Whether a document is a sitemap by its root, or by what it was not read as: packed, plain text, or XML served
    as something else.
    """
    return document.root in ("urlset", "sitemapindex") or (not document.root and is_sitemap(url, body))


class LinkReader:
    """The links of pages, as one fetcher sees them."""

    def __init__(self, scope: Scope, max_depth: int | None) -> None:
        self.scope = scope
        self.max_depth = max_depth
        self._canonical = Canonicaliser()
        self._verdicts: dict[str, int] = {}  # canonical URL -> its fingerprint, or 0 when it is not wanted
        self._sent: Fingerprints = np.zeros(1 << SENT_BITS, dtype=np.uint64)
        self.refused = 0

    def of_page(self, lease: Lease, document: Document, *, nofollow: bool) -> tuple[Fingerprints, Fingerprints, bytes]:
        """Fingerprints of the pages linked to, those of them that are fresh, and the lines of the fresh."""
        if nofollow:
            return self._chosen([], lease.depth)
        hrefs = document.hrefs
        if not _FOLLOWED.issuperset(document.flags):
            hrefs = tuple(href for href, flag in zip(hrefs, document.flags, strict=True) if not flag & NOFOLLOW)
        if document.kind is PageKind.HTML:
            hrefs = with_queries_in(hrefs, document.encoding)
        return self._chosen(self._canonical.many(hrefs, document.base or lease.url), lease.depth)

    def of_sitemap(self, lease: Lease, sitemap: Sitemap) -> tuple[Fingerprints, Fingerprints, bytes]:
        """The same for what a sitemap lists: as deep as the sitemap itself. The parts of an index may be packed."""
        urls = self._canonical.many([entry.url for entry in sitemap.entries], lease.url)
        if sitemap.is_index or self.scope.kind == "page":  # whoever gives a sitemap as a seed wants what it lists
            self._verdicts.update((url, fingerprint(url)) for url in urls if url and self.scope.kind == "page")
            self._verdicts.update(
                (url, fingerprint(url)) for url in urls if url and not self.scope.refusal(url.removesuffix(".gz"))
            )
        return self._chosen(urls, lease.depth - 1)

    def claims(self, lease: Lease, sitemap: Sitemap | None, feed: Feed | None) -> bytes:
        """What a sitemap or a feed says about the changes of the pages that it lists, as entries of CLAIM."""
        if sitemap is not None and not sitemap.is_index:
            said = [
                (entry.url, max(entry.modified, entry.published), CHANGE_FREQUENCIES.get(entry.frequency, 0.0))
                for entry in sitemap.entries
            ]
        elif feed is not None:
            said = [(entry.link, entry.updated, 0.0) for entry in feed.entries]
        else:
            return b""
        said = [one for one in said if one[1] or one[2]]
        urls = self._canonical.many([url for url, _, _ in said], lease.url)
        wanted = [(fingerprint(url), *one[1:]) for url, one in zip(urls, said, strict=True) if url]
        if feed is not None and feed.ttl_seconds:
            wanted.append((fingerprint(lease.url), 0.0, feed.ttl_seconds))
        return np.array(wanted, dtype=CLAIM).tobytes()

    def of_redirect(self, lease: Lease, target: str) -> tuple[Fingerprints, Fingerprints, bytes]:
        """The same for the one page that a redirect leads to: as deep as the page itself."""
        return self._chosen(self._canonical.many((target,), lease.url), lease.depth - 1)

    def refused_target(self, lease: Lease, target: str) -> str:
        """Where a redirect leads that is not followed, and why not."""
        url = canonical(target, lease.url)
        reason = (
            "which is not the URL of a page" if url is None else self.scope.refusal(url) or "which looks like a trap"
        )
        return f"leads to {(url or target)[:500]!r}: {reason}"

    def index_of(self, url: str) -> int:
        """The fingerprint of the folder whose index this URL may be, 0 if it is none."""
        folder = index_of(url)
        return fingerprint(folder) if folder else 0

    def _chosen(self, urls: "list[str | None]", depth: int) -> tuple[Fingerprints, Fingerprints, bytes]:
        verdicts = self._verdicts
        if len(verdicts) > VERDICTS:
            verdicts.clear()
        wanted: dict[int, str] = {}
        for url in urls:
            if url is None:
                continue
            number = verdicts.get(url)
            if number is None:
                number = verdicts[url] = self._verdict(url)
            if number:
                wanted[number] = url
        targets = np.fromiter(wanted, dtype=np.uint64, count=len(wanted))
        if self.max_depth is not None and depth >= self.max_depth:
            return targets, np.empty(0, dtype=np.uint64), b""  # known pages are still links; new ones would be too deep
        slots = (targets & np.uint64((1 << SENT_BITS) - 1)).astype(np.int64)
        new = self._sent[slots] != targets
        if not new.any():
            return targets, np.empty(0, dtype=np.uint64), b""
        self._sent[slots[new]] = targets[new]
        lines = "\n".join([url for url, is_new in zip(wanted.values(), new.tolist(), strict=True) if is_new])
        return targets, targets[new], lines.encode()

    def _verdict(self, url: str) -> int:
        if self.scope.refusal(url) or trap(url):
            self.refused += 1
            return 0
        return _hash(url.encode()) or 1
