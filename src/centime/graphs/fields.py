"""The fields of one line of an edge list, as parts of the kernels that parse blocks of lines.

Each part takes the position where it starts and returns the position after what it has parsed. None reads past the end
of the text or of the line.
"""

import numpy as np

from centime.graphs.name_slots import Bytes
from centime.model.kernel import inlined

GOOD, NOT_A_LINK, OUTSIDE = range(3)
SPACE, TAB, RETURN, NEWLINE, COMMA, HASH, PERCENT, ZERO, NINE, POINT, QUOTE = (
    ord(character) for character in ' \t\r\n,#%09."'
)

EXACT_POWERS = 10.0 ** np.arange(23)  # exact in binary, so the quotient is the float nearest to the decimal number
LARGEST_EXACT = 2**53


@inlined
def _after_blanks(text: Bytes, at: int) -> int:
    while at < len(text) and (text[at] == SPACE or text[at] == TAB or text[at] == RETURN):
        at += 1
    return at


@inlined
def after_comments(text: Bytes, at: int) -> int:
    """The start of the first field of the next line that is neither empty nor a comment, or the end of the text."""
    at = _after_blanks(text, at)
    while at < len(text) and (text[at] == NEWLINE or text[at] == HASH or text[at] == PERCENT):
        while at < len(text) and text[at] != NEWLINE:
            at += 1
        at = _after_blanks(text, at + 1)
    return at


@inlined
def end_of_line(text: Bytes, at: int) -> int:
    """The start of the next line; -1 if this line has more than blanks left."""
    at = _after_blanks(text, at)
    if at < len(text) and text[at] != NEWLINE:
        return -1
    return at + 1


@inlined
def over_separator(text: Bytes, at: int) -> tuple[int, bool]:
    """The start of the field after a number, and whether blanks or one comma separate the two."""
    start = at
    at = _after_blanks(text, at)
    if at < len(text) and text[at] == COMMA:
        return _after_blanks(text, at + 1), True
    return at, at > start


@inlined
def next_number(text: Bytes, at: int, least: int, largest: int) -> tuple[int, int]:
    """A page number, or the negated fault if there is none or it is not from `least` to `largest`."""
    if at >= len(text) or not ZERO <= text[at] <= NINE:
        return -NOT_A_LINK, at
    value = np.int64(0)
    while at < len(text) and ZERO <= text[at] <= NINE:
        value = value * 10 + np.int64(text[at]) - ZERO
        if value > largest:
            return -OUTSIDE, at
        at += 1
    if value < least:
        return -OUTSIDE, at
    return int(value), at


@inlined
def next_weight(text: Bytes, at: int) -> tuple[float, int, int, int]:
    """A weight with 0 and 0 if it is a short decimal number; otherwise its start and end, for the caller to parse."""
    start = at
    digits, places = np.int64(0), -1
    while (
        at < len(text) and (ZERO <= text[at] <= NINE or (text[at] == POINT and places < 0)) and digits < LARGEST_EXACT
    ):
        if text[at] == POINT:
            places = 0
        else:
            digits = digits * 10 + np.int64(text[at]) - ZERO
            places += 1 if places >= 0 else 0
        at += 1
    whole = (
        at > start and digits <= LARGEST_EXACT and places != 0 and places < len(EXACT_POWERS) and text[start] != POINT
    )
    if whole and (at == len(text) or text[at] == SPACE or text[at] == TAB or text[at] == RETURN or text[at] == NEWLINE):
        return float(digits) / EXACT_POWERS[max(places, 0)], 0, 0, at
    while at < len(text) and text[at] != SPACE and text[at] != TAB and text[at] != RETURN and text[at] != NEWLINE:
        at += 1
    return 0.0, start, max(at, 1), at


@inlined
def next_name(text: Bytes, at: int, separator: int) -> tuple[int, int, int]:
    """Start and end of a name without the blanks around it, and the position after it; end is -1 if it is malformed.

    Separators are tabs, commas or, for SPACE, blanks of any kind. With commas, a name may be quoted; a quote within it
    is doubled, and the name is unquoted in place.
    """
    while at < len(text) and (text[at] == SPACE or text[at] == RETURN or (text[at] == TAB and separator != TAB)):
        at += 1
    start = at
    if separator == COMMA and at < len(text) and text[at] == QUOTE:
        at += 1
        end = start
        while at < len(text) and text[at] != NEWLINE:
            if text[at] == QUOTE:
                at += 1
                if at >= len(text) or text[at] != QUOTE:
                    return start, end, _after_blanks(text, at)
            text[end] = text[at]
            end += 1
            at += 1
        return start, -1, at
    while True:
        while at < len(text) and text[at] > SPACE and text[at] != separator:
            at += 1
        end = at
        # Usually the separator follows. A blank belongs to the name if more of the name comes after it.
        while at < len(text) and text[at] != separator and (text[at] == SPACE or text[at] == TAB or text[at] == RETURN):
            if separator == SPACE and text[at] != RETURN:
                return start, end, at
            at += 1
        if at >= len(text) or text[at] == separator or text[at] == NEWLINE:
            return start, end, at
        if text[at] < SPACE:
            return start, -1, at


@inlined
def over_name_separator(text: Bytes, at: int, separator: int) -> tuple[int, bool]:
    """The start of the field after a name, and whether the separator is between the two."""
    if at < len(text) and (text[at] == separator or (separator == SPACE and text[at] == TAB)):
        at += 1
        while at < len(text) and (text[at] == SPACE or (text[at] == TAB and separator != TAB)):
            at += 1
        return at, True
    return at, False
