"""The words of a script that is JSON: data for programs, which may have content that no other part of the page has.

The words of a value stand on the place of its key, below the script, wherever the object is: so a counter, a token or
the number of a build is learned as a part of its own, and the order of keys does not matter. A key is a word too, and
so are numbers and literals. What is no JSON is read as bare words; every byte is read once or twice.
"""

import numpy as np
import numpy.typing as npt

from centime.model.kernel import Whole, bare_part
from centime.parse.words import mixed, name_of, place_of, value_words

Bytes = npt.NDArray[np.uint8]
Columns = npt.NDArray[np.int64]
Scratch = npt.NDArray[np.int64]

_BETWEEN = np.zeros(256, dtype=np.bool_)  # white space and `,:[]{}`
_BETWEEN[:33] = _BETWEEN[[44, 58, 91, 93, 123, 125]] = True
_QUOTE, _COLON, _BACKSLASH = 34, 58, 92


@bare_part
def data_words(
    data: Bytes, at: Whole, end: Whole, before: Whole, segment: Whole, columns: Columns, scratch: Scratch
) -> None:
    """Adds the words of the JSON between two places, in a script on a path."""
    path = mixed(before, segment)
    place = place_of(path, np.int64(0))
    while at < end:
        byte = data[at]
        begin = at
        if byte == _QUOTE:
            at = _string_end(data, at + 1, end)
            if _is_key(data, at + 1, end):
                place = place_of(path, name_of(data, begin + 1, at, False))
            value_words(data, begin + 1, at, False, place, columns, scratch)
        elif not _BETWEEN[byte]:
            while at < end and data[at] != _QUOTE and not _BETWEEN[data[at]]:
                at += 1
            value_words(data, begin, at, False, place, columns, scratch)
            continue
        at += 1


@bare_part
def _string_end(data: Bytes, at: Whole, end: Whole) -> Whole:
    """The place of the quote that ends a string, or the end of the text."""
    while at < end and data[at] != _QUOTE:
        at += 2 if data[at] == _BACKSLASH else 1
    return min(at, end)


@bare_part
def _is_key(data: Bytes, at: Whole, end: Whole) -> bool | np.bool_:
    """Whether a colon is next."""
    while at < end and data[at] <= 32:
        at += 1
    return at < end and data[at] == _COLON
