"""The links of a page during the pass over its bytes: skips hrefs that were there before, and writes the plain ones one
after the other.

An href is plain if it is not empty, not a fragment, and has no scheme but http and https. In addition, the rel of an
`a` must not forbid to follow it, and the rel of a `link` must be one of PAGE_RELS. Every other link is DOUBTFUL and is
examined later (`parse/gathering.py`, `parse/about.py`). So the tests here may classify a plain link as doubtful, but
never the other way round.

A table of SEEN slots remembers the last href of each hash by its place in the page. It is bounded, so it forgets.
"""

import numpy as np
import numpy.typing as npt

from centime.model.kernel import Whole, bare_part
from centime.parse.about import PAGE_RELS
from centime.parse.elements import ELEMENTS_SIZE
from centime.parse.names import AREA, LINK, LOWER, META, A, code_between, code_of
from centime.parse.references import IN_VALUE, reference
from centime.parse.tokens import FIRST, SECOND, THIRD, VALUE_COUNT, VALUES

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
_TO_PAGES = np.array(sorted(code_of(rel) for rel in PAGE_RELS), dtype=np.int64)
# First bytes of the names in `meta` that matter: white space, a reference, c(entime), r(obots), r(efresh).
_META_STARTS = (9, 10, 12, 13, 32, 38, 99, 114)


@bare_part
def none_seen(scratch: Scratch) -> None:
    """Empties the table of hrefs."""
    scratch[SEEN_AT : SEEN_AT + SEEN] = -1


@bare_part
def is_new(data: Bytes, scratch: Scratch) -> bool | np.bool_:
    """Whether the table does not have an href; adds it, unless the element has a rel."""
    start, end = np.int64(scratch[FIRST]), np.int64(scratch[FIRST + 1])
    code = np.int64(0)
    for value in range(scratch[VALUE_COUNT]):  # its words were hashed
        if scratch[VALUES + 4 * value] == start:
            code = scratch[VALUES + 4 * value + 2]
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


@bare_part
def write_href(data: Bytes, start: Whole, end: Whole, hrefs: Bytes, linked: Whole) -> Whole:
    """Writes an href; returns the new end of `hrefs`: `linked` if the href leads nowhere, -1 if it is doubtful."""
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
    if hrefs[linked] | 32 != 104:  # not http or https: perhaps a scheme without pages
        for place in range(linked, min(linked + 12, written)):
            byte = hrefs[place]
            if byte == 58:
                return np.int64(-1)
            if byte == 47 or byte == 63 or byte == 35:
                break
    hrefs[written] = 0
    return written + 1


@bare_part
def _may_forbid(data: Bytes, start: Whole, end: Whole) -> bool | np.bool_:
    """Whether a rel may contain the word nofollow, ugc or sponsored: searches for three letters of each."""
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


@bare_part
def sort_of(data: Bytes, number: Whole, scratch: Scratch) -> Whole:
    """Classifies an element that has its main attribute: NOTHING of interest, a PLAIN link, or DOUBTFUL."""
    start, end = scratch[SECOND], scratch[SECOND + 1]
    if number in (A, AREA):
        return DOUBTFUL if start >= 0 and _may_forbid(data, start, end) else PLAIN
    if number == LINK:
        code = code_between(data, start, end if start >= 0 else start)
        for rel in _RESOURCES:
            if rel == code:
                return NOTHING
        for rel in _TO_PAGES:
            if rel == code:
                return PLAIN
        return DOUBTFUL
    if number == META:
        for slot in (SECOND, THIRD):
            if 0 <= scratch[slot] < scratch[slot + 1] and LOWER[data[scratch[slot]]] in _META_STARTS:
                return DOUBTFUL
        return NOTHING
    return DOUBTFUL
