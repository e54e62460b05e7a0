"""The media type of a response and its charset, by the rules of the Fetch standard ("extract a MIME type").

A server may send several types: Content-Type headers, or one with a list. The last valid one counts. If the one before
it is the same type, its charset is carried over. A text that is not a type (`html`, `*/*`) is skipped, and if there is
no other, the type is empty: then the first bytes of the body decide. As in browsers, a type ends at a blank, too:
`text/html charset=utf-8`. Unlike in the standard, the charset beside such a text counts.
"""

import re
from functools import lru_cache
from typing import NamedTuple

_PART = re.compile(r'(?:[^",]|"(?:[^"\\]|\\.)*(?:"|\\?\Z))+', re.DOTALL)  # between commas outside quotes
_TYPE = re.compile(r"\s*+([!#$%&'*+.^_`|~\w-]++/[!#$%&'*+.^_`|~\w-]++)(?=[\s;(]|\Z)", re.ASCII)
_CHARSET = re.compile(r"(?<![^\s;(])charset\s*+=\s*+[\"']?\s*+([^\s\"';,>]++)", re.IGNORECASE)


class MediaType(NamedTuple):
    """A type in lower case without parameters, and its charset as written; each of them may be empty."""

    name: str
    charset: str


@lru_cache(maxsize=256)
def media_type_of(content_type: str) -> MediaType:
    """The type that the value of a Content-Type header declares; several values are separated by commas."""
    found, stray = MediaType("", ""), ""
    for part in _PART.findall(content_type):
        said, label = _TYPE.match(part), _CHARSET.search(part)
        charset = label[1] if label else ""
        if said is None or said[1] == "*/*":
            stray = charset or stray
            continue
        name = said[1].lower()
        found = MediaType(name, charset or (found.charset if name == found.name else ""))
    return found if found.name else MediaType("", stray)
