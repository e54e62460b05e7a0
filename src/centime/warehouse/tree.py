"""A document as flat arrays, in document order: node 0 is the document itself.

Elements, texts, comments, processing instructions and the document type are nodes; attributes belong to the content of
their element. Names are as written, with their prefixes.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from centime.model.errors import BadInput
from centime.parse.encoding import as_utf8
from centime.warehouse.contents import Contents
from centime.warehouse.scan import BROKEN, FIRST, NODES, SCRATCH_SIZE, Numbers, scan

MOST_BYTES = 1 << 30
_SHORTEST_ATTRIBUTE = 5  # bytes


class NotWellFormed(BadInput):
    """A document that is not XML: a tag is not closed, or is none."""


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
    """The tree of an XML document in any encoding."""
    text, _ = as_utf8(document, content_type, xml=True)
    return _tree(text, contents, html=False)


def html_tree(serialised: str, contents: Contents) -> Tree:
    """The tree of HTML as a parser of WHATWG's kind serialises it."""
    return _tree(serialised.encode(), contents, html=True)


def _tree(text: bytes, contents: Contents, *, html: bool) -> Tree:
    if len(text) > MOST_BYTES:
        raise BadInput(f"the document has {len(text)} bytes, more than {MOST_BYTES}")
    data = np.frombuffer(text, dtype=np.uint8)
    tags = text.count(b"<")
    nodes = 2 * tags + 2
    if not contents.count:
        for first in FIRST:
            contents.add(first)
    contents.reserve(2 * len(text) + 64, 3 * tags + 8)
    parent, label, content, size = (np.empty(nodes, dtype=np.int32) for _ in range(4))
    kind = np.empty(nodes, dtype=np.int8)
    attributes = min(text.count(b"="), len(text) // _SHORTEST_ATTRIBUTE) + 1
    scratch = np.zeros(SCRATCH_SIZE, dtype=np.int64)
    scan(
        data,
        html,
        (parent, label, content, size, kind),
        (contents.bytes, contents.ends, contents.slots, contents.scratch),
        np.empty(4 * attributes, dtype=np.int32),
        np.empty(2 * attributes, dtype=np.int32),
        scratch,
    )
    if (broken := int(scratch[BROKEN])) >= 0:
        line = text.count(b"\n", 0, broken) + 1
        raise NotWellFormed(f"not well formed: line {line}, byte {broken}: {text[broken : broken + 40]!r}")
    count = int(scratch[NODES])
    return Tree(parent[:count], label[:count], content[:count], size[:count], kind[:count], contents)
