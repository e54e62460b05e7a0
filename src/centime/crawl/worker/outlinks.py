"""Turns the links of a page, as written, into the fingerprints of the pages that they lead to.

Canonical form, scope and traps are evaluated once per link, and the result is remembered (in `Canonicaliser` by the
link as written, here by canonical URL), because the pages of a site repeat their templates. The shard receives the text
of a URL only if this fetcher has not sent it lately. `_sent` is a direct-mapped table of fingerprints, so its size is
bounded; a forgotten fingerprint only costs the bytes of sending its text again. It is emptied now and then, because the
shard may have refused a URL that it would admit by now (`shard/limits/bounds.py`).

Links that the crawl refuses (`discover/refusal.py`) are sent by fingerprint and reason with every visit, so that the
shard can count them, and their text as seldom as that of other links. A URL of a suspicious shape is sent with the key
of its shape: the shard decides (`shard/limits/trap_evidence.py`).
"""

import re
import time
from collections.abc import Iterable, Sequence
from struct import Struct
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from centime.discover.canonical import LONGEST_URL, Canonicaliser, canonical, index_of
from centime.discover.feed import Feed
from centime.discover.refusal import Reason
from centime.discover.scope import Scope
from centime.discover.sitemap import Sitemap, is_sitemap
from centime.discover.traps import Traps
from centime.model.address import fingerprint
from centime.model.document import NOFOLLOW, Document
from centime.model.outcome import PageKind
from centime.parse.encoding import with_queries_in
from centime.refresh.learning.credit import CHANGE_FREQUENCIES
from centime.settings.crawl import FetcherSettings
from centime.shard.message import CLAIM, TEXT_FOLLOWS, Lease

Fingerprints = npt.NDArray[np.uint64]
SENT_BITS = 20
FORGOTTEN_AFTER = 200_000  # pages
SUSPECTS_FORGOTTEN_AFTER = 1_000  # the same for URLs of suspicious shapes: evidence may have come meanwhile
VERDICTS = 1 << 18  # canonical URLs whose verdict is remembered, at most
VERDICT_CHARACTERS = 32 << 20  # and the length of all of them
REFUSED_SENT = 1 << 16  # refused URLs whose text was sent lately, at most
TEMPLATES = 256  # sets of refused links that are remembered, at most
LARGEST_TEMPLATE = 256  # and links of one of them
REFUSED_TEXTS = 1_000  # of one page, at most
LONGEST_REFUSED = 512  # characters of an href that is not the URL of a page

_FOLLOWED = frozenset(flags for flags in range(256) if not flags & NOFOLLOW)
_SHAPE = Struct("<IQ").pack  # as SHAPE of shard/message.py
_scheme = re.compile(r"[\x00-\x20]*(?!https?:)[a-z][a-z0-9+.-]*:", re.IGNORECASE).match


class Outlinks(NamedTuple):
    """The links of a page, for the fields of a `Visit` with these names."""

    links: Fingerprints  # of pages that the crawl accepts
    fresh: Fingerprints  # those of them that were not sent lately
    texts: bytes  # the URLs of the latter, a line each
    shapes: bytes = b""  # SHAPE entries of the latter
    refused: bytes = b""  # fingerprints of links that the crawl refuses
    refused_for: bytes = b""
    refused_texts: bytes = b""
    unfollowed: bytes = b""  # fingerprints of `links` that ask not to be followed, if they are needed


NO_LINKS = Outlinks(np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.uint64), b"")


def may_be_sitemap(url: str, document: Document, body: bytes) -> bool:
    """Whether a document is a sitemap: by its root element, or, if it was not parsed as XML, because its body is a
    compressed, plain-text or mislabelled sitemap.
    """
    return document.root in ("urlset", "sitemapindex") or (not document.root and is_sitemap(url, body))


class LinkReader:
    """The links of pages, as one fetcher sees them."""

    def __init__(
        self,
        scope: Scope,
        max_depth: int | None,
        traps: Traps | None = None,
        *,
        follow_nofollow: bool = False,
        weighs_nofollow: bool = False,
        sitemaps: bool = True,
    ) -> None:
        self.scope = scope
        self.max_depth = max_depth
        self.traps = traps or Traps()
        self.follow_nofollow = follow_nofollow
        self.weighs_nofollow = weighs_nofollow  # links that ask not to be followed are named
        self.sitemaps = sitemaps  # those that robots.txt names are followed
        self._canonical = Canonicaliser()
        self._verdicts: dict[str, int | bytes] = {}  # canonical URL -> its fingerprint, or its `_refusal`
        self._keys: dict[int, int] = {}  # fingerprint -> key of its shape
        self._sent: Fingerprints = np.zeros(1 << SENT_BITS, dtype=np.uint64)
        self._refused_sent: set[bytes] = set()
        self._templates: dict[tuple[bytes, ...], tuple[bytes, bytes, bytes]] = {}
        self._characters = 0  # of the URLs in _verdicts
        self._pages = 0  # since _sent was emptied

    def of_page(self, lease: Lease, document: Document, *, nofollow: bool) -> Outlinks:
        """The links of a page."""
        hrefs = document.hrefs
        unfollowed: tuple[str, ...] = ()
        if not self.follow_nofollow:
            if nofollow:
                hrefs, unfollowed = (), hrefs
            elif not _FOLLOWED.issuperset(document.flags):
                flagged = list(zip(hrefs, document.flags, strict=True))
                unfollowed = tuple(href for href, flag in flagged if flag & NOFOLLOW)
                hrefs = tuple(href for href, flag in flagged if not flag & NOFOLLOW)
        if document.kind is PageKind.HTML:
            hrefs = with_queries_in(hrefs, document.encoding)
        base = document.base or lease.url
        avoided = {url for url in self._canonical.many(unfollowed, base) if url} if unfollowed else ()
        urls = self._canonical.many(hrefs, base)
        found = self._chosen(hrefs, urls, lease.depth, avoided)
        if self.weighs_nofollow and len(found.links):
            asked = [nofollow or bool(flag & NOFOLLOW) for flag in document.flags]
            return found._replace(unfollowed=self._unfollowed(urls, asked))
        return found

    def _unfollowed(self, urls: "list[str | None]", asked: Sequence[bool]) -> bytes:
        """The fingerprints of the URLs that all links to them ask not to be followed."""
        marked: dict[str, bool] = {}
        for url, one in zip(urls, asked, strict=True):
            if url is not None:
                marked[url] = one and marked.get(url, True)
        prints = [verdict for url, one in marked.items() if one and isinstance(verdict := self._verdicts[url], int)]
        return np.array(prints, dtype=np.uint64).tobytes()

    def of_sitemap(self, lease: Lease, sitemap: Sitemap) -> Outlinks:
        """The same for the URLs that a sitemap lists, which are as deep as the sitemap itself. The parts of a sitemap
        index may be compressed. No shape is suspicious, because the host itself lists these URLs.
        """
        listed = [entry.url for entry in sitemap.entries]
        urls = self._canonical.many(listed, lease.url)
        if sitemap.is_index or self.scope.kind == "page":  # a sitemap given as a seed stands for the pages it lists
            self._verdicts.update((url, fingerprint(url)) for url in urls if url and self.scope.kind == "page")
            self._verdicts.update(
                (url, fingerprint(url)) for url in urls if url and not self.scope.refusal_of_sitemap(url)
            )
        return self._chosen(listed, urls, lease.depth - 1)._replace(shapes=b"")

    def of_robots(self, lease: Lease, sitemaps: tuple[str, ...]) -> bytes:
        """The canonical URLs of the sitemaps that robots.txt names, a line each. They are one link away from the page
        for which robots.txt was fetched.
        """
        if not sitemaps or not self.sitemaps or (self.max_depth is not None and lease.depth >= self.max_depth):
            return b""
        urls = self._canonical.many(sitemaps, lease.url)
        return "\n".join([url for url in urls if url and not self.scope.refusal_of_sitemap(url)]).encode()

    def claims(self, lease: Lease, sitemap: Sitemap | None, feed: Feed | None) -> bytes:
        """The claims of a sitemap or a feed about the changes of the pages that it lists, as packed CLAIM entries."""
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

    def of_redirect(self, lease: Lease, target: str) -> Outlinks:
        """The same for the target of a redirect, which is as deep as the page itself."""
        return self._chosen((target,), self._canonical.many((target,), lease.url), lease.depth - 1)

    def refused_target(self, lease: Lease, target: str) -> str:
        """The target of a redirect that is not followed, and why not."""
        url = canonical(target, lease.url)
        reason = "it is not the URL of a page" if url is None else self.scope.refusal(url) or "it looks like a trap"
        return f"redirects to {(url or target)[:500]!r}: {reason}"

    def index_of(self, url: str) -> int:
        """The fingerprint of the folder whose index page this URL may be; 0 if none."""
        folder = index_of(url)
        return fingerprint(folder) if folder else 0

    def own_shape(self, url: str) -> dict[str, int | bytes]:
        """The fields of a visit to a page whose canonical URL has a suspicious shape; none for other pages."""
        suspicion = self.traps.suspect(url) if self.traps.rules.mode != "off" else None
        if suspicion is None:
            return {}
        shorter = np.array([fingerprint(one) for one in self.traps.shorter(url)], dtype=np.uint64)
        return {"shape": suspicion.key, "shorter": shorter.tobytes()}

    def _chosen(
        self, hrefs: Sequence[str], urls: "list[str | None]", depth: int, avoided: Iterable[str] = ()
    ) -> Outlinks:
        """The links with these canonical URLs; `avoided` are those that the page asks crawlers not to follow."""
        verdicts = self._verdicts
        if len(verdicts) > VERDICTS or self._characters > VERDICT_CHARACTERS:
            verdicts.clear()
            self._keys.clear()
            self._characters = 0
        accepted: dict[int, str] = {}
        refused: dict[bytes, str] = {}
        for url in urls:
            if url is None:
                continue
            verdict = verdicts.get(url)
            if verdict is None:
                verdict = verdicts[url] = self._verdict(url)
                self._characters += len(url)
            if isinstance(verdict, int):
                accepted[verdict] = url
            else:
                refused[verdict] = url
        self._pages += 1
        if self._pages % SUSPECTS_FORGOTTEN_AFTER == 0 and self._keys:
            suspects = np.fromiter(self._keys, dtype=np.uint64, count=len(self._keys))
            self._sent[(suspects & np.uint64((1 << SENT_BITS) - 1)).astype(np.int64)] = 0
        if self._pages > FORGOTTEN_AFTER:
            self._pages = 0
            self._sent.fill(0)
        targets = np.fromiter(accepted, dtype=np.uint64, count=len(accepted))
        new = targets[:0] == 0
        if self.max_depth is not None and depth >= self.max_depth:
            # known pages are still links; new ones would be too deep
            refused |= {_refusal(number, Reason.MAX_DEPTH): url for number, url in accepted.items()}
        else:
            slots = (targets & np.uint64((1 << SENT_BITS) - 1)).astype(np.int64)
            new = self._sent[slots] != targets
            self._sent[slots[new]] = targets[new]
        for url in avoided:
            verdict = verdicts.get(url) or self._verdict(url)
            if isinstance(verdict, bytes):
                refused[verdict] = url
            elif verdict not in accepted:
                refused[_refusal(verdict, Reason.NOFOLLOW)] = url
        if None in urls:
            refused |= _not_pages(hrefs, urls)
        left_out = self._refused(refused) if refused else (b"", b"", b"")
        if not new.any():
            return Outlinks(targets, targets[:0], b"", b"", *left_out)
        fresh = targets[new]
        texts = [url for url, is_new in zip(accepted.values(), new.tolist(), strict=True) if is_new]
        return Outlinks(targets, fresh, "\n".join(texts).encode(), self._shapes(fresh), *left_out)

    def _shapes(self, fresh: Fingerprints) -> bytes:
        """SHAPE entries for those of the new links that have a suspicious shape."""
        keys = self._keys
        if not keys:
            return b""
        return b"".join(
            [_SHAPE(place, key) for place, number in enumerate(fresh.tolist()) if (key := keys.get(number))]
        )

    def _refused(self, refused: dict[bytes, str]) -> tuple[bytes, bytes, bytes]:
        """The fields of refused links: fingerprints, reasons, and the text of those not sent lately. The links of a
        template are the same on many pages, so the result is remembered when there is no text to send.
        """
        sent, templates = self._refused_sent, self._templates
        template = tuple(refused)
        known = templates.get(template)
        if known is not None:
            return known
        if len(sent) > REFUSED_SENT:
            sent.clear()
        reasons = bytearray(one[8] for one in refused)
        texts: list[str] = []
        for place, (one, url) in enumerate(refused.items()):
            if one not in sent and len(texts) < REFUSED_TEXTS:
                sent.add(one)
                reasons[place] |= TEXT_FOLLOWS
                texts.append(url)
        prints = b"".join([one[:8] for one in refused])
        if not texts and len(template) < LARGEST_TEMPLATE:
            if len(templates) >= TEMPLATES:
                templates.clear()
            templates[template] = prints, bytes(reasons), b""
        return prints, bytes(reasons), "\n".join(texts).encode(errors="replace")

    def _verdict(self, url: str) -> int | bytes:
        number = fingerprint(url)
        reason = self.scope.reason(url)
        if reason is None and self.traps.rules.mode != "off" and url not in self.scope.seeds:
            suspicion = self.traps.suspect(url)
            if suspicion is not None:
                if self.traps.rules.mode == "evidence" or suspicion.kind.by_number:
                    self._keys[number] = suspicion.key
                else:
                    reason = Reason.TRAP
        return number if reason is None else _refusal(number, reason)


def reading_links(settings: FetcherSettings, now: float) -> LinkReader:
    """The reader of links that a fetcher with these settings has."""
    return LinkReader(
        settings.scope(),
        settings.max_depth,
        Traps(settings.traps, year=time.gmtime(now).tm_year),
        follow_nofollow=settings.follow_nofollow,
        weighs_nofollow=settings.weighs_nofollow,
        sitemaps=settings.sitemaps,
    )


def _refusal(number: int, reason: Reason) -> bytes:
    """The fingerprint of a refused URL, in eight bytes, and the reason."""
    return number.to_bytes(8, "little") + bytes((reason,))


def _not_pages(hrefs: Sequence[str], urls: "list[str | None]") -> dict[bytes, str]:
    """The hrefs that are not the URL of a page."""
    found = {}
    for href, url in zip(hrefs, urls, strict=True):
        if url is None:
            text = href[:LONGEST_REFUSED].strip()
            is_long = len(href) > LONGEST_URL and not _scheme(href)
            found[_refusal(fingerprint(text), Reason.LONGEST_URL if is_long else Reason.NOT_HTTP)] = _line(text)
    return found


def _line(text: str) -> str:
    """A text as one line."""
    return " ".join(text.split()) if any(character < " " for character in text) else text
