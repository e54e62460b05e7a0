"""The text of a document as people read it: sentences of HTML and XML, lines of plain text.

Text of inline elements belongs to the sentence around it; elements that begin a line (`p`, `li`, `td`) end a sentence.
Scripts, styles and hidden elements are left out. In XML every element is a block.
"""

import re
from collections.abc import Iterator, Set
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from centime.model.kernel import Whole, late_kernel
from centime.parse.names import BREAKS, ROLES, code_of, element_of
from centime.warehouse.contents import SEPARATOR, Bytes, Scratch, readable
from centime.warehouse.nodes import ELEMENT, TEXT, Numbers
from centime.warehouse.tree import Tree

_SEPARATOR = bytes([SEPARATOR])
_HIDES, _BREAKS = 1, 2  # what an element does to the text

_END = re.compile(
    "[.!?\u2026][\"'\u201d\u2019)\\]]*\\s+(?=[\"'\u201c\u2018(\\[]*[^\\s\\da-z])"
    "|[\u3002\uff01\uff1f]+[\u300d\u300f\uff09]*"
)
HIDDEN = frozenset(
    {"script", "style", "template", "noscript", "iframe", "noembed", "noframes", "object", "svg", "math", "head"}
)


def sentences_of(tree: Tree, *, html: bool) -> list[str]:
    """The sentences of a document, in order."""
    return [sentence for block in _blocks(tree, html=html) for sentence in sentences(block)]


def paragraphs_of(tree: Tree, *, html: bool, left_out: Set[str] = frozenset()) -> list[str]:
    """The paragraphs, headings, cells and so on of a document, in order, each in one line; of HTML without the content
    of the elements `left_out`.
    """
    blocks = _blocks(tree, html=html, hidden_names=HIDDEN | left_out)
    return [line for block in blocks if (line := " ".join(block.split()))]


def _blocks(tree: Tree, *, html: bool, hidden_names: Set[str] = HIDDEN) -> Iterator[str]:
    """The texts between the beginnings and ends of lines; some are empty."""
    labels = np.unique(tree.label[tree.kind == ELEMENT])
    roles = np.zeros(int(labels.max(initial=0)) + 1, dtype=np.uint8)
    for label in labels.tolist():
        name = tree.contents.name(label)
        is_hidden, breaks = html and name in hidden_names, not html or _begins_line(name)
        roles[label] = _HIDES * is_hidden + _BREAKS * breaks
    contents = tree.contents
    texts = tree.content[tree.kind == TEXT].astype(np.int64)
    size = int((contents.ends[texts + 1] - contents.ends[texts]).sum()) + 2 * len(tree) + 1
    gathered = np.empty(size, dtype=np.uint8)
    hidden, stack = np.zeros(len(tree), dtype=np.uint8), np.zeros(len(tree) + 1, dtype=np.int32)
    nodes = tree.parent, tree.kind, tree.label, tree.content, tree.size
    length = int(_gather(nodes, roles, contents.bytes, contents.ends, hidden, stack, gathered))
    yield from map(readable, gathered[:length].tobytes().split(_SEPARATOR))


@late_kernel(1.0)
def _gather(
    nodes: tuple[Numbers, npt.NDArray[np.int8], Numbers, Numbers, Numbers], roles: Bytes, contents: Bytes,
    ends: Scratch, hidden: Bytes, stack: Numbers, gathered: Bytes,
) -> Whole:  # fmt: skip
    """Writes all texts that are shown, with a separator where a line begins or ends; returns how many bytes."""
    parents, kinds, labels, numbers, sizes = nodes
    length, top = np.int64(0), np.int64(0)
    for node in range(1, len(parents)):
        parent = parents[node]
        while stack[top] != parent:
            if roles[labels[stack[top]]] & _BREAKS and length and gathered[length - 1] != SEPARATOR:
                gathered[length] = SEPARATOR
                length += 1
            top -= 1
        if kinds[node] == ELEMENT:
            role = roles[labels[node]]
            hidden[node] = hidden[parent] | (role & _HIDES)
            if role & _BREAKS and length and gathered[length - 1] != SEPARATOR:
                gathered[length] = SEPARATOR
                length += 1
            top += 1
            stack[top] = node
        elif kinds[node] == TEXT and not hidden[parent]:
            if not sizes[node] and (not length or gathered[length - 1] == SEPARATOR):
                continue  # white space at the beginning of a line
            for at in range(ends[numbers[node]] + 1, ends[numbers[node] + 1]):
                gathered[length] = contents[at]
                length += 1
    return length


def sentences(text: str) -> list[str]:
    """The sentences of a paragraph, with single spaces."""
    ends = [0, *(found.end() for found in _END.finditer(text)), len(text)]
    parts = (" ".join(text[begin:end].split()) for begin, end in pairwise(ends))
    return [part for part in parts if part]


def _begins_line(name: str) -> bool:
    number: Whole = element_of(code_of(name))
    return bool(ROLES[number] & BREAKS)
