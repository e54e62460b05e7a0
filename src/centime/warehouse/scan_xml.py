"""One pass over the bytes of XML fills the arrays of a tree.

Nothing is loaded and nothing is expanded: a document that would become gigabytes is as long as its bytes. The pass is
linear whatever the nesting and the number of attributes.

What it takes for the same is the same by XML's information set: the order of attributes, quotes, empty tags, CDATA
sections, line ends and numeric references make no difference. Unlike a parser it forgives what makes no difference to
the tree (attributes given twice, characters that XML does not have).
"""

import numpy as np

from centime.model.kernel import Whole, bare_inlined, bare_part, late_kernel
from centime.parse.references import write_character
from centime.warehouse.contents import ENTITY, SEPARATOR, WRITTEN, Bytes, Scratch, intern
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

_ENDS_NAME = np.zeros(256, dtype=np.bool_)
_ENDS_NAME[[9, 10, 13, 32, 47, 61, 62]] = True
_SPACE = np.zeros(256, dtype=np.bool_)
_SPACE[[9, 10, 13, 32]] = True
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
        elif at + 1 < end and data[at + 1] == 33 and _is_cdata(data, at):
            stop = _find(data, at + 9, 93, 93, 62)
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
    """Adds what begins with `<` at a place; returns where it ends."""
    end = np.int64(len(data))
    following = np.int64(data[at + 1]) if at + 1 < end else np.int64(0)
    if following == 47:
        return _close(data, at, columns, table, scratch)
    if following == 33:
        if at + 3 < end and data[at + 2] == 45 and data[at + 3] == 45:
            stop = _find(data, at + 4, 45, 45, 62)
            _add_leaf(data, at + 4, stop, 99, COMMENT_LABEL, COMMENT, columns, table, scratch)
            return stop + 3
        stop = _type_end(data, at)
        _add_leaf(data, at, stop, 121, TYPE_LABEL, TYPE, columns, table, scratch)
        return stop + 1
    if following == 63:
        stop = _find(data, at + 2, 63, 62, -1)
        if not _is_declaration(data, at):
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
    """Adds an element; returns where its tag ends, or its content if that is raw."""
    contents, ends, slots, known = table
    end = np.int64(len(data))
    if scratch[OPEN] == 0 and _has_root(columns, scratch):
        scratch[BROKEN] = at
        return at
    name_end = at + 1
    while name_end < end and not _ENDS_NAME[data[name_end]]:
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
        while at < end and _SPACE[data[at]]:
            at += 1
        if at >= end:
            return end
        if data[at] == 62 or (data[at] == 47 and at + 1 < end and data[at + 1] == 62):
            scratch[ATTRIBUTES] = count
            return at
        begin = at
        while at < end and not _ENDS_NAME[data[at]]:
            at += 1
        name_end = at
        while at < end and _SPACE[data[at]]:
            at += 1
        if name_end == begin or at >= end or data[at] != 61:
            return end
        at += 1
        while at < end and _SPACE[data[at]]:
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
    while place < end and _SPACE[data[place]]:
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
    while name_end < stop and not _SPACE[data[name_end]]:
        name_end += 1
    begin = known[WRITTEN]
    put(112, contents, known)
    _copy(data, at, name_end, contents, known)
    label = intern(begin, contents, ends, slots, known)
    begin = known[WRITTEN]
    put(113, contents, known)
    _copy(data, at, name_end, contents, known)
    put(SEPARATOR, contents, known)
    while name_end < stop and _SPACE[data[name_end]]:
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
        if not _SPACE[contents[place]]:
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
            at, written = _reference(data, at, stop, contents, written)
            continue
        if byte == 13:
            byte = np.uint8(10)
            if at + 1 < stop and data[at + 1] == 10:
                at += 1
        contents[written] = np.uint8(32) if value and byte <= 32 else byte
        written += 1
        at += 1
    known[WRITTEN] = written


@bare_part
def _reference(data: Bytes, at: Whole, stop: Whole, contents: Bytes, written: Whole) -> tuple[Whole, Whole]:
    """Writes what a reference stands for; returns what follows it, and the end of what is written."""
    end = at + 1
    while end < stop and data[end] != 59 and not _ENDS_NAME[data[end]] and data[end] != 38:
        end += 1
    size = end - at - 1
    if end >= stop or data[end] != 59 or size == 0:
        contents[written] = 38
        return at + 1, written + 1
    first, second = np.int64(data[at + 1]), np.int64(data[at + 2])
    if first == 35:
        character = _number(data, at + 2, end)
        if character >= 0:
            return end + 1, write_character(character, contents, written)
    character = np.int64(-1)
    if size == 2 and second == 116:
        character = np.int64(60) if first == 108 else np.int64(62) if first == 103 else character
    elif size == 3 and first == 97 and second == 109 and data[at + 3] == 112:
        character = np.int64(38)
    elif size == 4 and first == 113 and second == 117 and data[at + 3] == 111 and data[at + 4] == 116:
        character = np.int64(34)
    elif size == 4 and first == 97 and second == 112 and data[at + 3] == 111 and data[at + 4] == 115:
        character = np.int64(39)
    elif size == 4 and first == 110 and second == 98 and data[at + 3] == 115 and data[at + 4] == 112:
        character = np.int64(160)
    if character >= 0:
        return end + 1, write_character(character, contents, written)
    contents[written] = np.uint8(38) if first == 35 else np.uint8(ENTITY)
    return at + 1, written + 1


@bare_part
def _number(data: Bytes, at: Whole, stop: Whole) -> Whole:
    """The character of a numeric reference between `&#` and `;`; -1 if it is none."""
    base = np.int64(10)
    if data[at] == 120:
        base = np.int64(16)
        at += 1
    value = np.int64(-1)
    while at < stop:
        byte = np.int64(data[at])
        if 48 <= byte <= 57:
            digit = byte - 48
        elif base == 16 and 97 <= (byte | 32) <= 102:
            digit = (byte | 32) - 87
        else:
            return np.int64(-1)
        value = min(max(value, np.int64(0)) * base + digit, np.int64(0x110000))
        at += 1
    return np.int64(-1) if value == 0x110000 or 0xD800 <= value <= 0xDFFF else value


@bare_part
def _find(data: Bytes, at: Whole, first: Whole, second: Whole, third: Whole) -> Whole:
    """Where the next two or three of these bytes stand; the end of the data if nowhere."""
    end = np.int64(len(data))
    stop = end - (1 if third < 0 else 2)
    while at < stop:
        if data[at] == first and data[at + 1] == second and (third < 0 or data[at + 2] == third):
            return at
        at += 1
    return end


@bare_part
def _is_cdata(data: Bytes, at: Whole) -> bool | np.bool_:
    return (
        at + 8 < len(data) and data[at + 2] == 91 and data[at + 3] == 67 and data[at + 4] == 68 and data[at + 5] == 65
        and data[at + 6] == 84 and data[at + 7] == 65 and data[at + 8] == 91
    )  # fmt: skip


@bare_part
def _is_declaration(data: Bytes, at: Whole) -> bool | np.bool_:
    """Whether this is the XML declaration, which belongs to the bytes and not to the tree."""
    return (
        at == 0 and len(data) > 5 and data[2] == 120 and data[3] == 109 and data[4] == 108 and bool(_SPACE[data[5]])
    )  # fmt: skip


@bare_part
def _type_end(data: Bytes, at: Whole) -> Whole:
    """Where the `>` of a document type stands, behind its internal subset; the end of the data if nowhere."""
    end = np.int64(len(data))
    inside = False
    at += 2
    while at < end:
        byte = data[at]
        if byte == 62 and not inside:
            return at
        if byte == 91:
            inside = True
        elif byte == 93:
            inside = False
        elif byte == 34 or byte == 39:
            at += 1
            while at < end and data[at] != byte:
                at += 1
        elif byte == 60 and at + 3 < end and data[at + 1] == 33 and data[at + 2] == 45 and data[at + 3] == 45:
            at = _find(data, at + 4, 45, 45, 62) + 2
        elif byte == 60 and at + 1 < end and data[at + 1] == 63:
            at = _find(data, at + 2, 63, 62, -1) + 1
        at += 1
    return end
