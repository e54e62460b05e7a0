"""The signature of Centime 0.1, for comparison: equal if only dates, times, counters and session ids differ.

The text is split into words; the amount of white space does not matter. These words are ignored:

- times and dates: words of digits with `:` between them, or with two of `/`, `-`, `.` (`12:45:01`, `2024-03-05`,
  `5.3.2024`, `2024-03-05T12:45Z`);
- names of months and weekdays with a capital letter, and the numbers of at most four digits next to them
  (`5 March 2024`);
- a number before the word of a counter or of an age (`12,345 visits`, `3 minutes ago`, `0.12 seconds`);
- ids: words of 16 or more letters and digits, at least four of them digits;
- a year next to ©.

All other numbers count: a new price is a change. Trap: the names of months are English; in other languages, a date
written in words is content.
"""

import numpy as np
import numpy.typing as npt
import xxhash

from centime.model.kernel import Whole, bare_inlined, late_kernel

Bytes = npt.NDArray[np.uint8]

_MONTHS = """
    jan feb mar apr may jun jul aug sep sept oct nov dec
    january february march april june july august september october november december
    mon tue wed thu fri sat sun monday tuesday wednesday thursday friday saturday sunday
"""
_COUNTERS = """
    visit visits visitor visitors view views hit hits read reads download downloads online guest guests user users
    comment comments reply replies like likes share shares times
    ms second seconds sec secs minute minutes min mins hour hours day days week weeks month months year years queries
"""
_LONGEST_WORD = 13  # letters in a code: 27 ** 13 fits into 63 bits


def _codes(words: str) -> npt.NDArray[np.int64]:
    """The words as sorted numbers."""
    codes = []
    for word in words.split():
        code = 0
        for letter in word:
            code = code * 27 + ord(letter) - 96
        codes.append(code)
    return np.array(sorted(codes), dtype=np.int64)


_MONTH_CODES, _COUNTER_CODES = _codes(_MONTHS), _codes(_COUNTERS)


_BEGINNINGS = np.zeros(1 << 15, dtype=np.uint8)  # the first three letters of months and weekdays, five bits of each
for _month in _MONTHS.split():
    _BEGINNINGS[((ord(_month[0]) & 31) << 10) | ((ord(_month[1]) & 31) << 5) | (ord(_month[2]) & 31)] = 1

# The bytes of a word are counted by kind in one integer with 12 bits per kind: letters, digits, non-ASCII, `:`, and the
# strokes `/`, `-`, `.`. A negative weight marks a byte that may end a word.
_FIELD = 12
_COUNTED = (1 << _FIELD) - 1  # bytes of a word that are counted
_WEIGHTS = np.zeros(256, dtype=np.int64)
_WEIGHTS[[*range(65, 91), *range(97, 123)]] = 1
_WEIGHTS[48:58] = 1 << _FIELD
_WEIGHTS[128:] = _OTHER = 1 << 2 * _FIELD
_WEIGHTS[58] = 1 << 3 * _FIELD
_WEIGHTS[[47, 45, 46]] = 1 << 4 * _FIELD
_WEIGHTS[:33] = _WEIGHTS[194] = -1


def signature_of(text: Bytes) -> int | None:
    """The signature of a visible text in UTF-8; None if it is only white space. Overwrites the text."""
    written = _essence(text)
    if written == 0 and not text.tobytes().decode("utf-8", "replace").strip():
        return None
    return xxhash.xxh3_64_intdigest(text[:written].data)


@bare_inlined
def _among(codes: npt.NDArray[np.int64], code: Whole) -> bool:
    """Whether a sorted array contains a code."""
    low, high = 0, len(codes)
    while low < high:
        middle = (low + high) // 2
        if codes[middle] < code:
            low = middle + 1
        else:
            high = middle
    return low < len(codes) and codes[low] == code


@bare_inlined
def _code_of(data: Bytes, start: Whole, end: Whole) -> Whole:
    """The letters of a word as a number, without regard to case."""
    code = np.int64(0)
    for at in range(start, end):
        low = np.int64(data[at]) | 32
        if 97 <= low <= 122:
            code = code * 27 + low - 96
    return code


@bare_inlined
def _begins_month(data: Bytes, start: Whole, end: Whole) -> bool | np.bool_:
    """Whether a word begins with the first three letters of a month or a weekday."""
    if end - start < 3:
        return False
    first, second, third = np.int64(data[start]) & 31, np.int64(data[start + 1]) & 31, np.int64(data[start + 2]) & 31
    return bool(_BEGINNINGS[(first << 10) | (second << 5) | third] != 0)


@bare_inlined
def _moved(data: Bytes, start: Whole, end: Whole, to: Whole) -> Whole:
    """Moves a word to `to`, after a space unless it is the first word; returns its new end."""
    if to > 0:
        data[to] = 32
        to += 1
    for place in range(start, end):
        data[to] = data[place]
        to += 1
    return to


@bare_inlined
def _ends_word(data: Bytes, at: Whole) -> bool | np.bool_:
    """Whether there is white space at `at`: ASCII, or a no-break space."""
    return data[at] <= 32 or (data[at] == 194 and at + 1 < len(data) and data[at + 1] == 160)


@late_kernel(1.0)
def _essence(data: Bytes) -> Whole:
    """Moves the words that count to the beginning, with one space between them; returns their length in bytes."""
    size = len(data)
    at = 0
    written: Whole = 0
    number_at: Whole = -1  # the end of the output before the last word, if that word was a number
    dated = False  # whether the last word belonged to a date
    while at < size:
        if data[at] <= 32 or _ends_word(data, at):
            at += 1 if data[at] <= 32 else 2
            continue
        start, before = at, written
        if written > 0:
            data[written] = 32
            written += 1
        counts = np.int64(0)
        last = min(size, start + _COUNTED)
        while at < last:
            byte = data[at]
            weight = _WEIGHTS[byte]
            if weight < 0:
                if _ends_word(data, at):
                    break
                weight = np.int64(_OTHER)
            counts += weight
            data[written] = byte
            written += 1
            at += 1
        while at < size and at >= last and not _ends_word(data, at):
            data[written] = data[at]
            written += 1
            at += 1
        letters, digits, others = counts & _COUNTED, (counts >> _FIELD) & _COUNTED, (counts >> 2 * _FIELD) & _COUNTED
        word = written - (at - start)  # the word in the output; the input may be overwritten already
        if digits == 0:
            # Only the few words that may be a month or a counter are compared letter by letter.
            known = others == 0 and 2 <= letters <= _LONGEST_WORD
            month = (
                known
                and 65 <= data[word] <= 90
                and _begins_month(data, word, written)
                and _among(_MONTH_CODES, _code_of(data, word, written))
            )
            if month:
                written = before if number_at < 0 else number_at
            elif number_at >= 0 and known and _among(_COUNTER_CODES, _code_of(data, word, written)):
                written = _moved(data, word, written, number_at)
            number_at = -1
            dated = month or (written - word == 2 and data[word] == 194 and data[word + 1] == 169)
        else:
            colons, strokes = (counts >> 3 * _FIELD) & _COUNTED, counts >> 4 * _FIELD
            number = letters <= 2 and others == 0
            if (
                (number and (colons > 0 or strokes >= 2))
                or (digits >= 4 and others == 0 and letters <= 4 and colons + strokes >= 3)
                or (digits >= 4 and letters > 0 and digits + letters >= 16 and others == 0 and colons == 0)
                or (dated and number and digits <= 4)
            ):
                written = before
                number_at = -1
                dated = True
            else:
                number_at = before if number else -1
                dated = False
    return written
