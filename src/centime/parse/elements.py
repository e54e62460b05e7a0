"""The stack of open elements that decide what is visible, at most DEEPEST of them.

It follows the rules by which HTML closes elements implicitly: a paragraph at the next block, list items, table cells,
options. An end tag closes the innermost element with its name, unless a table cell or a similar element lies between.
Inline elements (`b`, `span`, `a`) go on the stack only if they matter: inside a hidden element, if they are hidden
themselves, or in SVG and MathML.

Closing costs amortised constant time. For each name the stack knows the innermost open element (LAST); each element
knows the next open one with its name, and where the searches of HTML stopped when it was opened (SCOPE, FENCE,
SPECIAL). So an end tag finds its element, or that there is none, in one step, and every element is removed once.
Elements deeper than DEEPEST are only counted; their content belongs to the deepest element on the stack.
"""

import numpy as np
import numpy.typing as npt

from centime.model.kernel import Whole, bare_inlined, bare_part
from centime.parse.names import (
    BR,
    BREAKOUT,
    BUTTON,
    CAPTION,
    DD,
    DT,
    ENDS_P,
    FENCE,
    FORM,
    FORMATTING,
    HEADING,
    INTEGRATION,
    LI,
    MATH,
    NAMES,
    OL,
    OPTGROUP,
    OPTION,
    ROLES,
    SCOPE,
    SECTION,
    SPECIAL,
    SVG,
    TABLE,
    TD,
    TEMPLATE,
    TH,
    TR,
    UL,
    UNSEEN,
    VOID,
    P,
)  # fmt: skip

Scratch = npt.NDArray[np.int64]

DEEPEST = 512

# Places in the scratch array; the first eight hold the attributes that were found (`parse/tokens.py`).
DEPTH, BEYOND, STEPS = 8, 9, 10
NOW = 12  # the state at this point of the page: five fields, which every element saves when it is opened
_SCOPE_AT, _FENCE_AT, _SPECIAL_AT, FOREIGN_AT, VEIL = range(NOW, NOW + 5)
FREE = NOW + 5  # seven places for `parse/scan.py`
LAST = FREE + 7
_STACK = LAST + NAMES
_FIELDS = 7  # per element: its name, the next open element with that name, and the saved state
ELEMENTS_SIZE = _STACK + _FIELDS * DEEPEST

IN_UNSEEN, IN_TEMPLATE = 1, 2


@bare_part
def no_elements(scratch: Scratch) -> None:
    """Empties the stack."""
    scratch[DEPTH] = scratch[BEYOND] = scratch[STEPS] = scratch[VEIL] = 0
    scratch[_SCOPE_AT] = scratch[_FENCE_AT] = scratch[_SPECIAL_AT] = scratch[FOREIGN_AT] = -1
    scratch[LAST:_STACK] = -1


@bare_inlined
def _push(scratch: Scratch, number: Whole, role: Whole, veil: Whole, foreign: Whole) -> None:
    """Opens an element."""
    depth = scratch[DEPTH]
    if depth >= DEEPEST:
        scratch[BEYOND] += 1
        return
    entry = _STACK + _FIELDS * depth
    scratch[entry] = number
    scratch[entry + 1] = scratch[LAST + number]
    for field in range(5):
        scratch[entry + 2 + field] = scratch[NOW + field]
    scratch[LAST + number] = depth
    if role & SPECIAL:
        scratch[_SPECIAL_AT] = depth
        if role & FENCE:
            scratch[_FENCE_AT] = depth
        if role & SCOPE:
            scratch[_SCOPE_AT] = depth
    scratch[FOREIGN_AT] = foreign
    scratch[VEIL] = veil
    scratch[DEPTH] = depth + 1


@bare_part
def _close(scratch: Scratch, place: Whole) -> None:
    """Closes the element at `place` of the stack and all elements inside it."""
    depth = scratch[DEPTH]
    while depth > place:
        depth -= 1
        entry = _STACK + _FIELDS * depth
        scratch[LAST + scratch[entry]] = scratch[entry + 1]
        scratch[STEPS] += 1
    for field in range(5):
        scratch[NOW + field] = scratch[_STACK + _FIELDS * place + 2 + field]
    scratch[DEPTH] = place
    scratch[BEYOND] = 0


@bare_inlined
def _top(scratch: Scratch) -> Whole:
    """The name of the innermost element; 0 if there is none."""
    return scratch[_STACK + _FIELDS * (scratch[DEPTH] - 1)] if scratch[DEPTH] > 0 else np.int64(0)


@bare_part
def open_element(scratch: Scratch, number: Whole, hidden: bool | np.bool_, closed: bool | np.bool_) -> None:
    """Handles a start tag: closes what HTML closes implicitly, and opens the element if it matters."""
    role = ROLES[number]
    if scratch[FOREIGN_AT] >= 0:
        if not role & BREAKOUT:
            if not closed:
                inside = np.int64(-1) if role & INTEGRATION else scratch[FOREIGN_AT]
                role |= SPECIAL | FENCE | SCOPE if role & INTEGRATION else 0
                _push(scratch, number, role, _veil(scratch, number, hidden), inside)
            return
        _close(scratch, scratch[FOREIGN_AT])
    if number == FORM and scratch[LAST + FORM] > scratch[LAST + TEMPLATE]:
        return
    if scratch[BEYOND] == 0 and scratch[DEPTH] > 0:
        _close_before(scratch, number, role)
    if role & VOID or (_is_of_table(number) and scratch[LAST + TABLE] <= scratch[LAST + TEMPLATE]):
        return
    if number in (SVG, MATH):
        if not closed:
            _push(scratch, number, role, _veil(scratch, number, hidden), scratch[DEPTH])
    elif role & SPECIAL or hidden or scratch[VEIL]:
        _push(scratch, number, role, _veil(scratch, number, hidden), np.int64(-1))


@bare_inlined
def _veil(scratch: Scratch, number: Whole, hidden: bool | np.bool_) -> Whole:
    """The reasons to hide the text of an element that is being opened."""
    veil = np.int64(scratch[VEIL])
    if hidden or ROLES[number] & UNSEEN:
        veil |= IN_UNSEEN
    if number == TEMPLATE and scratch[FOREIGN_AT] < 0:
        veil |= IN_TEMPLATE
    return veil


@bare_inlined
def _close_before(scratch: Scratch, number: Whole, role: Whole) -> None:
    """Closes the elements that cannot contain the new one."""
    if role & ENDS_P and scratch[LAST + P] > max(scratch[_SCOPE_AT], scratch[LAST + BUTTON]):
        _close(scratch, scratch[LAST + P])
    place = np.int64(-1)
    if number == LI:
        place = scratch[LAST + LI]
    elif number in (DD, DT):
        place = max(scratch[LAST + DD], scratch[LAST + DT])
    if place >= 0 and place >= scratch[_FENCE_AT]:
        _close(scratch, place)
    if _is_of_table(number):
        _close_table_parts(scratch, number)
    elif number == TABLE:
        table = scratch[LAST + TABLE]
        if table > max(scratch[LAST + TEMPLATE], scratch[LAST + TD], scratch[LAST + TH], scratch[LAST + CAPTION]):
            _close(scratch, table)
    elif (number in (OPTION, OPTGROUP) and _top(scratch) == OPTION) or (number == HEADING and _top(scratch) == HEADING):
        _close(scratch, scratch[DEPTH] - 1)
    elif number == BUTTON and scratch[LAST + BUTTON] > scratch[_SCOPE_AT]:
        _close(scratch, scratch[LAST + BUTTON])
    if number == OPTGROUP and _top(scratch) == OPTGROUP:
        _close(scratch, scratch[DEPTH] - 1)


@bare_inlined
def _close_table_parts(scratch: Scratch, number: Whole) -> None:
    """Closes the open parts of a table, down to the part that can contain the new one."""
    table = max(scratch[LAST + TABLE], scratch[LAST + TEMPLATE])
    holder = table
    if number in (TD, TH, TR):
        holder = max(holder, scratch[LAST + SECTION])
        if number != TR:
            holder = max(holder, scratch[LAST + TR])
    if 0 <= table and holder + 1 < scratch[DEPTH]:
        _close(scratch, holder + 1)


@bare_inlined
def _is_of_table(number: Whole) -> bool | np.bool_:
    """Whether an element exists only in a table."""
    return number in (TD, TH, TR, SECTION, CAPTION)


@bare_part
def close_element(scratch: Scratch, number: Whole) -> None:
    """Handles an end tag: closes its element, if there is one."""
    place = np.int64(scratch[LAST + number])
    if scratch[BEYOND] > 0:
        scratch[BEYOND] -= 1 if ROLES[number] & SPECIAL or scratch[VEIL] or scratch[FOREIGN_AT] >= 0 else 0
        return
    table = max(scratch[LAST + TABLE], scratch[LAST + TEMPLATE])
    if scratch[FOREIGN_AT] >= 0 and number in (P, BR):
        _close(scratch, scratch[FOREIGN_AT])
    elif number in (TR, SECTION) and place < table and max(scratch[LAST + TD], scratch[LAST + TH]) > table:
        place = table + 1  # the start tags of rows and table bodies are optional
    if place < 0:
        return
    role = ROLES[number]
    if number in (SVG, MATH, TEMPLATE) or (scratch[FOREIGN_AT] >= 0 and place >= scratch[FOREIGN_AT]):
        fence = np.int64(-1)
    elif _is_of_table(number):
        fence = np.int64(table)
    elif number == TABLE:
        fence = scratch[LAST + TEMPLATE]
    elif number == LI:
        fence = max(scratch[_SCOPE_AT], scratch[LAST + UL], scratch[LAST + OL])
    elif number == P:
        fence = max(scratch[_SCOPE_AT], scratch[LAST + BUTTON])
    elif number == FORM:  # closes only itself, so it stays open if it would close another element
        fence = scratch[_SPECIAL_AT]
    else:
        fence = np.int64(scratch[_SCOPE_AT] if role & (SPECIAL | FORMATTING) else scratch[_SPECIAL_AT])
    if place >= fence:
        _close(scratch, place)
