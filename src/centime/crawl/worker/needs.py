"""The requisites of a page as a fetcher reports them: the URLs of the files that it needs to be shown.

They are exact (`discover/exact.py`), because a browser that replays the archive requests them in this form. Exclude
patterns, robots.txt and politeness hold for them like for any page; scope, suffixes and traps do not, unless the crawl
wants only files with some suffixes (`--also`): then they must be in scope.

Like a link, a URL is sent to the shard only if this fetcher has not sent it lately.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from centime.discover.canonical import canonical
from centime.discover.exact import exact
from centime.discover.scope import Scope
from centime.discover.suffixes import ALL, suffix_of, suffixes_named
from centime.model.address import fingerprint, host_of
from centime.model.document import EMBEDDED, Document
from centime.model.outcome import PageKind
from centime.parse.encoding import with_queries_in
from centime.parse.header_links import header_requisites
from centime.settings.crawl import RequisiteSettings
from centime.shard.message import Lease

MOST_SENT = 1 << 17  # fingerprints that are remembered
FORGOTTEN_AFTER = 20_000  # pages: the shard may have refused a URL that it would admit by now, or lost a visit
ICON = "/favicon.ico"  # browsers request it from each host without a link


class Needs(NamedTuple):
    """The requisites of one page."""

    texts: bytes = b""  # the URLs that were not sent lately, a line each
    cut: int = 0  # how many are above the limits


class NeedReader:
    """The requisites of pages, as one fetcher sees them."""

    def __init__(self, settings: RequisiteSettings, scope: Scope) -> None:
        self.settings = settings
        self._scope = scope
        self._any_suffix = ALL in settings.suffixes
        self._suffixes = suffixes_named(settings.suffixes)
        self.wanted = settings.all or bool(self._suffixes)  # whether requisites are fetched at all
        self._sent: set[int] = set()
        self._pages = 0  # since _sent was emptied

    def of_document(self, lease: Lease, document: Document, headers: Iterable[tuple[str, str]]) -> Needs:
        """The requisites of a document, and the parts that an XML document or a DTD consists of."""
        base = document.base or lease.url
        found: list[str] = []
        if self.wanted:
            hrefs = document.requisites
            if document.kind is PageKind.HTML:
                hrefs = with_queries_in(hrefs, document.encoding)
                if not lease.nesting:
                    hrefs = (*hrefs, host_of(lease.url) + ICON)
            found += filter(self._is_wanted, _exact((*hrefs, *header_requisites(headers, lease.url)), base))
        if self.settings.parts and document.kind in (PageKind.XML, PageKind.DTD):
            links = zip(document.hrefs, document.flags, strict=True)
            found += filter(self._is_part, _exact((href for href, flags in links if flags & EMBEDDED), base))
        return self._chosen(lease, found)

    def of_redirect(self, lease: Lease, target: str) -> Needs:
        """What a requisite or a part needs that redirects: its target."""
        return self._chosen(
            lease, [url for url in _exact((target,), lease.url) if self._is_wanted(url) or self._is_part(url)]
        )

    def is_page(self, lease: Lease, document: Document) -> bool:
        """Whether a document that was fetched as a requisite is a page of the crawl: HTML, in scope, by its canonical
        URL."""
        url = lease.url
        return document.kind is PageKind.HTML and not self._scope.refusal(url) and canonical(url) == url

    def _chosen(self, lease: Lease, urls: Iterable[str]) -> Needs:
        found = {url: fingerprint(url) for url in dict.fromkeys(urls)}
        if not found:
            return Needs()
        most = 0 if lease.nesting >= self.settings.depth else self.settings.per_page
        cut = max(0, len(found) - most)
        found = dict(islice(found.items(), most))
        new = [url for url, number in found.items() if number not in self._sent]
        self._pages += 1
        if len(self._sent) + len(new) > MOST_SENT or self._pages > FORGOTTEN_AFTER:
            self._sent.clear()
            self._pages = 0
        self._sent.update(found.values())
        return Needs("\n".join(new).encode(), cut)

    def _is_wanted(self, url: str) -> bool:
        if self.settings.all:
            return not self._scope.exclusion(url)
        return (self._any_suffix or suffix_of(url) in self._suffixes) and not self._scope.refusal(url)

    def _is_part(self, url: str) -> bool:
        """Whether the part of a document with this URL is fetched as such: one in scope is read as a page."""
        return self.settings.parts and not self._scope.exclusion(url) and bool(self._scope.refusal(url))


def _exact(hrefs: Iterable[str], base: str) -> Iterator[str]:
    """The URLs that these references lead to."""
    return (url for href in hrefs if (url := exact(href, base)) is not None)
