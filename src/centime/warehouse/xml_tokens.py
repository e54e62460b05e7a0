"""Finds the ends of the parts of an XML document, and resolves its references.

References to entities are not expanded: a mark, the name and a semicolon take their place (`contents.py`).
"""

import numpy as np

from centime.model.kernel import Whole, bare_part
from centime.parse.references import write_character
from centime.warehouse.contents import ENTITY, Bytes

SPACE = np.zeros(256, dtype=np.bool_)
SPACE[[9, 10, 13, 32]] = True
ENDS_NAME = SPACE.copy()
ENDS_NAME[[47, 61, 62]] = True


@bare_part
def write_reference(data: Bytes, at: Whole, stop: Whole, contents: Bytes, written: Whole) -> tuple[Whole, Whole]:
    """Writes the text of a reference; returns the place behind it, and the end of the written text."""
    end = at + 1
    while end < stop and data[end] != 59 and not ENDS_NAME[data[end]] and data[end] != 38:
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
    if character >= 0:
        return end + 1, write_character(character, contents, written)
    contents[written] = np.uint8(38) if first == 35 else np.uint8(ENTITY)
    return at + 1, written + 1


@bare_part
def _number(data: Bytes, at: Whole, stop: Whole) -> Whole:
    """The character of a numeric reference between `&#` and `;`; -1 if it is invalid."""
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
def find_bytes(data: Bytes, at: Whole, first: Whole, second: Whole, third: Whole) -> Whole:
    """The next place of these two or three bytes; the end of the data if there is none."""
    end = np.int64(len(data))
    stop = end - (1 if third < 0 else 2)
    while at < stop:
        if data[at] == first and data[at + 1] == second and (third < 0 or data[at + 2] == third):
            return at
        at += 1
    return end


@bare_part
def is_declaration(data: Bytes, at: Whole) -> bool | np.bool_:
    """Whether this is the XML declaration, which belongs to the bytes and not to the tree."""
    return (
        at == 0 and len(data) > 5 and data[2] == 120 and data[3] == 109 and data[4] == 108 and bool(SPACE[data[5]])
    )  # fmt: skip


@bare_part
def type_end(data: Bytes, at: Whole) -> Whole:
    """The place of the `>` of a document type, behind its internal subset; the end of the data if there is none."""
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
            at = find_bytes(data, at + 4, 45, 45, 62) + 2
        elif byte == 60 and at + 1 < end and data[at + 1] == 63:
            at = find_bytes(data, at + 2, 63, 62, -1) + 1
        at += 1
    return end
