"""The condition that a document must fulfil if an XPath finds something in it, for the index of paths.

    //item[price < 100]/@id      the element item, price below item, the attribute id of item

A condition is necessary, never sufficient: the documents that fulfil it are candidates, and the XPath itself decides.
So parts of an XPath that are not understood here are ignored, and at worst all documents are candidates (`ANYTHING`).
Names count without their prefixes.

The reader of XPaths knows the grammar of XPath 1.0 (W3C, section 3.7) and gives up at anything else. The XPath must be
valid.
"""

import re
from dataclasses import dataclass, replace
from typing import TypeAlias

from centime.search.path_terms import (
    LONGEST_VALUE,
    MOST_BUCKET,
    attribute_term,
    attribute_value_term,
    bucket_of,
    bucket_term,
    child_term,
    element_attribute_term,
    element_term,
    has_few_digits,
    mixed_term,
    number_term,
    path_term,
    value_term,
)

_TOKEN = re.compile(
    r"""\s*(?:(?P<literal>"[^"]*"|'[^']*')|(?P<number>\d+(?:\.\d*)?|\.\d+)|(?P<sign>::|//|\.\.|!=|<=|>=|[][()@,/|+=<>.*$:-])
        |(?P<name>[^\W\d][\w.-]*))""",
    re.VERBOSE,
)
_OPERATORS = {"and", "or", "div", "mod"}
_DOWN = {"child", "descendant", "descendant-or-self", "self", "parent", "ancestor", "ancestor-or-self"}
_AXES = _DOWN | {"following", "following-sibling", "preceding", "preceding-sibling", "attribute", "namespace"}
_NODE_TYPES = {"node", "text", "comment", "processing-instruction"}
_COMPARISONS = {"=", "!=", "<", "<=", ">", ">="}


@dataclass(frozen=True, slots=True)
class All:
    """All of these must hold; an empty one is always true."""

    parts: tuple["Condition", ...] = ()


@dataclass(frozen=True, slots=True)
class AnyOf:
    """One of these must hold."""

    parts: tuple["Condition", ...]


Condition: TypeAlias = All | AnyOf | str
"""A `str` is a term that the document must have (`path_terms.py`)."""
ANYTHING = All()


class _Unknown(Exception):
    """Something that this reader does not know."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a step begins: the name of the element there, if it is known, and the path from the root, if it is."""

    name: str | None = None
    path: tuple[str, ...] | None = None
    attribute: str | None = None
    is_other: bool = False  # neither an element nor an attribute, as far as is known


_OTHER = _Place(is_other=True)


@dataclass(frozen=True, slots=True)
class _Read:
    """A part of an XPath: the condition that must hold if it is true or not empty, and its type."""

    condition: Condition = ANYTHING
    kind: str = "unknown"  # nodes, boolean, number, literal, unknown
    end: _Place | None = None  # of a location path whose last step names a node and has no further condition
    value: str | float | None = None  # of a literal; None if it has too many digits
    is_local_name: bool = False
    is_conversion: bool = False  # number(path): not a number if there is no node


def condition_of(xpath: str) -> Condition:
    """The condition that a document must fulfil if an XPath finds something in it."""
    try:
        reader = _Reader(xpath)
        read = reader.expression(_Place())
        reader.must_be_at_end()
    except (_Unknown, RecursionError):
        return ANYTHING
    return read.condition if read.kind in ("nodes", "boolean") else ANYTHING


def both(*conditions: Condition) -> Condition:
    """All of several conditions."""
    parts: list[Condition] = []
    for one in conditions:
        parts.extend(one.parts if isinstance(one, All) else (one,))
    distinct = tuple(dict.fromkeys(parts))
    return distinct[0] if len(distinct) == 1 else All(distinct)


def either(*conditions: Condition) -> Condition:
    """One of several conditions; always true if one of them is."""
    if ANYTHING in conditions:
        return ANYTHING
    distinct = tuple(dict.fromkeys(conditions))
    return distinct[0] if len(distinct) == 1 else AnyOf(distinct)


class _Reader:
    """Reads an XPath from left to right."""

    def __init__(self, xpath: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        at, xpath = 0, xpath.rstrip()
        while at < len(xpath):
            found = _TOKEN.match(xpath, at)
            if found is None or found.lastgroup is None:
                raise _Unknown
            self._tokens.append((found.lastgroup, found[found.lastgroup]))
            at = found.end()
        self._at = 0

    def must_be_at_end(self) -> None:
        """Raises unless everything was read."""
        if self._at != len(self._tokens):
            raise _Unknown

    def _peek(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._tokens[at][1] if at < len(self._tokens) else ""

    def _kind(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._tokens[at][0] if at < len(self._tokens) else ""

    def _take(self, *expected: str) -> str:
        token = self._peek()
        if not token or (expected and token not in expected):
            raise _Unknown
        self._at += 1
        return token

    def _is(self, *signs: str) -> bool:
        return self._kind() != "literal" and self._peek() in signs

    def expression(self, place: _Place) -> _Read:
        """OrExpr."""
        read = self._and(place)
        while self._is("or"):
            self._take()
            read = _Read(either(_truth(read), _truth(self._and(place))), "boolean")
        return read

    def _and(self, place: _Place) -> _Read:
        read = self._comparison(place)
        while self._is("and"):
            self._take()
            read = _Read(both(_truth(read), _truth(self._comparison(place))), "boolean")
        return read

    def _comparison(self, place: _Place) -> _Read:
        """EqualityExpr and RelationalExpr, without their order: a comparison of a comparison is always true."""
        read = self._sum(place)
        while self._is(*_COMPARISONS):
            sign = self._take()
            read = _compared(read, sign, self._sum(place))
        return read

    def _sum(self, place: _Place) -> _Read:
        read = self._union(place)
        while self._is("+", "-", "div", "mod", "*"):
            self._take()
            self._union(place)
            read = _Read(kind="number")
        return read

    def _union(self, place: _Place) -> _Read:
        if self._is("-"):
            self._take()
            self._union(place)
            return _Read(kind="number")
        read = self._path(place)
        while self._is("|"):
            self._take()
            other = self._path(place)
            if read.kind != "nodes" or other.kind != "nodes":
                raise _Unknown
            read = _Read(either(read.condition, other.condition), "nodes")
        return read

    def _path(self, place: _Place) -> _Read:
        """PathExpr: a location path, or something else that may be followed by one."""
        kind, token = self._kind(), self._peek()
        if kind == "literal":
            self._take()
            return _Read(kind="literal", value=token[1:-1])
        if kind == "number":
            self._take()
            return _Read(kind="literal", value=float(token) if has_few_digits(token) else None)
        is_call = kind == "name" and self._peek(1) == "(" and token not in _NODE_TYPES
        if not is_call and token != "(":
            return self._location(place)
        read = self._call(place) if is_call else self._group(place)
        if not self._is("[", "/", "//"):
            return read
        condition = read.condition
        while self._is("["):
            self._predicate(_Place())
        if self._is("/", "//"):
            condition = both(condition, self._steps(_Place()).condition)
        return _Read(condition, "nodes")

    def _group(self, place: _Place) -> _Read:
        self._take("(")
        read = self.expression(place)
        self._take(")")
        return replace(read, end=None)

    def _call(self, place: _Place) -> _Read:
        name = self._take()
        self._take("(")
        given: list[_Read] = []
        while not self._is(")"):
            given.append(self.expression(place))
            if not self._is(")"):
                self._take(",")
        self._take(")")
        if name == "boolean" and len(given) == 1:
            return _Read(_truth(given[0]), "boolean")
        if name in ("contains", "starts-with") and len(given) == 2 and given[1].kind == "literal" and given[1].value:
            return _Read(given[0].condition if given[0].kind == "nodes" else ANYTHING, "boolean")
        if name in ("not", "true", "false", "contains", "starts-with", "lang"):
            return _Read(kind="boolean")
        if name == "number" and len(given) == 1 and given[0].kind == "nodes":
            return _Read(given[0].condition, "number", given[0].end, is_conversion=True)
        if name == "local-name" and not given:
            return _Read(is_local_name=not place.is_other)
        return _Read()

    def _location(self, place: _Place) -> _Read:
        if self._is("/"):
            self._take()
            if not self._begins_step():
                return _Read(kind="nodes")
            return self._relative(_Place(path=()))
        if self._is("//"):
            return self._steps(_Place())
        return self._relative(place)

    def _begins_step(self) -> bool:
        return self._is(".", "..", "@", "*") or self._kind() == "name"

    def _relative(self, place: _Place) -> _Read:
        condition, place, is_plain = self._step(place)
        rest = self._steps(place, is_plain=is_plain)
        return replace(rest, condition=both(condition, rest.condition))

    def _steps(self, place: _Place, *, is_plain: bool = False) -> _Read:
        """The steps that follow."""
        conditions: list[Condition] = []
        while self._is("/", "//"):
            if self._take() == "//":
                place = _Place()
            condition, place, is_plain = self._step(place)
            conditions.append(condition)
        return _Read(both(*conditions), "nodes", place if is_plain else None)

    def _step(self, place: _Place) -> tuple[Condition, _Place, bool]:
        """A step: its condition, where it leads, and whether it names its nodes without further conditions."""
        if self._is("."):
            self._take()
            return ANYTHING, place, True
        if self._is(".."):
            self._take()
            return ANYTHING, _Place(), False
        axis = self._axis()
        condition, place, is_named = self._test(axis, place)
        is_plain = is_named
        while self._is("["):
            condition, is_plain = both(condition, self._predicate(place, axis)), False
        return condition, place, is_plain

    def _axis(self) -> str:
        if self._is("@"):
            self._take()
            return "attribute"
        if self._kind() == "name" and self._peek(1) == "::":
            axis = self._take(*_AXES)
            self._take("::")
            return axis
        return "child"

    def _test(self, axis: str, place: _Place) -> tuple[Condition, _Place, bool]:
        """The node test of a step."""
        if self._is("*"):
            self._take()
            return ANYTHING, _OTHER if axis == "namespace" else _Place(), False
        if self._kind() != "name":
            raise _Unknown
        name = self._take()
        if self._is("(") and name in _NODE_TYPES:
            self._take("(")
            if self._kind() == "literal":
                self._take()
            self._take(")")
            return ANYTHING, _OTHER, False
        if self._is(":"):
            self._take()
            name = self._take()
            if name == "*":
                return ANYTHING, _Place(), False
        if axis == "namespace":
            return ANYTHING, _OTHER, False
        if axis == "attribute":
            term = attribute_term(name) if place.name is None else element_attribute_term(place.name, name)
            return term, _Place(attribute=name), True
        if axis != "child":
            return element_term(name), _Place(name), True
        path = None if place.path is None else (*place.path, name)
        terms = [element_term(name) if place.name is None else child_term(place.name, name)]
        if path is not None:
            terms.append(path_term(path))
        return both(*terms), _Place(name, path), True

    def _predicate(self, place: _Place, axis: str = "") -> Condition:
        self._take("[")
        read = self.expression(place if place.attribute is None else _Place())
        self._take("]")
        if isinstance(read.value, str) and read.is_local_name:  # of the node itself
            return attribute_term(read.value) if axis == "attribute" else element_term(read.value)
        return _truth(read)


def _truth(read: _Read) -> Condition:
    """The condition that must hold if something is true; a number may be a position."""
    if read.is_local_name and isinstance(read.value, str):
        return AnyOf((element_term(read.value), attribute_term(read.value)))
    return read.condition if read.kind in ("nodes", "boolean") else ANYTHING


def _compared(left: _Read, sign: str, right: _Read) -> _Read:
    """A comparison. An empty set of nodes compares as false, except with a boolean."""
    names = [one for one in (left, right) if one.is_local_name and one.value is None]
    literals = [one for one in (left, right) if one.kind == "literal"]
    if names and literals and sign == "=" and isinstance(literals[0].value, str) and literals[0].value:
        return _Read(kind="unknown", value=literals[0].value, is_local_name=True)
    known = ("nodes", "literal", "number")
    if left.kind not in known or right.kind not in known:
        return _Read(kind="boolean")
    conditions = [one.condition for one in (left, right) if one.kind == "nodes" or (one.is_conversion and sign != "!=")]
    named = [one for one in (left, right) if one.end is not None and (one.kind == "nodes" or one.is_conversion)]
    if len(named) == len(literals) == 1 and named[0].end is not None:
        end, value = named[0].end, literals[0].value
        if sign == "=" and (named[0].kind == "nodes" or isinstance(value, float)):
            conditions.append(_value(end, value))
        elif sign[0] in "<>" and isinstance(value, float):
            conditions.append(_in_range(end, value, below=(sign[0] == "<") == (left is named[0])))
    return _Read(both(*conditions), "boolean")


def _in_range(end: _Place, value: float, *, below: bool) -> Condition:
    """The condition that must hold if a node has a number below or above another. The neighbouring bucket is included,
    in case of rounding.
    """
    name = end.name if end.attribute is None else f"@{end.attribute}"
    if name is None:
        return ANYTHING
    middle = bucket_of(value)
    buckets = range(-MOST_BUCKET, middle + 2) if below else range(middle - 1, MOST_BUCKET + 1)
    return AnyOf((*(bucket_term(name, bucket) for bucket in buckets), mixed_term(name)))


def _value(end: _Place, value: str | float | None) -> Condition:
    """The condition that must hold if a node has a value."""
    if isinstance(value, str) and len(value) > LONGEST_VALUE:
        return ANYTHING
    if end.attribute is not None:
        if isinstance(value, str):
            return attribute_value_term(end.attribute, value)
        return ANYTHING
    if end.name is None or value is None:
        return ANYTHING
    term = value_term(end.name, value) if isinstance(value, str) else number_term(end.name, value)
    return AnyOf((term, mixed_term(end.name)))
