"""The arrays of a tree while they are filled: common parts of the passes over XML and HTML."""

import numpy as np
import numpy.typing as npt

from centime.model.kernel import Whole, bare_inlined, bare_part
from centime.warehouse.contents import WRITTEN, Bytes, Scratch

Numbers = npt.NDArray[np.int32]

DOCUMENT, ELEMENT, TEXT, COMMENT, INSTRUCTION, TYPE = range(6)
# The first contents of every table, so that their numbers are known here.
FIRST = (b"d", b"t", b"c", b"y")
DOCUMENT_LABEL, TEXT_LABEL, COMMENT_LABEL, TYPE_LABEL = range(4)

# Places in the scratch array of a pass: how many nodes there are, the innermost open one, where the text begins that
# is being gathered (-1 if there is none), the attributes of the element, and where the document is broken.
NODES, OPEN, TEXT_BEGIN, ATTRIBUTES, BROKEN = range(5)
SCRATCH_SIZE = 5
PLACES = 4  # of an attribute: begin and end of its name and of its value

Columns = tuple[Numbers, Numbers, Numbers, Numbers, npt.NDArray[np.int8]]
"""Parent, label, content, size and kind of each node."""
Table = tuple[Bytes, Scratch, Numbers, Scratch]
"""The arrays of a `Contents`."""


@bare_inlined
def add_node(columns: Columns, scratch: Scratch, label: Whole, content: Whole, size: Whole, kind: Whole) -> Whole:
    """Adds a node to the innermost open one; returns its number."""
    number = np.int64(scratch[NODES])
    columns[0][number] = scratch[OPEN]
    columns[1][number] = label
    columns[2][number] = content
    columns[3][number] = size
    columns[4][number] = kind
    scratch[NODES] = number + 1
    return number


@bare_inlined
def put(byte: Whole, contents: Bytes, known: Scratch) -> None:
    """Writes one byte."""
    contents[known[WRITTEN]] = byte
    known[WRITTEN] += 1


@bare_part
def sort_attributes(data: Bytes, attributes: Numbers, order: Numbers, count: Whole) -> None:
    """Fills `order` with the numbers of the attributes in the order of their names: a merge sort, from the bottom
    up; the second half of `order` is its other place."""
    for place in range(count):
        order[place] = place
    half = len(order) >> 1
    width = np.int64(1)
    while width < count:
        for begin in range(0, count, 2 * width):
            middle, stop = min(begin + width, count), min(begin + 2 * width, count)
            left, right = np.int64(begin), np.int64(middle)
            for place in range(begin, stop):
                if left < middle and (right >= stop or not _is_before(data, attributes, order[right], order[left])):
                    order[half + place] = order[left]
                    left += 1
                else:
                    order[half + place] = order[right]
                    right += 1
        for place in range(count):
            order[place] = order[half + place]
        width *= 2


@bare_part
def _is_before(data: Bytes, attributes: Numbers, one: Whole, other: Whole) -> bool | np.bool_:
    a, a_end = np.int64(attributes[PLACES * one]), np.int64(attributes[PLACES * one + 1])
    b, b_end = np.int64(attributes[PLACES * other]), np.int64(attributes[PLACES * other + 1])
    while a < a_end and b < b_end and data[a] == data[b]:
        a += 1
        b += 1
    return b < b_end and (a == a_end or data[a] < data[b])
