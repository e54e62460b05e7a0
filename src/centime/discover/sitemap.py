"""Sitemaps: the pages that a site names by itself.

Read are `urlset` and `sitemapindex` in XML, with the news extension, and plain text with one URL a line; each as it is or packed
with gzip. By the protocol's own limits: at most 50 MiB unpacked, and 50 000 entries. A broken sitemap gives what was read before the
damage, with `trouble`. URLs are given as written: the caller makes them canonical, and decides whether the sitemap may speak for them.
"""

import zlib
from dataclasses import dataclass

from centime.discover.moment import moment
from centime.discover.records import Record, read_records

MOST_ENTRIES = 50_000
MOST_BYTES = 50 * 1024 * 1024

_FREQUENCIES = frozenset(["always", "hourly", "daily", "weekly", "monthly", "yearly", "never"])


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapEntry:
    """A page, or in an index another sitemap."""

    url: str
    modified: float = 0.0  # seconds since the epoch; 0 when not said
    frequency: str = ""  # always, hourly, daily, weekly, monthly, yearly or never
    priority: float = 0.5
    published: float = 0.0  # of news
    title: str = ""  # of news


@dataclass(frozen=True, slots=True, kw_only=True)
class Sitemap:
    """What a sitemap says."""

    entries: tuple[SitemapEntry, ...] = ()
    is_index: bool = False  # the entries are sitemaps
    trouble: str = ""


def read_sitemap(body: bytes) -> Sitemap:
    """The entries of a sitemap, whatever its form; never an exception."""
    body, trouble = _unpacked(body)
    if not body.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"<", b"\xff\xfe", b"\xfe\xff", b"\x00<")):
        return _read_lines(body, trouble)
    found = read_records(body, ("url", "sitemap"), most=MOST_ENTRIES)
    is_index = found.root == "sitemapindex"
    wanted = "sitemap" if is_index else "url"
    if found.root not in ("urlset", "sitemapindex"):
        return Sitemap(
            trouble=trouble or found.trouble or f"A sitemap begins with urlset or sitemapindex, not with {found.root or 'nothing'}."
        )
    entries = tuple(_entry(record) for record in found.records if record.name == wanted and record.text("loc"))
    return Sitemap(entries=entries, is_index=is_index, trouble=trouble or found.trouble)


def _entry(record: Record) -> SitemapEntry:
    """An entry of its record."""
    frequency = record.text("changefreq").lower()
    return SitemapEntry(
        url=record.text("loc"),
        modified=moment(record.text("lastmod")),
        frequency=frequency if frequency in _FREQUENCIES else "",
        priority=_priority(record.text("priority")),
        published=moment(record.text("publication_date")),
        title=record.text("title"),
    )


def _priority(text: str) -> float:
    """A priority from 0 to 1; the protocol's default for anything else."""
    try:
        value = float(text)
    except ValueError:
        return 0.5
    return value if 0.0 <= value <= 1.0 else 0.5


def _unpacked(body: bytes) -> tuple[bytes, str]:
    """The body without gzip, cut at the limit, and what was wrong with it."""
    if not body.startswith(b"\x1f\x8b"):
        return body[:MOST_BYTES], "Only the first 50 MiB were read." if len(body) > MOST_BYTES else ""
    pieces: list[bytes] = []
    size = 0
    while body.startswith(b"\x1f\x8b") and size < MOST_BYTES:
        member = zlib.decompressobj(31)
        try:
            piece = member.decompress(body, MOST_BYTES - size)
        except zlib.error as error:
            return b"".join(pieces), f"The gzip is broken: {error}."
        pieces.append(piece)
        size += len(piece)
        if not member.eof:
            break
        body = member.unused_data
    whole = b"".join(pieces)
    if size >= MOST_BYTES:
        return whole, "Only the first 50 MiB were read."
    return whole, "" if member.eof else "The gzip ends too early."


def _read_lines(body: bytes, trouble: str) -> Sitemap:
    """A sitemap of plain text: the lines that are URLs."""
    lines = (line.strip() for line in body.decode("utf-8-sig", "replace").splitlines())
    urls = [line for line in lines if line.startswith(("http://", "https://"))]
    if not urls and not trouble:
        trouble = "There is no URL in it."
    if len(urls) > MOST_ENTRIES:
        trouble = trouble or f"Only the first {MOST_ENTRIES} entries were read."
    return Sitemap(entries=tuple(SitemapEntry(url=url) for url in urls[:MOST_ENTRIES]), trouble=trouble)
