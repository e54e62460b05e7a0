"""One pass over the bytes of HTML finds its links, its descriptive elements and its words, without a tree.

Tokens follow WHATWG's tokenizer (`parse/tokens.py`, `parse/references.py`). Instead of a tree there is only a stack of
open elements (`parse/elements.py`). Time is linear and memory is a constant per byte, for any nesting.

The result is columns. Plain links, which are almost all links, are written one after the other with resolved
references, separated by NUL (which no href contains), so that one call makes strings of them. Everything else (`link`,
`meta`, `base`, frames, the title, an `a` with a rel that may forbid to follow it, an href with a scheme other than
http) becomes a row of places in the page, with the number of plain links before it. A table of SEEN places drops hrefs
that occurred before; the table forgets, so the reader of the columns compares again. `parse/words.py` explains the
words.

XML goes through the same pass for its words alone: all names are alike there, and only declarations are raw.

Over 400 lines: numba compiles the pass as one function of the parts below, which share its columns.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from centime.model.kernel import Whole, bare_inlined, bare_part, late_kernel
from centime.model.words import Words
from centime.parse.data_words import data_words
from centime.parse.elements import (
    AS_HTML,
    AS_SHADOW,
    BEFORE,
    DEEPEST,
    DEPTH,
    FOREIGN_AT,
    FREE,
    IN_TEMPLATE,
    LAST,
    NOT_OPENED,
    SEGMENT,
    SHADOW,
    STEPS,
    close_element,
    close_implied,
    close_innermost,
    no_elements,
    push_element,
)
from centime.parse.names import (
    AREA,
    BASE,
    BREAKS,
    DD,
    DT,
    ENDS_P,
    FORMATTING,
    HTML,
    IFRAME,
    IMG,
    LANDMARK,
    LINK,
    LOWER,
    MATH,
    META,
    NOTED,
    PLAINTEXT,
    RAW,
    ROLES,
    ROOT,
    SCRIPT,
    SPECIAL,
    STRUCK,
    SVG,
    TAG_END,
    TD,
    TEMPLATE,
    TEXTAREA,
    TH,
    TITLE,
    VOID,
    XMP,
    A,
    code_between,
    code_of,
    element_of,
    name_at,
    unknown_element,
)  # fmt: skip
from centime.parse.page_links import DOUBTFUL, PLAIN, SCRATCH_SIZE, is_new, none_seen, sort_of, write_href
from centime.parse.references import IN_TEXT, IN_VALUE, resolve
from centime.parse.tokens import (
    FIRST,
    HELD,
    IS_CLOSED,
    MARKS,
    NAMED,
    SAID,
    SECOND,
    THIRD,
    VALUE_COUNT,
    VALUES,
    attributes,
    cdata_end,
    declaration_end,
    is_cdata,
    is_comment,
    is_xml_declaration,
    no_attributes,
    raw_end,
)
from centime.parse.words import (
    BLOCK,
    COUNT,
    FLAG,
    MOST_WORDS,
    TEXT_HASH,
    TEXTS,
    URL,
    VALUE_HASH,
    end_words,
    exact_name,
    flag_word,
    mixed,
    name_word,
    no_words,
    place_of,
    text_words,
    value_words,
    xml_end,
    xml_value_words,
)

Bytes = npt.NDArray[np.uint8]
Rows = npt.NDArray[np.int32]
Scratch = npt.NDArray[np.int64]

LONGEST_ANCHOR_TEXT = 4_000  # bytes of a link's text that are kept
_ROW = 8  # numbers in a row: kind, begin and end of three values, plain links before it
# Places in the scratch array, between those of the elements: the number of rows, of plain links, of bytes of hrefs, of
# bytes of anchor texts, the row of the link whose text is being read (-1 outside a link), and the number of words
# before the last cell of a table; of XML, that of the words of text before those of the element opened last.
_COUNTED, _LINKS, _LINKED, _ANCHOR_BYTES, _ANCHOR_ROW, _CELL = range(FREE, FREE + 6)
_SHORTEST_ROW = 8  # bytes of the shortest tag that makes a row
_HTML, _XML, _EVERYTHING = 0, 1, 2  # with everything, scripts and styles have words
_EMPTY_CELL = code_of("</td>")  # the word of a cell without words
_JSON = code_of("json")
_STRUCK, _END_STRUCK = code_of("<del>"), code_of("</del>")
_SHOWN_TEMPLATES = (code_of("open"), code_of("closed"))


@dataclass(frozen=True, slots=True)
class Scan:
    """The result of one pass."""

    rows: list[list[int]]
    hrefs: list[str]
    anchor_text: bytes  # the texts of links, if requested; rows of `a` have their places
    words: Words
    steps: int  # tokens read plus elements closed: the work that does not depend on the length alone


def scan(page: bytes, *, anchors: bool = False) -> Scan:
    """The links, rows and words of an HTML page in valid UTF-8."""
    data = np.frombuffer(page, dtype=np.uint8)
    size = len(data)
    hrefs = np.empty(size + size // 4 + 16, dtype=np.uint8)
    anchor_text = np.empty(2 * len(hrefs) if anchors else 0, dtype=np.uint8)
    rows = np.empty((size // _SHORTEST_ROW + 1, _ROW), dtype=np.int32)
    words, scratch = _pass(data, _HTML, anchors, rows, hrefs, anchor_text)
    if not scratch[TEXTS]:
        words, scratch = _pass(data, _EVERYTHING, anchors, rows, hrefs, anchor_text)
    counted, linked, anchored = (int(scratch[place]) for place in (_COUNTED, _LINKED, _ANCHOR_BYTES))
    return Scan(
        rows[:counted].tolist(),
        hrefs[: linked - 1].tobytes().decode().split("\0") if linked else [],
        anchor_text[:anchored].tobytes(),
        words,
        int(scratch[STEPS]),
    )


def words_of(page: bytes, *, xml: bool = False) -> Words:
    """The words of HTML or XML in UTF-8."""
    if not xml:
        return scan(page).words
    none = np.empty(0, dtype=np.uint8)
    words, _ = _pass(np.frombuffer(page, dtype=np.uint8), _XML, False, np.empty((0, _ROW), dtype=np.int32), none, none)
    return words


def _pass(data: Bytes, mode: int, anchors: bool, rows: Rows, hrefs: Bytes, anchor_text: Bytes) -> tuple[Words, Scratch]:
    columns = np.empty((4, min(len(data) // 2 + 1, MOST_WORDS) + 1), dtype=np.int64)
    scratch = np.empty(SCRATCH_SIZE, dtype=np.int64)
    _scan(data, mode, anchors, rows, hrefs, anchor_text, columns, np.empty(16, dtype=np.uint8), scratch)
    places, blocks, words, begins = columns[:, : scratch[COUNT]]
    signature = 1 + int(mixed(int(scratch[TEXT_HASH]), int(scratch[VALUE_HASH])))
    return Words(places, blocks, words, begins, signature), scratch


@late_kernel(8.0)
def _scan(
    data: Bytes,
    mode: Whole,
    anchors: bool,
    rows: Rows,
    hrefs: Bytes,
    anchor_text: Bytes,
    columns: Scratch,
    resolved: Bytes,
    scratch: Scratch,
) -> None:
    """Fills the columns; the scratch array has the number of rows, of words, and of bytes of hrefs and anchor texts."""
    size = len(data)
    xml = mode == _XML
    no_words(scratch)
    no_elements(scratch)
    none_seen(scratch)
    scratch[FIRST:MARKS] = -1
    scratch[_COUNTED] = scratch[_LINKS] = scratch[_LINKED] = scratch[_ANCHOR_BYTES] = 0
    scratch[_ANCHOR_ROW] = scratch[_CELL] = -1
    at: Whole = np.int64(0)
    steps = np.int64(0)
    while at < size:
        steps += 1
        if data[at] != 60:
            begin = at
            at = text_words(data, at, size, False, scratch[BEFORE], scratch[SEGMENT], columns, resolved, scratch)
            if scratch[_ANCHOR_ROW] >= 0:
                _add_anchor(data, begin, at, IN_TEXT, rows, anchor_text, scratch)
            continue
        following = np.int64(LOWER[data[at + 1]]) if at + 1 < size else np.int64(0)
        closing = following == 47 and at + 2 < size
        if closing:
            following = np.int64(LOWER[data[at + 2]])
        if not 97 <= following <= 122 and not (xml and (following in (95, 58) or following > 127)):  # _ and :
            at = _no_tag(data, at, closing, following, xml, rows, anchor_text, columns, resolved, scratch)
            continue
        begin = at
        code, at = name_at(data, at + 1 + closing, size, TAG_END)
        number = unknown_element(code) if xml else element_of(code)
        role = np.int64(BREAKS) if xml else ROLES[number]
        if at < size and data[at] == 62:
            at += 1
            no_attributes(scratch)
        else:
            at = attributes(data, at, number, xml, scratch)
            if at < 0:
                break
        if xml:
            code = exact_name(data, begin + 1 + closing, TAG_END)
            if not closing:
                name = mixed(code, scratch[HELD])
                name_word(name, begin, scratch[BEFORE], scratch[SEGMENT], columns, scratch)
        if role & BREAKS:
            scratch[BLOCK] += 1
            if scratch[_ANCHOR_ROW] >= 0:
                _add_space(rows, anchor_text, scratch)
        if closing:
            if number == A:
                _end_anchor(rows, scratch)
            if role & STRUCK:
                name_word(_END_STRUCK, begin, scratch[BEFORE], scratch[SEGMENT], columns, scratch)
            if xml:
                is_empty = scratch[TEXTS] == scratch[_CELL]
                xml_end(begin, is_empty, scratch[BEFORE], scratch[SEGMENT], columns, scratch)
                close_innermost(scratch, number)
            elif scratch[LAST + number] >= 0 or scratch[FOREIGN_AT] >= 0 or role & BREAKS:
                close_element(scratch, number)
            continue
        is_noted = role & NOTED and (
            (scratch[FOREIGN_AT] < 0 and not scratch[IN_TEMPLATE]) or _counts_inside(number, scratch)
        )
        if is_noted and number == A:
            _end_anchor(rows, scratch)
            if scratch[FIRST] < 0 and scratch[FOREIGN_AT] >= 0:  # xlink:href of SVG
                scratch[FIRST], scratch[FIRST + 1] = scratch[THIRD], scratch[THIRD + 1]
        is_raw = role & RAW and scratch[FOREIGN_AT] < 0
        named = np.int64(0) if role & ROOT else scratch[NAMED]
        how: Whole = np.int64(NOT_OPENED)
        if xml:
            how = np.int64(NOT_OPENED if scratch[MARKS] & IS_CLOSED else AS_HTML)
        elif (
            role & (SPECIAL | ENDS_P | BREAKS)
            or scratch[FOREIGN_AT] >= 0
            or number in (SVG, MATH)
            or ((named or not role & FORMATTING or scratch[LAST + number] >= 0) and scratch[DEPTH] < DEEPEST)
        ):
            how = np.int64(close_implied(scratch, number, scratch[MARKS] & IS_CLOSED != 0))
        before, segment = scratch[BEFORE], scratch[SEGMENT]
        if named or role & LANDMARK:
            before, segment = segment, mixed(code, named)
        elif not role & ROOT:
            segment = mixed(segment, mixed(code, named))
        if number in (TD, TH, DD, DT) and not xml:
            if scratch[COUNT] == scratch[_CELL]:  # a mark may move to another column
                name_word(_EMPTY_CELL, begin, before, segment, columns, scratch)
            scratch[_CELL] = scratch[COUNT]
        if scratch[VALUE_COUNT] and (xml or number not in (LINK, SCRIPT)):
            _add_values(data, xml, role & VOID != 0, before, segment, columns, scratch)
        if role & STRUCK:
            name_word(_STRUCK, begin, before, segment, columns, scratch)
        if xml:
            scratch[_CELL] = scratch[TEXTS]
            if scratch[MARKS] & IS_CLOSED:
                xml_end(begin, True, before, segment, columns, scratch)
        if is_noted and (scratch[FIRST] >= 0 or (number == IFRAME and scratch[SECOND] >= 0)):
            _note(data, number, anchors, rows, hrefs, anchor_text, scratch)
        if is_raw:
            start = at
            at = np.int64(size) if number == PLAINTEXT else raw_end(data, at, code)
            if number == TITLE and at > start and not scratch[IN_TEMPLATE]:
                scratch[FIRST], scratch[FIRST + 1] = start, at
                _write_row(rows, number, scratch)
            if mode == _EVERYTHING or number in (TITLE, TEXTAREA, XMP, PLAINTEXT):
                text_words(data, start, at, True, before, segment, columns, resolved, scratch)
            elif number == SCRIPT and _is_data(data, scratch):
                data_words(data, start, at, before, segment, columns, scratch)
        elif how != NOT_OPENED:
            if not (named or role & (BREAKS | LANDMARK)):  # an inline element is a step of its values' paths alone
                before, segment = scratch[BEFORE], scratch[SEGMENT]
            if number == TEMPLATE and how == AS_HTML and _is_shown(data, scratch):
                how = np.int64(AS_SHADOW)
            push_element(scratch, number, how, before, segment)
    _end_anchor(rows, scratch)
    end_words(size, columns, scratch)
    scratch[STEPS] += steps


@bare_part
def _counts_inside(number: Whole, scratch: Scratch) -> bool | np.bool_:
    """Whether an element inside SVG, MathML or a template counts: links do, unless the template is not shown, but
    elements that describe the page (`base`, `link`) count only outside. A `meta` ends SVG, so it is outside.
    """
    if scratch[IN_TEMPLATE]:
        return scratch[IN_TEMPLATE] == SHADOW and number not in (BASE, LINK, META, HTML)
    return number not in (BASE, LINK, HTML)


@bare_part
def _is_shown(data: Bytes, scratch: Scratch) -> bool | np.bool_:
    """Whether a template is the content of the element around it, by its `shadowrootmode`."""
    return scratch[FIRST] >= 0 and code_between(data, scratch[FIRST], scratch[FIRST + 1]) in _SHOWN_TEMPLATES


@bare_part
def _is_data(data: Bytes, scratch: Scratch) -> bool | np.bool_:
    """Whether a script is JSON by its type, for any kind of JSON."""
    found = False
    for at in range(scratch[FIRST], scratch[FIRST + 1] - 3):
        found |= code_between(data, at, at + 4) == _JSON
    return found


@bare_part
def _no_tag(
    data: Bytes,
    at: Whole,
    closing: bool,
    following: Whole,
    xml: bool,
    rows: Rows,
    anchor_text: Bytes,
    columns: Scratch,
    resolved: Bytes,
    scratch: Scratch,
) -> Whole:
    """Handles a `<` that begins a comment, a declaration or text instead of a tag; returns the next place to read."""
    if closing:
        return at + 3 if following == 62 else declaration_end(data, at)
    begin, behind, raw = at, np.int64(0), False
    end = np.int64(len(data))
    if following in (33, 63):
        raw = True
        if (xml or scratch[FOREIGN_AT] >= 0) and is_cdata(data, at):
            begin, end = at + 9, np.int64(cdata_end(data, at + 9))
            behind = np.int64(3)
        else:
            end = np.int64(declaration_end(data, at))
            if not xml or is_comment(data, at) or is_xml_declaration(data, at):
                return end
    end = np.int64(text_words(data, begin, end, raw, scratch[BEFORE], scratch[SEGMENT], columns, resolved, scratch))
    if scratch[_ANCHOR_ROW] >= 0:
        _add_anchor(data, begin, end, IN_TEXT, rows, anchor_text, scratch)
    return min(end + behind, np.int64(len(data)))


@bare_part
def _add_values(
    data: Bytes,
    xml: bool | np.bool_,
    is_void: bool | np.bool_,
    before: Whole,
    segment: Whole,
    columns: Scratch,
    scratch: Scratch,
) -> None:
    """Adds the words of the values of an element on a path; the hash of each value takes the place of its name. In XML
    the order of attributes does not count.
    """
    path, together = mixed(before, segment), np.int64(0)
    for value in range(scratch[VALUE_COUNT]):
        row = VALUES + 4 * value
        begin, end, is_url = scratch[row], scratch[row + 1], scratch[row + 3] == URL
        place = place_of(path, mixed(scratch[row + 2], scratch[SAID]))
        if xml:
            together += xml_value_words(data, begin, end, is_url, place, columns, scratch) >> 8
        elif scratch[row + 3] == FLAG:
            if is_void:  # its text is that of the element around it
                flag_word(scratch[row + 2], begin, scratch[BEFORE], scratch[SEGMENT], columns, scratch)
            else:
                flag_word(scratch[row + 2], begin, before, segment, columns, scratch)
        else:
            scratch[row + 2] = value_words(data, begin, end, is_url, place, columns, scratch)
    if xml:
        scratch[VALUE_HASH] = mixed(scratch[VALUE_HASH], together)


@bare_part
def _note(
    data: Bytes, number: Whole, anchors: bool, rows: Rows, hrefs: Bytes, anchor_text: Bytes, scratch: Scratch
) -> None:
    """Handles an element that has its main attribute: adds a plain link to the hrefs, a doubtful one to the rows."""
    start, end = scratch[FIRST], scratch[FIRST + 1]
    if number == IMG:
        if scratch[_ANCHOR_ROW] >= 0:
            _add_anchor(data, start, end, IN_VALUE, rows, anchor_text, scratch)
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
def _add_anchor(
    data: Bytes, start: Whole, end: Whole, where: Whole, rows: Rows, anchor_text: Bytes, scratch: Scratch
) -> None:
    """Adds text to the anchor text of the current link."""
    anchored = scratch[_ANCHOR_BYTES]
    most = rows[scratch[_ANCHOR_ROW], 5] + LONGEST_ANCHOR_TEXT
    if anchored < most:
        scratch[_ANCHOR_BYTES] = min(resolve(data, start, end, where, anchor_text, anchored), most)


@bare_inlined
def _add_space(rows: Rows, anchor_text: Bytes, scratch: Scratch) -> None:
    """Separates words in the anchor text of the current link."""
    anchored = scratch[_ANCHOR_BYTES]
    if anchored < rows[scratch[_ANCHOR_ROW], 5] + LONGEST_ANCHOR_TEXT:
        anchor_text[anchored] = 32
        scratch[_ANCHOR_BYTES] = anchored + 1


@bare_inlined
def _end_anchor(rows: Rows, scratch: Scratch) -> None:
    """Ends the anchor text of the current link, if there is one."""
    if scratch[_ANCHOR_ROW] >= 0:
        rows[scratch[_ANCHOR_ROW], 6] = scratch[_ANCHOR_BYTES]
        scratch[_ANCHOR_ROW] = -1
