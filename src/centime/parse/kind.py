"""The kind of a page: the declared content type, corrected by the first bytes of the body.

- A declared HTML type is HTML, unless the body begins with an XML declaration and its root is not `html`: then it is
  XML. So XHTML served as text/html is parsed as browsers parse it; the XML parser would take five times as long.
- A declared XML type is XML, also `application/xhtml+xml`, unless its root is `html` without the XHTML namespace: then
  it is HTML. Browsers decide by the type too: in XML, `<script/>` ends at once, in HTML it includes everything that
  follows.
- A DTD is declared as such, or begins with declarations (`<!ELEMENT`, `<!ENTITY`, `<!ATTLIST`) and no element.
- Without a type, or with `text/plain` or `application/octet-stream`, the beginning of the body decides. But plain text
  is never HTML, as in browsers, because people publish source code that way.
- Everything else is OTHER, for example PDFs and images. So is a body that begins like a file of another kind (a PDF, an
  image, an archive), whatever type is declared. A NUL byte proves nothing: browsers show a declared page that has one.
  Only a body without a type, or with a vague one, is not XML or a DTD if it has a NUL byte, except in UTF-16.
"""

import re

from centime.model.media_type import media_type_of
from centime.model.outcome import PageKind
from centime.model.prologue import behind_prologue

LOOK = 2_048  # bytes at the beginning that decide
LOOK_PDF = 1_024  # in which readers of PDFs look for the header: servers put anything before it

_VAGUE_TYPES = frozenset(
    [
        "",
        "text/plain",
        "application/octet-stream",
        "application/unknown",
        "unknown/unknown",
        "binary/octet-stream",
    ]
)
_PDF_TYPES = frozenset(["application/pdf", "application/x-pdf"])
_PDF_HEADER = re.compile(rb"[\r\n\0]%PDF-\d\.\d")
_DTD_TYPES = frozenset(
    ["application/xml-dtd", "text/xml-dtd", "application/xml-external-parsed-entity", "text/xml-external-parsed-entity"]
)
# Beginnings of files that are not pages. Signatures that are words (BM, RIFF) count only with the bytes that follow in
# such a file.
_BINARY = re.compile(
    rb"%PDF-|%!PS|\x89PNG|GIF8[79]a|\xff\xd8\xff|BM.{4}\x00{4}|RIFF.{4}(?:WEBP|WAVE|AVI )|\x00\x00[\x01\x02]\x00"
    rb"|II\*\x00|MM\x00\*|\x00\x00..ftyp|\x00\x00\x01[\xba\xb3]|\x1a\x45\xdf\xa3|OggS\x00|ID3[\x00-\x08]"
    rb"|wOF[F2]|OTTO\x00|\x00\x01\x00\x00\x00|PK(?:\x03\x04|\x05\x06)|\x1f\x8b|7z\xbc\xaf\x27|Rar!\x1a|BZh[1-9]1AY"
    rb"|\xfd7zXZ\x00|\x28\xb5\x2f\xfd|\x7fELF|MZ.\x00|\xca\xfe\xba\xbe|\x00asm|\xd0\xcf\x11\xe0|SQLite format 3\x00",
    re.DOTALL,
)

_ELEMENT = re.compile(rb"<([A-Za-z_][^\s/>]*+)([^>]*+)")
_DECLARATION = re.compile(rb"<!(?:ELEMENT|ENTITY|ATTLIST|NOTATION)\s|<!\[\s*(?:%|INCLUDE|IGNORE)")
_HTML_TAG = re.compile(
    rb"<(?:!DOCTYPE\s+html|html|head|body|script|iframe|h1|div|font|table|a|style|title|b|br|p|meta|link|frameset)[\s>]",
    re.IGNORECASE,
)


def kind_of(body: bytes, content_type: str = "") -> PageKind:
    """The kind of a page: HTML, XML, DTD or OTHER."""
    declared = media_type_of(content_type).name
    if declared in _DTD_TYPES:
        return PageKind.DTD
    head = _beginning(body)
    if _BINARY.match(head):
        return PageKind.OTHER
    if declared == "text/html":
        return PageKind.XML if head.startswith(b"<?xml") and _is_no_page(head) else PageKind.HTML
    if declared in ("text/xml", "application/xml") or declared.endswith("+xml"):
        return _root_kind(head, declared_xml=True) or PageKind.XML
    if declared not in _VAGUE_TYPES:
        return PageKind.OTHER
    found = _root_kind(head) or PageKind.OTHER
    if found is PageKind.HTML:
        return PageKind.OTHER if declared == "text/plain" else found
    return PageKind.OTHER if b"\0" in head[:64] else found


def is_binary(body: bytes, content_type: str = "") -> bool:
    """Whether a body that is not a page is a file without text of its own: a PDF, an image, an archive."""
    return _BINARY.match(_beginning(body)) is not None or is_pdf(body, content_type)


def is_pdf(body: bytes, content_type: str = "") -> bool:
    """Whether a body that is not a page is a PDF: it begins like one, is declared as one, or has a vague type and the
    header of a PDF among its first bytes. A body declared as plain text may be about PDFs.
    """
    declared = media_type_of(content_type).name
    if declared in _PDF_TYPES or _beginning(body).startswith(b"%PDF-"):
        return True
    return declared in _VAGUE_TYPES - {"text/plain"} and _PDF_HEADER.search(body[:LOOK_PDF]) is not None


def _beginning(body: bytes) -> bytes:
    """The first bytes in an ASCII-compatible encoding, without a byte order mark and leading white space."""
    head = body[:LOOK]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        head = head.decode("utf-16", "replace").encode()
    elif head.startswith((b"<\x00", b"\x00<")):
        head = head.decode("utf-16-le" if head[0] else "utf-16-be", "replace").encode()
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()


def _is_no_page(head: bytes) -> bool:
    """Whether the root element is anything but `html`, so that this is XML and not XHTML."""
    root = _ELEMENT.match(head, behind_prologue(head))
    return root is not None and root[1].lower() != b"html"


def _root_kind(head: bytes, *, declared_xml: bool = False) -> PageKind | None:
    """The kind that the first element indicates; None if there is no element. In declared XML, only `html` indicates
    HTML.
    """
    at = behind_prologue(head)
    if _DECLARATION.match(head, at):
        return PageKind.DTD
    root = _ELEMENT.match(head, at)
    if declared_xml or head.startswith(b"<?xml"):
        plain_html = root and root[1].lower() == b"html" and b"1999/xhtml" not in root[2]
        return PageKind.HTML if plain_html else PageKind.XML
    if root and root[1] == b"html" and b"1999/xhtml" in root[2] and b"XHTML" not in head[:at]:
        return PageKind.XML
    if _HTML_TAG.match(head, at) or _HTML_TAG.match(head):
        return PageKind.HTML
    return PageKind.XML if root else None
