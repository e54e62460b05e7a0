"""A parsed document (lxml) as a tree of flat arrays, so that two of them can be matched: what an XPath finds in one
version is then found again in the other.

The arrays of `scan_xml.py` and `scan_html.py` are quicker, but an XPath is evaluated in lxml's tree, and of HTML the
two differ.
"""

from typing import Any

import numpy as np
from lxml import etree

from centime.warehouse.contents import ENTITY, SEPARATOR, Contents
from centime.warehouse.nodes import (
    COMMENT,
    COMMENT_LABEL,
    DOCUMENT,
    DOCUMENT_LABEL,
    ELEMENT,
    FIRST,
    INSTRUCTION,
    TEXT,
    TEXT_LABEL,
)
from centime.warehouse.tree import Tree

_SEPARATOR, _ENTITY = bytes([SEPARATOR]), bytes([ENTITY])


class ElementTree:
    """A tree, and which of its nodes represent the elements, texts and tails of a parsed document."""

    def __init__(self, root: Any, contents: Contents) -> None:
        if not contents.count:
            for first in FIRST:
                contents.add(first)
        self._contents = contents
        self._rows: list[tuple[int, int, int, int, int]] = []  # parent, label, content, size, kind
        self.elements: dict[Any, int] = {}  # keeps the elements alive, so that each is one object
        self.texts: dict[Any, int] = {}
        self.tails: dict[Any, int] = {}
        self._add(0, DOCUMENT_LABEL, DOCUMENT_LABEL, 0, DOCUMENT)
        self._fill(root)
        columns = np.array(self._rows, dtype=np.int32).T
        parent, label, content, size = (np.ascontiguousarray(column) for column in columns[:4])
        self.tree = Tree(parent, label, content, size, columns[4].astype(np.int8), contents)

    def _fill(self, root: Any) -> None:
        """Adds all nodes in document order."""
        parents = [0]
        for event, node in etree.iterwalk(root, events=("start", "end", "pi", "comment")):
            if event == "start":
                is_element = isinstance(node.tag, str)
                number = self._element(parents[-1], node) if is_element else self._reference(parents[-1], node)
                self.elements[node] = number
                parents.append(number)
                if is_element:
                    self._text(self.texts, number, node, node.text)
                continue
            if event == "end":
                parents.pop()
            elif event == "pi":
                self.elements[node] = self._instruction(parents[-1], node)
            else:
                content = self._contents.add(b"c" + node.text.encode())
                self.elements[node] = self._add(parents[-1], COMMENT_LABEL, content, 0, COMMENT)
            if node is not root:
                self._text(self.tails, parents[-1], node, node.tail)

    def _add(self, parent: int, label: int, content: int, size: int, kind: int) -> int:
        self._rows.append((parent, label, content, size, kind))
        return len(self._rows) - 1

    def _element(self, parent: int, node: Any) -> int:
        name = node.tag.encode()
        label = content = self._contents.add(b"e" + name)
        if attributes := sorted(node.items()):
            parts = [part.encode() for pair in attributes for part in pair]
            content = self._contents.add(b"a" + _SEPARATOR.join([name, *parts]))
        return self._add(parent, label, content, len(attributes), ELEMENT)

    def _reference(self, parent: int, node: Any) -> int:
        """A reference to an entity is a text that is not expanded."""
        content = self._contents.add(b"t" + _ENTITY + node.text[1:].encode())
        return self._add(parent, TEXT_LABEL, content, len(node.text), TEXT)

    def _instruction(self, parent: int, node: Any) -> int:
        target = node.target.encode()
        label = self._contents.add(b"p" + target)
        content = self._contents.add(b"q" + target + _SEPARATOR + (node.text or "").encode())
        return self._add(parent, label, content, 0, INSTRUCTION)

    def _text(self, places: dict[Any, int], parent: int, node: Any, text: str | None) -> None:
        if text:
            size = len(text) if text.strip() else 0
            places[node] = self._add(parent, TEXT_LABEL, self._contents.add(b"t" + text.encode()), size, TEXT)
