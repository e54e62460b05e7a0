"""What a page says, once its bytes have been understood."""

from dataclasses import dataclass

from centime.model.outcome import PageKind

NOFOLLOW = 1  # flags of a link
EMBEDDED = 2  # frames, XInclude, stylesheets: part of the page rather than a way on
REFRESH = 4  # meta refresh
ALTERNATE = 8  # hreflang, feeds
CANONICAL = 16  # link rel=canonical

MOST_LINKS = 65_534


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The links of a page as written, with what it says about itself.

    Columns, not objects: link k is `hrefs[k]` with `flags[k]` and, if asked for, `anchors[k]`. At most MOST_LINKS are
    kept.
    """

    kind: PageKind
    encoding: str = ""
    base: str = ""  # what relative links are relative to; the page's own URL unless it says otherwise
    hrefs: tuple[str, ...] = ()
    flags: bytes = b""
    anchors: tuple[str, ...] = ()
    links_found: int = 0  # before the cap
    canonical: str = ""  # as written
    noindex: bool = False
    nofollow: bool = False
    title: str = ""
    language: str = ""
    document_type: str = ""  # XML: system identifier of the DTD, or "" ; root element otherwise in `root`
    root: str = ""  # XML: name of the root element
    signature: int = 0  # 64 bits of the content that matters: equal when only dates, session ids and the like differ
    digest: bytes = b""  # 16 bytes of xxh3-128 of the raw body
    trouble: str = ""  # what was wrong with it, in one sentence
