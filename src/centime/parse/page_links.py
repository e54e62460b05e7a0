"""The links of a page while its bytes are read: whether an href was there before, and the plain ones written one behind
the other.

An href is plain if it is not empty, no fragment, and of no scheme but http and https; the rel of an `a` does not ask
that it be left alone, the rel of a `link` is one word that leads on. Whatever may not be plain is left to be looked at
more closely (`parse/gathering.py`, `parse/about.py`); so the tests here may doubt too much and must not doubt too
little.

The hrefs of a page are remembered by their places in a table of SEEN slots, each the last of its hash: bounded, and
forgetful.
"""

import numpy as np
import numpy.typing as npt

from centime.model.kernel import Whole, bare_kernel
from centime.parse.about import WAYS_ON
from centime.parse.elements import ELEMENTS_SIZE
from centime.parse.names import AREA, CODE_MASK, LINK, LOWER, META, A, code_of
from centime.parse.references import IN_VALUE, reference
from centime.parse.tokens import FIRST, SECOND, THIRD

Bytes = npt.NDArray[np.uint8]
Scratch = npt.NDArray[np.int64]

NOTHING, PLAIN, DOUBTFUL = np.int64(0), np.int64(1), np.int64(2)
SEEN = 1_024
SEEN_AT = ELEMENTS_SIZE
SCRATCH_SIZE = SEEN_AT + 2 * SEEN

_ABOUT_FILES = (
    "stylesheet",
    "icon",
    "shortcut icon",
    "apple-touch-icon",
    "mask-icon",
    "manifest",
    "preload",
    "modulepreload",
    "prefetch",
    "preconnect",
    "dns-prefetch",
)
_RESOURCES = np.array([code_of(rel) for rel in _ABOUT_FILES], dtype=np.int64)
_ON = np.array(sorted(code_of(rel) for rel in WAYS_ON), dtype=np.int64)
_TELLING = (
    9,
    10,
    12,
    13,
    32,
    38,
    99,
    114,
)  # how a name that matters in `meta` may begin: white space, a reference, c(entime), r(obots), r(efresh)


@bare_kernel
def none_seen(scratch: Scratch) -> None:
    """Empties the table."""
    scratch[SEEN_AT : SEEN_AT + SEEN] = -1


@bare_kernel
def is_new(data: Bytes, scratch: Scratch) -> bool | np.bool_:
    """Whether an href is not remembered; remembers it unless a rel comes with it."""
    start, end = np.int64(scratch[FIRST]), np.int64(scratch[FIRST + 1])
    code = np.int64(0)
    for at in range(start, end):
        code = (257 * code + data[at]) & CODE_MASK
    slot = SEEN_AT + ((code ^ (code >> 10) ^ (code >> 20)) % SEEN)
    before = np.int64(scratch[slot])
    if before >= 0 and scratch[slot + SEEN] - before == end - start:
        same = True
        for at in range(end - start):
            if data[before + at] != data[start + at]:
                same = False
                break
        if same:
            return False
    if scratch[SECOND] < 0:
        scratch[slot] = start
        scratch[slot + SEEN] = end
    return True


@bare_kernel
def write_href(data: Bytes, start: Whole, end: Whole, hrefs: Bytes, linked: Whole) -> Whole:
    """Writes an href; gives where writing goes on: right there if it leads nowhere, -1 if it needs a closer look."""
    while start < end and data[start] <= 32:
        start += 1
    while start < end and data[end - 1] <= 32:
        end -= 1
    if start == end or data[start] == 35:
        return linked
    written = linked
    resolved = False
    while start < end:
        byte = data[start]
        if byte == 38:
            start, written = reference(data, start, end, IN_VALUE, hrefs, written)
            resolved = True
        elif byte == 0 or byte == 13:
            return np.int64(-1)
        else:
            hrefs[written] = byte
            written += 1
            start += 1
    if resolved and (hrefs[linked] <= 35 or hrefs[written - 1] <= 32):
        return np.int64(-1)
    if hrefs[linked] | 32 != 104:  # neither http nor https: perhaps of a scheme that has no pages
        for place in range(linked, min(linked + 12, written)):
            byte = hrefs[place]
            if byte == 58:
                return np.int64(-1)
            if byte == 47 or byte == 63 or byte == 35:
                break
    hrefs[written] = 0
    return written + 1


@bare_kernel
def _may_forbid(data: Bytes, start: Whole, end: Whole) -> bool | np.bool_:
    """Whether a rel may have the word nofollow, ugc or sponsored: looks for three letters of each."""
    for at in range(start, end):
        byte = LOWER[data[at]]
        if byte == 38:
            return True
        if at + 2 < end:
            second, third = LOWER[data[at + 1]], LOWER[data[at + 2]]
            if (
                (byte == 102 and second == 111 and third == 108)
                or (byte == 117 and second == 103 and third == 99)
                or (byte == 112 and second == 111 and third == 110)
            ):
                return True
    return False


@bare_kernel
def sort_of(data: Bytes, number: Whole, scratch: Scratch) -> Whole:
    """What an element with the attribute it needs is: NOTHING that matters, a PLAIN link, or DOUBTFUL."""
    start, end = scratch[SECOND], scratch[SECOND + 1]
    if number in (A, AREA):
        return DOUBTFUL if start >= 0 and _may_forbid(data, start, end) else PLAIN
    if number == LINK:
        code = np.int64(0)
        for at in range(start, end if start >= 0 else start):
            code = (257 * code + LOWER[data[at]]) & CODE_MASK
        for rel in _RESOURCES:
            if rel == code:
                return NOTHING
        for rel in _ON:
            if rel == code:
                return PLAIN
        return DOUBTFUL
    if number == META:
        for slot in (SECOND, THIRD):
            if 0 <= scratch[slot] < scratch[slot + 1] and LOWER[data[scratch[slot]]] in _TELLING:
                return DOUBTFUL
        return NOTHING
    return DOUBTFUL
