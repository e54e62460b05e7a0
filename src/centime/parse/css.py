"""The files that a style sheet names: `url(...)`, `@import` and `image-set(...)`, in one pass over its text.

Tokens follow CSS Syntax Level 3: comments and strings hide everything, a string ends at a line end, escapes are
resolved, and a `url(` with a quote or a parenthesis inside is broken and names nothing. Everything that the end of the
sheet leaves open is closed by it. All expressions match at any place, and never backtrack, so the time is linear for
any text.

A file counts in any rule, whether or not the rule applies to the page: which of them apply depends on the reader's
screen. The URL of an `@namespace` is a name, not a file.
"""

import re
from collections.abc import Iterator

import webencodings

from centime.model.media_type import media_type_of
from centime.parse.encoding import as_utf8

_STRING = r"\"(?:[^\"\\\n\r\f]++|\\(?:\r\n|.|\Z))*+(?:\"|(?=[\n\r\f])|\Z)"
_STRINGS = f"{_STRING}|{_STRING.replace(chr(34), chr(39))}"
_COMMENT = r"/\*.*?(?:\*/|\Z)"
_HEX = r"\\[0-9A-Fa-f]{1,6}+(?:\r\n|[ \t\n\r\f])?+"  # white space behind it belongs to it
_TOKEN = re.compile(
    rf"{_COMMENT}"
    r"|@(?P<rule>import|namespace)(?![\w-])"
    r"|(?P<set>(?<![\w-])(?:-webkit-)?image-set\()"
    rf"|(?<![\w-])url\(\s*+(?:(?P<quoted>{_STRINGS})"
    rf"|(?P<bare>(?:[^\\\"'()\s]++|{_HEX}|\\[^\n\r\f]|\\\Z)*+)(?:(?P<whole>\s*+(?:\)|\Z))|(?:[^)\\]++|\\(?:.|\Z))*+\)?))"
    rf"|(?P<string>{_STRINGS})",
    re.DOTALL | re.IGNORECASE,
)
_FLAT = re.compile(rf"(?:[^()\"']++|{_STRINGS})*+", re.DOTALL)
_OF_SET = re.compile(rf"\((?:[^()\"']++|{_STRINGS})*+\)?|(?P<string>{_STRINGS})", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:([0-9A-Fa-f]{1,6})(?:\r\n|[ \t\n\r\f])?|(\r\n|[\n\r\f])|(.)|\Z)", re.DOTALL)
_CHARSET = re.compile(rb'@charset "([^"]{1,40})";')
_NOT_FILES = ("#", "data:", "about:", "javascript:", "blob:")


def css_text(body: bytes, content_type: str = "") -> str:
    """The text of a style sheet: by its byte order mark, the charset of its Content-Type, its `@charset`, or UTF-8."""
    said = _CHARSET.match(body)
    if said and not media_type_of(content_type).charset:
        known = webencodings.lookup(said[1].decode("latin-1"))
        content_type = f"text/css; charset={known.name}" if known and not known.name.startswith("utf-16") else ""
    return as_utf8(body, content_type or "text/css; charset=utf-8", xml=True)[0].decode()


def files_of_css(text: str) -> Iterator[str]:
    """The URLs of the files that a style sheet, or the style of an element, names, as written, without escapes."""
    rule = ""
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        if kind == "rule":
            rule = token["rule"].lower()
            continue
        written: str | None = None
        if kind == "set":
            for inside in _OF_SET.finditer(text, token.end(), _end_of_set(text, token.end())):
                if inside["string"]:
                    yield from _file(_unquoted(inside["string"]))
        elif kind == "quoted":
            written = _unquoted(token["quoted"])
        elif kind == "whole":
            written = token["bare"]
        elif kind == "string" and rule == "import":
            written = _unquoted(token["string"])
        if written is not None and rule != "namespace":
            yield from _file(written)
        if kind is not None:  # not a comment
            rule = ""


def _end_of_set(text: str, at: int) -> int:
    """The end of an image-set, or the place of a parenthesis in it that contains another one or stays open. Strings up
    to there are files, except those in parentheses, which are types.
    """
    while True:
        at = _behind_flat(text, at)
        end = _behind_flat(text, at + 1) if text.startswith("(", at) else len(text)
        if not text.startswith(")", end):
            return at
        at = end + 1


def _behind_flat(text: str, at: int) -> int:
    found = _FLAT.match(text, at)
    return found.end() if found else at


def is_file(href: str) -> bool:
    """Whether an href may name a file of a server: it is not empty, no fragment, and not the data itself."""
    return bool(href) and not href[:11].lower().startswith(_NOT_FILES)


def _file(written: str) -> Iterator[str]:
    href = (_ESCAPE.sub(_resolved, written) if "\\" in written else written).strip()
    if is_file(href):
        yield href


def _unquoted(string: str) -> str:
    """The inside of a string, whose end may be missing."""
    return string[1:-1] if len(string) > 1 and string[-1] == string[0] and not _ends_escaped(string) else string[1:]


def _ends_escaped(string: str) -> bool:
    """Whether the last character of a string is escaped."""
    return (len(string) - 1 - len(string[:-1].rstrip("\\"))) % 2 == 1


def _resolved(escape: re.Match[str]) -> str:
    if escape[1]:
        code = int(escape[1], 16)
        return chr(code) if 0 < code < 0xD800 or 0xDFFF < code < 0x110000 else "\ufffd"
    return escape[3] or ""
