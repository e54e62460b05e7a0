"""The canonical form of elements that an XPath finds: two are equal exactly if they say the same.

XML is data: names, attributes in any order, texts and instructions count, and the position of each; comments,
white space and prefixes of namespaces do not. Of HTML, only what a reader sees counts: the text, and where its blocks
(paragraphs, cells of tables ...) begin; an empty cell counts too.

An element in another one that is found is a part of the outer form, so its place there represents it: the work is
linear in the size of the page, however deeply results are nested.
"""

import unicodedata
from functools import lru_cache
from typing import Any

from lxml import etree

from centime.model.outcome import PageKind
from centime.parse.names import breaks_words

_BETWEEN = "\x1f"  # between parts of a form
_CELLS = frozenset(["td", "th", "dd", "dt"])
_breaks = lru_cache(maxsize=4_096)(breaks_words)


def normalised(text: str) -> str:
    """A text with single spaces, in Unicode's composed form."""
    return unicodedata.normalize("NFC", " ".join(text.split()))


def canonical_forms(elements: list[Any], kind: PageKind) -> tuple[dict[Any, str], dict[Any, str]]:
    """The canonical forms of those elements that are in no other, and the places of the others in these forms. The
    elements are in the order of the document; comments and the like among them have no form.
    """
    wanted = {one for one in elements if isinstance(one.tag, str)}
    forms: dict[Any, str] = {}
    inside: dict[Any, str] = {}
    form = _xml_form if kind is PageKind.XML else _html_form
    for one in elements:
        if one in wanted and one not in inside:
            forms[one] = form(one, wanted, inside)
            inside.pop(one)
    return forms, inside


def _xml_form(element: Any, wanted: set[Any], inside: dict[Any, str]) -> str:
    parts: list[str] = []
    for event, node in etree.iterwalk(element, events=("start", "end", "pi", "comment")):
        if event == "start":
            if node in wanted:
                inside[node] = f"\x01{len(parts)}"
            if not isinstance(node.tag, str):  # a reference to an entity that is not known
                parts.append(node.text)
                continue
            attributes = [f"{name}={normalised(value)}" for name, value in sorted(node.items())]
            parts += [f"<{node.tag}", *attributes, ">", normalised(node.text or "")]
            continue
        if event == "pi":
            parts.append(f"<?{node.target} {normalised(node.text or '')}")
        elif event == "end" and isinstance(node.tag, str):
            parts.append("</")
        if node is not element:
            parts.append(normalised(node.tail or ""))
    return _BETWEEN.join(filter(None, parts))


def _html_form(element: Any, wanted: set[Any], inside: dict[Any, str]) -> str:
    blocks: list[str] = []
    texts: list[str] = []

    def end_block(is_cell: bool) -> None:
        if (text := normalised("".join(texts))) or is_cell:
            blocks.append(text)
        texts.clear()

    for event, node in etree.iterwalk(element, events=("start", "end", "comment", "pi")):
        tag = node.tag if isinstance(node.tag, str) else ""
        if event == "start":
            if _breaks(tag):
                end_block(is_cell=False)
                if tag in _CELLS:
                    begin = len(blocks)
            if node in wanted:
                inside[node] = f"\x01{len(blocks)}.{sum(map(len, texts))}"
            texts.append(node.text or "")
            continue
        if event == "end" and _breaks(tag):
            end_block(is_cell=tag in _CELLS and len(blocks) == begin)
        if node is not element:
            texts.append(node.tail or "")
    end_block(is_cell=False)
    return _BETWEEN.join(blocks)
