"""Writes edge lists and Matrix Market files block by block, plain or compressed.

An edge list starts with a comment that states whether pages are names or numbers and how many there are, so reading it
gives the same graph; `.csv` also has a heading. Tabs separate the fields; in `.csv` commas do, and names with a comma
or a quote are quoted. Memory: a block of links and its text.
"""

from pathlib import Path

import numpy as np

from centime.graphs.dialect import mark
from centime.graphs.fields import COMMA, HASH, NEWLINE, PERCENT, QUOTE, SPACE, TAB
from centime.graphs.link_blocks import Links
from centime.graphs.name_slots import Bytes
from centime.graphs.names import PageNames
from centime.graphs.packed import packing
from centime.graphs.survey import Survey
from centime.model.errors import BadInput
from centime.model.graph import Offsets, Targets
from centime.model.kernel import inlined, kernel

LONGEST_NUMBER = 10


def write_edges(survey: Survey, path: Path, suffixes: list[str]) -> None:
    """Writes an edge list; `suffixes` are those of its final name and decide separator and compression."""
    separator = COMMA if ".csv" in suffixes else TAB
    named = survey.names is not None
    with packing(path, suffixes[-1]) as file:
        first = 0 if named else survey.first
        file.write(mark(survey.pages, named=named, first=first))
        if separator == COMMA:
            file.write(b"source,target,weight\n" if survey.weighted else b"source,target\n")
        for block in survey.blocks():
            file.write(_lines(block, survey.names, separator, first))


def write_matrix_market(survey: Survey, path: Path, suffixes: list[str]) -> None:
    """Writes a general matrix in coordinate form."""
    kind = b"real" if survey.weighted else b"pattern"
    with packing(path, suffixes[-1]) as file:
        file.write(
            b"%%%%MatrixMarket matrix coordinate %s general\n%d %d %d\n"
            % (kind, survey.pages, survey.pages, survey.links)
        )
        for block in survey.blocks():
            file.write(_lines(block, None, SPACE, 1))


def _lines(block: Links, names: PageNames | None, separator: int, first: int) -> memoryview:
    """The links of a block as lines of text."""
    links = len(block.sources)
    weights, weight_ends, weight_of = _weight_texts(block)
    size = links * (2 * LONGEST_NUMBER + 3) + int((weight_ends[weight_of + 1] - weight_ends[weight_of]).sum())
    heap, offsets = (
        (np.empty(0, dtype=np.uint8), np.empty(0, dtype=np.int64)) if names is None else (names.heap, names.offsets)
    )
    if names is not None:
        for pages in (block.sources, block.targets):
            size += 2 * int((offsets[pages + np.int64(1)] - offsets[pages]).sum()) + 2 * links
    text = np.empty(size, dtype=np.uint8)
    wrong, end = _format(
        block.sources, block.targets, first, heap, offsets, separator, weights, weight_ends, weight_of, text
    )
    if names is not None and wrong >= 0:
        better = "write to Parquet" if separator == COMMA else "write to .csv or to Parquet"
        raise BadInput(f"the page name {names[int(wrong)]!r} cannot be written to an edge list of this kind; {better}")
    return text.data[:end]


def _weight_texts(block: Links) -> tuple[Bytes, Offsets, Offsets]:
    """The texts of the distinct weights, their offsets, and the index of each link's weight.

    A text is the shortest one that gives the same number.
    """
    if block.weights is None:
        return np.empty(0, dtype=np.uint8), np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int64)
    values, weight_of = np.unique(block.weights, return_inverse=True)
    texts = [repr(value).encode() for value in values.tolist()]
    ends = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum([len(text) for text in texts], out=ends[1:])
    return np.frombuffer(bytearray(b"".join(texts)), dtype=np.uint8), ends, weight_of.astype(np.int64)


@kernel
def _format(
    sources: Targets,
    targets: Targets,
    first: int,
    heap: Bytes,
    offsets: Offsets,
    separator: int,
    weights: Bytes,
    weight_ends: Offsets,
    weight_of: Offsets,
    text: Bytes,
) -> tuple[int, int]:
    """Writes the lines; returns the page whose name cannot be written, or -1, and the end of the text."""
    at = 0
    for link in range(len(sources)):
        for end_point in range(2):
            page = int(sources[link] if end_point == 0 else targets[link])
            if len(offsets) == 0:
                at = _put_number(text, at, page + first)
            else:
                at = _put_name(text, at, heap, offsets[page], offsets[page + 1], separator)
                if at < 0:
                    return page, 0
            text[at] = separator
            at += 1
        if len(weight_of) > 0:
            for place in range(weight_ends[weight_of[link]], weight_ends[weight_of[link] + 1]):
                text[at] = weights[place]
                at += 1
            at += 1
        text[at - 1] = NEWLINE
    return -1, at


@inlined
def _put_number(text: Bytes, at: int, number: int) -> int:
    digits = 1
    rest = number // 10
    while rest > 0:
        digits += 1
        rest //= 10
    for place in range(digits):
        text[at + digits - 1 - place] = 48 + number % 10
        number //= 10
    return at + digits


@inlined
def _put_name(text: Bytes, at: int, heap: Bytes, start: int, end: int, separator: int) -> int:
    """Copies a name, quoted if necessary; -1 if no reader could parse it."""
    if start == end:
        return -1
    plain = (
        heap[start] != HASH
        and heap[start] != PERCENT
        and heap[start] != QUOTE
        and heap[start] > SPACE
        and heap[end - 1] > SPACE
    )
    for place in range(start, end):
        if heap[place] < SPACE:
            return -1
        plain = plain and heap[place] != separator
    if not plain and separator != COMMA:
        return -1
    if not plain:
        text[at] = QUOTE
        at += 1
    for place in range(start, end):
        text[at] = heap[place]
        at += 1
        if not plain and heap[place] == QUOTE:
            text[at] = QUOTE
            at += 1
    if not plain:
        text[at] = QUOTE
        at += 1
    return at
