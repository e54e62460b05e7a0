"""The parts of compiled passes that make the hashes of terms (`path_terms.py`) from the bytes of names and values."""

import numpy as np
import numpy.typing as npt

from centime.model.kernel import Whole, bare_inlined, bare_part
from centime.parse.words import mixed
from centime.search.path_terms import MOST_DIGITS, MOST_TERMS, Terms, aligned, folded, size_bucket
from centime.warehouse.contents import Bytes, Scratch

TERMS = 0  # the place of the scratch array that counts the terms found
NO_SIGN = 0
ELEMENT, PATH, CHILD, MIXED, VALUE, ATTRIBUTE, OF_ELEMENT, ATTRIBUTE_VALUE, _NUMBER, _SIZE = b"epcm=@av#<"
_ZERO, _NINE, _MINUS, _PLUS, _POINT, _EXPONENT, _SMALL = b"09-+.Ee"


def unique(found: npt.NDArray[np.int64]) -> Terms | None:
    """The terms that a pass has found, sorted, each once; None if there are too many."""
    found.sort()
    is_first = np.ones(len(found), dtype=np.bool_)
    np.not_equal(found[1:], found[:-1], out=is_first[1:])
    terms = found[is_first]
    return aligned(terms) if len(terms) <= MOST_TERMS else None


@bare_inlined
def named(sort: Whole, data: Bytes, begin: Whole, end: Whole) -> Whole:
    """The hash of a sort of terms and a name."""
    return folded(mixed(0, sort), data, begin, end)


@bare_inlined
def add(term: Whole, found: Scratch, scratch: Scratch) -> None:
    """Adds the hash of a term."""
    found[scratch[TERMS]] = term
    scratch[TERMS] += 1


@bare_part
def add_number(
    data: Bytes, sign: Whole, name: Whole, name_end: Whole, at: Whole, end: Whole, found: Scratch, scratch: Scratch
) -> None:
    """Adds the terms of a value if it is a number (`path_terms.number_terms`); `sign` stands before the name."""
    while at < end and is_white(data, at):
        at += 1
    while at < end and is_white(data, end - 1):
        end -= 1
    is_negative = at < end and data[at] == _MINUS
    first = at + 1 if is_negative else at
    place, point, digits, number = first, end, 0, 0.0
    while place < end and (_is_digit(data, place) or (data[place] == _POINT and point == end)):
        if data[place] == _POINT:
            point = place
        else:
            digits += 1
            number = number * 10.0 + np.float64(data[place] - _ZERO)
        place += 1
    if digits == 0 or (place < end and not _is_exponent(data, place, end)):
        return
    if place < end or digits > MOST_DIGITS:
        add(_signed(MIXED, sign, data, name, name_end), found, scratch)
    if place < end:
        return
    if digits <= MOST_DIGITS:
        state = mixed(_signed(_NUMBER, sign, data, name, name_end), 0)
        add(_with_number(state, data, first, point, end, is_negative and number > 0.0), found, scratch)
    scale = 1.0  # exact for the decimals of few digits, so that the quotient is rounded once
    for _ in range(point + 1, end):
        scale *= 10.0
    state = mixed(_signed(_SIZE, sign, data, name, name_end), 0)
    add(_with_bucket(state, size_bucket(number / scale), is_negative), found, scratch)


@bare_inlined
def _with_number(
    state: Whole, data: Bytes, first: Whole, point: Whole, end: Whole, is_negative: bool | np.bool_
) -> Whole:
    """The hash of a state and a number as `path_terms.number_term` writes it: without redundant zeros."""
    if is_negative:
        state = mixed(state, _MINUS)
    while first < point and data[first] == _ZERO:
        first += 1
    state = mixed(state, _ZERO) if first == point else folded(state, data, first, point)
    while end > point and (data[end - 1] == _ZERO or end == point + 1):
        end -= 1
    return folded(state, data, point, end)


@bare_inlined
def _with_bucket(state: Whole, bucket: Whole, is_negative: bool | np.bool_) -> Whole:
    """The hash of a state and a bucket, of up to three digits, as text."""
    if is_negative and bucket > 0:
        state = mixed(state, _MINUS)
    if bucket >= 100:
        state = mixed(state, _ZERO + bucket // 100)
    if bucket >= 10:
        state = mixed(state, _ZERO + bucket // 10 % 10)
    return mixed(state, _ZERO + bucket % 10)


@bare_inlined
def _signed(sort: Whole, sign: Whole, data: Bytes, name: Whole, name_end: Whole) -> Whole:
    """The hash of a sort of terms, a sign and a name."""
    state = mixed(0, sort)
    return folded(mixed(state, sign) if sign != NO_SIGN else state, data, name, name_end)


@bare_inlined
def _is_exponent(data: Bytes, at: Whole, end: Whole) -> bool | np.bool_:
    """Whether the exponent of a number, and nothing else, is from `at` to `end`."""
    if data[at] != _EXPONENT and data[at] != _SMALL:
        return False
    at += 1
    if at < end and (data[at] == _MINUS or data[at] == _PLUS):
        at += 1
    if at == end:
        return False
    while at < end and _is_digit(data, at):
        at += 1
    return at == end


@bare_inlined
def _is_digit(data: Bytes, at: Whole) -> bool | np.bool_:
    return bool(data[at] >= _ZERO) and bool(data[at] <= _NINE)


@bare_inlined
def is_white(data: Bytes, at: Whole) -> bool | np.bool_:
    """Whether a byte is white space of XML."""
    return bool(data[at] == 32) or bool(data[at] == 9) or bool(data[at] == 10) or bool(data[at] == 13)
