"""The text of a document as people read it: sentences of HTML and XML, lines of plain text.

Text of inline elements belongs to the sentence around it; elements that begin a line (`p`, `li`, `td`) end a sentence.
Scripts, styles and what a browser does not show are left out. In XML every element is a block.
"""

import re
from collections.abc import Iterator, Set
from itertools import pairwise

from centime.model.kernel import Whole
from centime.parse.names import BREAKS, ROLES, code_of, element_of
from centime.warehouse.nodes import ELEMENT, TEXT
from centime.warehouse.tree import Tree

_END = re.compile(
    "[.!?\u2026][\"'\u201d\u2019)\\]]*\\s+(?=[\"'\u201c\u2018(\\[]*[^\\s\\da-z])"
    "|[\u3002\uff01\uff1f]+[\u300d\u300f\uff09]*"
)
_HIDDEN = frozenset(
    {"script", "style", "template", "noscript", "iframe", "noembed", "noframes", "object", "svg", "math", "head"}
)


def sentences_of(tree: Tree, *, html: bool) -> list[str]:
    """The sentences of a document, in order."""
    return [sentence for block in _blocks(tree, html=html) for sentence in sentences(block)]


def paragraphs_of(tree: Tree, *, html: bool, left_out: Set[str] = frozenset()) -> list[str]:
    """The paragraphs, headings, cells and so on of a document, in order, each in one line; of HTML without what is in
    the elements `left_out`.
    """
    blocks = _blocks(tree, html=html, hidden_names=_HIDDEN | left_out)
    return [line for block in blocks if (line := " ".join(block.split()))]


def _blocks(tree: Tree, *, html: bool, hidden_names: Set[str] = _HIDDEN) -> Iterator[str]:
    """The texts between the beginnings and ends of lines."""
    hidden = [False] * len(tree)
    names: dict[int, str] = {}
    blocks: list[list[str]] = [[]]
    stack = [0]
    parents, kinds, contents = tree.parent.tolist(), tree.kind.tolist(), tree.content.tolist()
    breaks = {0: True}
    for node in range(1, len(tree)):
        parent = parents[node]
        while stack[-1] != parent:
            if breaks[stack.pop()]:
                blocks.append([])
        if kinds[node] == ELEMENT:
            label = int(tree.label[node])
            name = names.get(label) or names.setdefault(label, tree.contents.name(label))
            hidden[node] = hidden[parent] or (html and name in hidden_names)
            breaks[node] = not html or _begins_line(name)
            if breaks[node]:
                blocks.append([])
            stack.append(node)
        elif kinds[node] == TEXT and not hidden[parent]:
            blocks[-1].append(tree.contents.text(contents[node]))
    yield from map("".join, blocks)


def sentences(text: str) -> list[str]:
    """The sentences of a paragraph, with single spaces."""
    ends = [0, *(found.end() for found in _END.finditer(text)), len(text)]
    parts = (" ".join(text[begin:end].split()) for begin, end in pairwise(ends))
    return [part for part in parts if part]


def _begins_line(name: str) -> bool:
    number: Whole = element_of(code_of(name))
    return bool(ROLES[number] & BREAKS)
