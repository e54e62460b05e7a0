"""The stack of open elements, at most DEEPEST of them: the path of every word, and whether a link counts.

It follows the rules by which HTML closes elements implicitly: a paragraph at the next block, list items, table cells,
options. An end tag closes the innermost element with its name, unless a table cell or a similar element lies between.
Elements that format text (`b`, `a`) are put on the stack only if they matter: if they have a name (`parse/words.py`),
inside an element of the same tag, or in SVG and MathML. So the end tag of any other formatting element closes no
element inside it.

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
    BREAKS,
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
    ROOT,
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
    VOID,
    P,
)  # fmt: skip
from centime.parse.tokens import TOKENS_SIZE
from centime.parse.words import BEGIN

Scratch = npt.NDArray[np.int64]

DEEPEST = 512

# Places in the scratch array, after those of `parse/tokens.py`.
DEPTH, BEYOND, STEPS = range(TOKENS_SIZE, TOKENS_SIZE + 3)
NOW = TOKENS_SIZE + 3  # the state at this point of the page: seven fields, which every element saves when it is opened
_SCOPE_AT, _FENCE_AT, _SPECIAL_AT, FOREIGN_AT, IN_TEMPLATE, BEFORE, SEGMENT = range(NOW, NOW + 7)
FREE = NOW + 7  # six places for `parse/scan.py`
LAST = FREE + 6
_STACK = LAST + NAMES
_FIELDS = 9  # per element: its name, the next open element with that name, and the saved state
ELEMENTS_SIZE = _STACK + _FIELDS * DEEPEST

# How an element is opened: not at all, as HTML, inside SVG or MathML, as a part of these that contains HTML, as these,
# as a template that browsers show in its place (declarative shadow DOM).
NOT_OPENED, AS_HTML, AS_FOREIGN, AS_INTEGRATION, AS_PICTURE, AS_SHADOW = range(6)
# What IN_TEMPLATE says, as bits: inside a template that is not shown, inside one that is.
HIDDEN, SHADOW = 1, 2


@bare_part
def no_elements(scratch: Scratch) -> None:
    """Empties the stack."""
    scratch[DEPTH] = scratch[BEYOND] = scratch[STEPS] = scratch[IN_TEMPLATE] = 0
    scratch[_SCOPE_AT] = scratch[_FENCE_AT] = scratch[_SPECIAL_AT] = scratch[FOREIGN_AT] = -1
    scratch[BEFORE] = scratch[SEGMENT] = BEGIN
    scratch[LAST:_STACK] = -1


@bare_part
def push_element(scratch: Scratch, number: Whole, how: Whole, before: Whole, segment: Whole) -> None:
    """Opens an element on a path."""
    depth = scratch[DEPTH]
    if depth >= DEEPEST:
        scratch[BEYOND] += 1
        return
    entry = _STACK + _FIELDS * depth
    scratch[entry] = number
    scratch[entry + 1] = scratch[LAST + number]
    for field in range(7):
        scratch[entry + 2 + field] = scratch[NOW + field]
    scratch[LAST + number] = depth
    role = ROLES[number] | (SPECIAL | FENCE | SCOPE if how == AS_INTEGRATION else 0)
    if role & SPECIAL:
        scratch[_SPECIAL_AT] = depth
        if role & FENCE:
            scratch[_FENCE_AT] = depth
        if role & SCOPE:
            scratch[_SCOPE_AT] = depth
    if how == AS_PICTURE:
        scratch[FOREIGN_AT] = depth
    elif how != AS_FOREIGN:
        scratch[FOREIGN_AT] = -1
        if number == TEMPLATE:
            scratch[IN_TEMPLATE] |= SHADOW if how == AS_SHADOW else HIDDEN if how == AS_HTML else 0
    scratch[BEFORE] = before
    scratch[SEGMENT] = segment
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
    for field in range(7):
        scratch[NOW + field] = scratch[_STACK + _FIELDS * place + 2 + field]
    scratch[DEPTH] = place
    scratch[BEYOND] = 0


@bare_inlined
def _top(scratch: Scratch) -> Whole:
    """The name of the innermost element; 0 if there is none."""
    return scratch[_STACK + _FIELDS * (scratch[DEPTH] - 1)] if scratch[DEPTH] > 0 else np.int64(0)


@bare_part
def close_implied(scratch: Scratch, number: Whole, closed: bool | np.bool_) -> Whole:
    """Handles a start tag: closes what HTML closes implicitly; returns how the element is to be opened."""
    role = ROLES[number]
    if scratch[FOREIGN_AT] >= 0:
        if not role & BREAKOUT:
            if closed:
                return NOT_OPENED
            return AS_INTEGRATION if role & INTEGRATION else AS_FOREIGN
        _close(scratch, scratch[FOREIGN_AT])
    if number == FORM and scratch[LAST + FORM] > scratch[LAST + TEMPLATE]:
        return NOT_OPENED
    if scratch[BEYOND] == 0 and scratch[DEPTH] > 0:
        _close_before(scratch, number, role)
    if role & (VOID | ROOT) or (_is_of_table(number) and scratch[LAST + TABLE] <= scratch[LAST + TEMPLATE]):
        return NOT_OPENED
    if number in (SVG, MATH):
        return NOT_OPENED if closed else AS_PICTURE
    return AS_HTML


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
        scratch[BEYOND] -= 1 if ROLES[number] & (SPECIAL | BREAKS) or scratch[FOREIGN_AT] >= 0 else 0
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


@bare_inlined
def close_innermost(scratch: Scratch, number: Whole) -> None:
    """Handles an end tag of XML."""
    if scratch[BEYOND] > 0:
        scratch[BEYOND] -= 1
    elif scratch[LAST + number] >= 0:
        _close(scratch, np.int64(scratch[LAST + number]))
