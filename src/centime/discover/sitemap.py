"""Sitemaps: lists of pages that a site publishes.

The reader takes `urlset` and `sitemapindex` in XML, with the news extension, and plain text with one URL per line, each
of them plain or gzipped. An alternate of a page, in another language or for other devices (`xhtml:link`), becomes an
entry too, behind all others, unless it is one already. The protocol's own limits apply: 50 MiB unpacked, and 50 000
entries; as many alternates may follow. A broken sitemap yields every entry whose URL is complete, even where the file
ends early, and `trouble` says what is wrong. URLs are returned as written: the caller makes them canonical, and decides
whether this sitemap may list them.
"""

import re
import zlib
from dataclasses import dataclass
from itertools import islice

from centime.discover.moment import moment
from centime.discover.records import Record, read_records
from centime.model.prologue import behind_prologue

MOST_ENTRIES = 50_000
MOST_BYTES = 50 * 1024 * 1024
LOOK = 4_096  # bytes from the beginning, enough to recognise a sitemap
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
CHUNK = 4_096  # compressed bytes per step: the rest behind a gzip member is copied, and members may be tiny

_ROOT = re.compile(rb"<(?:[^\s<>/:]++:)?(?:urlset|sitemapindex)[\s/>]")  # with or without a namespace prefix
_ROOT_END = re.compile(rb"</((?:[^\s<>/:]{1,64}:)?(?:urlset|sitemapindex))\s{0,64}>")
_ENTRY = re.compile(rb"<(?:[^\s<>/:]{1,64}:)?(?:url|sitemap)[\s>]")
_LINE = re.compile(rb"[^\r\n]++")
_URL = re.compile(rb"https?://\S++")
_FREQUENCIES = frozenset(["always", "hourly", "daily", "weekly", "monthly", "yearly", "never"])


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapEntry:
    """A page, or in an index another sitemap."""

    url: str
    modified: float = 0.0  # seconds since the epoch; 0 if missing
    frequency: str = ""  # always, hourly, daily, weekly, monthly, yearly or never
    published: float = 0.0  # news extension only
    title: str = ""  # news extension only


@dataclass(frozen=True, slots=True, kw_only=True)
class Sitemap:
    """The content of a sitemap."""

    entries: tuple[SitemapEntry, ...] = ()
    is_index: bool = False  # the entries are sitemaps
    trouble: str = ""


def is_sitemap(url: str, body: bytes) -> bool:
    """Whether the body of a URL is a sitemap, judged by its beginning.

    The root element decides, whatever the content type, gzipped or not. Plain text is weaker evidence: every line must
    be a URL, and `sitemap` must be in the last segment of the path, or anywhere in the URL if the body is gzipped.
    """
    packed = body.startswith(b"\x1f\x8b")
    head = _unpacked(body[: 4 * LOOK], LOOK)[0] if packed else body[:LOOK]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        head = head.decode("utf-16", "replace").encode()
    head = head.removeprefix(BYTE_ORDER_MARK)
    if _ROOT.match(head, behind_prologue(head)):
        return True
    url = url.lower()
    if "sitemap" not in url or (not packed and "sitemap" not in url.partition("?")[0].rpartition("/")[2]):
        return False
    return _lists_urls(_unpacked(body)[0])


def _lists_urls(body: bytes) -> bool:
    """Whether there are lines that are not empty, and each of them is a URL."""
    lines = (line[0].strip() for line in _LINE.finditer(body.removeprefix(BYTE_ORDER_MARK)))
    judged = (_URL.fullmatch(line) is not None for line in lines if line)
    return next(judged, False) and all(judged)


def read_sitemap(body: bytes) -> Sitemap:
    """The entries of a sitemap in any of its forms; never raises."""
    body, trouble = _unpacked(body)
    if not body.lstrip(BYTE_ORDER_MARK + b" \t\r\n").startswith((b"<", b"\xff\xfe", b"\xfe\xff", b"\x00<")):
        return _read_lines(body, trouble)
    body, misplaced = _with_one_root(body)
    found = read_records(body, ("url", "sitemap"), most=MOST_ENTRIES)
    trouble = trouble or misplaced
    is_index = found.root == "sitemapindex"
    wanted = "sitemap" if is_index else "url"
    if found.root not in ("urlset", "sitemapindex"):
        return Sitemap(
            trouble=trouble
            or found.trouble
            or f"A sitemap begins with urlset or sitemapindex, not with {found.root or 'nothing'}."
        )
    entries = [_entry(record, url) for record in found.records if record.name == wanted for url in record.texts("loc")]
    trouble = trouble or found.trouble
    del entries[MOST_ENTRIES:]
    if not is_index:
        alternates = _alternates(found.records)
        for entry in entries:
            alternates.pop(entry.url, None)
        if len(alternates) > MOST_ENTRIES:
            trouble = trouble or f"Only the first {MOST_ENTRIES} of {len(alternates)} alternates were read."
        entries += [SitemapEntry(url=url) for url in islice(alternates, MOST_ENTRIES)]
    return Sitemap(entries=tuple(entries), is_index=is_index, trouble=trouble)


def _alternates(records: list[Record]) -> dict[str, None]:
    """The URLs of alternates that entries name, each once."""
    return {
        href: None
        for record in records
        for name, _, attributes, own in record.fields
        if name == "link" and own and "alternate" in attributes.get("rel", "").lower().split()
        if (href := attributes.get("href", "").strip())
    }


def _with_one_root(body: bytes) -> tuple[bytes, str]:
    """A body whose root element ends at its end, and what is wrong if entries follow the end of its root, as in
    sitemaps to which programs append.
    """
    end = _ROOT_END.search(body)
    if end is None or not _ENTRY.search(body, end.end()):
        return body, ""
    name = end[1].decode("ascii", "replace")
    return _ROOT_END.sub(b"", body) + end[0], f"Entries follow the end of {name}."


def _entry(record: Record, url: str) -> SitemapEntry:
    """The entry that a record describes for one of its URLs."""
    frequency = record.text("changefreq").lower()
    return SitemapEntry(
        url=url,
        modified=moment(record.text("lastmod")),
        frequency=frequency if frequency in _FREQUENCIES else "",
        published=moment(record.text("publication_date")),
        title=record.text("title"),
    )


def _unpacked(body: bytes, most: int = MOST_BYTES) -> tuple[bytes, str]:
    """The uncompressed body, cut at the limit, and what is wrong with it."""
    if not body.startswith(b"\x1f\x8b"):
        return body[:most], "Only the first 50 MiB were read." if len(body) > most else ""
    pieces: list[bytes] = []
    size = at = 0
    member = zlib.decompressobj(31)
    while at < len(body) and size < most:
        chunk = body[at : at + CHUNK]
        try:
            piece = member.decompress(chunk, most - size)
        except zlib.error as error:
            return b"".join(pieces), f"The gzip is broken: {error}."
        pieces.append(piece)
        size += len(piece)
        at += len(chunk) - len(member.unused_data) - len(member.unconsumed_tail)
        if member.eof:
            if not body.startswith(b"\x1f\x8b", at):
                break
            member = zlib.decompressobj(31)
    whole = b"".join(pieces)
    if size >= most:
        return whole, "Only the first 50 MiB were read."
    return whole, "" if member.eof else "The gzip ends too early."


def _read_lines(body: bytes, trouble: str) -> Sitemap:
    """The URLs of a plain-text sitemap."""
    lines = body.decode("utf-8-sig", "replace").splitlines(keepends=True)
    if trouble and lines and lines[-1] == lines[-1].rstrip():
        lines.pop()  # half a URL
    urls = [line for line in map(str.strip, lines) if line.startswith(("http://", "https://"))]
    if not urls and not trouble:
        trouble = "There is no URL in it."
    if len(urls) > MOST_ENTRIES:
        trouble = trouble or f"Only the first {MOST_ENTRIES} entries were read."
    return Sitemap(entries=tuple(SitemapEntry(url=url) for url in urls[:MOST_ENTRIES]), trouble=trouble)
