"""Finds the ends of HTML tokens by the states of WHATWG's tokenizer: attributes, comments, raw text, scripts.

Each function takes the place where a token begins and returns the place after it. All of them read each byte once, so
the whole is linear. A tag that is cut by the end of the page is not a tag: END_OF_PAGE.

Rules that are easy to forget: quotes hide a `>` only in a value; `<a href=x/>` has the value `x/`; the first of two
attributes with one name counts; `<!-->` and `<!--->` are complete comments, and `--!>` ends a comment; inside
`<!-- <script>`, only the second `</script>` closes the script.
"""

import numpy as np
import numpy.typing as npt

from centime.model.kernel import Whole, bare_inlined, bare_part
from centime.parse.names import CODE_MASK, KINDS, LOWER, NAME_END, SPACE, TAG_END, WANTED, attribute_name_at, code_of
from centime.parse.words import (
    CLASS,
    FLAG,
    ID,
    MEANING,
    NO_VALUE,
    WORDS_SIZE,
    exact_name,
    meaning_of,
    mixed,
    name_of,
    value_kind,
)

Bytes = npt.NDArray[np.uint8]
Scratch = npt.NDArray[np.int64]

END_OF_PAGE = -1
# The result of `attributes`: begin and end of three values, -1 if missing; marks; for the words of the page a hash of
# class and id, one of the meaning by name or property, one of the attributes of an element of XML, in any order, and
# begin, end, name and kind of up to MOST_VALUES values.
FIRST, SECOND, THIRD, MARKS = (WORDS_SIZE + place for place in (0, 2, 4, 6))
NAMED, SAID, HELD, VALUE_COUNT, VALUES = (MARKS + place for place in range(1, 6))
MOST_VALUES = 64
TOKENS_SIZE = VALUES + 4 * MOST_VALUES
IS_CLOSED, IS_CLASSED = 1, 2

_SCRIPT = code_of("script")
_CDATA = np.frombuffer(b"<![CDATA[", dtype=np.uint8)
_DECLARATION = np.frombuffer(b"<?xml", dtype=np.uint8)


@bare_inlined
def no_attributes(found: Scratch) -> None:
    """Notes that a tag has no attributes."""
    found[FIRST] = found[SECOND] = found[THIRD] = -1
    found[MARKS] = found[NAMED] = found[SAID] = found[HELD] = found[VALUE_COUNT] = 0


@bare_inlined
def attributes(data: Bytes, at: Whole, number: Whole, xml: bool | np.bool_, found: Scratch) -> Whole:
    """Finds the values of an element's WANTED attributes, those that have words, and whether the element is
    self-closing; returns the place after the tag.
    """
    size = len(data)
    no_attributes(found)
    first, second, third = WANTED[number, 0], WANTED[number, 1], WANTED[number, 2]
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
        begin = at
        code, at = attribute_name_at(data, at, size)
        start, end = at, at
        if at < size and data[at] == 61:
            start, end, at = value_at(data, at + 1)
            if at < 0:
                break
            name = exact_name(data, begin, NAME_END) if xml else code
            _note_value(data, code, name, start, end, xml, found)
        elif not xml and value_kind(code) == FLAG:
            _note_value(data, code, code, start, end, xml, found)
        if code == first:
            slot = FIRST
        elif code == second:
            slot = SECOND
        elif code == third:
            slot = THIRD
        else:
            continue
        if found[slot] < 0:
            found[slot] = start
            found[slot + 1] = end
    return END_OF_PAGE


@bare_inlined
def _note_value(
    data: Bytes, code: Whole, name: Whole, start: Whole, end: Whole, xml: bool | np.bool_, found: Scratch
) -> None:
    """Notes a value that has words, or that names its element. In XML a `name` is as it is written."""
    kind = value_kind(code)
    if not xml:
        if kind == NO_VALUE:
            return
        if kind in (CLASS, ID):
            if kind == CLASS and found[MARKS] & IS_CLASSED:
                return
            found[MARKS] |= IS_CLASSED if kind == CLASS else 0
            own_name = name_of(data, start, end, kind == CLASS)
            if own_name:
                found[NAMED] = mixed(found[NAMED], own_name)
            return
        if kind == MEANING:
            found[SAID] = meaning_of(data, start, end)
            return
    count = found[VALUE_COUNT]
    if xml:  # of those that find no room, the value counts with the name
        own = meaning_of(data, start, end) if count >= MOST_VALUES else np.int64(0)
        found[HELD] = (found[HELD] + mixed(name, own)) & CODE_MASK
    if count < MOST_VALUES:
        row = VALUES + 4 * count
        found[row], found[row + 1], found[row + 2], found[row + 3] = start, end, name, kind
        found[VALUE_COUNT] = count + 1


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


@bare_inlined
def is_comment(data: Bytes, at: Whole) -> bool | np.bool_:
    """Whether a comment begins at `at`."""
    return at + 3 < len(data) and data[at + 1] == 33 and data[at + 2] == 45 and data[at + 3] == 45


@bare_inlined
def is_xml_declaration(data: Bytes, at: Whole) -> bool | np.bool_:
    """Whether `<?xml` is at `at`, which declares the encoding of the document."""
    end = at + len(_DECLARATION)
    if end >= len(data) or data[end] > 32:
        return False
    return _begins(data, at, _DECLARATION)


@bare_part
def declaration_end(data: Bytes, at: Whole) -> Whole:
    """The place after the comment or declaration that begins at `at`."""
    size = len(data)
    if is_comment(data, at):
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
    return _begins(data, at, _CDATA)


@bare_inlined
def _begins(data: Bytes, at: Whole, beginning: Bytes) -> bool | np.bool_:
    """Whether the bytes at `at` begin like this."""
    place = 0
    while place < len(beginning) and at + place < len(data) and data[at + place] == beginning[place]:
        place += 1
    return place == len(beginning)


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
