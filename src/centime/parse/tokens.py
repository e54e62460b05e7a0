"""Where the tokens of HTML end, by the states of WHATWG's tokenizer: attributes, comments, raw text, scripts.

Each part is given the place where a token begins and gives the place behind it. All of them read forward and never
twice, so the whole is linear. A tag that the end of the page cuts is no tag: END_OF_PAGE.

Rules that are easily forgotten: quotes hide a `>` only in a value; `<a href=x/>` has the value `x/`; of two attributes
of one name the first counts; `<!-->` and `<!--->` are whole comments, and `--!>` ends one; within `<!-- <script>` a
script is closed by its second `</script>` only.
"""

import numpy as np
import numpy.typing as npt

from centime.model.kernel import Whole, bare_inlined, bare_kernel
from centime.parse.names import (
    CODE_MASK,
    HIDDEN_CODE,
    KINDS,
    LOWER,
    NAME_END,
    SPACE,
    STYLE_CODE,
    TAG_END,
    code_of,
    name_at,
)

Bytes = npt.NDArray[np.uint8]
Scratch = npt.NDArray[np.int64]

END_OF_PAGE = -1
# What `attributes` found: begin and end of three values, -1 without them, and marks.
FIRST, SECOND, THIRD, MARKS = 0, 2, 4, 6
IS_HIDDEN, IS_CLOSED, IS_STYLED = 1, 2, 4

_SCRIPT = code_of("script")
_DISPLAY, _NONE, _CDATA = (np.frombuffer(word, dtype=np.uint8) for word in (b"display", b"none", b"<![CDATA["))


@bare_inlined
def attributes(data: Bytes, at: Whole, first: Whole, second: Whole, third: Whole, found: Scratch) -> Whole:
    """Finds the values of three attributes, and whether the element is hidden or closed at once; gives the place
    behind the tag.
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
        code, at = name_at(data, at, size, NAME_END)
        while at < size and KINDS[data[at]] & SPACE:
            at += 1
        start, end = at, at
        if at < size and data[at] == 61:
            start, end, at = _value(data, at + 1)
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
def _value(data: Bytes, at: Whole) -> tuple[Whole, Whole, Whole]:
    """Begin and end of the value behind a `=`, and the place behind it."""
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


@bare_kernel
def _undisplayed(data: Bytes, at: Whole, end: Whole) -> bool | np.bool_:
    """Whether a style says `display: none`."""
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
    """The next place that is not white space; looks at eight bytes at most."""
    for place in range(at, min(at + 8, end)):
        if not KINDS[data[place]] & SPACE:
            return place
    return min(at + 8, end)


@bare_inlined
def _says(data: Bytes, at: Whole, end: Whole, word: Bytes) -> bool | np.bool_:
    """Whether a word in lower case stands at a place, in any case."""
    place = 0
    while place < len(word) and at + place < end and LOWER[data[at + place]] == word[place]:
        place += 1
    return place == len(word)


@bare_kernel
def declaration_end(data: Bytes, at: Whole) -> Whole:
    """The place behind the comment or the other declaration that begins at a place."""
    size = len(data)
    if at + 3 < size and data[at + 1] == 33 and data[at + 2] == 45 and data[at + 3] == 45:
        return _comment_end(data, at + 4)
    while at < size and data[at] != 62:
        at += 1
    return min(at + 1, size)


@bare_inlined
def _comment_end(data: Bytes, at: Whole) -> Whole:
    """The place behind a comment whose text begins at a place."""
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
    """Whether `<![CDATA[` stands at a place."""
    place = 0
    while place < len(_CDATA) and at + place < len(data) and data[at + place] == _CDATA[place]:
        place += 1
    return place == len(_CDATA)


@bare_inlined
def cdata_end(data: Bytes, at: Whole) -> Whole:
    """Where the text of a CDATA section ends."""
    while at + 2 < len(data):
        if data[at] == 93 and data[at + 1] == 93 and data[at + 2] == 62:
            return at
        at += 1
    return len(data)


@bare_inlined
def _letters(data: Bytes, at: Whole) -> tuple[Whole, Whole]:
    """The code of the letters at a place, 0 unless they are a name that ends here, and the place behind them."""
    code = np.int64(0)
    while at < len(data) and 97 <= LOWER[data[at]] <= 122:
        code = (257 * code + LOWER[data[at]]) & CODE_MASK
        at += 1
    return (code, at) if at < len(data) and KINDS[data[at]] & TAG_END else (np.int64(0), at)


@bare_kernel
def raw_end(data: Bytes, at: Whole, code: Whole) -> Whole:
    """Where the end tag of raw text that begins at a place stands, or the end of the page."""
    size = len(data)
    escaped = 0  # in a script: 1 within `<!--`, 2 within `<script>` within that
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
                    at += 2  # its dashes may be those of `-->`
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
