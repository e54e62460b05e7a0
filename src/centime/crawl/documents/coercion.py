"""Turns a tree that was read from HTML, or from broken XML, into one that can be written as XML.

characters that XML does not have                U+FFFD
names that XML does not have, unknown prefixes   `_` for each such character: `@click` is `_click`, `o:p` is `o_p`
`--` in comments, `?>` in instructions           `- -`, `? >`
"""

import re
from typing import Any

from lxml import etree

_START = (
    "A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f\u2c00-\u2fef"
)
_START += "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
_NOT_IN_NAME = re.compile(f"[^{_START}0-9.\u00b7\u0300-\u036f\u203f\u2040-]")
_NOT_FIRST = re.compile(f"[^{_START}]")
_NO_CHARACTER = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def written_as_xml(root: Any) -> str:
    """A tree as XML that every parser accepts. Changes the tree."""
    for node in list(root.iter()):
        if isinstance(node.tag, str):
            _coerce_names(node)
        elif node.tag is etree.Comment:
            node.text = node.text.replace("--", "- -").replace("--", "- -") + (" " if node.text.endswith("-") else "")
        elif node.tag is etree.ProcessingInstruction and (
            "?>" in (node.text or "") or _coerced(node.target) != node.target
        ):
            node.getparent().replace(node, _coerced_instruction(node))
    written = etree.tostring(root, encoding="unicode", with_tail=False)
    return _NO_CHARACTER.sub("\ufffd", written)


def _coerce_names(node: Any) -> None:
    name = _coerced(node.tag)
    if name != node.tag:
        node.tag = name
    for attribute in [one for one in node.attrib if _coerced(one) != one]:
        value = node.attrib.pop(attribute)
        if _coerced(attribute) not in node.attrib:
            node.set(_coerced(attribute), value)


def _coerced_instruction(node: Any) -> Any:
    made = etree.ProcessingInstruction(_coerced(node.target), (node.text or "").replace("?>", "? >"))
    made.tail = node.tail
    return made


def _coerced(name: str) -> str:
    """The name, changed to one that XML allows; a namespace in front stays."""
    space, brace, local = name.rpartition("}")
    local = _NOT_IN_NAME.sub("_", local)
    if not local or _NOT_FIRST.match(local):
        local = f"_{local}"
    return f"{space}{brace}{local}"
