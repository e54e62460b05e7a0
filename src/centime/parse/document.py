"""Bytes to a document: the entry point of this folder.

Guarantee: it never raises, whatever the bytes, and time and memory are bounded by a constant per byte (`parse/scan.py`
explains how for HTML, `parse/xml.py` for XML). A documentation page of 25 KB with its links, directives and signature
takes about a seventh of a millisecond.
"""

import xxhash

from centime.model.document import Document
from centime.model.outcome import PageKind
from centime.parse.dtd import read_dtd
from centime.parse.encoding import as_utf8
from centime.parse.html import read_html
from centime.parse.kind import kind_of
from centime.parse.xml import read_xml


def read_document(
    body: bytes, *, url: str, content_type: str = "", anchors: bool = False, truncated: bool = False
) -> Document:
    """The document at `url` with this body: kind, links as written, directives, signature and digest."""
    digest = xxhash.xxh3_128_digest(body)
    kind = kind_of(body, content_type)
    if kind is PageKind.OTHER:
        return Document(
            kind=kind, base=url, digest=digest, signature=int.from_bytes(digest[:8], "big"), trouble=_cut(truncated)
        )
    text, encoding = as_utf8(body, content_type, xml=kind is not PageKind.HTML, url=url)
    if kind is PageKind.HTML:
        return read_html(text, url=url, encoding=encoding, digest=digest, anchors=anchors, trouble=_cut(truncated))
    read = read_dtd if kind is PageKind.DTD else read_xml
    return read(text, url=url, encoding=encoding, digest=digest, anchors=anchors, trouble=_cut(truncated))


def _cut(truncated: bool) -> str:
    """The note about a truncated body; empty for a complete one."""
    return "Only the beginning was read: the body is longer than the limit." if truncated else ""
