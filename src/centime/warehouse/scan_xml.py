"""One pass over the bytes of XML fills the arrays of a tree.

Nothing is loaded and nothing is expanded: a document that would become gigabytes is as long as its bytes. The pass is
linear whatever the nesting and the number of attributes.

Two documents are equal if their XML information sets are: the order of attributes, quotes, empty tags, CDATA sections,
line ends and numeric references make no difference. Unlike a parser it ignores errors that make no difference to the
tree (attributes given twice, characters that XML does not have).
"""

import numpy as np

from centime.model.kernel import Whole, bare_inlined, bare_part, late_kernel
from centime.parse.tokens import is_cdata
from centime.warehouse.contents import SEPARATOR, WRITTEN, Bytes, Scratch, intern
from centime.warehouse.nodes import (
    ATTRIBUTES,
    BROKEN,
    COMMENT,
    COMMENT_LABEL,
    DOCUMENT,
    DOCUMENT_LABEL,
    ELEMENT,
    INSTRUCTION,
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
from centime.warehouse.xml_tokens import ENDS_NAME, SPACE, find_bytes, is_declaration, type_end, write_reference

_BEGINS_NAME = np.zeros(256, dtype=np.bool_)
_BEGINS_NAME[[58, 95]] = _BEGINS_NAME[65:91] = _BEGINS_NAME[97:123] = _BEGINS_NAME[128:] = True


@late_kernel(4.0)
def scan_xml(
    data: Bytes, columns: Columns, table: Table, attributes: Numbers, order: Numbers,
    scratch: Scratch,
) -> None:  # fmt: skip
    """Fills the columns from the bytes of a document in UTF-8; sets `scratch[BROKEN]` to a place if it is broken
    there, else to -1."""
    end = np.int64(len(data))
    scratch[NODES] = 0
    scratch[OPEN] = -1
    scratch[TEXT_BEGIN] = -1
    scratch[BROKEN] = -1
    add_node(columns, scratch, DOCUMENT_LABEL, DOCUMENT_LABEL, 0, DOCUMENT)
    scratch[OPEN] = 0
    at: Whole = np.int64(0)
    while at < end and scratch[BROKEN] < 0:
        if data[at] != 60:
            stop: Whole = at
            while stop < end and data[stop] != 60:
                stop += 1
            _add_text(data, at, stop, True, table, scratch)
            at = stop
        elif at + 1 < end and data[at + 1] == 33 and is_cdata(data, at):
            stop = find_bytes(data, at + 9, 93, 93, 62)
            _add_text(data, at + 9, min(stop, end), False, table, scratch)
            at = stop + 3
        else:
            _end_text(columns, table, at, scratch)
            if scratch[BROKEN] < 0:
                at = _markup(data, at, columns, table, attributes, order, scratch)
    if scratch[BROKEN] < 0:
        _end_text(columns, table, end, scratch)
    if scratch[BROKEN] < 0 and (at > end or scratch[OPEN] != 0 or not _has_root(columns, scratch)):
        scratch[BROKEN] = end


@bare_part
def _markup(
    data: Bytes, at: Whole, columns: Columns, table: Table, attributes: Numbers,
    order: Numbers, scratch: Scratch,
) -> Whole:  # fmt: skip
    """Adds the markup that begins with `<` at a place; returns where it ends."""
    end = np.int64(len(data))
    following = np.int64(data[at + 1]) if at + 1 < end else np.int64(0)
    if following == 47:
        return _close(data, at, columns, table, scratch)
    if following == 33:
        if at + 3 < end and data[at + 2] == 45 and data[at + 3] == 45:
            stop = find_bytes(data, at + 4, 45, 45, 62)
            _add_leaf(data, at + 4, stop, 99, COMMENT_LABEL, COMMENT, columns, table, scratch)
            return stop + 3
        stop = type_end(data, at)
        _add_leaf(data, at, stop, 121, TYPE_LABEL, TYPE, columns, table, scratch)
        return stop + 1
    if following == 63:
        stop = find_bytes(data, at + 2, 63, 62, -1)
        if not is_declaration(data, at):
            _add_instruction(data, at + 2, min(stop, end), columns, table, scratch)
        return stop + 2
    if following == 0 or not _BEGINS_NAME[following]:
        scratch[BROKEN] = at
        return at
    return _open(data, at, columns, table, attributes, order, scratch)


@bare_part
def _open(
    data: Bytes, at: Whole, columns: Columns, table: Table, attributes: Numbers,
    order: Numbers, scratch: Scratch,
) -> Whole:  # fmt: skip
    """Adds an element; returns where its tag ends."""
    contents, ends, slots, known = table
    end = np.int64(len(data))
    if scratch[OPEN] == 0 and _has_root(columns, scratch):
        scratch[BROKEN] = at
        return at
    name_end = at + 1
    while name_end < end and not ENDS_NAME[data[name_end]]:
        name_end += 1
    stop = _read_attributes(data, name_end, attributes, scratch)
    if stop >= end:
        scratch[BROKEN] = at
        return at
    begin = known[WRITTEN]
    put(101, contents, known)
    _copy(data, at + 1, name_end, contents, known)
    label = intern(begin, contents, ends, slots, known)
    content = label
    count = scratch[ATTRIBUTES]
    if count:
        begin = known[WRITTEN]
        put(97, contents, known)
        _copy(data, at + 1, name_end, contents, known)
        sort_attributes(data, attributes, order, count)
        for place in range(count):
            one = PLACES * order[place]
            put(SEPARATOR, contents, known)
            _copy(data, attributes[one], attributes[one + 1], contents, known)
            put(SEPARATOR, contents, known)
            _write_text(data, attributes[one + 2], attributes[one + 3], True, True, contents, known)
        content = intern(begin, contents, ends, slots, known)
    element = add_node(columns, scratch, label, content, count, ELEMENT)
    if data[stop] == 47:  # an empty tag
        return stop + 2
    scratch[OPEN] = element
    return stop + 1


@bare_part
def _read_attributes(data: Bytes, at: Whole, attributes: Numbers, scratch: Scratch) -> Whole:
    """Notes the places of attributes; returns where `>` or `/>` is, or the end of the data if the tag is broken."""
    end = np.int64(len(data))
    count = np.int64(0)
    while True:
        while at < end and SPACE[data[at]]:
            at += 1
        if at >= end:
            return end
        if data[at] == 62 or (data[at] == 47 and at + 1 < end and data[at + 1] == 62):
            scratch[ATTRIBUTES] = count
            return at
        begin = at
        while at < end and not ENDS_NAME[data[at]]:
            at += 1
        name_end = at
        while at < end and SPACE[data[at]]:
            at += 1
        if name_end == begin or at >= end or data[at] != 61:
            return end
        at += 1
        while at < end and SPACE[data[at]]:
            at += 1
        if at >= end or (data[at] != 34 and data[at] != 39):
            return end
        quote = data[at]
        at += 1
        value = at
        while at < end and data[at] != quote:
            at += 1
        if at >= end:
            return end
        attributes[PLACES * count] = begin
        attributes[PLACES * count + 1] = name_end
        attributes[PLACES * count + 2] = value
        attributes[PLACES * count + 3] = at
        count += 1
        at += 1


@bare_part
def _close(data: Bytes, at: Whole, columns: Columns, table: Table, scratch: Scratch) -> Whole:
    """Closes the innermost element, if the tag at this place has its name; returns where the tag ends."""
    contents, ends = table[0], table[1]
    end = np.int64(len(data))
    label = np.int64(columns[1][scratch[OPEN]])
    place = at + 2
    known = ends[label] + 1
    while place < end and known < ends[label + 1] and data[place] == contents[known]:
        place += 1
        known += 1
    same = scratch[OPEN] > 0 and known == ends[label + 1]
    while place < end and SPACE[data[place]]:
        place += 1
    same = same and place < end and data[place] == 62
    if not same:
        scratch[BROKEN] = at
        return at
    if same:
        scratch[OPEN] = columns[0][scratch[OPEN]]
    while place < end and data[place] != 62:
        place += 1
    return place + 1


@bare_inlined
def _has_root(columns: Columns, scratch: Scratch) -> bool | np.bool_:
    """Whether the document has an element, when none is open."""
    number = scratch[NODES] - 1
    while number > 0:
        if columns[0][number] == 0 and columns[4][number] == ELEMENT:
            return True
        number = number - 1 if columns[0][number] == 0 else np.int64(columns[0][number])
    return False


@bare_part
def _copy(data: Bytes, at: Whole, stop: Whole, contents: Bytes, known: Scratch) -> None:
    written = known[WRITTEN]
    for place in range(at, stop):
        contents[written] = data[place]
        written += 1
    known[WRITTEN] = written


@bare_part
def _add_leaf(
    data: Bytes, at: Whole, stop: Whole, sort: Whole, label: Whole, kind: Whole, columns: Columns, table: Table,
    scratch: Scratch,
) -> None:  # fmt: skip
    """Adds a comment or a document type."""
    contents, ends, slots, known = table
    if stop >= len(data):
        scratch[BROKEN] = at
        return
    begin = known[WRITTEN]
    put(sort, contents, known)
    _write_text(data, at, stop, False, False, contents, known)
    size = known[WRITTEN] - begin - 1
    add_node(columns, scratch, label, intern(begin, contents, ends, slots, known), size, kind)


@bare_part
def _add_instruction(data: Bytes, at: Whole, stop: Whole, columns: Columns, table: Table, scratch: Scratch) -> None:
    contents, ends, slots, known = table
    name_end = at
    while name_end < stop and not SPACE[data[name_end]]:
        name_end += 1
    begin = known[WRITTEN]
    put(112, contents, known)
    _copy(data, at, name_end, contents, known)
    label = intern(begin, contents, ends, slots, known)
    begin = known[WRITTEN]
    put(113, contents, known)
    _copy(data, at, name_end, contents, known)
    put(SEPARATOR, contents, known)
    while name_end < stop and SPACE[data[name_end]]:
        name_end += 1
    _write_text(data, name_end, stop, False, False, contents, known)
    add_node(columns, scratch, label, intern(begin, contents, ends, slots, known), stop - name_end, INSTRUCTION)


@bare_part
def _add_text(
    data: Bytes, at: Whole, stop: Whole, escaped: bool | np.bool_, table: Table,
    scratch: Scratch,
) -> None:  # fmt: skip
    """Gathers text that belongs to one node, whether it is escaped or in a CDATA section."""
    contents, known = table[0], table[3]
    if scratch[TEXT_BEGIN] < 0:
        scratch[TEXT_BEGIN] = known[WRITTEN]
        put(116, contents, known)
    _write_text(data, at, stop, escaped, False, contents, known)


@bare_part
def _end_text(columns: Columns, table: Table, at: Whole, scratch: Scratch) -> None:
    """Adds the text that was gathered."""
    contents, ends, slots, known = table
    begin = scratch[TEXT_BEGIN]
    scratch[TEXT_BEGIN] = -1
    if begin < 0 or known[WRITTEN] == begin + 1:
        if begin >= 0:
            known[WRITTEN] = begin
        return
    blank = True
    for place in range(begin + 1, known[WRITTEN]):
        if not SPACE[contents[place]]:
            blank = False
            break
    if scratch[OPEN] == 0:  # outside the root
        known[WRITTEN] = begin
        if not blank:
            scratch[BROKEN] = at
        return
    size = np.int64(0) if blank else known[WRITTEN] - begin - 1
    add_node(columns, scratch, TEXT_LABEL, intern(begin, contents, ends, slots, known), size, TEXT)


@bare_part
def _write_text(
    data: Bytes, at: Whole, stop: Whole, escaped: bool | np.bool_, value: bool | np.bool_,
    contents: Bytes, known: Scratch,
) -> None:  # fmt: skip
    """Writes text with resolved references; in XML line ends are LF, and all white space of a value is a space."""
    written = known[WRITTEN]
    while at < stop:
        byte = data[at]
        if byte == 38 and escaped:
            at, written = write_reference(data, at, stop, contents, written)
            continue
        if byte == 13:
            byte = np.uint8(10)
            if at + 1 < stop and data[at + 1] == 10:
                at += 1
        contents[written] = np.uint8(32) if value and byte <= 32 else byte
        written += 1
        at += 1
    known[WRITTEN] = written
