"""A parsed page: its links and what it says about itself."""

from dataclasses import dataclass, field

from centime.model.outcome import PageKind
from centime.model.words import Words

NOFOLLOW = 1  # flags of a link
EMBEDDED = 2  # frames, XInclude, stylesheets: part of the page, not a link that a reader follows
REFRESH = 4  # meta refresh
ALTERNATE = 8  # hreflang, feeds
CANONICAL = 16  # link rel=canonical

MOST_LINKS = 65_534


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The links of a page as written, and its metadata.

    Links are columns, not objects: link k is `hrefs[k]` with `flags[k]` and, if requested, `anchors[k]`. At most
    MOST_LINKS links are kept.
    """

    kind: PageKind
    encoding: str = ""
    base: str = ""  # relative links are resolved against it; by default the page's own URL
    hrefs: tuple[str, ...] = ()
    flags: bytes = b""
    anchors: tuple[str, ...] = ()
    links_found: int = 0  # before the cap
    canonical: str = ""  # as written
    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False
    title: str = ""
    language: str = ""
    root: str = ""  # XML: name of the root element
    signature: int = 0  # hash of the words of the page, or of its bytes: equal when only markup differs
    digest: bytes = b""  # 16 bytes of xxh3-128 of the raw body
    trouble: str = ""  # one sentence that says what is wrong with the document
    requisites: tuple[str, ...] = ()  # the files that it needs to be shown, as written; empty unless requested
    words: Words | None = field(default=None, repr=False, compare=False)  # of HTML and XML
    selected: bool = False  # the words are those of elements that a person has selected: each of them matters
