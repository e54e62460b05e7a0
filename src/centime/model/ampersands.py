"""Unescaped ampersands in XML.

Traps of libxml2 when it recovers from errors: it drops the name after an unescaped ampersand, and after any error it
drops every `&amp;`, but it keeps `&#38;`. So a document with errors is parsed a second time with every ampersand
written as `&#38;`. In attributes, libxml2 then leaves `&#38;` undecoded.
"""

import re

MOST_AMPERSANDS = 500_000

# CDATA and comments, which stay as they are; a predefined reference; or an ampersand that begins no reference.
_AMPERSAND = re.compile(
    rb"(<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z))"
    rb"|&(?:(amp|lt|gt|quot|apos);|(?!(?:#[0-9]++|#x[0-9A-Fa-f]++|[A-Za-z_:\x80-\xff][\w.:\x80-\xff-]*+);))",
    re.DOTALL,
)
_BY_NUMBER = {b"amp": b"&#38;", b"lt": b"&#60;", b"gt": b"&#62;", b"quot": b"&#34;", b"apos": b"&#39;", None: b"&#38;"}


def by_number(text: bytes) -> bytes:
    """XML (not in UTF-16) with its first MOST_AMPERSANDS ampersands, escaped or not, as numeric references."""
    return _AMPERSAND.sub(lambda match: match[1] or _BY_NUMBER[match[2]], text, count=MOST_AMPERSANDS)
