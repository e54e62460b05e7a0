"""Finds the encoding of a page by the rules of WHATWG, and converts its text to UTF-8, which all parsers here expect.

The first of these that is present decides: a byte order mark, the charset of the Content-Type header, a `<meta
charset>` in the first MOST_SEARCHED bytes of HTML, or the XML declaration of XML. (Browsers look at 1 024 bytes in
advance, and start again when they meet a `<meta>` later.) Without any of them, a valid UTF-8 body is UTF-8, and the
encoding of any other is detected as Firefox does it (chardetng), with the top-level domain as a hint; `python -m
bench.encodings` measures how well. Labels have the meaning that WHATWG gives them (`latin1` is windows-1252), and an
unknown label is ignored. A `<meta>` that says UTF-16 must be wrong, so it means UTF-8.

Trap: a byte parser that expects UTF-8 and gets another encoding damages every href with an accent. Bytes that are not
valid in the encoding become U+FFFD, as in browsers.

The query of a link is sent to the server in the encoding of the page, as a form on the page would send it.
"""

import codecs
import re
from collections.abc import Callable

import webencodings
from chardetng_py import EncodingDetector

from centime.model.address import host_of, name_of
from centime.model.media_type import media_type_of

PRESCAN = 1_024  # bytes in which the XML declaration must end, and in which most pages have their `<meta charset>`
MOST_SEARCHED = 1 << 16  # bytes in which a `<meta charset>` counts
MOST_DETECTED = 1 << 20  # bytes at the beginning from which an encoding is detected

_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([^\s\"';,>]+)", re.IGNORECASE)
# A `<meta>`, or something that hides one: a comment, or an element whose text is not markup.
_META = re.compile(
    rb"<(?:!--.*?(?:-->|\Z)|(script|style|title|textarea|xmp|iframe|noembed|noframes)[\s/>].*?(?:</\1[\s/>]|\Z)"
    rb"|meta[\s/]([^>]*))",
    re.IGNORECASE | re.DOTALL,
)
_ATTRIBUTE = re.compile(r"([^\s/>=\"']+)\s*(?:=\s*(?:\"([^\"]*)|'([^']*)|([^\s>\"']+)))?")
_XML = re.compile(rb"<\?xml[^>]*?\sencoding\s*=\s*[\"']([A-Za-z][A-Za-z0-9._-]*)[\"']")
_LABEL = b"charset"
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_IN_QUERY = tuple(chr(byte) if 32 < byte < 127 and chr(byte) not in "\"#<>'" else f"%{byte:02X}" for byte in range(256))
_ESCAPED_JAPANESE = b"\x1b$"  # of ISO-2022-JP, the only encoding in use whose bytes are all ASCII
_ODD_NAMES = {"cp874": "windows-874"}  # Python's name, for that of WHATWG
_DOMAIN = re.compile(r"[a-z][a-z0-9-]*")
_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le"))


def as_utf8(body: bytes, content_type: str = "", *, xml: bool = False, url: str = "") -> tuple[bytes, str]:
    """The body in UTF-8 without a byte order mark, and the WHATWG name of its original encoding; `url` is where it is
    from.
    """
    for mark, name in _MARKS:
        if body.startswith(mark):
            return _recoded(body[len(mark) :], name), name
    name = declared_encoding(content_type)
    if not name:
        name = _xml_word(body) if xml else _meta_word(body)
    if name:
        return _recoded(body, name), name
    if body.isascii():
        if _ESCAPED_JAPANESE not in body:
            return body, "utf-8"
    else:
        try:
            body.decode()
        except UnicodeDecodeError:
            pass
        else:
            return body, "utf-8"
    name = _detected(body, url)
    return _recoded(body, name), name


def load_codecs() -> None:
    """Loads the codecs for decoding: a process that cannot open files any more could not load them later."""
    for name in webencodings.LABELS.values():
        webencodings.lookup(name)
    codecs.lookup("utf-32")


def with_declared_encoding(body: bytes, content_type: str) -> bytes:
    """The body of XML for a parser that knows no Content-Type: in UTF-8 behind a byte order mark, which counts more
    than an XML declaration, if the Content-Type names an encoding; else unchanged.
    """
    name = declared_encoding(content_type)
    if not name or body.startswith(tuple(mark for mark, _ in _MARKS)):
        return body
    return codecs.BOM_UTF8 + (body if name == "utf-8" else _recoded(body, name))


def declared_encoding(content_type: str) -> str:
    """The WHATWG name of the encoding that a Content-Type names; empty if it names none."""
    charset = media_type_of(content_type).charset
    return _name(charset) if charset else ""


def with_queries_in(hrefs: tuple[str, ...], encoding: str) -> tuple[str, ...]:
    """The hrefs of an HTML page, with non-ASCII characters of queries percent-encoded in the page's encoding (WHATWG).

    URLs are in UTF-8 by default, and UTF-16 pages send UTF-8 too. A character that the encoding does not have is sent
    as a numeric character reference.
    """
    if encoding.startswith("utf-") or encoding == "replacement" or "".join(hrefs).isascii():
        return hrefs
    known = webencodings.lookup(encoding)
    if known is None:
        return hrefs
    encode = known.codec_info.encode
    return tuple(href if href.isascii() else _with_query_in(href, encode) for href in hrefs)


def _with_query_in(href: str, encode: Callable[[str, str], tuple[bytes, int]]) -> str:
    """The href with its query, from the first `?` to the fragment, percent-encoded."""
    address, hash_sign, fragment = href.partition("#")
    path, mark, query = address.partition("?")
    query = _NOT_ASCII.sub(lambda found: "".join(map(_IN_QUERY.__getitem__, encode(found[0], _BY_NUMBER)[0])), query)
    return f"{path}{mark}{query}{hash_sign}{fragment}"


def _by_number(error: UnicodeError) -> tuple[str, int]:
    """Characters that an encoding does not have, as percent-encoded numeric character references."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(f"%26%23{ord(character)}%3B" for character in error.object[error.start : error.end]), error.end


_BY_NUMBER = "centime-by-number"
codecs.register_error(_BY_NUMBER, _by_number)


def _recoded(body: bytes, name: str) -> bytes:
    """The body converted from an encoding to UTF-8; unchanged if it is valid UTF-8 already."""
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


def _detected(body: bytes, url: str) -> str:
    """The encoding of a body that declares none and is not UTF-8, by its bytes and its top-level domain."""
    domain = name_of(host_of(url)).rpartition(".")[2] if url else ""
    detector = EncodingDetector()
    detector.feed(body[:MOST_DETECTED], last=len(body) <= MOST_DETECTED)
    guess = detector.guess(tld=domain.encode() if _DOMAIN.fullmatch(domain) else None, allow_utf8=False)
    return _name(_ODD_NAMES.get(guess, guess)) or "windows-1252"


def _name(label: str) -> str:
    """The WHATWG name of the encoding with this label; empty if the label is unknown."""
    found = webencodings.lookup(label)
    return found.name if found else ""


def _xml_word(body: bytes) -> str:
    """The encoding of the XML declaration, or UTF-16 if its first bytes show it; empty if there is none."""
    if body.startswith(b"<\x00?\x00"):
        return "utf-16le"
    if body.startswith(b"\x00<\x00?"):
        return "utf-16be"
    found = _XML.match(body, 0, PRESCAN)
    return _not_wide(_name(found[1].decode("ascii"))) if found else ""


def _meta_word(body: bytes) -> str:
    """The encoding of the first `<meta>` with a known charset, outside comments; empty if there is none."""
    name = _meta_word_before(body, PRESCAN)
    if name or _LABEL not in body[:MOST_SEARCHED].lower():
        return name
    return _meta_word_before(body, MOST_SEARCHED)


def _meta_word_before(body: bytes, end: int) -> str:
    """The same for the text before a place."""
    for found in _META.finditer(body, 0, end):
        name = _name(_charset_of(found[2].decode("latin-1"))) if found[2] and found.end() < end else ""
        if name:
            return _not_wide(name)
    return ""


def _charset_of(attributes: str) -> str:
    """The charset that a `<meta>` with these attributes declares; empty if it declares none."""
    said: dict[str, str] = {}
    for name, *values in _ATTRIBUTE.findall(attributes):
        said.setdefault(name.lower(), "".join(values))
    if "charset" in said or said.get("http-equiv", "").strip().lower() != "content-type":
        return said.get("charset", "").strip()
    charset = _CHARSET.search(said.get("content", ""))
    return charset[1] if charset else ""


def _not_wide(name: str) -> str:
    """UTF-8 instead of UTF-16: a declaration that is readable as ASCII cannot be in UTF-16."""
    return "utf-8" if name.startswith("utf-16") else name
