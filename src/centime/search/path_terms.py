"""The terms of a document in the index of paths: names, paths and values in its tree.

    e item                element item                       @ id              an attribute id
    c item/price          price is a child of item           a item/id         item has an attribute id
    p rss/channel/item    a path from the root               = price 100       a price has the text "100"
    m item                an item has a value that           # price 7.5       a price has the number 7.5
                          is not known                       v id 7            an attribute id has the value "7"
    < price 47            a price has a number of this size  < @id 13          an attribute has

Names are without namespaces. Values of up to LONGEST_VALUE characters are terms, those of elements if they have no
children; of an element with children, or a number of many digits, no value is known. The index stores hashes of terms,
so two terms may look equal: then a document becomes a candidate unnecessarily, but none is ever missed. A hash is made
byte by byte, so that compiled code needs no strings (`scanned_terms.py`).
"""

import math
import re
from collections.abc import Collection, Iterable
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from centime.model.kernel import Whole, bare_inlined, late_kernel
from centime.parse.words import mixed

Terms = npt.NDArray[np.uint64]

LONGEST_VALUE = 64
MOST_DIGITS = 15
MOST_TERMS = 1 << 18  # of a document
EVERYTHING = "*"  # a document that is always a candidate: it could not be read as a whole, or has too many terms

_NUMBER = re.compile(r"[ \t\r\n]*-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?P<exponent>[eE][+-]?[0-9]+)?[ \t\r\n]*").fullmatch
_NUMERIC = frozenset("0123456789. \t\r\n")  # the characters with which numbers end
_SEPARATOR = "\0"
MOST_BUCKET = 4 * 50
LEAST_SIZE, GREATEST_SIZE = 2.0**-10, 2.0**40


def element_term(name: str) -> str:
    """An element of this name is there."""
    return f"e{name}"


def attribute_term(name: str) -> str:
    """An attribute of this name is there."""
    return f"@{name}"


def child_term(parent: str, name: str) -> str:
    """An element is a child of another."""
    return f"c{parent}{_SEPARATOR}{name}"


def element_attribute_term(element: str, name: str) -> str:
    """An element has an attribute."""
    return f"a{element}{_SEPARATOR}{name}"


def path_term(names: Iterable[str]) -> str:
    """A path from the root is there."""
    return f"p{_SEPARATOR.join(names)}"


def mixed_term(name: str) -> str:
    """An element of this name has a value that is not known: it has children, or a number of many digits."""
    return f"m{name}"


def value_term(name: str, value: str) -> str:
    """An element without children has a text."""
    return f"={name}{_SEPARATOR}{value}"


def number_term(name: str, value: float) -> str:
    """An element without children has a number, which has few digits."""
    written = format(Decimal(repr(value + 0.0)), "f")  # -0.0 is 0.0
    return f"#{name}{_SEPARATOR}{written.rstrip('0').rstrip('.') if '.' in written else written}"


def bucket_term(name: str, bucket: int) -> str:
    """An element without children, or `@` and the name of an attribute, has a number of a size."""
    return f"<{name}{_SEPARATOR}{bucket}"


def bucket_of(number: float) -> int:
    """The size of a number: four buckets for each doubling between 2^-10 and 2^40, of either sign."""
    bucket = size_bucket(abs(number))
    return bucket if number > 0 else -bucket


@bare_inlined
def size_bucket(size: float) -> int:
    """The bucket of a number that is not negative."""
    if size < LEAST_SIZE:
        return 0
    return 1 + min(MOST_BUCKET - 1, int(4 * (math.log2(min(size, GREATEST_SIZE)) + 10)))


def attribute_value_term(name: str, value: str) -> str:
    """An attribute has a value."""
    return f"v{name}{_SEPARATOR}{value}"


def has_few_digits(number: str) -> bool:
    """Whether a number has so few digits that every computation of it gives the same result: with more, rounding
    decides."""
    return len(number) <= MOST_DIGITS or sum(map(number.count, "0123456789")) <= MOST_DIGITS


def hashed(term: str) -> int:
    """The hash of a term."""
    return int(hashes_of([term])[0])


def hashes_of(terms: Collection[str]) -> Terms:
    """The hashes of terms."""
    written = [term.encode("utf-8", "replace") for term in terms]
    ends = np.cumsum([0, *map(len, written)], dtype=np.int64)
    found = np.zeros(len(written), dtype=np.int64)
    _hash_all(np.frombuffer(b"".join(written), dtype=np.uint8), ends, found)
    return aligned(found)


def aligned(hashes: npt.NDArray[np.int64]) -> Terms:
    """Hashes of 53 bits as numbers whose first bits are random."""
    return hashes.view(np.uint64) << np.uint64(11)


@bare_inlined
def folded(state: Whole, data: npt.NDArray[np.uint8], begin: Whole, end: Whole) -> Whole:
    """The hash of a hashed prefix followed by more bytes."""
    for at in range(begin, end):
        state = mixed(state, data[at])
    return state


@late_kernel(0.5)
def _hash_all(data: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64], found: npt.NDArray[np.int64]) -> None:
    for place in range(len(found)):
        found[place] = folded(0, data, ends[place], ends[place + 1])


class _Path:
    """A path of elements in a document: what is below it, and the values of its elements."""

    __slots__ = ("attributes", "below", "is_mixed", "name", "values")

    def __init__(self, tag: str) -> None:
        self.name = tag.rpartition("}")[2]
        self.below: dict[str, _Path] = {}
        self.values: set[str] = set()
        self.attributes: dict[str, set[str]] = {}
        self.is_mixed = False


def terms_of(root: Any, *, is_whole: bool = True) -> Terms:
    """The hashes of the terms of a parsed document, sorted; None is one without elements."""
    terms: set[str] = set()
    if not is_whole:
        terms.add(EVERYTHING)
    if root is not None:
        top = _Path("")
        _gather(root, top)
        _add_terms(top, terms)
    if len(terms) > MOST_TERMS:
        terms = {EVERYTHING}
    return np.sort(hashes_of(terms))


def _gather(root: Any, top: _Path) -> None:
    """Finds the paths of a document and their values."""
    stack = [(root, top)]
    while stack:
        element, above = stack.pop()
        tag = element.tag
        path = above.below.get(tag)
        if path is None:
            path = above.below[tag] = _Path(tag)
        for name, value in element.items():
            path.attributes.setdefault(name, set()).add(value[: LONGEST_VALUE + 1])
        if len(element):
            path.is_mixed = True
            stack.extend([(child, path) for child in element if isinstance(child.tag, str)])
        else:
            path.values.add((element.text or "")[: LONGEST_VALUE + 1])


def _add_terms(top: _Path, terms: set[str]) -> None:
    stack = [(path, "", path.name) for path in top.below.values()]
    while stack:
        path, parent, names = stack.pop()
        name = path.name
        terms.add(element_term(name))
        terms.add(f"p{names}")
        if parent:
            terms.add(child_term(parent, name))
        if path.is_mixed:
            terms.add(mixed_term(name))
        for value in path.values:
            if len(value) <= LONGEST_VALUE:
                terms.update(_value_terms(name, value))
        for attribute, values in path.attributes.items():
            plain = attribute.rpartition("}")[2]
            for value in values:
                terms.update(_attribute_terms(name, plain, value))
        stack.extend((below, name, f"{names}{_SEPARATOR}{below.name}") for below in path.below.values())


def _value_terms(name: str, value: str) -> list[str]:
    """The terms of an element without children that has a value of up to LONGEST_VALUE characters."""
    return [value_term(name, value), *number_terms(name, value)]


def _attribute_terms(element: str, name: str, value: str) -> list[str]:
    """The terms of an attribute of an element."""
    terms = [attribute_term(name), element_attribute_term(element, name)]
    if len(value) <= LONGEST_VALUE:
        terms += [attribute_value_term(name, value), *number_terms(f"@{name}", value)]
    return terms


@lru_cache(maxsize=1 << 16)
def number_terms(name: str, value: str) -> tuple[str, ...]:
    """The terms of a value that is a number; none if it is not. The name of an attribute begins with `@`."""
    found = _NUMBER(value) if value[-1:] in _NUMERIC else None
    if found is None:
        return ()
    if found["exponent"]:  # libxml2 knows them, and rounds in its own way
        return (mixed_term(name),)
    number = float(value)
    known = number_term(name, number) if has_few_digits(value) else mixed_term(name)
    return bucket_term(name, bucket_of(number)), known
