"""A document as flat arrays, in document order: node 0 is the document itself.

Elements, texts, comments, processing instructions and the document type are nodes; attributes belong to the content of
their element. Names are as written, with their prefixes.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from centime.model.errors import BadInput
from centime.parse.elements import ELEMENTS_SIZE
from centime.parse.encoding import as_utf8
from centime.warehouse.contents import Contents, Scratch
from centime.warehouse.nodes import BROKEN, FIRST, NODES, SCRATCH_SIZE, Columns, Numbers, Table
from centime.warehouse.scan_html import scan_html
from centime.warehouse.scan_xml import scan_xml

MOST_BYTES = 1 << 30
_SHORTEST_ATTRIBUTE = 2  # bytes: in HTML, a letter and a space


class NotWellFormed(BadInput):
    """A document that is not well-formed XML."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A document; nodes that have equal contents have equal numbers in all trees with these `contents`."""

    parent: Numbers
    label: Numbers  # the name of an element or the sort of another node
    content: Numbers  # with attributes, or the text
    size: Numbers  # attributes of an element, bytes of a text; 0 for a text of white space
    kind: npt.NDArray[np.int8]
    contents: Contents

    def __len__(self) -> int:
        return len(self.parent)


def xml_tree(document: bytes, contents: Contents, content_type: str = "") -> Tree:
    """The tree of an XML document in any encoding; NotWellFormed if it has none."""
    text, _ = as_utf8(document, content_type, xml=True)
    columns, table, attributes, order, scratch = _arrays(text, contents)
    scan_xml(np.frombuffer(text, dtype=np.uint8), columns, table, attributes, order, scratch)
    if (broken := int(scratch[BROKEN])) >= 0:
        line = text.count(b"\n", 0, broken) + 1
        raise NotWellFormed(f"not well formed: line {line}, byte {broken}: {text[broken : broken + 40]!r}")
    return _tree(columns, scratch, contents)


def html_tree(page: bytes, contents: Contents, content_type: str = "", url: str = "") -> Tree:
    """The tree of a page in any encoding, however broken."""
    text, _ = as_utf8(page, content_type, url=url)
    columns, table, attributes, order, scratch = _arrays(text, contents)
    stack = np.zeros(ELEMENTS_SIZE, dtype=np.int64)
    scan_html(np.frombuffer(text, dtype=np.uint8), columns, table, attributes, order, stack, scratch)
    return _tree(columns, scratch, contents)


def _arrays(text: bytes, contents: Contents) -> tuple[Columns, Table, Numbers, Numbers, Scratch]:
    """Arrays with room for all nodes that a text can have."""
    if len(text) > MOST_BYTES:
        raise BadInput(f"the document has {len(text)} bytes, more than {MOST_BYTES}")
    tags = text.count(b"<")
    nodes = 2 * tags + 2
    if not contents.count:
        for first in FIRST:
            contents.add(first)
    contents.reserve(2 * len(text) + 64, 3 * tags + 8)
    parent, label, content, size = (np.empty(nodes, dtype=np.int32) for _ in range(4))
    attributes = len(text) // _SHORTEST_ATTRIBUTE + 1
    return (
        (parent, label, content, size, np.empty(nodes, dtype=np.int8)),
        (contents.bytes, contents.ends, contents.slots, contents.scratch),
        np.empty(4 * attributes, dtype=np.int32),
        np.empty(2 * attributes, dtype=np.int32),
        np.zeros(SCRATCH_SIZE, dtype=np.int64),
    )


def _tree(columns: Columns, scratch: Scratch, contents: Contents) -> Tree:
    count = int(scratch[NODES])
    parent, label, content, size, kind = columns
    return Tree(parent[:count], label[:count], content[:count], size[:count], kind[:count], contents)
