"""Finds the ends of HTML tokens by the states of WHATWG's tokenizer: attributes, comments, raw text, scripts.

Each function takes the place where a token begins and returns the place after it. All of them read each byte once, so
the whole is linear. A tag that the page ends in is not a tag: END_OF_PAGE.

Rules that are easy to forget: quotes hide a `>` only in a value; `<a href=x/>` has the value `x/`; the first of two
attributes with one name counts; `<!-->` and `<!--->` are complete comments, and `--!>` ends a comment; inside
`<!-- <script>`, only the second `</script>` closes the script.
"""

import numpy as np
import numpy.typing as npt

from centime.model.kernel import Whole, bare_inlined, bare_part
from centime.parse.names import (
    CODE_MASK,
    HIDDEN_CODE,
    KINDS,
    LOWER,
    SPACE,
    STYLE_CODE,
    TAG_END,
    attribute_name_at,
    code_of,
)

Bytes = npt.NDArray[np.uint8]
Scratch = npt.NDArray[np.int64]

END_OF_PAGE = -1
# The result of `attributes`: begin and end of three values, -1 if missing, and marks.
FIRST, SECOND, THIRD, MARKS = 0, 2, 4, 6
IS_HIDDEN, IS_CLOSED, IS_STYLED = 1, 2, 4

_SCRIPT = code_of("script")
_DISPLAY, _NONE, _CDATA = (np.frombuffer(word, dtype=np.uint8) for word in (b"display", b"none", b"<![CDATA["))


@bare_inlined
def attributes(data: Bytes, at: Whole, first: Whole, second: Whole, third: Whole, found: Scratch) -> Whole:
    """Finds the values of three attributes, and whether the element is hidden or self-closing; returns the place after
    the tag.
    """
    size = len(data)
    found[FIRST] = found[SECOND] = found[THIRD] = -1
    found[MARKS] = 0
    while at < size:
        byte = data[at]
        if byte == 62:
            return at + 1
        if byte == 47:
            at += 1
            if at < size and data[at] == 62:
                found[MARKS] |= IS_CLOSED
                return at + 1
            continue
        if KINDS[byte] & SPACE:
            at += 1
            continue
        code, at = attribute_name_at(data, at, size)
        start, end = at, at
        if at < size and data[at] == 61:
            start, end, at = value_at(data, at + 1)
            if at < 0:
                break
        if code == first:
            slot = FIRST
        elif code == second:
            slot = SECOND
        elif code == third:
            slot = THIRD
        else:
            if code == HIDDEN_CODE:
                found[MARKS] |= IS_HIDDEN
            elif code == STYLE_CODE and not found[MARKS] & IS_STYLED:
                found[MARKS] |= IS_STYLED | (IS_HIDDEN if _undisplayed(data, start, end) else 0)
            continue
        if found[slot] < 0:
            found[slot] = start
            found[slot + 1] = end
    return END_OF_PAGE


@bare_inlined
def value_at(data: Bytes, at: Whole) -> tuple[Whole, Whole, Whole]:
    """Begin and end of the value after a `=`, and the place after it."""
    size = len(data)
    while at < size and KINDS[data[at]] & SPACE:
        at += 1
    if at >= size:
        return at, at, END_OF_PAGE
    quote = data[at]
    if quote == 34 or quote == 39:
        at += 1
        start = at
        while at < size and data[at] != quote:
            at += 1
        return start, at, at + 1 if at < size else END_OF_PAGE
    start = at
    while at < size and data[at] != 62 and not KINDS[data[at]] & SPACE:
        at += 1
    return start, at, at


@bare_part
def _undisplayed(data: Bytes, at: Whole, end: Whole) -> bool | np.bool_:
    """Whether a style contains `display: none`."""
    while at + 11 < end:
        if _says(data, at, end, _DISPLAY):
            place = _behind_space(data, at + 7, end)
            if place < end and data[place] == 58 and _says(data, _behind_space(data, place + 1, end), end, _NONE):
                return True
            at += 7
        else:
            at += 1
    return False


@bare_inlined
def _behind_space(data: Bytes, at: Whole, end: Whole) -> Whole:
    """The next place that is not white space, at most eight bytes away."""
    for place in range(at, min(at + 8, end)):
        if not KINDS[data[place]] & SPACE:
            return place
    return min(at + 8, end)


@bare_inlined
def _says(data: Bytes, at: Whole, end: Whole, word: Bytes) -> bool | np.bool_:
    """Whether a word, given in lower case, is at `at`, in any case."""
    place = 0
    while place < len(word) and at + place < end and LOWER[data[at + place]] == word[place]:
        place += 1
    return place == len(word)


@bare_part
def declaration_end(data: Bytes, at: Whole) -> Whole:
    """The place after the comment or declaration that begins at `at`."""
    size = len(data)
    if at + 3 < size and data[at + 1] == 33 and data[at + 2] == 45 and data[at + 3] == 45:
        return _comment_end(data, at + 4)
    while at < size and data[at] != 62:
        at += 1
    return min(at + 1, size)


@bare_inlined
def _comment_end(data: Bytes, at: Whole) -> Whole:
    """The place after the comment whose text begins at `at`."""
    size = len(data)
    if at < size and data[at] == 62:
        return at + 1
    if at + 1 < size and data[at] == 45 and data[at + 1] == 62:
        return at + 2
    while at + 2 < size:
        if data[at] == 45 and data[at + 1] == 45:
            if data[at + 2] == 62:
                return at + 3
            if data[at + 2] == 33 and at + 3 < size and data[at + 3] == 62:
                return at + 4
        at += 1
    return size


@bare_inlined
def is_cdata(data: Bytes, at: Whole) -> bool | np.bool_:
    """Whether `<![CDATA[` is at `at`."""
    place = 0
    while place < len(_CDATA) and at + place < len(data) and data[at + place] == _CDATA[place]:
        place += 1
    return place == len(_CDATA)


@bare_inlined
def cdata_end(data: Bytes, at: Whole) -> Whole:
    """The end of the text of a CDATA section."""
    while at + 2 < len(data):
        if data[at] == 93 and data[at + 1] == 93 and data[at + 2] == 62:
            return at
        at += 1
    return len(data)


@bare_inlined
def _letters(data: Bytes, at: Whole) -> tuple[Whole, Whole]:
    """The code of the letters at `at`, 0 unless they are a complete name, and the place after them."""
    code = np.int64(0)
    while at < len(data) and 97 <= LOWER[data[at]] <= 122:
        code = (257 * code + LOWER[data[at]]) & CODE_MASK
        at += 1
    return (code, at) if at < len(data) and KINDS[data[at]] & TAG_END else (np.int64(0), at)


@bare_part
def raw_end(data: Bytes, at: Whole, code: Whole) -> Whole:
    """The place of the end tag of the raw text that begins at `at`, or the end of the page."""
    size = len(data)
    escaped = 0  # in a script: 1 inside `<!--`, 2 inside a `<script>` in that comment
    while at + 1 < size:
        byte = data[at]
        if byte == 60:
            following = data[at + 1]
            if following == 47:
                found, place = _letters(data, at + 2)
                if found == code:
                    if escaped < 2:
                        return at
                    escaped = 1
                at = place
                continue
            if code == _SCRIPT:
                if escaped == 0 and following == 33 and at + 3 < size and data[at + 2] == 45 and data[at + 3] == 45:
                    escaped = 1
                    at += 2  # its dashes may belong to `-->`
                    continue
                if escaped == 1:
                    found, at = _letters(data, at + 1)
                    escaped = 2 if found == _SCRIPT else 1
                    continue
        elif byte == 45 and escaped and data[at + 1] == 45:
            at += 2
            while at < size and data[at] == 45:
                at += 1
            if at < size and data[at] == 62:
                escaped = 0
            continue
        at += 1
    return size
