"""A small sample of the text of a page, by which pages of one suspicious shape are compared
(`shard/limits/trap_evidence.py`).

    runs      every three words in a row of a block; a block with fewer words is one run
    sample    a hash of the whole text, and the SAMPLED runs with the smallest hashes, four bytes each

The runs that two pages share are in both samples, or in none, in proportion: the share of a sample that is new
estimates the share of the text that is new. So one rotating line does not make a page new, and a few texts in random
order are soon all known.

Parts that a trap generates for every URL do not count as text: the values of attributes, and with them the targets of
links, the words of the page's own URL, and words with one of `/=?`, which may be URLs. Runs leave out words with a
digit or of more than LONGEST letters as well: sessions, times, counters. The hash of the whole text has these too.
Words in other scripts than Latin may contain all of that, because some of these scripts have no blanks. Case and
punctuation do not count.

Trap: arithmetic stays below 2**63, so that plain Python and compiled code give the same numbers.
"""

import re
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt

from centime.model.kernel import Whole, bare_inlined, late_kernel
from centime.parse.names import BREAKS, LOWER, RAW, ROLES, TAG_END, TEXTAREA, TITLE, XMP, element_of, name_at
from centime.parse.tokens import TOKENS_SIZE, attributes, declaration_end, is_cdata, raw_end

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.int64]

SAMPLED = 16
LONGEST = 40

_MASK = (1 << 54) - 1
_ITEM = (1 << 32) - 1
_FIRST, _SECOND = 0x133D6B50D, 0x16DB9668B
_HALF = (1 << 27) - 1
_BITS = 61
_LETTER, _DIGIT, _URL = 1, 2, 4
_KINDS = np.zeros(256, dtype=np.uint8)
_KINDS[65:91] = _KINDS[97:123] = _KINDS[128:] = _LETTER
_KINDS[48:58] = _DIGIT
_KINDS[[47, 61, 63]] = _URL
_words = re.compile(r"[^\W_]+").findall


def text_sample(page: bytes, url: str) -> bytes:
    """The sample of a page of HTML or XML in an encoding that contains ASCII: the hash of the whole text, and the runs.
    Empty if it has no text.
    """
    own = np.array(list({_code(word) for word in _words(unquote(url))}), dtype=np.int64)
    smallest = np.full(SAMPLED, _ITEM + 1, dtype=np.int64)
    found = np.empty(TOKENS_SIZE, dtype=np.int64)
    count = _sample(np.frombuffer(page, dtype=np.uint8), own, smallest, found)
    return np.append(found[0] & _ITEM, smallest[:count]).astype("<u4").tobytes() if found[0] else b""


def _code(word: str) -> int:
    code = 0
    for byte in word.encode():
        code = int(_step(code, int(LOWER[byte])))
    return code


@bare_inlined
def _step(code: Whole, byte: Whole) -> np.int64:
    """The hash of a word with one more letter."""
    return np.int64((257 * np.int64(code) + byte) & _MASK)


@bare_inlined
def _mixed(state: Whole, more: Whole) -> np.int64:
    """A hash of 54 bits of a hash and another number."""
    x = (np.int64(state) * 5 + np.int64(more) + 1) & _MASK
    y = ((x & _HALF) * np.int64(_FIRST)) ^ ((x >> 27) * np.int64(_SECOND))
    return np.int64((y ^ (y >> 29)) & _MASK)


@bare_inlined
def _add(run: Whole, smallest: Numbers, count: Whole) -> Whole:
    """Adds a run to the sample, which has `count`, if it is one of the smallest; returns the new count."""
    item = np.int64((run >> 7) & _ITEM)
    if item >= smallest[-1]:
        return count
    place = np.int64(0)
    while smallest[place] < item:
        place += 1
    if smallest[place] == item:
        return count
    for k in range(len(smallest) - 1, place, -1):
        smallest[k] = smallest[k - 1]
    smallest[place] = item
    return min(np.int64(count) + 1, np.int64(len(smallest)))


@bare_inlined
def _end_block(words: Whole, before: Whole, last: Whole, smallest: Numbers, count: Whole) -> Whole:
    """Adds a block of one or two words."""
    return _add(_mixed(_mixed(words, before), last), smallest, count) if 0 < words < 3 else count


@bare_inlined
def _is_own(own: Numbers, code: Whole) -> bool:
    """Whether a word is one of the page's own URL."""
    found = False
    for k in range(len(own)):
        found = found or own[k] == code
    return found


@late_kernel(3.0)
def _sample(data: Bytes, own: Numbers, smallest: Numbers, found: Numbers) -> Whole:
    """Fills the sample; returns how many runs it has. The hash of the whole text is in `found` then, 0 for none."""
    size = len(data)
    whole = np.int64(0)
    at: Whole = np.int64(0)
    count: Whole = np.int64(0)
    words, before, last = np.int64(0), np.int64(0), np.int64(0)
    bits = np.int64(0)
    for k in range(len(own)):
        bits |= np.int64(1) << (own[k] % _BITS)
    while at < size:
        if data[at] != 60:
            # ---- a word
            code, full, letters, seen, is_foreign = np.int64(0), np.int64(0), np.int64(0), np.int64(0), False
            while at < size and data[at] > 32 and data[at] != 60:
                byte = data[at]
                kind = _KINDS[byte]
                if kind & (_LETTER | _DIGIT):
                    full = _step(full, LOWER[byte])
                if kind == _LETTER:
                    code = _step(code, LOWER[byte])
                    letters += 1
                    is_foreign = is_foreign or byte >= 128
                elif byte == 38 and at + 1 < size and data[at + 1] == 35:  # a letter as a number: &#1234;
                    is_foreign = True
                    letters += 1
                    while at < size and data[at] > 32 and data[at] not in (59, 60):
                        code = _step(code, LOWER[data[at]])
                        at += 1
                    full = code
                    continue
                seen |= kind
                at += 1
            if full and not ((bits >> (full % _BITS)) & 1 and _is_own(own, full)):
                if is_foreign or not letters or not seen & _URL:
                    whole = _mixed(whole, full) | 1
                if letters and (is_foreign or (not seen & (_DIGIT | _URL) and letters <= LONGEST)):
                    words += 1
                    if words >= 3:
                        count = _add(_mixed(_mixed(_mixed(3, before), last), code), smallest, count)
                    before, last = last, code
            while at < size and data[at] <= 32:
                at += 1
            continue
        if at + 1 >= size:
            break
        closing = data[at + 1] == 47
        first = at + 1 + closing
        if first >= size or not 97 <= LOWER[data[first]] <= 122:
            if data[at + 1] in (33, 63) or closing:
                at = at + 9 if is_cdata(data, at) else declaration_end(data, at)
            else:
                at += 1
            continue
        name, at = name_at(data, first, size, TAG_END)
        number = element_of(name)
        role = ROLES[number]
        at = attributes(data, at, number, False, found)
        if at < 0:
            break
        if role & BREAKS:
            count = _end_block(words, before, last, smallest, count)
            words, before, last = np.int64(0), np.int64(0), np.int64(0)
        if role & RAW and not closing and number not in (TITLE, TEXTAREA, XMP):
            at = raw_end(data, at, name)
    found[0] = whole
    return _end_block(words, before, last, smallest, count)
