"""The announcements of a site: robots.txt, sitemaps and feeds, all true at the time of the request.

Sitemaps list exactly the pages of the site that can and may be read: no redirects, no dead and no private pages. Feeds
list the pages that changed last among the first 200 of the site.
"""

import gzip
from datetime import UTC, datetime
from email.utils import formatdate
from typing import NamedTuple

import numpy as np

from centime.lab.webbox.box import WebBox
from centime.lab.webbox.layout import (
    BARE,
    CRAWL_DELAY,
    DTD,
    HTML,
    LEAST_WITH_DTD,
    PRIVATES,
    SITEMAP,
    SITEMAP_INDEX,
    SITEMAP_PACKED,
    START,
    TEXT,
    TRAITS,
    XML,
    Numbers,
)

URLS_PER_SITEMAP = 5_000
FEED_PAGES, FEED_ENTRIES = 200, 20
READABLE = (HTML, BARE, XML, TEXT, DTD)
XML_TYPE = b"application/xml; charset=utf-8"
NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


class Announcement(NamedTuple):
    """A document that is not a page of the box."""

    content_type: bytes
    body: bytes


def of_path(webbox: WebBox, site: int, path: bytes, time: float) -> Announcement | None:
    """The announcement of a site at a path; None if there is none."""
    traits = int(webbox.layout.sites[site, TRAITS])
    if path == b"/robots.txt":
        return Announcement(b"text/plain; charset=utf-8", _robots(webbox, site, traits).encode())
    if path == b"/feed.xml" and webbox.feeds:
        return Announcement(b"application/rss+xml; charset=utf-8", _rss(webbox, site, time).encode())
    if path == b"/atom.xml" and webbox.feeds:
        return Announcement(b"application/atom+xml; charset=utf-8", _atom(webbox, site, time).encode())
    if traits & SITEMAP and path.startswith(b"/sitemap"):
        return _sitemap(webbox, site, traits, path, time)
    return None


def pages_to_list(webbox: WebBox, site: int) -> Numbers:
    """The pages of a site that its sitemaps list."""
    first, end = webbox.layout.sites[site, START], webbox.layout.sites[site + 1, START]
    forms = webbox.forms(int(first), int(end))
    readable = np.isin(forms, READABLE)
    privates = webbox.layout.sites[site, PRIVATES]
    last = end - first - (1 if end - first >= LEAST_WITH_DTD else 0)
    readable[last - privates : last] = False
    return np.flatnonzero(readable) + int(first)


def _robots(webbox: WebBox, site: int, traits: int) -> str:
    lines = ["User-agent: *"]
    if webbox.layout.sites[site, PRIVATES]:
        lines.append("Disallow: /private/")
    if traits & CRAWL_DELAY and webbox.crawl_delay_seconds:
        lines.append(f"Crawl-delay: {webbox.crawl_delay_seconds:g}")
    if len(lines) == 1:
        lines.append("Disallow:")
    if traits & SITEMAP:
        lines += ["", f"Sitemap: {webbox.origin(site)}/sitemap.xml"]
    return "\n".join(lines) + "\n"


def _sitemap(webbox: WebBox, site: int, traits: int, path: bytes, time: float) -> Announcement | None:
    pages = pages_to_list(webbox, site)
    parts = -(-len(pages) // URLS_PER_SITEMAP)
    indexed = bool(traits & SITEMAP_INDEX) or parts > 1
    suffix = ".xml.gz" if traits & SITEMAP_PACKED else ".xml"
    if path == b"/sitemap.xml" and indexed:
        entries = "".join(
            f"<sitemap><loc>{webbox.origin(site)}/sitemap-{part + 1}{suffix}</loc></sitemap>\n" for part in range(parts)
        )
        return Announcement(
            XML_TYPE,
            f'<?xml version="1.0" encoding="UTF-8"?>\n<sitemapindex {NAMESPACE}>\n{entries}</sitemapindex>\n'.encode(),
        )
    for part in range(parts):
        if path == (f"/sitemap-{part + 1}{suffix}" if indexed else "/sitemap.xml").encode():
            body = _urls(webbox, pages[part * URLS_PER_SITEMAP : (part + 1) * URLS_PER_SITEMAP], time).encode()
            packed = indexed and suffix.endswith(".gz")
            return (
                Announcement(b"application/gzip", gzip.compress(body, 1, mtime=0))
                if packed
                else Announcement(XML_TYPE, body)
            )
    return None


def _urls(webbox: WebBox, pages: Numbers, time: float) -> str:
    first, end = int(pages[0]), int(pages[-1]) + 1
    urls, changed = webbox.urls(first, end), webbox.changed(time, first, end)
    entries = "".join(
        f"<url><loc>{urls[page - first]}</loc><lastmod>{_iso(changed[page - first])}</lastmod></url>\n"
        for page in pages.tolist()
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset {NAMESPACE}>\n{entries}</urlset>\n'


def _iso(time: float) -> str:
    return datetime.fromtimestamp(int(time), UTC).isoformat().replace("+00:00", "Z")


def _latest(webbox: WebBox, site: int, time: float) -> list[tuple[int, float]]:
    pages = pages_to_list(webbox, site)[:FEED_PAGES]
    first = int(pages[0])
    changed = webbox.changed(time, first, int(pages[-1]) + 1)[pages - first]
    return [(int(pages[place]), float(changed[place])) for place in np.argsort(-changed, kind="stable")[:FEED_ENTRIES]]


def _rss(webbox: WebBox, site: int, time: float) -> str:
    items = "".join(
        f"<item><title>{webbox.title(page)}</title><link>{webbox.url(page)}</link>"
        f"<pubDate>{formatdate(int(at), usegmt=True)}</pubDate></item>\n"
        for page, at in _latest(webbox, site, time)
    )
    head = (
        f"<title>Site {site}</title><link>{webbox.origin(site)}/</link>"
        f"<description>What changed on site {site}</description>"
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0"><channel>{head}\n{items}</channel></rss>\n'


def _atom(webbox: WebBox, site: int, time: float) -> str:
    latest = _latest(webbox, site, time)
    entries = "".join(
        f'<entry><title>{webbox.title(page)}</title><id>{webbox.url(page)}</id><link href="{webbox.url(page)}"/>'
        f"<updated>{_iso(at)}</updated></entry>\n"
        for page, at in latest
    )
    head = f"<title>Site {site}</title><id>{webbox.origin(site)}/</id><updated>{_iso(latest[0][1])}</updated>"
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">{head}\n{entries}</feed>\n'
    )
