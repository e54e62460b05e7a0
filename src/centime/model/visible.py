"""Makes text safe to show: no content of a server or a file can control a terminal or reorder a page.

Control characters (C0, DEL, C1), marks that reorder text (bidi), separators of lines and lone surrogates are escaped as
in Python: `\\x1b`, `\\u202e`. Every other character stays.
"""

import re

UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """The text in one line, with everything escaped that a terminal could obey."""
    return UNSAFE.sub(lambda found: ascii(found[0])[1:-1], text)
