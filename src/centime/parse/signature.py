"""64 bits of the content that matters: equal when only dates, times, counters and session ids differ.

The text is taken word by word; white space counts only as the border of words. Left out are

- times and dates: words of digits with `:` between them, or with two of `/`, `-`, `.` (`12:45:01`, `2024-03-05`, `5.3.2024`,
  `2024-03-05T12:45Z`);
- names of months and weekdays with a capital letter, and the numbers of at most four digits next to them (`5 March 2024`);
- a number before the word of a counter or of an age (`12,345 visits`, `3 minutes ago`, `0.12 seconds`);
- ids: words of 16 or more letters and digits with at least four digits among them;
- a year next to ©.

All other numbers count: a price that changes is a change. Trap: names of months are English; elsewhere a date in words is content.
"""

import numpy as np
import numpy.typing as npt
import xxhash

from centime.model.kernel import Whole, inlined, kernel

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
_LONGEST_WORD = 13  # letters that a code holds: 27 ** 13 fits 63 bits


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


def signature_of(text: str) -> int:
    """64 bits of a text as people read it."""
    data = np.frombuffer(text.encode("utf-8", "replace"), dtype=np.uint8)
    out = np.empty(len(data) + 1, dtype=np.uint8)
    return xxhash.xxh3_64_intdigest(out[: _essence(data, _MONTH_CODES, _COUNTER_CODES, out)].tobytes())


@inlined
def _among(codes: npt.NDArray[np.int64], code: Whole) -> bool:
    """Whether a sorted list has a code."""
    low, high = 0, len(codes)
    while low < high:
        middle = (low + high) // 2
        if codes[middle] < code:
            low = middle + 1
        else:
            high = middle
    return low < len(codes) and codes[low] == code


@inlined
def _code_of(data: Bytes, start: Whole, end: Whole) -> Whole:
    """The letters of a word as a number, whatever their case."""
    code = np.int64(0)
    for at in range(start, end):
        low = np.int64(data[at]) | 32
        if 97 <= low <= 122:
            code = code * 27 + low - 96
    return code


@kernel
def _essence(data: Bytes, months: npt.NDArray[np.int64], counters: npt.NDArray[np.int64], out: Bytes) -> Whole:
    """Writes the words that count, each with a space after it; gives the number of bytes written."""
    size = len(data)
    at = written = 0
    number_at = -1  # where the word before began in `out`, if it was a number
    dated = False  # whether the word before belonged to a date
    while at < size:
        if data[at] <= 32 or (data[at] == 194 and at + 1 < size and data[at + 1] == 160):
            at += 1 if data[at] <= 32 else 2
            continue
        start = at
        digits = letters = others = colons = strokes = 0
        while at < size:
            byte = np.int64(data[at])
            if 97 <= (byte | 32) <= 122:  # asked first, for most bytes are letters
                letters += 1
            elif byte <= 32 or (byte == 194 and at + 1 < size and data[at + 1] == 160):
                break
            elif 48 <= byte <= 57:
                digits += 1
            elif byte == 58:
                colons += 1
            elif byte in (47, 45, 46):
                strokes += 1
            elif byte >= 128:
                others += 1
            at += 1
        number = digits > 0 and letters <= 2 and others == 0
        kept = True
        if digits == 0:
            capital = 65 <= data[start] <= 90
            # Words are spelled out only where it matters what they say: few are.
            word = others == 0 and 3 <= letters <= _LONGEST_WORD and (capital or number_at >= 0)
            code = _code_of(data, start, at) if word else np.int64(0)
            month = word and capital and _among(months, code)
            if number_at >= 0 and (month or (word and _among(counters, code))):
                written = number_at
            kept = not month
            number_at = -1
            dated = month or (at - start == 2 and data[start] == 194 and data[start + 1] == 169)
        elif (
            (number and (colons > 0 or strokes >= 2))
            or (digits >= 4 and others == 0 and letters <= 4 and colons + strokes >= 3)
            or (digits >= 4 and letters > 0 and digits + letters >= 16 and others == 0 and colons == 0)
            or (dated and number and digits <= 4)
        ):
            kept = False
            number_at = -1
            dated = True
        else:
            number_at = written if number else -1
            dated = False
        if kept:
            for source in range(start, at):
                out[written] = data[source]
                written += 1
            out[written] = 32
            written += 1
    return written
