"""One pass over the bytes of HTML fills the arrays of a tree.

Elements are opened and closed by the rules of `parse/elements.py`, whose stack has the number of a node in place of a
path. They are linear for any page: a parser by WHATWG's rules takes quadratic time for deep nesting, and its tree may
be quadratic too (formatting elements that are opened again in every paragraph). Here formatting elements are not
opened again, and elements deeper than DEEPEST belong to the deepest one. `html`, `head` and `body` are leaves.

Names are in lower case; the first of repeated attributes counts. The text of scripts and styles is kept unchanged.
"""

import numpy as np

from centime.model.kernel import Whole, bare_inlined, bare_part, late_kernel
from centime.parse.elements import (
    BEFORE,
    FOREIGN_AT,
    NOT_OPENED,
    close_element,
    close_implied,
    no_elements,
    push_element,
)
from centime.parse.names import KINDS, LOWER, NAME_END, PLAINTEXT, RAW, ROLES, SPACE, TAG_END, element_of, name_at
from centime.parse.references import IN_TEXT, IN_VALUE, resolve_part
from centime.parse.tokens import cdata_end, declaration_end, is_cdata, raw_end, value_at
from centime.warehouse.contents import SEPARATOR, WRITTEN, Bytes, Scratch, intern
from centime.warehouse.nodes import (
    ATTRIBUTES,
    COMMENT,
    COMMENT_LABEL,
    DOCUMENT,
    DOCUMENT_LABEL,
    ELEMENT,
    NODES,
    OPEN,
    PLACES,
    TEXT,
    TEXT_BEGIN,
    TEXT_LABEL,
    TYPE,
    TYPE_LABEL,
    Columns,
    Numbers,
    Table,
    add_node,
    put,
    sort_attributes,
)

_IS_CLOSED = 1 << 40  # added to the place behind a tag that ends with `/>`


@late_kernel(6.0)
def scan_html(
    data: Bytes, columns: Columns, table: Table, attributes: Numbers, order: Numbers, stack: Scratch, scratch: Scratch
) -> None:
    """Fills the columns from the bytes of a page in UTF-8."""
    size = np.int64(len(data))
    no_elements(stack)
    stack[BEFORE] = 0
    scratch[NODES] = 0
    scratch[OPEN] = -1
    scratch[TEXT_BEGIN] = -1
    add_node(columns, scratch, DOCUMENT_LABEL, DOCUMENT_LABEL, 0, DOCUMENT)
    at: Whole = np.int64(0)
    while at < size:
        following = np.int64(LOWER[data[at + 1]]) if data[at] == 60 and at + 1 < size else np.int64(0)
        closing = following == 47 and at + 2 < size
        if closing:
            following = np.int64(LOWER[data[at + 2]])
        if 97 <= following <= 122:
            _end_text(columns, table, stack, scratch)
            at = _tag(data, at, closing, columns, table, attributes, order, stack, scratch)
        elif following in (33, 63) or closing:
            at = _no_tag(data, at, closing, following, columns, table, stack, scratch)
        else:
            stop: Whole = at + 1
            while stop < size and data[stop] != 60:
                stop += 1
            _add_text(data, at, stop, True, table, scratch)
            at = stop
    _end_text(columns, table, stack, scratch)


@bare_part
def _no_tag(
    data: Bytes, at: Whole, closing: bool | np.bool_, following: Whole, columns: Columns, table: Table,
    stack: Scratch, scratch: Scratch,
) -> Whole:  # fmt: skip
    """Adds a comment, a document type, or a CDATA section of SVG; returns where it ends."""
    size = np.int64(len(data))
    if following == 33 and not closing and stack[FOREIGN_AT] >= 0 and is_cdata(data, at):
        stop = np.int64(cdata_end(data, at + 9))
        _add_text(data, at + 9, stop, False, table, scratch)
        return min(stop + 3, size)
    if closing and following == 62:
        return at + 3
    stop = np.int64(declaration_end(data, at))
    _end_text(columns, table, stack, scratch)
    contents, ends, slots, known = table
    begin = known[WRITTEN]
    is_type = not closing and following == 33 and at + 2 < size and LOWER[data[at + 2]] == 100
    put(121 if is_type else 99, contents, known)
    for place in range(at, stop):
        put(LOWER[data[place]] if is_type else data[place], contents, known)
    number = intern(begin, contents, ends, slots, known)
    scratch[OPEN] = stack[BEFORE]
    label, kind = (TYPE_LABEL, TYPE) if is_type else (COMMENT_LABEL, COMMENT)
    add_node(columns, scratch, label, number, stop - at, kind)
    return stop


@bare_part
def _tag(
    data: Bytes, at: Whole, closing: bool | np.bool_, columns: Columns, table: Table, attributes: Numbers,
    order: Numbers, stack: Scratch, scratch: Scratch,
) -> Whole:  # fmt: skip
    """Opens or closes an element; returns where its tag ends, or its content if that is raw."""
    name = at + (2 if closing else 1)
    size = np.int64(len(data))
    code, name_end = name_at(data, name, size, TAG_END)
    number = element_of(code)
    stop = _read_attributes(data, name_end, attributes, scratch)
    is_closed = stop >= _IS_CLOSED
    stop -= _IS_CLOSED if is_closed else 0
    if stop >= size and data[size - 1] != 62:
        return size  # the page ends inside a tag, which does not count
    if closing:
        close_element(stack, number)
        return stop
    how = close_implied(stack, number, is_closed)
    scratch[OPEN] = stack[BEFORE]
    element = _add_element(data, name, name_end, columns, table, attributes, order, scratch)
    if ROLES[number] & RAW and stack[FOREIGN_AT] < 0:
        end = size if number == PLAINTEXT else np.int64(raw_end(data, stop, code))
        scratch[OPEN] = element
        _add_text(data, stop, end, False, table, scratch)
        _end_raw(columns, table, scratch)
        return end
    if how != NOT_OPENED:
        push_element(stack, number, how, element, 0)
    return stop


@bare_part
def _read_attributes(data: Bytes, at: Whole, attributes: Numbers, scratch: Scratch) -> Whole:
    """Notes the places of attributes; returns the place behind the tag, with a mark if it ends with `/>`."""
    size = np.int64(len(data))
    count = np.int64(0)
    while at < size and data[at] != 62:
        if data[at] == 47 and at + 1 < size and data[at + 1] == 62:
            scratch[ATTRIBUTES] = count
            return at + 2 + _IS_CLOSED
        if data[at] == 47 or KINDS[data[at]] & SPACE:
            at += 1
            continue
        begin = at
        at += 1
        while at < size and not KINDS[data[at]] & NAME_END:
            at += 1
        attributes[PLACES * count] = begin
        attributes[PLACES * count + 1] = at
        while at < size and KINDS[data[at]] & SPACE:
            at += 1
        start, end = at, at
        if at < size and data[at] == 61:
            start, end, at = value_at(data, at + 1)
            if at < 0:
                at = size
        attributes[PLACES * count + 2] = start
        attributes[PLACES * count + 3] = end
        count += 1
    scratch[ATTRIBUTES] = count
    return at + 1


@bare_part
def _add_element(
    data: Bytes, name: Whole, name_end: Whole, columns: Columns, table: Table, attributes: Numbers, order: Numbers,
    scratch: Scratch,
) -> Whole:  # fmt: skip
    contents, ends, slots, known = table
    begin = known[WRITTEN]
    put(101, contents, known)
    _copy_lower(data, name, name_end, contents, known)
    label = intern(begin, contents, ends, slots, known)
    content = label
    count = scratch[ATTRIBUTES]
    if count:
        begin = known[WRITTEN]
        put(97, contents, known)
        _copy_lower(data, name, name_end, contents, known)
        sort_attributes(data, attributes, order, count)
        for place in range(count):
            one = PLACES * order[place]
            if place and _is_same(data, attributes, one, PLACES * order[place - 1]):
                continue
            put(SEPARATOR, contents, known)
            _copy_lower(data, attributes[one], attributes[one + 1], contents, known)
            put(SEPARATOR, contents, known)
            known[WRITTEN] = resolve_part(
                data, attributes[one + 2], attributes[one + 3], IN_VALUE, contents, known[WRITTEN]
            )
        content = intern(begin, contents, ends, slots, known)
    return add_node(columns, scratch, label, content, count, ELEMENT)


@bare_part
def _is_same(data: Bytes, attributes: Numbers, one: Whole, other: Whole) -> bool | np.bool_:
    """Whether two attributes have the same name."""
    size = attributes[one + 1] - attributes[one]
    if attributes[other + 1] - attributes[other] != size:
        return False
    place = np.int64(0)
    while place < size and LOWER[data[attributes[one] + place]] == LOWER[data[attributes[other] + place]]:
        place += 1
    return bool(place == size)


@bare_inlined
def _copy_lower(data: Bytes, at: Whole, stop: Whole, contents: Bytes, known: Scratch) -> None:
    for place in range(at, stop):
        put(LOWER[data[place]], contents, known)


@bare_part
def _add_text(data: Bytes, at: Whole, stop: Whole, escaped: bool | np.bool_, table: Table, scratch: Scratch) -> None:
    """Gathers text that belongs to one node."""
    contents, known = table[0], table[3]
    if scratch[TEXT_BEGIN] < 0:
        scratch[TEXT_BEGIN] = known[WRITTEN]
        put(116, contents, known)
    if escaped:
        known[WRITTEN] = resolve_part(data, at, stop, IN_TEXT, contents, known[WRITTEN])
    else:
        for place in range(at, stop):
            put(data[place], contents, known)


@bare_inlined
def _end_text(columns: Columns, table: Table, stack: Scratch, scratch: Scratch) -> None:
    """Adds the text that was gathered to the innermost open element."""
    scratch[OPEN] = stack[BEFORE]
    _end_raw(columns, table, scratch)


@bare_part
def _end_raw(columns: Columns, table: Table, scratch: Scratch) -> None:
    contents, ends, slots, known = table
    begin = scratch[TEXT_BEGIN]
    scratch[TEXT_BEGIN] = -1
    if begin < 0:
        return
    if known[WRITTEN] == begin + 1:
        known[WRITTEN] = begin
        return
    blank = True
    for place in range(begin + 1, known[WRITTEN]):
        if not KINDS[contents[place]] & SPACE:
            blank = False
            break
    size = np.int64(0) if blank else known[WRITTEN] - begin - 1
    add_node(columns, scratch, TEXT_LABEL, intern(begin, contents, ends, slots, known), size, TEXT)
