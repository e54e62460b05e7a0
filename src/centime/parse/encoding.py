"""The encoding of a page, in the order of WHATWG, and its text as UTF-8, which is all that the parsers understand.

Order: byte order mark, charset of the header, then for HTML a `<meta charset>` among the first 1 024 bytes, for XML the XML
declaration; at last UTF-8 if the body is valid UTF-8, and windows-1252 if it is not. Labels mean what WHATWG says they mean
(`latin1` is windows-1252); an unknown label counts for nothing; a `<meta>` that says UTF-16 cannot be right and means UTF-8.

Trap: a parser of bytes that is told UTF-8 and given something else spoils every href with an accent in it. Bytes that are not
valid in the encoding become U+FFFD, as everywhere on the web.
"""

import re

import webencodings

PRESCAN = 1_024

_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([^\s\"';,>]+)", re.IGNORECASE)
_META = re.compile(rb"<!--.*?(?:-->|\Z)|<meta[\s/]([^>]*)", re.IGNORECASE | re.DOTALL)
_XML = re.compile(rb"<\?xml[^>]*?\sencoding\s*=\s*[\"']([A-Za-z][A-Za-z0-9._-]*)[\"']")
_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le"))


def as_utf8(body: bytes, content_type: str = "", *, xml: bool = False) -> tuple[bytes, str]:
    """The body in UTF-8 without byte order mark, and the WHATWG name of the encoding it was in."""
    for mark, name in _MARKS:
        if body.startswith(mark):
            return _recoded(body[len(mark) :], name), name
    declared = _CHARSET.search(content_type) if content_type else None
    name = _name(declared[1]) if declared else ""
    if not name:
        name = _xml_word(body) if xml else _meta_word(body)
    if name:
        return _recoded(body, name), name
    if body.isascii():
        return body, "utf-8"
    try:
        body.decode()
    except UnicodeDecodeError:
        return _recoded(body, "windows-1252"), "windows-1252"
    return body, "utf-8"


def _recoded(body: bytes, name: str) -> bytes:
    """The body from an encoding into UTF-8; left alone where it is valid already."""
    if name == "utf-8":
        if body.isascii():
            return body
        try:
            body.decode()
        except UnicodeDecodeError:
            return body.decode("utf-8", "replace").encode()
        return body
    decoded: str = webencodings.decode(body, name)[0]
    return decoded.encode("utf-8", "replace")


def _name(label: str) -> str:
    """The WHATWG name that a label stands for, nothing if it stands for none."""
    found = webencodings.lookup(label)
    return found.name if found else ""


def _xml_word(body: bytes) -> str:
    """What the XML declaration says, or what its first bytes give away."""
    if body.startswith(b"<\x00?\x00"):
        return "utf-16le"
    if body.startswith(b"\x00<\x00?"):
        return "utf-16be"
    found = _XML.match(body, 0, PRESCAN)
    return _not_wide(_name(found[1].decode("ascii"))) if found else ""


def _meta_word(body: bytes) -> str:
    """What the first `<meta>` with a charset says, outside comments."""
    for found in _META.finditer(body, 0, PRESCAN):
        charset = _CHARSET.search(found[1].decode("latin-1")) if found[1] else None
        name = _name(charset[1]) if charset else ""
        if name:
            return _not_wide(name)
    return ""


def _not_wide(name: str) -> str:
    """What could be read in ASCII is not UTF-16, whatever it says."""
    return "utf-8" if name.startswith("utf-16") else name
