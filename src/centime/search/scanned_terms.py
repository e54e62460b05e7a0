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
from centime.search.path_terms import (
    LONGEST_VALUE,
    MOST_TERMS,
    Terms,
    aligned,
    folded,
    hashes_of,
    number_terms,
)
from centime.warehouse.contents import SEPARATOR, Bytes, Contents, Scratch
from centime.warehouse.nodes import ELEMENT, FIRST, TEXT, Numbers
from centime.warehouse.tree import NotWellFormed, xml_tree

MOST_DEPTH = 1_000  # of a document that is read so; the parser has a limit too
MOST_ROOM = 64 << 20  # bytes of arrays that are kept for the next document
_ENTITY = re.compile(rb"&(?!#|amp;|lt;|gt;|quot;|apos;)")
_LATER = re.compile(rb"<\?xml\s+version\s*=\s*[\"'](?!1\.0)")
_NOTHING, _MIXED = -1, -2  # instead of the text of an element: there is none; there is more than a text
_TERMS, _NUMBERS, _DEPTH = range(3)  # places of the scratch array
_NUMERIC = np.zeros(256, dtype=np.bool_)
_NUMERIC[np.frombuffer(b"0123456789.+-eE \t\r\n", dtype=np.uint8)] = True
_E, _P, _C, _M, _IS, _AT, _A, _V = b"epcm=@av"
(_COLON,) = b":"
_XMLNS = np.frombuffer(b"xmlns", dtype=np.uint8)
Work = tuple[Scratch, Scratch, Scratch, Scratch, Scratch]
"""Of each node: begin and end of its name, the hash of its path, the text in it, its depth."""
_NUMBER = 4  # begin and end of a name and of a value, that of an attribute with the first one negative


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
        found = np.empty(4 * nodes + 3 * attributes, dtype=np.int64)
        numbers = np.empty((nodes + attributes, _NUMBER), dtype=np.int64)
        begins, stops, paths, texts, depths = np.zeros((5, nodes), dtype=np.int64)
        texts[:] = _NOTHING
        scratch = np.zeros(3, dtype=np.int64)
        columns = tree.parent, tree.label, tree.content, tree.kind
        work = begins, stops, paths, texts, depths
        _gather(*columns, contents.bytes, contents.ends, work, found, numbers, scratch)
        if scratch[_DEPTH] > MOST_DEPTH:
            return None
        terms = aligned(found[: scratch[_TERMS]])
        if scratch[_NUMBERS]:
            terms = np.concatenate([terms, self._of_numbers(numbers[: scratch[_NUMBERS]])])
        terms = np.unique(terms)
        return terms if len(terms) <= MOST_TERMS else None

    def _of_numbers(self, places: Scratch) -> Terms:
        """The hashes of the terms of values that may be numbers."""
        data = self._contents.bytes[: int(places[:, 1:].max())].tobytes()
        terms: set[str] = set()
        for begin, end, value, value_end in places.tolist():
            name = f"@{data[-begin:end].decode()}" if begin < 0 else data[begin:end].decode()
            terms.update(number_terms(name, data[value:value_end].decode()))
        return hashes_of(terms)


@late_kernel(3.0)
def _gather(
    parent: Numbers,
    label: Numbers,
    content: Numbers,
    kind: npt.NDArray[np.int8],
    data: Bytes,
    ends: Scratch,
    work: Work,
    found: Scratch,
    numbers: Scratch,
    scratch: Scratch,
) -> None:
    """Fills the hashes of the terms of a tree, with repetitions, and the places of values that may be numbers."""
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
        _add(_named(_E, data, begin, stop), found, scratch)
        paths[node] = folded(mixed(0, _P) if above == 0 else mixed(paths[above], 0), data, begin, stop)
        _add(paths[node], found, scratch)
        if above != 0:
            _add(folded(mixed(_named(_C, data, begins[above], stops[above]), 0), data, begin, stop), found, scratch)
        own = np.int64(content[node])
        if own != label[node]:
            _add_attributes(
                data, np.int64(ends[own]) + 1, np.int64(ends[own + 1]), begin, stop, found, numbers, scratch
            )
    for node in range(1, len(parent)):
        if kind[node] != ELEMENT:
            continue
        begin, stop, text = begins[node], stops[node], texts[node]
        if text == _MIXED:
            _add(_named(_M, data, begin, stop), found, scratch)
            continue
        first, last = np.int64(0), np.int64(0)
        if text != _NOTHING:
            first, last = np.int64(ends[text]) + 1, np.int64(ends[text + 1])
        if _is_short(data, first, last):
            _add(folded(mixed(_named(_IS, data, begin, stop), 0), data, first, last), found, scratch)
            _note_number(data, begin, stop, first, last, numbers, scratch)


@bare_part
def _add_attributes(
    data: Bytes,
    at: Whole,
    end: Whole,
    element: Whole,
    element_end: Whole,
    found: Scratch,
    numbers: Scratch,
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
            _note_number(data, -name, name_end, value, value_end, numbers, scratch)


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


@bare_inlined
def _note_number(
    data: Bytes, name: Whole, name_end: Whole, at: Whole, end: Whole, numbers: Scratch, scratch: Scratch
) -> None:
    """Notes a value that may be a number."""
    for place in range(at, end):
        if not _NUMERIC[data[place]]:
            return
    if at < end:
        row = scratch[_NUMBERS]
        numbers[row, 0] = name
        numbers[row, 1] = name_end
        numbers[row, 2] = at
        numbers[row, 3] = end
        scratch[_NUMBERS] = row + 1


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
