"""One compiled pass over a well-formed document that fills the hashes of its terms (`path_terms.py`).

It knows documents in UTF-8 that a parser has found well formed and that have no document type, and trees of HTML as
libxml2 writes them as XML. In the latter, names are what pages write: they may hold quotation marks and `<`, but no
space, no `/`, no `>`, and `=` only in front; they have no prefixes, and no line ends are to be normalized. It is
linear, keeps only the open elements, and returns whether it understood everything.
"""

import numpy as np

from centime.model.kernel import Whole, bare_inlined, bare_part, late_kernel
from centime.parse.words import mixed
from centime.search.path_terms import LONGEST_VALUE, folded
from centime.search.term_hashes import (
    ATTRIBUTE,
    ATTRIBUTE_VALUE,
    CHILD,
    ELEMENT,
    MIXED,
    NO_SIGN,
    OF_ELEMENT,
    PATH,
    VALUE,
    add,
    add_number,
    is_white,
    named,
)
from centime.warehouse.contents import Bytes, Scratch

ROOM = 4 * LONGEST_VALUE + 16  # bytes behind a document, for a value with its references replaced
SCRATCH_SIZE = 3
STACK_ROWS = 4
_BEGIN, _STOP, _PATH, _HAS_CHILDREN = range(STACK_ROWS)  # rows of the stack of open elements
_SIZE, _CHARACTERS = 1, 2  # places of the scratch array: bytes and characters of the value that is read
_UNKNOWN = -1  # instead of a place: the document has something that this pass does not know
_LESS, _GREATER, _AMPERSAND, _SLASH, _EQUALS, _EXCLAMATION, _QUESTION, _BRACKET, _CLOSING = b"<>&/=!?[]"
_QUOTE, _APOSTROPHE, _HASH, _SEMICOLON, _COLON, _BRACE, _MINUS, _SPACE, _NEWLINE, _RETURN = b"\"'#;:}- \n\r"
_ZERO, _NINE, _A, _F, _X = b"09afx"
_REPLACEMENT = 0xFFFD  # libxml2 writes it instead of control characters
_XMLNS, _CDATA, _OPENED = (np.frombuffer(text, dtype=np.uint8) for text in (b"xmlns", b"<![CDATA[", b"<!--"))
_REFERENCES = np.frombuffer(b"amp;lt;gt;quot;apos;", dtype=np.uint8)
_REFERENCE_ENDS = np.array([4, 7, 10, 15, 20])
_REFERRED = np.frombuffer(b"&<>\"'", dtype=np.uint8)


@late_kernel(3.0)
def scan_terms(
    data: Bytes, end: Whole, is_html: bool, stack: Scratch, recent: Scratch, found: Scratch, scratch: Scratch
) -> bool:
    """Fills the hashes of the terms of a document that ends at `end`, with some repetitions; returns whether it could.

    Behind the document, `data` has ROOM. `found` has room for seven terms of each `<` and five of each `=`; `recent`
    has a power of two of places, all -1.
    """
    at: Whole = np.int64(0)
    depth = np.int64(0)
    while at < end:
        if data[at] != _LESS:
            if stack[_HAS_CHILDREN, depth]:
                while at < end and data[at] != _LESS:
                    at += 1
            else:
                at = _read_value(data, at, end, _LESS, is_html, scratch)
        elif data[at + 1] == _SLASH:
            _close(data, end, stack, depth, recent, found, scratch)
            depth -= 1
            while at < end and data[at] != _GREATER:
                at += 1
            at += 1
        elif data[at + 1] == _EXCLAMATION and data[at + 2] == _BRACKET:
            at = _read_section(data, at, end, is_html, scratch)
        elif data[at + 1] == _EXCLAMATION or data[at + 1] == _QUESTION:
            stack[_HAS_CHILDREN, depth] = 1
            at = _behind_other(data, at, end)
        else:
            if depth + 1 == stack.shape[1]:
                return False
            stack[_HAS_CHILDREN, depth] = 1
            depth += 1
            at = _open(data, at, end, is_html, stack, depth, recent, found, scratch)
            if at != _UNKNOWN and data[at - 2] == _SLASH and data[at - 1] == _GREATER:
                _close(data, end, stack, depth, recent, found, scratch)
                depth -= 1
        if at == _UNKNOWN or depth < 0:
            return False
    return bool(depth == 0) and bool(at == end)


@bare_part
def _open(
    data: Bytes, at: Whole, end: Whole, is_html: bool, stack: Scratch, depth: Whole, recent: Scratch, found: Scratch,
    scratch: Scratch,
) -> Whole:  # fmt: skip
    """Puts an element on the stack, and adds its terms; returns where its tag ends."""
    begin: Whole = np.int64(at) + 1
    at = begin
    while at < end and not is_white(data, at) and data[at] != _SLASH and data[at] != _GREATER:
        at += 1
    stop = np.int64(at)
    begin = _local(data, begin, stop, is_html)
    if begin in (stop, _UNKNOWN):
        return _UNKNOWN
    path = folded(mixed(0, PATH) if depth == 1 else mixed(stack[_PATH, depth - 1], 0), data, begin, stop)
    stack[_BEGIN, depth], stack[_STOP, depth], stack[_PATH, depth], stack[_HAS_CHILDREN, depth] = begin, stop, path, 0
    if _is_new(path, recent):
        add(path, found, scratch)
        add(named(ELEMENT, data, begin, stop), found, scratch)
        if depth > 1:
            above = mixed(named(CHILD, data, stack[_BEGIN, depth - 1], stack[_STOP, depth - 1]), 0)
            add(folded(above, data, begin, stop), found, scratch)
    while at < end:
        while at < end and is_white(data, at):
            at += 1
        if data[at] == _SLASH or data[at] == _GREATER:
            break
        at = _read_attribute(data, at, end, is_html, begin, stop, recent, found, scratch)
        if at == _UNKNOWN:
            return _UNKNOWN
    scratch[_SIZE] = scratch[_CHARACTERS] = 0
    return at + 2 if data[at] == _SLASH else at + 1


@bare_part
def _read_attribute(
    data: Bytes, at: Whole, end: Whole, is_html: bool, element: Whole, element_end: Whole, recent: Scratch,
    found: Scratch, scratch: Scratch,
) -> Whole:  # fmt: skip
    """Adds the terms of an attribute; returns where it ends."""
    name: Whole = np.int64(at)
    at = name + 1
    while at < end and not is_white(data, at) and data[at] != _EQUALS:
        at += 1
    name_end = np.int64(at)
    while at < end and data[at] != _QUOTE and data[at] != _APOSTROPHE:
        at += 1
    scratch[_SIZE] = scratch[_CHARACTERS] = 0
    at = _read_value(data, at + 1, end, np.int64(data[at]), is_html, scratch)
    if at == _UNKNOWN or at >= end:
        return _UNKNOWN
    if not is_html and _declares_namespace(data, name, name_end):
        return at + 1
    name = _local(data, name, name_end, is_html)
    if name == _UNKNOWN:
        return _UNKNOWN
    of_element = folded(mixed(named(OF_ELEMENT, data, element, element_end), 0), data, name, name_end)
    if _is_new(of_element, recent):
        add(of_element, found, scratch)
        add(named(ATTRIBUTE, data, name, name_end), found, scratch)
    if scratch[_CHARACTERS] <= LONGEST_VALUE:
        value = folded(mixed(named(ATTRIBUTE_VALUE, data, name, name_end), 0), data, end, end + scratch[_SIZE])
        if _is_new(value, recent):
            add(value, found, scratch)
            add_number(data, ATTRIBUTE, name, name_end, end, end + scratch[_SIZE], found, scratch)
    return at + 1


@bare_part
def _close(
    data: Bytes, end: Whole, stack: Scratch, depth: Whole, recent: Scratch, found: Scratch, scratch: Scratch
) -> None:
    """Adds the terms of the value of an element that ends."""
    begin, stop = stack[_BEGIN, depth], stack[_STOP, depth]
    if stack[_HAS_CHILDREN, depth]:
        term = named(MIXED, data, begin, stop)
        if _is_new(term, recent):
            add(term, found, scratch)
    elif scratch[_CHARACTERS] <= LONGEST_VALUE:
        term = folded(mixed(named(VALUE, data, begin, stop), 0), data, end, end + scratch[_SIZE])
        if _is_new(term, recent):
            add(term, found, scratch)
            add_number(data, NO_SIGN, begin, stop, end, end + scratch[_SIZE], found, scratch)


@bare_inlined
def _is_new(term: Whole, recent: Scratch) -> bool | np.bool_:
    """Whether a term, and what is added with it, may not have been added yet."""
    place = term & (len(recent) - 1)
    if recent[place] == term:
        return False
    recent[place] = term
    return True


@bare_part
def _read_value(data: Bytes, at: Whole, end: Whole, closing: Whole, is_html: bool, scratch: Scratch) -> Whole:
    """Adds the text up to a closing byte to the value behind the document; returns where that byte is."""
    at = np.int64(at)
    in_attribute = closing != _LESS
    while at < end and data[at] != closing:
        byte: Whole = np.int64(data[at])
        if byte == _AMPERSAND:
            at = _read_reference(data, at + 1, end, scratch)
            if at == _UNKNOWN:
                return _UNKNOWN
            continue
        if byte == _LESS:  # libxml2 writes what servers include, such as <!--#echo -->, as it was
            return _UNKNOWN
        at += 1
        if not is_html and byte < _SPACE:
            if byte == _RETURN and data[at] == _NEWLINE:
                continue
            if in_attribute:
                byte = _SPACE
            elif byte == _RETURN:
                byte = _NEWLINE
        _put(data, end, byte, scratch)
    return at


@bare_part
def _read_section(data: Bytes, at: Whole, end: Whole, is_html: bool, scratch: Scratch) -> Whole:
    """Adds a CDATA section to the value behind the document; returns where it ends."""
    at = np.int64(at) + len(_CDATA)
    while at < end and not (data[at] == _CLOSING and data[at + 1] == _CLOSING and data[at + 2] == _GREATER):
        byte = data[at]
        at += 1
        if byte == _RETURN and not is_html:
            if data[at] == _NEWLINE:
                continue
            byte = _NEWLINE
        _put(data, end, byte, scratch)
    return at + 3


@bare_inlined
def _put(data: Bytes, end: Whole, byte: Whole, scratch: Scratch) -> None:
    """Adds a byte of UTF-8 to the value behind the document, unless that has too many characters."""
    scratch[_CHARACTERS] += (byte & 0xC0) != 0x80
    if scratch[_CHARACTERS] <= LONGEST_VALUE:
        data[end + scratch[_SIZE]] = byte
        scratch[_SIZE] += 1


@bare_part
def _read_reference(data: Bytes, at: Whole, end: Whole, scratch: Scratch) -> Whole:
    """Adds the character of a reference to the value behind the document; returns where the reference ends."""
    if data[at] == _HASH:
        return _read_number(data, at + 1, end, scratch)
    first = np.int64(0)
    for number in range(len(_REFERRED)):
        place = first
        while place < _REFERENCE_ENDS[number] and data[at + place - first] == _REFERENCES[place]:
            place += 1
        if place == _REFERENCE_ENDS[number]:
            _put(data, end, _REFERRED[number], scratch)
            return at + place - first
        first = _REFERENCE_ENDS[number]
    return _UNKNOWN


@bare_part
def _read_number(data: Bytes, at: Whole, end: Whole, scratch: Scratch) -> Whole:
    """Adds the character of a reference by its number; returns where the reference ends."""
    base = np.int64(16 if data[at] == _X else 10)
    at = np.int64(at) + (base == 16)
    code = np.int64(0)
    while at < end and data[at] != _SEMICOLON:
        digit = np.int64(data[at])
        small = digit | 0x20
        if digit >= _ZERO and digit <= _NINE:
            digit -= _ZERO
        elif base == 16 and small >= _A and small <= _F:
            digit = small - _A + 10
        else:
            return _UNKNOWN
        code = code * base + digit
        if code > 0x10FFFF:
            return _UNKNOWN
        at += 1
    if code == _REPLACEMENT:
        return _UNKNOWN
    if code < 0x80:
        _put(data, end, code, scratch)
    else:
        more = 1 + (code >= 0x800) + (code >= 0x10000)
        _put(data, end, ((0xFF00 >> (more + 1)) & 0xFF) | (code >> (6 * more)), scratch)
        while more > 0:
            more -= 1
            _put(data, end, 0x80 | ((code >> (6 * more)) & 0x3F), scratch)
    return at + 1


@bare_part
def _behind_other(data: Bytes, at: Whole, end: Whole) -> Whole:
    """Where a comment or an instruction ends."""
    at = np.int64(at)
    if data[at + 1] == _QUESTION:
        at += 2
        while at < end and not (data[at] == _QUESTION and data[at + 1] == _GREATER):
            at += 1
        return at + 2
    at += len(_OPENED)
    while at < end and not (data[at] == _MINUS and data[at + 1] == _MINUS and data[at + 2] == _GREATER):
        at += 1
    return at + 3


@bare_inlined
def _local(data: Bytes, begin: Whole, end: Whole, is_html: bool) -> Whole:
    """Where a name begins behind its prefix; _UNKNOWN for one that lxml takes for a name in a namespace."""
    at = np.int64(end)
    if is_html:
        while at > begin and data[at - 1] != _BRACE:
            at -= 1
        return at if at == begin else np.int64(_UNKNOWN)
    while at > begin and data[at - 1] != _COLON:
        at -= 1
    return at


@bare_inlined
def _declares_namespace(data: Bytes, at: Whole, end: Whole) -> bool | np.bool_:
    size = len(_XMLNS)
    if end - at < size or (end - at > size and data[at + size] != _COLON):
        return False
    place = 0
    while place < size and data[at + place] == _XMLNS[place]:
        place += 1
    return place == size
