"""One pass over the bytes of HTML finds its links, its descriptive elements and its visible text, without a tree.

Tokens follow WHATWG's tokenizer (`parse/tokens.py`, `parse/references.py`). Instead of a tree there is only a stack of
the elements that decide what is visible (`parse/elements.py`). Time is linear and memory is a constant per byte,
whatever the nesting.

The result is columns. Plain links, which are almost all links, are written one after the other with resolved
references, separated by NUL (which no href contains), so that one call makes strings of them. Everything else (`link`,
`meta`, `base`, frames, the title, an `a` with a rel that may forbid to follow it, an href with a scheme other than
http) becomes a row of places in the page, with the number of plain links before it. A table of SEEN places drops hrefs
that occurred before; the table forgets, so the reader of the columns compares again.

Text is visible outside `script`, `style`, `noscript`, `nav`, `footer`, `aside`, `template` and hidden elements. Block
elements separate words, inline elements do not. With `everything`, all text of the body is visible, even scripts.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from centime.model.kernel import Whole, bare_inlined, bare_part, late_kernel
from centime.parse.elements import (
    BEYOND,
    FOREIGN_AT,
    FREE,
    IN_TEMPLATE,
    LAST,
    STEPS,
    VEIL,
    close_element,
    no_elements,
    open_element,
)
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
from centime.parse.page_links import DOUBTFUL, PLAIN, SCRATCH_SIZE, is_new, none_seen, sort_of, write_href
from centime.parse.references import IN_TEXT, IN_VALUE, reference, resolve
from centime.parse.tokens import (
    FIRST,
    IS_CLOSED,
    IS_HIDDEN,
    MARKS,
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

LONGEST_ANCHOR_TEXT = 4_000  # bytes of a link's text that are kept
_ROW = 8  # numbers in a row: kind, begin and end of three values, plain links before it
# Places in the scratch array, between those of the elements: the number of rows, of plain links, of bytes of hrefs, of
# bytes of anchor texts, and the row of the link whose text is being read (-1 outside a link).
_COUNTED, _LINKS, _LINKED, _ANCHOR_BYTES, _ANCHOR_ROW = range(FREE, FREE + 5)
_SHORTEST_ROW = 8  # bytes of the shortest tag that makes a row


@dataclass(frozen=True, slots=True)
class Scan:
    """The result of one pass."""

    rows: list[list[int]]
    hrefs: list[str]
    text: Bytes  # visible, in UTF-8
    anchor_text: bytes  # the texts of links, if requested; rows of `a` have their places
    steps: int  # tokens read plus elements closed: the work that does not depend on the length alone


def scan(page: bytes, *, anchors: bool = False, everything: bool = False) -> Scan:
    """The links, rows and text of an HTML page in valid UTF-8."""
    data = np.frombuffer(page, dtype=np.uint8)
    size = len(data)
    room = size + size // 4 + 16
    text, hrefs = np.empty(room, dtype=np.uint8), np.empty(room, dtype=np.uint8)
    anchor_text = np.empty(2 * room if anchors else 0, dtype=np.uint8)
    rows = np.empty((size // _SHORTEST_ROW + 1, _ROW), dtype=np.int32)
    scratch = np.empty(SCRATCH_SIZE, dtype=np.int64)
    counted, written, linked, anchored = _scan(data, everything, anchors, rows, text, hrefs, anchor_text, scratch)
    return Scan(
        rows[:counted].tolist(),
        hrefs[: linked - 1].tobytes().decode().split("\0") if linked else [],
        text[:written],
        anchor_text[:anchored].tobytes(),
        int(scratch[STEPS]),
    )


@late_kernel(5.0)
def _scan(
    data: Bytes,
    everything: bool,
    anchors: bool,
    rows: Rows,
    text: Bytes,
    hrefs: Bytes,
    anchor_text: Bytes,
    scratch: Scratch,
) -> tuple[Whole, Whole, Whole, Whole]:
    """Fills the columns; returns the number of rows, and of bytes of text, of hrefs and of anchor texts."""
    size = len(data)
    no_elements(scratch)
    none_seen(scratch)
    scratch[FIRST : MARKS + 1] = -1
    scratch[_COUNTED] = scratch[_LINKS] = scratch[_LINKED] = scratch[_ANCHOR_BYTES] = 0
    scratch[_ANCHOR_ROW] = -1
    at: Whole = np.int64(0)
    written: Whole = np.int64(0)
    steps = np.int64(0)
    begun = False  # whether the body has begun
    while at < size:
        steps += 1
        seen = _is_seen(everything, scratch)
        if data[at] != 60:
            if seen or scratch[_ANCHOR_ROW] >= 0:
                start = written
                at, written = _characters(data, at, text, written)
                if scratch[_ANCHOR_ROW] >= 0:
                    _add_anchor(text, start, written, rows, anchor_text, scratch)
                    written = written if seen else start
            else:
                while at < size and data[at] != 60:
                    at += 1
            continue
        following = np.int64(LOWER[data[at + 1]]) if at + 1 < size else np.int64(0)
        closing = following == 47 and at + 2 < size
        if closing:
            following = np.int64(LOWER[data[at + 2]])
        if not 97 <= following <= 122:
            at, written = _no_tag(data, at, closing, following, seen, text, written, scratch)
            continue
        code, at = name_at(data, at + 1 + closing, size, TAG_END)
        number = element_of(code)
        role = ROLES[number]
        if at < size and data[at] == 62:
            at += 1
            scratch[FIRST] = scratch[THIRD] = -1
            scratch[MARKS] = 0
        else:
            at = attributes(data, at, WANTED[number, 0], WANTED[number, 1], WANTED[number, 2], scratch)
            if at < 0:
                break
        if role & BREAKS:
            text[written] = 32
            written += 1
            if scratch[_ANCHOR_ROW] >= 0:
                _add_anchor(text, written - 1, written, rows, anchor_text, scratch)
        if closing:
            if number == A:
                _end_anchor(rows, scratch)
            if (
                scratch[LAST + number] >= 0
                or scratch[BEYOND] > 0
                or scratch[FOREIGN_AT] >= 0
                or number in (TR, SECTION)
            ):
                close_element(scratch, number)
            continue
        begun = begun or not role & IN_HEAD
        if role & NOTED and not scratch[VEIL] & IN_TEMPLATE:
            if number == A:
                _end_anchor(rows, scratch)
                if scratch[FIRST] < 0 and scratch[FOREIGN_AT] >= 0:  # xlink:href of SVG
                    scratch[FIRST], scratch[FIRST + 1] = scratch[THIRD], scratch[THIRD + 1]
            if scratch[FIRST] >= 0:
                _note(data, number, anchors, rows, text, written, hrefs, anchor_text, scratch)
        is_raw = role & RAW and scratch[FOREIGN_AT] < 0
        hidden = scratch[MARKS] & IS_HIDDEN != 0
        if role & (SPECIAL | ENDS_P) or hidden or scratch[VEIL] or scratch[FOREIGN_AT] >= 0 or number in (SVG, MATH):
            open_element(scratch, number, hidden, scratch[MARKS] & IS_CLOSED != 0)
        if is_raw:
            start = at
            at = np.int64(size) if number == PLAINTEXT else raw_end(data, at, code)
            if number == TITLE and at > start and not scratch[VEIL] & IN_TEMPLATE:
                scratch[FIRST], scratch[FIRST + 1] = start, at
                _write_row(rows, number, scratch)
            elif _is_seen(everything, scratch):
                if number == TEXTAREA:
                    written = resolve(data, start, at, IN_TEXT, text, written)
                elif number in (XMP, PLAINTEXT) or (everything and begun and number != TITLE):
                    written = _copy(data, start, at, text, written)
    _end_anchor(rows, scratch)
    scratch[STEPS] += steps
    return scratch[_COUNTED], written, scratch[_LINKED], scratch[_ANCHOR_BYTES]


@bare_inlined
def _is_seen(everything: bool, scratch: Scratch) -> bool | np.bool_:
    """Whether text is visible here."""
    return bool(scratch[VEIL] == 0 or (everything and not scratch[VEIL] & IN_TEMPLATE))


@bare_part
def _no_tag(
    data: Bytes,
    at: Whole,
    closing: bool,
    following: Whole,
    seen: bool | np.bool_,
    text: Bytes,
    written: Whole,
    scratch: Scratch,
) -> tuple[Whole, Whole]:
    """Handles a `<` that begins no tag but a comment, a declaration or plain text; returns the next place to read and
    the new end of the text.
    """
    if closing:
        return (at + 3, written) if following == 62 else (declaration_end(data, at), written)
    if following in (33, 63):
        if scratch[FOREIGN_AT] < 0 or not is_cdata(data, at):
            return declaration_end(data, at), written
        end = cdata_end(data, at + 9)
        return min(end + 3, len(data)), _copy(data, at + 9, end, text, written) if seen else written
    text[written] = 60
    return at + 1, written + seen


@bare_part
def _note(
    data: Bytes,
    number: Whole,
    anchors: bool,
    rows: Rows,
    text: Bytes,
    written: Whole,
    hrefs: Bytes,
    anchor_text: Bytes,
    scratch: Scratch,
) -> None:
    """Handles an element that has its main attribute: adds a plain link to the hrefs, a doubtful one to the rows."""
    start, end = scratch[FIRST], scratch[FIRST + 1]
    if number == IMG:
        if scratch[_ANCHOR_ROW] >= 0:
            _add_anchor(text, written, resolve(data, start, end, IN_VALUE, text, written), rows, anchor_text, scratch)
        return
    sort = sort_of(data, number, scratch)
    if number not in (A, AREA) and sort != PLAIN:
        if sort == DOUBTFUL:
            _write_row(rows, number, scratch)
    elif is_new(data, scratch):
        linked = scratch[_LINKED]
        place = write_href(data, start, end, hrefs, linked)
        if sort == DOUBTFUL:
            place = np.int64(-1)
        if place < 0 or (anchors and place > linked):
            if anchors and number == A:
                scratch[_ANCHOR_ROW] = scratch[_COUNTED]
                scratch[THIRD] = scratch[_ANCHOR_BYTES]
            _write_row(rows, number, scratch)
        elif place > linked:
            scratch[_LINKED] = place
            scratch[_LINKS] += 1


@bare_inlined
def _write_row(rows: Rows, kind: Whole, scratch: Scratch) -> None:
    """Adds a row."""
    row = scratch[_COUNTED]
    rows[row, 0] = kind
    for place in range(6):
        rows[row, 1 + place] = scratch[FIRST + place]
    rows[row, 7] = scratch[_LINKS]
    scratch[_COUNTED] = row + 1


@bare_part
def _add_anchor(text: Bytes, start: Whole, end: Whole, rows: Rows, anchor_text: Bytes, scratch: Scratch) -> None:
    """Adds text to the anchor text of the current link."""
    anchored = scratch[_ANCHOR_BYTES]
    room = LONGEST_ANCHOR_TEXT - (anchored - rows[scratch[_ANCHOR_ROW], 5])
    scratch[_ANCHOR_BYTES] = _copy(text, start, min(end, start + max(room, 0)), anchor_text, anchored)


@bare_inlined
def _end_anchor(rows: Rows, scratch: Scratch) -> None:
    """Ends the anchor text of the current link, if there is one."""
    if scratch[_ANCHOR_ROW] >= 0:
        rows[scratch[_ANCHOR_ROW], 6] = scratch[_ANCHOR_BYTES]
        scratch[_ANCHOR_ROW] = -1


@bare_inlined
def _characters(data: Bytes, at: Whole, text: Bytes, written: Whole) -> tuple[Whole, Whole]:
    """Copies text up to the next `<` with resolved references; returns the next place to read and the new end of the
    text.
    """
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
    """Copies bytes unchanged; returns the new end of the text."""
    for place in range(at, end):
        text[written] = data[place]
        written += 1
    return written
