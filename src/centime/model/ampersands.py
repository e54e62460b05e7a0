"""Ampersands in XML that nobody escaped.

Traps of libxml2 where it recovers from errors: of such an ampersand it drops the name behind it, and after any error
every `&amp;`; but not `&#38;`. So a document with errors is read a second time with all of them written that way. In
attributes it then leaves `&#38;` as it is.
"""

import re

MOST_AMPERSANDS = 500_000

# What is left alone; a reference that any XML knows; or an ampersand that begins no reference.
_AMPERSAND = re.compile(
    rb"(<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z))"
    rb"|&(?:(amp|lt|gt|quot|apos);|(?!(?:#[0-9]++|#x[0-9A-Fa-f]++|[A-Za-z_:\x80-\xff][\w.:\x80-\xff-]*+);))",
    re.DOTALL,
)
_BY_NUMBER = {b"amp": b"&#38;", b"lt": b"&#60;", b"gt": b"&#62;", b"quot": b"&#34;", b"apos": b"&#39;", None: b"&#38;"}


def by_number(text: bytes) -> bytes:
    """XML (not in UTF-16) with up to MOST_AMPERSANDS of its ampersands, escaped or not, as references by number."""
    return _AMPERSAND.sub(lambda match: match[1] or _BY_NUMBER[match[2]], text, count=MOST_AMPERSANDS)
