"""One pass over the bytes of HTML: links, what the page says about itself, and its visible text, without a tree.

Tokens are those of WHATWG's tokenizer (`parse/tokens.py`, `parse/references.py`); of the tree there is only a stack of the elements that
decide what is seen (`parse/elements.py`). Time is linear and memory a constant per byte, whatever the nesting.

What comes out is columns. Plain links, which are almost all, are written one behind the other, references resolved, separated by NUL (which
no href has), so that they become strings in one call. Whatever needs a closer look (`link`, `meta`, `base`, frames, the title, an `a`
with a rel that may forbid following it, an href with a scheme other than http) is a row of places in the page, with the number of plain
links before it. An href that stood there before is left out by a look into a table of SEEN places; the table forgets, and so
the reader of the columns compares again.

Visible is the text outside `script`, `style`, `noscript`, `nav`, `footer`, `aside`, `template` and hidden elements; blocks
separate words, elements of a line do not. With `everything`, all text of the body is visible, scripts too.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from centime.model.kernel import Whole, bare_inlined, bare_kernel
from centime.parse.elements import BEYOND, FOREIGN_AT, IN_TEMPLATE, LAST, STEPS, VEIL, close_element, no_elements, open_element
from centime.parse.links import SCRATCH_SIZE, is_new, matters, may_forbid, none_seen, write_href
from centime.parse.names import (
    AREA,
    BREAKS,
    ENDS_P,
    IMG,
    IN_HEAD,
    LOWER,
    MATH,
    NOTED,
    PLAINTEXT,
    RAW,
    ROLES,
    SECTION,
    SPECIAL,
    SVG,
    TAG_END,
    TEXTAREA,
    TITLE,
    TR,
    WANTED,
    XMP,
    A,
    element_of,
    name_at,
)  # fmt: skip
from centime.parse.references import IN_TEXT, IN_VALUE, reference, resolve
from centime.parse.tokens import (
    FIRST,
    IS_CLOSED,
    IS_HIDDEN,
    MARKS,
    SECOND,
    THIRD,
    attributes,
    cdata_end,
    declaration_end,
    is_cdata,
    raw_end,
)

Bytes = npt.NDArray[np.uint8]
Rows = npt.NDArray[np.int32]
Scratch = npt.NDArray[np.int64]

LONGEST_CALL = 4_000  # bytes of a link's text that are kept
_ROW = 8  # numbers of a row: kind, begin and end of three values, plain links before
_NO_NAME = np.int64(0)  # no attribute has it
_SHORTEST_ROW = 8  # bytes of the shortest tag that makes a row


@dataclass(frozen=True, slots=True)
class Scan:
    """What one pass found."""

    rows: list[list[int]]
    hrefs: list[str]
    text: Bytes  # visible, in UTF-8
    calls: bytes  # the texts of links, if asked for: rows of `a` have their places
    steps: int  # tokens read and elements closed: the work that does not follow from the length alone


def scan(page: bytes, *, anchors: bool = False, everything: bool = False) -> Scan:
    """What stands in a page of valid UTF-8."""
    data = np.frombuffer(page, dtype=np.uint8)
    size = len(data)
    room = size + size // 4 + 16
    text, hrefs = np.empty(room, dtype=np.uint8), np.empty(room, dtype=np.uint8)
    calls = np.empty(2 * room if anchors else 0, dtype=np.uint8)
    rows = np.empty((size // _SHORTEST_ROW + 1, _ROW), dtype=np.int32)
    scratch = np.empty(SCRATCH_SIZE, dtype=np.int64)
    counted, written, linked, called = _scan(data, everything, anchors, rows, text, hrefs, calls, scratch)
    return Scan(
        rows[:counted].tolist(),
        hrefs[: linked - 1].tobytes().decode().split("\0") if linked else [],
        text[:written],
        calls[:called].tobytes(),
        int(scratch[STEPS]),
    )


@bare_kernel
def _scan(
    data: Bytes, everything: bool, anchors: bool, rows: Rows, text: Bytes, hrefs: Bytes, calls: Bytes, scratch: Scratch
) -> tuple[Whole, Whole, Whole, Whole]:
    """Fills the columns; gives the number of rows, and of bytes of text, hrefs and texts of links."""
    size = len(data)
    no_elements(scratch)
    none_seen(scratch)
    at: Whole = np.int64(0)
    written: Whole = np.int64(0)
    linked: Whole = np.int64(0)
    called: Whole = np.int64(0)
    counted, links, steps = np.int64(0), np.int64(0), np.int64(0)
    calling = np.int64(-1)  # the row of the link whose text is being read
    begun = False  # whether the body has
    while at < size:
        steps += 1
        seen = scratch[VEIL] == 0 or (everything and not scratch[VEIL] & IN_TEMPLATE)
        if data[at] != 60:
            if seen or calling >= 0:
                start = written
                at, written = _characters(data, at, text, written)
                if calling >= 0:
                    called = _call(text, start, written, calls, called, rows[calling, 5])
                    written = written if seen else start
            else:
                while at < size and data[at] != 60:
                    at += 1
            continue
        following = LOWER[data[at + 1]] if at + 1 < size else np.int64(0)
        if following == 47 and at + 2 < size:
            following = LOWER[data[at + 2]]
            if not 97 <= following <= 122:
                at = at + 3 if following == 62 else declaration_end(data, at)
                continue
            code, at = name_at(data, at + 2, size, TAG_END)
            if at < size and data[at] == 62:
                at += 1
            else:
                at = attributes(data, at, _NO_NAME, _NO_NAME, _NO_NAME, scratch)
                if at < 0:
                    break
            number = element_of(code)
            if number == A and calling >= 0:
                rows[calling, 6] = called
                calling = np.int64(-1)
            elif ROLES[number] & BREAKS:
                text[written] = 32
                written += 1
                if calling >= 0:
                    called = _call(text, written - 1, written, calls, called, rows[calling, 5])
            if scratch[LAST + number] >= 0 or scratch[BEYOND] > 0 or scratch[FOREIGN_AT] >= 0 or number in (TR, SECTION):
                close_element(scratch, number)
            continue
        if not 97 <= following <= 122:
            if following == 33 or following == 63:
                if scratch[FOREIGN_AT] >= 0 and is_cdata(data, at):
                    end = cdata_end(data, at + 9)
                    if seen:
                        written = _copy(data, at + 9, end, text, written)
                    at = min(end + 3, size)
                else:
                    at = declaration_end(data, at)
            else:
                if seen:
                    text[written] = 60
                    written += 1
                at += 1
            continue
        code, at = name_at(data, at + 1, size, TAG_END)
        number = element_of(code)
        role = ROLES[number]
        at = attributes(data, at, WANTED[number, 0], WANTED[number, 1], WANTED[number, 2], scratch)
        if at < 0:
            break
        hidden = scratch[MARKS] & IS_HIDDEN != 0
        if role & BREAKS:
            text[written] = 32
            written += 1
            if calling >= 0:
                called = _call(text, written - 1, written, calls, called, rows[calling, 5])
        begun = begun or not role & IN_HEAD
        if role & NOTED and not scratch[VEIL] & IN_TEMPLATE:
            if number in (A, AREA):
                if number == A and calling >= 0:
                    rows[calling, 6] = called
                    calling = np.int64(-1)
                if scratch[FIRST] >= 0 and is_new(data, scratch):
                    place = write_href(data, scratch[FIRST], scratch[FIRST + 1], hrefs, linked)
                    if scratch[SECOND] >= 0 and may_forbid(data, scratch[SECOND], scratch[SECOND + 1]):
                        place = np.int64(-1)
                    if place < 0 or (anchors and place > linked):
                        _note(rows, counted, number, scratch, links)
                        if anchors and number == A:
                            calling = counted
                            rows[counted, 5] = rows[counted, 6] = called
                        counted += 1
                    elif place > linked:
                        linked = place
                        links += 1
            elif number == IMG:
                if calling >= 0 and scratch[FIRST] >= 0:
                    start = written
                    end = resolve(data, scratch[FIRST], scratch[FIRST + 1], IN_VALUE, text, written)
                    called = _call(text, start, end, calls, called, rows[calling, 5])
            elif number != TITLE and scratch[FIRST] >= 0 and matters(data, number, scratch):
                _note(rows, counted, number, scratch, links)
                counted += 1
        is_raw = role & RAW and scratch[FOREIGN_AT] < 0
        if role & (SPECIAL | ENDS_P) or hidden or scratch[VEIL] or scratch[FOREIGN_AT] >= 0 or number in (SVG, MATH):
            open_element(scratch, number, hidden, scratch[MARKS] & IS_CLOSED != 0)
        if is_raw:
            seen = scratch[VEIL] == 0 or (everything and not scratch[VEIL] & IN_TEMPLATE)
            start = at
            at = np.int64(size) if number == PLAINTEXT else raw_end(data, at, code)
            if number == TITLE:
                if at > start and not scratch[VEIL] & IN_TEMPLATE:
                    scratch[FIRST], scratch[FIRST + 1], scratch[SECOND], scratch[THIRD] = start, at, -1, -1
                    _note(rows, counted, number, scratch, links)
                    counted += 1
            elif number == TEXTAREA and seen:
                written = resolve(data, start, at, IN_TEXT, text, written)
            elif (seen and number in (XMP, PLAINTEXT)) or (everything and begun):
                written = _copy(data, start, at, text, written)
    if calling >= 0:
        rows[calling, 6] = called
    scratch[STEPS] += steps
    return counted, written, linked, called


@bare_inlined
def _characters(data: Bytes, at: Whole, text: Bytes, written: Whole) -> tuple[Whole, Whole]:
    """Copies text up to the next `<`, references resolved; gives where reading and where writing go on."""
    size = len(data)
    while at < size:
        byte = data[at]
        if byte > 60:
            text[written] = byte
            written += 1
            at += 1
        elif byte == 60:
            break
        elif byte == 38:
            at, written = reference(data, at, size, IN_TEXT, text, written)
        else:
            text[written] = byte
            written += byte != 0
            at += 1
    return at, written


@bare_inlined
def _copy(data: Bytes, at: Whole, end: Whole, text: Bytes, written: Whole) -> Whole:
    """Copies bytes as they are; gives where writing goes on."""
    for place in range(at, end):
        text[written] = data[place]
        written += 1
    return written


@bare_kernel
def _call(text: Bytes, start: Whole, end: Whole, calls: Bytes, called: Whole, first: Whole) -> Whole:
    """Adds a piece to the text of a link that began at `first`; gives where writing goes on."""
    return _copy(text, start, min(end, start + max(LONGEST_CALL - (called - first), 0)), calls, called)


@bare_inlined
def _note(rows: Rows, row: Whole, kind: Whole, scratch: Scratch, links: Whole) -> None:
    """Writes a row."""
    rows[row, 0] = kind
    for place in range(6):
        rows[row, 1 + place] = scratch[FIRST + place]
    rows[row, 7] = links
