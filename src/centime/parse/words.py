"""The words of a page and their places, by which two reads of a page are compared (`change/`).

The pass over the bytes (`parse/scan.py`) gives four columns, one entry per word:

    place   20 bits, the hash of the element path of the word
    block   the number of the block element or attribute value that contains it
    word    53 bits, the hash of its bytes
    begin   where it begins in the page

A word is a run of characters without white space, character references resolved; any tag ends it. Nothing is dropped by
its form or place: numbers, dates and identifiers are words, and so is the text of navigation and hidden elements. The
values of ATTRIBUTES are words too, at a place of their own; those that are URLs are split at `/?&=;#,`. The presence of
a FLAG is a word of the text. Scripts, styles, comments and `link` elements are markup and have no words, unless the
page has no other text; but a script that is JSON by its type is data (`parse/data_words.py`). The beginning and the end
of text that is struck out are words.

In XML, only comments, white space and the order of attributes count as markup. Its words are the names of elements,
with those of their attributes, the values of all attributes, empty elements and values, instructions and declarations;
and the signature knows where elements end. So text that moves into another element is a change there. In HTML the
signature is that of the visible text: the words in their order, in any elements.

A path is that of the last two named elements and of what lies between and below them. An element is named by its first
class or its id, or by its tag if that is a landmark (`nav`, `main`, `article`, `table` ...); the root and the body have
no names, because experiments and page numbers are written there. A name with a digit counts up to the `-` or `_` before
it, or not at all: `post-123` is `post-`, `c4fa1b` is nothing. There is no index among siblings, so that a new paragraph
moves no other. So a new element around the whole page changes few paths, and one around an advertisement changes no
important ones.

Trap: arithmetic stays below 2**63, so that plain Python and compiled code give the same numbers.
"""

import numpy as np
import numpy.typing as npt

from centime.model.kernel import Whole, bare_inlined, bare_part
from centime.parse.names import CODE_MASK, KINDS, code_of
from centime.parse.references import IN_TEXT, reference

Bytes = npt.NDArray[np.uint8]
Columns = npt.NDArray[np.int64]
Scratch = npt.NDArray[np.int64]

PLACE_BITS = 20
MOST_WORDS = 1 << 18  # further words of a page count as one
ATTRIBUTE = 1 << 40  # the block of a value has this bit
REST = 0xFFFFF  # the place of everything after the last word that has its own entry

# The first places of the scratch array: the current block; how many words were added, and how many of them are text;
# hashes of all words of text, of all words of values, and of those without room.
BLOCK, COUNT, TEXTS, TEXT_HASH, VALUE_HASH, REST_HASH = range(6)
WORDS_SIZE = 6

BEGIN = 0x1234567
_PLACES = (1 << PLACE_BITS) - 1
_WORDS = (1 << 53) - 1
_HALF = (1 << 27) - 1
_EMPTY = 0xE3B17  # the word of an element or a value of XML without words
_END = 0xE2D  # in the signature, the end of an element of XML
_FIRST, _SECOND = 0x133D6B50D, 0x16DB9668B

NO_VALUE, URL, TEXT, CLASS, ID, MEANING, FLAG = range(7)
ATTRIBUTES = {
    "href": URL, "xlink:href": URL, "src": URL, "srcset": URL, "data-src": URL, "data-srcset": URL, "poster": URL,
    "data": URL, "background": URL, "action": URL,
    "alt": TEXT, "title": TEXT, "datetime": TEXT, "value": TEXT, "content": TEXT, "placeholder": TEXT, "label": TEXT,
    "aria-label": TEXT, "srcdoc": TEXT, "aria-valuenow": TEXT, "aria-valuetext": TEXT, "max": TEXT, "start": TEXT,
    "colspan": TEXT, "rowspan": TEXT,
    "checked": FLAG, "selected": FLAG, "disabled": FLAG, "hidden": FLAG, "open": FLAG,
    "class": CLASS, "id": ID, "name": MEANING, "property": MEANING,
}  # fmt: skip
_SLOTS = 256
_VALUE_CODES, _VALUE_KINDS = np.zeros(_SLOTS, dtype=np.int64), np.zeros(_SLOTS, dtype=np.int64)
for _name, _kind in ATTRIBUTES.items():
    _slot = (code_of(_name) ^ (code_of(_name) >> 13)) % _SLOTS
    while _VALUE_CODES[_slot]:
        _slot = (_slot + 1) % _SLOTS
    _VALUE_CODES[_slot], _VALUE_KINDS[_slot] = code_of(_name), _kind

_SPLITS = np.zeros(256, dtype=np.bool_)
_SPLITS[[47, 63, 38, 61, 59, 35, 44]] = True  # / ? & = ; # ,
_STOPS = np.zeros(256, dtype=np.bool_)  # white space, `<`, `&`, the first byte of a no-break space
_STOPS[:33] = _STOPS[[60, 38, 194]] = True


@bare_inlined
def mixed(state: Whole, more: Whole) -> np.int64:
    """A hash of 53 bits of a hash and another number."""
    x = (np.int64(state) * 5 + np.int64(more) + BEGIN) & _WORDS
    y = ((x & _HALF) * np.int64(_FIRST)) ^ ((x >> 27) * np.int64(_SECOND))
    return np.int64((y ^ (y >> 29)) & _WORDS)


@bare_inlined
def place_of(before: Whole, segment: Whole) -> np.int64:
    """The place of the words on a path."""
    return np.int64(mixed(before, segment) & _PLACES)


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
def name_of(data: Bytes, at: Whole, end: Whole, spaced: bool) -> Whole:
    """The hash of a class or id as a path counts it; 0 for no name. With `spaced`, the first of several names."""
    while at < end and data[at] <= 32:
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
def meaning_of(data: Bytes, at: Whole, end: Whole) -> Whole:
    """The hash of a `name` or `property`, which gives the meaning of the value beside it."""
    meaning = np.int64(0)
    for place in range(at, end):
        meaning = _step(meaning, np.int64(data[place]))
    return meaning


@bare_inlined
def value_kind(code: Whole) -> Whole:
    """The kind of an attribute's value: NO_VALUE if it is not content."""
    slot = (code ^ (code >> 13)) % _SLOTS
    while _VALUE_CODES[slot] != 0:
        if _VALUE_CODES[slot] == code:
            return np.int64(_VALUE_KINDS[slot])
        slot = (slot + 1) % _SLOTS
    return np.int64(NO_VALUE)


@bare_part
def no_words(scratch: Scratch) -> None:
    """Begins a page."""
    scratch[:WORDS_SIZE] = 0
    scratch[BLOCK] = 1


@bare_inlined
def _add(place: Whole, block: Whole, word: Whole, begin: Whole, columns: Columns, scratch: Scratch) -> None:
    """Adds a word. The last column stays free for words without room."""
    count = scratch[COUNT]
    if count < columns.shape[1] - 1:
        columns[0, count] = place
        columns[1, count] = block
        columns[2, count] = word
        columns[3, count] = begin
        scratch[COUNT] = count + 1
    else:
        scratch[REST_HASH] = mixed(scratch[REST_HASH], word)


@bare_part
def text_words(
    data: Bytes,
    at: Whole,
    end: Whole,
    raw: bool,
    before: Whole,
    segment: Whole,
    columns: Columns,
    resolved: Bytes,
    scratch: Scratch,
) -> Whole:
    """Adds the words of text up to the next `<` but one at the very beginning, or up to `end` if it is `raw`; returns
    the next place to read.
    """
    first = at
    texts, block = scratch[TEXTS], scratch[BLOCK]
    place = np.int64(-1)
    hashed = np.int64(scratch[TEXT_HASH])
    while at < end:
        byte = data[at]
        if byte <= 32:
            at += 1
            continue
        if byte == 60 and at > first and not raw:
            break
        begin = at
        letters = np.int64(0)
        while at < end:
            byte = data[at]
            if _STOPS[byte]:
                if byte <= 32 or (byte == 60 and at > first and not raw):
                    break
                if byte == 38:
                    at, length = reference(data, at, end, IN_TEXT, resolved, 0)
                    if length == 2 and resolved[0] == 194 and resolved[1] == 160:
                        break
                    for k in range(length):
                        letters = _step(letters, np.int64(resolved[k]))
                    continue
                if byte == 194 and at + 1 < end and data[at + 1] == 160:
                    at += 2
                    break
            letters = _step(letters, np.int64(byte))
            at += 1
        if letters:
            if place < 0:
                place = place_of(before, segment)
            word = _finished(letters)
            _add(place, block, word, begin, columns, scratch)
            hashed = mixed(hashed, word)
            texts += 1
    scratch[TEXTS], scratch[TEXT_HASH] = texts, hashed
    return at


@bare_inlined  # with three callers LLVM leaves it outside, and the whole pass takes a fifth longer
def value_words(
    data: Bytes, at: Whole, end: Whole, is_url: bool | np.bool_, place: Whole, columns: Columns, scratch: Scratch
) -> Whole:
    """Adds the words of an attribute's value, which is a block; returns the hash of the value."""
    code, any_byte = np.int64(0), False
    own = np.int64(0)
    begin = at
    block = scratch[BLOCK] | ATTRIBUTE
    hashed = np.int64(scratch[VALUE_HASH])
    while at <= end:
        byte = data[at] if at < end else np.uint8(32)
        splits = is_url and _SPLITS[byte]
        if byte <= 32 or splits:
            if any_byte:
                word = _finished(code)
                _add(place, block, word, begin, columns, scratch)
                hashed, own = mixed(hashed, word), own * 3 + word & _WORDS
            code, any_byte = np.int64(0), False
            begin = at + 1
            if splits:
                code = _step(code, np.int64(byte))
        else:
            code = _step(code, np.int64(byte))
            any_byte = True
        at += 1
    scratch[VALUE_HASH] = hashed
    scratch[BLOCK] += 1
    return own


@bare_part
def flag_word(code: Whole, begin: Whole, before: Whole, segment: Whole, columns: Columns, scratch: Scratch) -> None:
    """Adds an attribute whose presence has a meaning to the words of the text, which show its place."""
    word = _finished(code)
    _add(place_of(before, segment), scratch[BLOCK], word, begin, columns, scratch)
    scratch[TEXT_HASH] = mixed(scratch[TEXT_HASH], word)


@bare_inlined
def exact_name(data: Bytes, at: Whole, stop: Whole) -> Whole:
    """The hash of the name at `at`, in the case in which it is written; it ends before a byte of the kind `stop`."""
    code = np.int64(0)
    while at < len(data) and not KINDS[data[at]] & stop:
        code = _step(code, np.int64(data[at]))
        at += 1
    return code


@bare_part
def xml_value_words(
    data: Bytes, at: Whole, end: Whole, is_url: bool | np.bool_, place: Whole, columns: Columns, scratch: Scratch
) -> Whole:
    """Adds the words of an attribute of XML, of which there is always one; returns a hash of the value and its place.
    The hash of all values stays as it is.
    """
    hashed, block = scratch[VALUE_HASH], scratch[BLOCK] | ATTRIBUTE
    own = value_words(data, at, end, is_url, place, columns, scratch)
    if not own:
        _add(place, block, np.int64(_EMPTY), at, columns, scratch)
    scratch[VALUE_HASH] = hashed
    return mixed(own, place)


@bare_part
def xml_end(
    begin: Whole, is_empty: bool | np.bool_, before: Whole, segment: Whole, columns: Columns, scratch: Scratch
) -> None:
    """Ends an element of XML, which has a word even if it is empty: its place is there as long as the element is."""
    if is_empty:
        name_word(np.int64(_EMPTY), begin, before, segment, columns, scratch)
    scratch[TEXT_HASH] = mixed(scratch[TEXT_HASH], _END)


@bare_part
def name_word(code: Whole, begin: Whole, before: Whole, segment: Whole, columns: Columns, scratch: Scratch) -> None:
    """Adds the name of an element of XML, a cell without words, or where struck text begins or ends, as a word."""
    word = _finished(code)
    _add(place_of(before, segment), scratch[BLOCK], word, begin, columns, scratch)
    scratch[TEXTS] += 1
    scratch[TEXT_HASH] = mixed(scratch[TEXT_HASH], word)


@bare_part
def end_words(size: Whole, columns: Columns, scratch: Scratch) -> None:
    """Ends a page: all words without room become one word."""
    if scratch[REST_HASH]:
        count = scratch[COUNT]
        columns[0, count] = REST
        columns[1, count] = scratch[BLOCK] + 1
        columns[2, count] = scratch[REST_HASH]
        columns[3, count] = size
        scratch[COUNT] = count + 1
