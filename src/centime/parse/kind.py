"""What kind of page some bytes are: by the server's word, corrected by a look at the beginning.

- A declared HTML type is HTML, unless the body opens with an XML declaration and its root is not `html`: then it is XML. XHTML that
  is served as text/html is thus read as browsers read it; the reader of XML would take five times as long.
- A declared XML type is XML, unless its root is `html` without the XHTML namespace: then it is HTML. Other XHTML is read as XML.
- DTD: declared as such, or a body that opens with declarations (`<!ELEMENT`, `<!ENTITY`, `<!ATTLIST`) and no element.
- No type, `text/plain` or `application/octet-stream`: what the beginning looks like; but plain text is never HTML, as for browsers: people
  show source code that way.
- Everything else, PDFs and pictures among it, is OTHER; so is what opens with a NUL byte outside UTF-16, whatever was declared.
"""

import re

from centime.model.outcome import PageKind

LOOK = 2_048  # bytes that are looked at

_HTML_TYPES = frozenset(["text/html", "application/xhtml+xml"])
_VAGUE_TYPES = frozenset(
    [
        "",
        "text/plain",
        "application/octet-stream",
        "application/unknown",
        "unknown/unknown",
        "*/*",
        "binary/octet-stream",
    ]
)
_DTD_TYPES = frozenset(
    ["application/xml-dtd", "text/xml-dtd", "application/xml-external-parsed-entity", "text/xml-external-parsed-entity"]
)
_BINARY = (
    b"%PDF-",
    b"%!PS",
    b"\x89PNG",
    b"GIF8",
    b"\xff\xd8\xff",
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"BM",
    b"RIFF",
    b"OggS",
    b"\x00\x00\x01\x00",
    b"wOF",
    b"ID3",
)

# What may stand before the root element: white space, comments, instructions, a document type.
_SKIP = re.compile(rb"(?:\s++|<!--.*?-->|<\?.*?\?>|<!DOCTYPE[^>\[]*+(?:\[.*?\]\s*+)?>)*+", re.DOTALL | re.IGNORECASE)
_ELEMENT = re.compile(rb"<([A-Za-z_][^\s/>]*+)([^>]*+)")
_DECLARATION = re.compile(rb"<!(?:ELEMENT|ENTITY|ATTLIST|NOTATION)\s|<!\[\s*(?:%|INCLUDE|IGNORE)")
_HTML_TAG = re.compile(
    rb"<(?:!DOCTYPE\s+html|html|head|body|script|iframe|h1|div|font|table|a|style|title|b|br|p|meta|link|frameset)[\s>]",
    re.IGNORECASE,
)


def kind_of(body: bytes, content_type: str = "") -> PageKind:
    """The kind of a page: HTML, XML, DTD or OTHER."""
    declared = content_type.partition(";")[0].strip().lower()
    head = _beginning(body)
    if declared in _DTD_TYPES:
        return PageKind.DTD
    if declared in _HTML_TYPES:
        is_xml = _is_no_page if declared == "text/html" else lambda head: _root_kind(head) is PageKind.XML
        return _binary(head) or (PageKind.XML if head.startswith(b"<?xml") and is_xml(head) else PageKind.HTML)
    if declared in ("text/xml", "application/xml") or declared.endswith("+xml"):
        return _binary(head) or _root_kind(head, declared_xml=True) or PageKind.XML
    if declared in _VAGUE_TYPES:
        found = _binary(head) or _root_kind(head) or PageKind.OTHER
        return PageKind.OTHER if declared == "text/plain" and found is PageKind.HTML else found
    return PageKind.OTHER


def _beginning(body: bytes) -> bytes:
    """The first bytes in an encoding that agrees with ASCII, without byte order mark and leading white space."""
    head = body[:LOOK]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        head = head.decode("utf-16", "replace").encode()
    elif head.startswith((b"<\x00", b"\x00<")):
        head = head.decode("utf-16-le" if head[0] else "utf-16-be", "replace").encode()
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()


def _binary(head: bytes) -> PageKind | None:
    """OTHER for bytes that no text begins with."""
    return PageKind.OTHER if head.startswith(_BINARY) or b"\x00" in head[:64] else None


def _is_no_page(head: bytes) -> bool:
    """Whether the first element says that this is XML and no HTML of whatever kind."""
    skipped = _SKIP.match(head)
    root = _ELEMENT.match(head, skipped.end() if skipped else 0)
    return root is not None and root[1].lower() != b"html"


def _root_kind(head: bytes, *, declared_xml: bool = False) -> PageKind | None:
    """The kind that the first element speaks for; None without one. In what says it is XML, only `html` speaks for
    HTML.
    """
    skipped = _SKIP.match(head)
    at = skipped.end() if skipped else 0
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
