"""The words of a page and where each of them stands: what two reads of a page are compared by (`change/`).

One pass over the bytes gives four columns, one entry per word:

    place   20 bits, the hash of the element path that the word stands on
    block   the number of the block element or attribute value that contains it
    word    53 bits, the hash of its bytes
    begin   where it begins in the page

A word is a run of characters without white space, character references resolved; any tag ends it. Nothing is dropped by
its look or place: numbers, dates and identifiers are words, and so is what stands in navigation or in hidden elements.
The values of ATTRIBUTES are words too, on a place of their own; those that are URLs are split at `/?&=;#,`. Scripts,
styles, comments and `link` elements are markup and have no words, unless the page has no other text.

XML has the names of its elements and the values of all attributes as words.

A path is that of the last two named elements and of what lies between and below them. An element is named by its first
class or its id, or by its tag if that is a section (`nav`, `main`, `article`, `table` ...); the root and the body have
no names, because experiments and page numbers are written there. A name with a digit counts up to the `-` or `_` before
it, or not at all: `post-123` is `post-`, `c4fa1b` is nothing. There is no index among siblings, so that a new
paragraph moves no other. So an element that is wrapped around the page changes few paths, and one around an
advertisement none that matter.

Over 400 lines: the pass is one compiled function with its inlined steps; apart they would be compiled twice.

Trap: arithmetic stays below 2**63, so that plain Python and compiled code give the same numbers.
"""

import numpy as np
import numpy.typing as npt

from centime.model.kernel import Whole, bare_inlined, late_kernel
from centime.model.words import Column, Words
from centime.parse.names import (
    BREAKS,
    CODE_MASK,
    DD,
    DT,
    ENDS_P,
    KINDS,
    LI,
    LINK,
    NAME_END,
    OPTION,
    RAW,
    ROLES,
    SECTION,
    SPACE,
    TAG_END,
    TD,
    TEXTAREA,
    TH,
    TITLE,
    TR,
    VOID,
    XMP,
    P,
    code_of,
    element_of,
    name_at,
)
from centime.parse.references import IN_TEXT, reference
from centime.parse.tokens import declaration_end, is_cdata, raw_end

Bytes = npt.NDArray[np.uint8]

PLACE_BITS = 20
MOST_WORDS = 1 << 18  # further words of a page count as one
ATTRIBUTE = 1 << 40  # the block of a value has this bit
REST = 0xFFFFF  # the place of what follows the last word that has its own

_PLACES = (1 << PLACE_BITS) - 1
_WORDS = (1 << 53) - 1
_HALF = (1 << 27) - 1
_FIRST, _SECOND = 0x133D6B50D, 0x16DB9668B
_BEGIN = 0x1234567

_URL, _TEXT = 1, 2
ATTRIBUTES = {
    "href": _URL, "src": _URL, "srcset": _URL, "action": _URL, "poster": _URL, "data": _URL,
    "alt": _TEXT, "title": _TEXT, "datetime": _TEXT, "value": _TEXT, "content": _TEXT, "placeholder": _TEXT,
    "label": _TEXT,
}  # fmt: skip
_CLASS, _ID, _NAME, _PROPERTY, _SCRIPT = (code_of(name) for name in ("class", "id", "name", "property", "script"))
_SLOTS = 256
_VALUE_CODES, _VALUE_KINDS = np.zeros(_SLOTS, dtype=np.int64), np.zeros(_SLOTS, dtype=np.int64)
for _name, _kind in ATTRIBUTES.items():
    _slot = (code_of(_name) ^ (code_of(_name) >> 13)) % _SLOTS
    while _VALUE_CODES[_slot]:
        _slot = (_slot + 1) % _SLOTS
    _VALUE_CODES[_slot], _VALUE_KINDS[_slot] = code_of(_name), _kind

# What an element is for its path: a section has a name of its own; the root has none and is no step.
_SECTIONS = "nav main article section aside header footer form table figure"
_ROOTS = "html body head"
_IS_SECTION, _IS_ROOT = np.zeros(len(ROLES), dtype=np.bool_), np.zeros(len(ROLES), dtype=np.bool_)
for _names, _flags in ((_SECTIONS, _IS_SECTION), (_ROOTS, _IS_ROOT)):
    for _name in _names.split():
        _flags[element_of(np.int64(code_of(_name)))] = True
# Elements that end an open one of the same family.
_FAMILY = np.zeros(len(ROLES), dtype=np.int64)
for _family, _numbers in enumerate(((P,), (LI,), (TD, TH), (TR,), (DD, DT), (OPTION,), (SECTION,)), 1):
    _FAMILY[list(_numbers)] = _family
_OF_P, _OF_CELL, _OF_ROW, _OF_ROWS = 1, 3, 4, 7

_HTML, _XML, _EVERYTHING = 0, 1, 2
_DEEPEST = 256
_MOST_VALUES = 8  # of one element
_LOOKED_AT = 24  # open elements among which an end tag searches its own
_CODE, _SEGMENT, _BEFORE, _FAMILY_OF, _BLOCK = range(5)  # columns of the stack
_SPLITS = np.zeros(256, dtype=np.bool_)
_SPLITS[[47, 63, 38, 61, 59, 35, 44]] = True  # / ? & = ; # ,
_STOPS = np.zeros(256, dtype=np.bool_)  # white space, `<`, `&`, the first byte of a no-break space
_STOPS[:33] = _STOPS[[60, 38, 194]] = True
_IS_SPACE = np.zeros(256, dtype=np.bool_)
_IS_SPACE[:33] = True


def words_of(page: bytes, *, xml: bool = False) -> Words:
    """The words of HTML or XML in UTF-8."""
    found = _words_of(page, _XML if xml else _HTML)
    if not xml and not (found.blocks & ATTRIBUTE == 0).any():
        found = _words_of(page, _EVERYTHING)
    return found


def _words_of(page: bytes, mode: int) -> Words:
    data = np.frombuffer(page, dtype=np.uint8)
    room = min(len(data) // 2, MOST_WORDS) + 2
    columns = np.empty((4, room), dtype=np.int64)
    stack = np.empty((_DEEPEST, 5), dtype=np.int64)
    resolved = np.empty(16, dtype=np.uint8)
    count = _find_words(data, mode, resolved, columns[0], columns[1], columns[2], columns[3], stack)
    places, blocks, words, begins = columns[:, :count]
    return Words(places, blocks, words, begins, 1 + int(_text_hash(blocks, words)))


@bare_inlined
def mixed(state: Whole, more: Whole) -> np.int64:
    """A hash of 53 bits of a hash and another number."""
    x = (np.int64(state) * 5 + np.int64(more) + _BEGIN) & _WORDS
    y = ((x & _HALF) * np.int64(_FIRST)) ^ ((x >> 27) * np.int64(_SECOND))
    return np.int64((y ^ (y >> 29)) & _WORDS)


@bare_inlined
def _step(code: Whole, byte: Whole) -> np.int64:
    """The hash of a word with one more byte."""
    return np.int64((257 * code + byte + 1) & CODE_MASK)


@bare_inlined
def _finished(code: Whole) -> np.int64:
    """The hash of a complete word, with all bits mixed."""
    y = ((code & _HALF) * np.int64(_SECOND)) ^ ((code >> 27) * np.int64(_FIRST))
    return np.int64((y ^ (y >> 28)) & _WORDS)


@bare_inlined
def _name_of(data: Bytes, at: Whole, end: Whole, spaced: bool) -> Whole:
    """The hash of a class or id as a path counts it; 0 for no name. With `spaced`, the first of several names."""
    while at < end and _IS_SPACE[data[at]]:
        at += 1
    code, kept = np.int64(0), np.int64(0)
    while at < end:
        byte = np.int64(data[at])
        if byte <= 32 and spaced:
            break
        if 48 <= byte <= 57:
            return kept
        code = _step(code, byte)
        if byte in (45, 95):
            kept = code
        at += 1
    return code


@bare_inlined
def _value_kind(code: Whole) -> Whole:
    """What an attribute's value is: 0 if it is no content."""
    slot = (code ^ (code >> 13)) % _SLOTS
    while _VALUE_CODES[slot] != 0:
        if _VALUE_CODES[slot] == code:
            return np.int64(_VALUE_KINDS[slot])
        slot = (slot + 1) % _SLOTS
    return np.int64(0)


@late_kernel(4.0)
def _find_words(
    data: Bytes,
    mode: Whole,
    resolved: Bytes,
    places: Column,
    blocks: Column,
    words: Column,
    begins: Column,
    stack: npt.NDArray[np.int64],
) -> Whole:
    """Fills the columns; returns the number of words."""
    size = len(data)
    room = len(places) - 1
    depth: Whole = np.int64(0)
    stack[0, _CODE] = stack[0, _FAMILY_OF] = 0
    stack[0, _SEGMENT] = stack[0, _BEFORE] = _BEGIN
    stack[0, _BLOCK] = 1
    place = mixed(_BEGIN, _BEGIN) & _PLACES
    at: Whole = np.int64(0)
    count: Whole = np.int64(0)
    block: Whole = np.int64(1)
    while at < size:
        if count >= room - 1:
            break
        byte = data[at]
        if byte != 60:
            if byte <= 32:
                at += 1
                continue
            letters = np.int64(0)
            begins[count] = at
            while at < size:
                byte = data[at]
                if _STOPS[byte]:
                    if byte <= 32 or byte == 60:
                        break
                    if byte == 38:
                        at, length = reference(data, at, size, IN_TEXT, resolved, 0)
                        if length == 2 and resolved[0] == 194 and resolved[1] == 160:
                            break
                        for k in range(length):
                            letters = _step(letters, np.int64(resolved[k]))
                        continue
                    if at + 1 < size and data[at + 1] == 160:
                        at += 2
                        break
                letters = _step(letters, np.int64(byte))
                at += 1
            if not letters:
                continue
            places[count] = place
            blocks[count] = block
            words[count] = _finished(letters)
            count += 1
            continue
        if at + 1 >= size:
            break
        following = data[at + 1] | 32
        closing = data[at + 1] == 47
        if closing:
            following = data[at + 2] | 32 if at + 2 < size else np.uint8(0)
        if not 97 <= following <= 122:
            if data[at + 1] in (33, 63) or closing:
                at = at + 9 if is_cdata(data, at) else declaration_end(data, at)
            else:
                at += 1
            continue
        code, at = name_at(data, at + 1 + closing, size, TAG_END)
        number = element_of(code)
        role = ROLES[number]
        if mode == _XML:
            role = np.int64(BREAKS)
            if not closing and count < room:
                places[count] = place
                blocks[count] = block
                words[count] = _finished(code)
                begins[count] = at
                count += 1
        if closing:
            while at < size and data[at] != 62:
                at += 1
            at += 1
            if role & BREAKS:
                block += 1
            level: Whole = depth
            least = max(np.int64(0), depth - _LOOKED_AT)
            while level > least and stack[level, _CODE] != code:
                if stack[level, _BLOCK] and not role & BREAKS:
                    level = np.int64(0)  # an inline end tag closes no block
                    break
                level -= 1
            if level > least:
                depth = level - 1
                place = mixed(stack[depth, _BEFORE], stack[depth, _SEGMENT]) & _PLACES
            continue
        # ---- attributes
        named, value_count, told = np.int64(0), np.int64(0), np.int64(0)
        closed = False
        base = _DEEPEST - _MOST_VALUES  # the last rows of the stack hold begin, end, name and kind of each value
        while at < size and data[at] != 62:
            if KINDS[data[at]] & SPACE or data[at] == 47:
                closed = data[at] == 47
                at += 1
                continue
            closed = False
            attribute, at = name_at(data, at, size, NAME_END)
            while at < size and KINDS[data[at]] & SPACE:
                at += 1
            if at >= size or data[at] != 61:
                continue
            at += 1
            while at < size and KINDS[data[at]] & SPACE:
                at += 1
            if at >= size:
                break
            start = at
            quote = data[at]
            if quote in (34, 39):
                start = at + 1
                at += 1
                while at < size and data[at] != quote:
                    at += 1
                end = at
                at += 1
            else:
                while at < size and data[at] != 62 and not KINDS[data[at]] & SPACE:
                    at += 1
                end = at
            if mode == _XML:
                if value_count < _MOST_VALUES:
                    stack[base + value_count, 0] = start
                    stack[base + value_count, 1] = end
                    stack[base + value_count, 2] = attribute
                    stack[base + value_count, 3] = _value_kind(attribute)
                    value_count += 1
            elif attribute == _CLASS:
                found = _name_of(data, start, end, True)
                named = mixed(named, found) if found else named
            elif attribute == _ID:
                found = _name_of(data, start, end, False)
                named = mixed(named, found) if found else named
            elif attribute in (_NAME, _PROPERTY):
                told = np.int64(0)
                for k in range(start, end):
                    told = _step(told, np.int64(data[k]))
            else:
                kind = _value_kind(attribute)
                if kind and value_count < _MOST_VALUES:
                    stack[base + value_count, 0] = start
                    stack[base + value_count, 1] = end
                    stack[base + value_count, 2] = attribute
                    stack[base + value_count, 3] = kind
                    value_count += 1
        at += 1
        if role & BREAKS:
            block += 1
        family = _FAMILY[number] if mode != _XML else np.int64(0)
        if role & ENDS_P or family:
            depth = _after_implied_ends(stack, depth, role, family)
        if _IS_ROOT[number]:
            named = np.int64(0)
        # ---- the place of the element
        step = mixed(code, named)
        if _IS_ROOT[number]:
            segment, before = stack[depth, _SEGMENT], stack[depth, _BEFORE]
        elif named or _IS_SECTION[number]:
            segment, before = step, stack[depth, _SEGMENT]
        else:
            segment, before = mixed(stack[depth, _SEGMENT], step), stack[depth, _BEFORE]
        if value_count and (mode == _XML or (number != LINK and code != _SCRIPT)):
            for k in range(value_count):
                row = base + k
                here = mixed(mixed(before, segment), mixed(stack[row, 2], told)) & _PLACES
                count = _value_words(
                    data,
                    stack[row, 0],
                    stack[row, 1],
                    stack[row, 3] == _URL,
                    here,
                    block,
                    count,
                    room,
                    places,
                    blocks,
                    words,
                    begins,
                )
                block += 1
        if role & VOID:
            place = mixed(stack[depth, _BEFORE], stack[depth, _SEGMENT]) & _PLACES
            continue
        if mode == _XML and closed:
            continue
        if role & RAW and mode == _HTML and number not in (TITLE, TEXTAREA, XMP):
            at = raw_end(data, at, code)
            place = mixed(stack[depth, _BEFORE], stack[depth, _SEGMENT]) & _PLACES
            continue
        if (role & BREAKS or named) and depth < _DEEPEST - _MOST_VALUES - 1:
            depth += 1
            stack[depth, _CODE] = code
            stack[depth, _SEGMENT] = segment
            stack[depth, _BEFORE] = before
            stack[depth, _FAMILY_OF] = family
            stack[depth, _BLOCK] = role & BREAKS != 0
        place = mixed(stack[depth, _BEFORE], stack[depth, _SEGMENT]) & _PLACES
    if at < size:
        letters = np.int64(0)
        while at < size:
            letters = _step(letters, np.int64(data[at]))
            at += 1
        places[count] = REST
        begins[count] = size
        blocks[count] = block + 1
        words[count] = _finished(letters)
        count += 1
    return count


@late_kernel(0.5)
def _text_hash(blocks: Column, words: Column) -> Whole:
    """The hash of all words, those of text and those of values each in their order."""
    text, values = np.int64(0), np.int64(0)
    for at in range(len(words)):
        if blocks[at] & ATTRIBUTE:
            values = mixed(values, words[at])
        else:
            text = mixed(text, words[at])
    return mixed(text, values)


@bare_inlined
def _after_implied_ends(stack: npt.NDArray[np.int64], depth: Whole, role: Whole, family: Whole) -> Whole:
    """The depth after an element has closed those that cannot contain it."""
    level = depth
    least = max(np.int64(0), depth - 16)
    while level > least:
        open_family = stack[level, _FAMILY_OF]
        if open_family == _OF_P and role & ENDS_P:
            return level - 1
        if family > _OF_P and (
            open_family == family
            or (family == _OF_ROW and open_family == _OF_CELL)
            or (family == _OF_ROWS and open_family in (_OF_CELL, _OF_ROW))
        ):
            depth = level - 1
            if open_family == family:
                return depth
        elif stack[level, _BLOCK] and open_family != _OF_P:
            return depth
        level -= 1
    return depth


@bare_inlined
def _value_words(
    data: Bytes,
    at: Whole,
    end: Whole,
    is_url: bool,
    place: Whole,
    block: Whole,
    count: Whole,
    room: Whole,
    places: Column,
    blocks: Column,
    words: Column,
    begins: Column,
) -> Whole:
    """Adds the words of an attribute's value; returns the new number of words."""
    code, any_byte = np.int64(0), False
    begun = at
    while at <= end:
        byte = data[at] if at < end else np.uint8(32)
        splits = is_url and _SPLITS[byte]
        if byte <= 32 or splits:
            if any_byte and count < room:
                places[count] = place
                blocks[count] = block | ATTRIBUTE
                begins[count] = begun
                words[count] = _finished(code)
                count += 1
            code, any_byte = np.int64(0), False
            begun = at + 1
            if splits:
                code = _step(code, np.int64(byte))
        else:
            code = _step(code, np.int64(byte))
            any_byte = True
        at += 1
    return count
