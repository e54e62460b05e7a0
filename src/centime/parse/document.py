"""Bytes to a document: the entry point of this folder.

Guarantee: it never raises, for any bytes, and time and memory are bounded by a constant per byte (`parse/scan.py`
explains how for HTML, `parse/xml.py` for XML). A documentation page of 25 KB with its links, directives and signature
takes about a seventh of a millisecond.
"""

from dataclasses import replace

import xxhash

from centime.model.document import EMBEDDED, Document
from centime.model.media_type import media_type_of
from centime.model.outcome import PageKind
from centime.parse.css import css_text
from centime.parse.dtd import read_dtd
from centime.parse.encoding import as_utf8, declared_encoding
from centime.parse.html import read_html
from centime.parse.kind import kind_of
from centime.parse.requisites import icons_of_manifest, requisites_of, requisites_of_css, requisites_of_script
from centime.parse.xml import read_xml

_SCRIPT_TYPES = frozenset(
    f"{kind}/{name}" for kind in ("text", "application") for name in ("javascript", "x-javascript", "ecmascript")
)
_SITEMAPS = ("urlset", "sitemapindex")  # whose entries `discover/sitemap.py` reads
_NO_TYPES = frozenset(["", "text/plain", "application/octet-stream"])


def read_document(
    body: bytes,
    *,
    url: str,
    content_type: str = "",
    anchors: bool = False,
    truncated: bool = False,
    requisites: bool = False,
) -> Document:
    """The document at `url` with this body: kind, links as written, directives, signature and digest, and with
    `requisites` the files that it needs to be shown.
    """
    digest = xxhash.xxh3_128_digest(body)
    kind = kind_of(body, content_type)
    if kind is PageKind.OTHER:
        return Document(
            kind=kind,
            base=url,
            encoding=declared_encoding(content_type),
            digest=digest,
            signature=int.from_bytes(digest[:8], "big"),
            trouble=_cut(truncated),
            requisites=_requisites_of_other(body, url, content_type) if requisites else (),
        )
    is_xhtml = media_type_of(content_type).name == "application/xhtml+xml"
    text, encoding = as_utf8(body, content_type, xml=kind is not PageKind.HTML, url=url)
    read = read_html if kind is PageKind.HTML else read_dtd if kind is PageKind.DTD else read_xml
    document = read(text, url=url, encoding=encoding, digest=digest, anchors=anchors, trouble=_cut(truncated))
    if document.trouble and kind is PageKind.XML and is_xhtml:
        document = _most_links(document, read_html(text, url=url, encoding=encoding, digest=digest, anchors=anchors))
    if document.links_found > len(document.hrefs) and document.root not in _SITEMAPS:
        left_out = f"Only the first {len(document.hrefs)} of {document.links_found} links were read."
        document = replace(document, trouble=document.trouble or left_out)
    if not requisites or kind is PageKind.DTD:
        return document
    found = requisites_of(text, xml=kind is PageKind.XML or is_xhtml)
    if document.kind is PageKind.XML:  # its style sheets are links
        links = zip(document.hrefs, document.flags, strict=True)
        found = tuple(dict.fromkeys((*found, *(href for href, flags in links if flags & EMBEDDED))))
    return replace(document, requisites=found)


def _most_links(broken: Document, html: Document) -> Document:
    """Broken XHTML as XML or as HTML, whichever finds more links; browsers would show an error."""
    return broken if len(broken.hrefs) >= len(html.hrefs) else replace(html, trouble=broken.trouble)


def _requisites_of_other(body: bytes, url: str, content_type: str) -> tuple[str, ...]:
    """The files that a style sheet, a script or the manifest of an application names."""
    declared = media_type_of(content_type).name
    path = url.partition("?")[0].lower()
    if declared == "text/css" or (path.endswith(".css") and declared in _NO_TYPES):
        return requisites_of_css(css_text(body, content_type))
    if declared in _SCRIPT_TYPES or (path.endswith((".js", ".mjs")) and declared in _NO_TYPES):
        return requisites_of_script(as_utf8(body, content_type or "text/javascript; charset=utf-8")[0].decode())
    if declared == "application/manifest+json" or path.endswith(".webmanifest"):
        return icons_of_manifest(body)
    return ()


def _cut(truncated: bool) -> str:
    """The note about a truncated body; empty for a complete one."""
    return "Only the beginning was read: the body is longer than the limit." if truncated else ""
