"""The terms of XML documents (`path_terms.py`) without a parser's tree: compiled passes over the bytes.

A document that expat finds well formed, prefixes included, and that has no document type has one tree by XML's
information set. So the pass that fills arrays for deltas (`warehouse/scan_xml.py`) and the parser in whose tree XPaths
are evaluated agree on it; a test compares the terms of both. Any other document is for the process that examines
documents. All passes are linear and expand nothing, so they need no limits.
"""

import re
from xml.parsers import expat

import numpy as np
import numpy.typing as npt

from centime.model.kernel import Whole, bare_inlined, bare_part, late_kernel
from centime.parse.encoding import as_utf8
from centime.parse.words import mixed
from centime.search.path_terms import LONGEST_VALUE, MOST_DIGITS, MOST_TERMS, Terms, aligned, folded, size_bucket
from centime.warehouse.contents import SEPARATOR, Bytes, Contents, Scratch
from centime.warehouse.nodes import ELEMENT, FIRST, TEXT, Numbers
from centime.warehouse.tree import NotWellFormed, xml_tree

MOST_DEPTH = 1_000  # of a document that is read so; the parser has a limit too
MOST_ROOM = 64 << 20  # bytes of arrays that are kept for the next document
_ENTITY = re.compile(rb"&(?!#|amp;|lt;|gt;|quot;|apos;)")
_LATER = re.compile(rb"<\?xml\s+version\s*=\s*[\"'](?!1\.0)")
_NOTHING, _MIXED = -1, -2  # instead of the text of an element: there is none; there is more than a text
_TERMS, _DEPTH = range(2)  # places of the scratch array
_BELOW, _PATH, _VALUE, _IS_MIXED = range(4)
"""Rows of what is known of the last element of each name: the hash of the path above it, and 1; the hash of its own;
that of a value of it, without the value; whether one of them has a value that is not known. 0 if it is none yet."""
_NO_SIGN = 0
_E, _P, _C, _M, _IS, _AT, _A, _V, _NUMBER, _SIZE = b"epcm=@av#<"
_COLON, _ZERO, _NINE, _MINUS, _PLUS, _POINT, _EXPONENT, _SMALL = b":09-+.Ee"
_XMLNS = np.frombuffer(b"xmlns", dtype=np.uint8)
Work = tuple[Scratch, Scratch, Scratch, Scratch, Scratch]
"""Of each node: begin and end of its name, the hash of its path, the text in it, its depth."""


class TermScanner:
    """Makes the terms of one document after the other."""

    def __init__(self) -> None:
        self._contents = Contents()

    def terms(self, body: bytes, content_type: str = "") -> Terms | None:
        """The hashes of the terms of a document, sorted; None if it is not for this pass."""
        text, _ = as_utf8(body, content_type, xml=True)
        if _is_other(text) or not _is_well_formed(text):
            return None
        contents = self._contents
        if len(contents.bytes) > MOST_ROOM:
            contents = self._contents = Contents()
        contents.forget(len(FIRST))
        try:
            tree = xml_tree(text, contents, "application/xml; charset=utf-8")
        except NotWellFormed:
            return None
        nodes, attributes = len(tree), int(tree.size[tree.kind == ELEMENT].sum())
        found = np.empty(6 * nodes + 5 * attributes, dtype=np.int64)
        begins, stops, paths, texts, depths = np.zeros((5, nodes), dtype=np.int64)
        texts[:] = _NOTHING
        scratch = np.zeros(2, dtype=np.int64)
        columns = tree.parent, tree.label, tree.content, tree.kind
        work, last = (begins, stops, paths, texts, depths), np.zeros((4, contents.count), dtype=np.int64)
        _gather(*columns, contents.bytes, contents.ends, work, last, found, scratch)
        if scratch[_DEPTH] > MOST_DEPTH:
            return None
        terms = found[: scratch[_TERMS]]
        terms.sort()
        is_first = np.ones(len(terms), dtype=np.bool_)
        np.not_equal(terms[1:], terms[:-1], out=is_first[1:])
        terms = terms[is_first]
        return aligned(terms) if len(terms) <= MOST_TERMS else None


@late_kernel(3.0)
def _gather(
    parent: Numbers,
    label: Numbers,
    content: Numbers,
    kind: npt.NDArray[np.int8],
    data: Bytes,
    ends: Scratch,
    work: Work,
    last: Scratch,
    found: Scratch,
    scratch: Scratch,
) -> None:
    """Fills the hashes of the terms of a tree, with some repetitions."""
    begins, stops, paths, texts, depths = work
    for node in range(1, len(parent)):
        above = np.int64(parent[node])
        if kind[node] == TEXT:
            if texts[above] == _NOTHING:
                texts[above] = content[node]
            continue
        texts[above] = _MIXED
        if kind[node] != ELEMENT:
            continue
        depths[node] = depths[above] + 1
        scratch[_DEPTH] = max(scratch[_DEPTH], depths[node])
        stop = np.int64(ends[label[node] + 1])
        begin = _local(data, np.int64(ends[label[node]]) + 1, stop)
        begins[node], stops[node] = begin, stop
        if last[_BELOW, label[node]] == paths[above] + 1:  # as the last element of this name: all is there
            paths[node] = last[_PATH, label[node]]
        else:
            _add(_named(_E, data, begin, stop), found, scratch)
            paths[node] = folded(mixed(0, _P) if above == 0 else mixed(paths[above], 0), data, begin, stop)
            _add(paths[node], found, scratch)
            if above != 0:
                _add(folded(mixed(_named(_C, data, begins[above], stops[above]), 0), data, begin, stop), found, scratch)
            last[_BELOW, label[node]], last[_PATH, label[node]] = paths[above] + 1, paths[node]
        own = np.int64(content[node])
        if own != label[node]:
            _add_attributes(data, np.int64(ends[own]) + 1, np.int64(ends[own + 1]), begin, stop, found, scratch)
    for node in range(1, len(parent)):
        if kind[node] != ELEMENT:
            continue
        begin, stop, text = begins[node], stops[node], texts[node]
        if text == _MIXED:
            if last[_IS_MIXED, label[node]] == 0:
                _add(_named(_M, data, begin, stop), found, scratch)
                last[_IS_MIXED, label[node]] = 1
            continue
        at, end = np.int64(0), np.int64(0)
        if text != _NOTHING:
            at, end = np.int64(ends[text]) + 1, np.int64(ends[text + 1])
        if _is_short(data, at, end):
            if last[_VALUE, label[node]] == 0:
                last[_VALUE, label[node]] = mixed(_named(_IS, data, begin, stop), 0)
            _add(folded(last[_VALUE, label[node]], data, at, end), found, scratch)
            _add_number(data, _NO_SIGN, begin, stop, at, end, found, scratch)


@bare_part
def _add_attributes(
    data: Bytes,
    at: Whole,
    end: Whole,
    element: Whole,
    element_end: Whole,
    found: Scratch,
    scratch: Scratch,
) -> None:
    """Adds the terms of the attributes of an element, whose content is from `at` to `end`."""
    at = _part_end(data, at, end) + 1
    while at < end:
        name, name_end = at, _part_end(data, at, end)
        value, value_end = name_end + 1, _part_end(data, name_end + 1, end)
        at = value_end + 1
        if _declares_namespace(data, name, name_end):
            continue
        name = _local(data, name, name_end)
        _add(_named(_AT, data, name, name_end), found, scratch)
        _add(folded(mixed(_named(_A, data, element, element_end), 0), data, name, name_end), found, scratch)
        if _is_short(data, value, value_end):
            _add(folded(mixed(_named(_V, data, name, name_end), 0), data, value, value_end), found, scratch)
            _add_number(data, _AT, name, name_end, value, value_end, found, scratch)


@bare_inlined
def _part_end(data: Bytes, at: Whole, end: Whole) -> Whole:
    """Where a part of a content ends."""
    while at < end and data[at] != SEPARATOR:
        at += 1
    return at


@bare_inlined
def _declares_namespace(data: Bytes, at: Whole, end: Whole) -> bool | np.bool_:
    size = len(_XMLNS)
    if end - at < size or (end - at > size and data[at + size] != _COLON):
        return False
    place = 0
    while place < size and data[at + place] == _XMLNS[place]:
        place += 1
    return place == size


@bare_inlined
def _local(data: Bytes, begin: Whole, end: Whole) -> Whole:
    """Where a name begins behind its prefix."""
    at = end
    while at > begin and data[at - 1] != _COLON:
        at -= 1
    return at


@bare_inlined
def _named(sort: Whole, data: Bytes, begin: Whole, end: Whole) -> Whole:
    """The hash of a sort of terms and a name."""
    return folded(mixed(0, sort), data, begin, end)


@bare_inlined
def _add(term: Whole, found: Scratch, scratch: Scratch) -> None:
    found[scratch[_TERMS]] = term
    scratch[_TERMS] += 1


@bare_inlined
def _is_short(data: Bytes, at: Whole, end: Whole) -> bool | np.bool_:
    """Whether a value has at most LONGEST_VALUE characters."""
    characters = 0
    while at < end and characters <= LONGEST_VALUE:
        characters += (data[at] & 0xC0) != 0x80
        at += 1
    return characters <= LONGEST_VALUE


@bare_part
def _add_number(
    data: Bytes, sign: Whole, name: Whole, name_end: Whole, at: Whole, end: Whole, found: Scratch, scratch: Scratch
) -> None:
    """Adds the terms of a value if it is a number (`path_terms.number_terms`); `sign` stands before the name."""
    while at < end and _is_white(data, at):
        at += 1
    while at < end and _is_white(data, end - 1):
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
        _add(_signed(_M, sign, data, name, name_end), found, scratch)
    if place < end:
        return
    if digits <= MOST_DIGITS:
        state = mixed(_signed(_NUMBER, sign, data, name, name_end), 0)
        _add(_with_number(state, data, first, point, end, is_negative and number > 0.0), found, scratch)
    scale = 1.0  # exact for the decimals of few digits, so that the quotient is rounded once
    for _ in range(point + 1, end):
        scale *= 10.0
    state = mixed(_signed(_SIZE, sign, data, name, name_end), 0)
    _add(_with_bucket(state, size_bucket(number / scale), is_negative), found, scratch)


@bare_inlined
def _with_number(
    state: Whole, data: Bytes, first: Whole, point: Whole, end: Whole, is_negative: bool | np.bool_
) -> Whole:
    """The hash of a state and a number as `path_terms.number_term` writes it: without zeros that say nothing."""
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
    return folded(mixed(state, sign) if sign != _NO_SIGN else state, data, name, name_end)


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
def _is_white(data: Bytes, at: Whole) -> bool | np.bool_:
    return bool(data[at] == 32) or bool(data[at] == 9) or bool(data[at] == 10) or bool(data[at] == 13)


def _is_other(text: bytes) -> bool:
    """Whether a document has a document type, names an entity, or is of a later version of XML."""
    if b"<!DOCTYPE" in text or _LATER.match(text) is not None:
        return True
    return b"&" in text and _ENTITY.search(text) is not None


def _is_well_formed(text: bytes) -> bool:
    """Whether a document in UTF-8 is well formed, and every prefix in it is declared."""
    parser = expat.ParserCreate("utf-8", " ")
    try:
        parser.Parse(text, True)
    except expat.ExpatError:
        return False
    return True
