"""A delta as people and programs read it: operations with the paths of their nodes, as JSON or as XML.

    <delta>
      <delete xid="7" parent="2" position="1" path="/shop/item[2]" xids="7-11"><item>...</item></delete>
      <insert xid="12" parent="2" position="0" path="/shop/item[1]" xids="12-14"><item>...</item></insert>
      <move xid="3" parent="2" position="0" to-parent="5" to-position="1" path="/shop/item[1]" to-path="..."/>
      <update xid="9" path="/shop/item[1]/price/text()"><old>10</old><new>12</new></update>
      <update xid="8" path="/shop/item[1]/price"><attribute name="currency" old="EUR" new="USD"/></update>
    </delta>

`xids` are the identifiers of a subtree in document order. A node that moved out of a deleted subtree, or into an
inserted one, is not part of it: it is a move. Paths of deleted nodes are those of the old version, all others those of
the new one.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np
import numpy.typing as npt

from centime.warehouse.comparison import TreeChange
from centime.warehouse.contents import SEPARATOR, readable
from centime.warehouse.delta import Subtree, Xids
from centime.warehouse.nodes import COMMENT, ELEMENT, INSTRUCTION, TYPE
from centime.warehouse.tree import Tree

MOST_STEPS = 256  # of a path: with all of them, paths of a deep document would take the square of its size
Numbers = npt.NDArray[np.int64]

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LETTERS = (
    ":A-Z_a-z\xc0-\xd6\xd8-\xf6\xf8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff"
)
_NO_NAME = re.compile(f"^[^{_LETTERS}]|[^{_LETTERS}0-9.\xb7\u0300-\u036f\u203f\u2040-]")
_SEPARATOR = bytes([SEPARATOR])
_STEP = re.compile(r"([^\[\]]+)(?:\[([0-9]{1,9})\])?")
_STEPS = {COMMENT: "comment()", INSTRUCTION: "processing-instruction()", TYPE: "document-type()"}


def operations(change: TreeChange) -> list[dict[str, Any]]:
    """The operations of a delta in the types of JSON: deletions, insertions, moves, updates."""
    delta = change.delta
    old, new = Paths(change.old, change.old_xids), Paths(change.new, change.new_xids)
    made: list[dict[str, Any]] = [
        *(_of_subtree("delete", subtree, old) for subtree in delta.deleted),
        *(_of_subtree("insert", subtree, new) for subtree in delta.inserted),
    ]
    made += [
        {
            "operation": "move",
            "xid": move.xid,
            "parent": move.old_parent,
            "position": move.old_position,
            "to_parent": move.new_parent,
            "to_position": move.new_position,
            "path": old.path(move.xid),
            "to_path": new.path(move.xid),
        }
        for move in delta.moved
    ]
    for update in delta.updated:
        one: dict[str, Any] = {"operation": "update", "xid": update.xid, "path": new.path(update.xid)}
        if update.old[:1] in (b"e", b"a"):
            before, after = _attributes(update.old), _attributes(update.new)
            names = sorted(name for name in before | after if before.get(name) != after.get(name))
            one["attributes"] = [{"name": name, "old": before.get(name), "new": after.get(name)} for name in names]
        else:
            one |= {"old": _value(update.old), "new": _value(update.new)}
        made.append(one)
    return made


def as_xml(made: Iterable[dict[str, Any]]) -> str:
    """Operations as an XML document."""
    return "\n".join(["<delta>", *(f"  {_element(one)}" for one in made), "</delta>"])


def _element(one: dict[str, Any]) -> str:
    inside = {"operation", "old", "new", "attributes", "content"}
    facts = "".join(f" {name.replace('_', '-')}={_quoted(value)}" for name, value in one.items() if name not in inside)
    content = one.get("content", "")
    for each in one.get("attributes", ()):
        values = "".join(f" {name}={_quoted(each[name])}" for name in ("name", "old", "new") if each[name] is not None)
        content += f"<attribute{values}/>"
    if "old" in one:
        content += f"<old>{_escaped(one['old'])}</old><new>{_escaped(one['new'])}</new>"
    name = one["operation"]
    return f"<{name}{facts}>{content}</{name}>" if content else f"<{name}{facts}/>"


def _of_subtree(operation: str, subtree: Subtree, paths: "Paths") -> dict[str, Any]:
    top = subtree[0]
    return {
        "operation": operation,
        "xid": top.xid,
        "parent": top.parent,
        "position": top.position,
        "path": paths.path(top.xid),
        "xids": ",".join(_ranges(node.xid for node in subtree)),
        "content": "".join(written_subtree(subtree)),
    }


def _ranges(xids: Iterable[int]) -> Iterator[str]:
    """Numbers as text, consecutive ones as ranges."""
    for _, group in groupby(enumerate(xids), lambda pair: pair[1] - pair[0]):
        numbers = [xid for _, xid in group]
        yield f"{numbers[0]}-{numbers[-1]}" if len(numbers) > 1 else f"{numbers[0]}"


def written_subtree(subtree: Subtree) -> Iterator[str]:
    """A subtree as XML."""
    open_elements: list[tuple[int, str]] = []
    for node in subtree:
        while open_elements and open_elements[-1][0] != node.parent:
            yield f"</{open_elements.pop()[1]}>"
        sort, content = node.content[:1], node.content[1:]
        if sort in (b"e", b"a"):
            name = _name(readable(content.split(_SEPARATOR, 1)[0]))
            pairs = "".join(f" {key}={_quoted(value)}" for key, value in _named(node.content).items())
            yield f"<{name}{pairs}>"
            open_elements.append((node.xid, name))
        elif sort == b"t":
            yield _escaped(readable(content))
        elif sort == b"c":
            yield f"<!--{_clean(readable(content)).replace('--', '- -')}-->"
        elif sort == b"q":
            yield f"<?{_value(node.content)}?>"
        elif sort == b"y":
            yield _escaped(readable(content))
    for _, name in reversed(open_elements):
        yield f"</{name}>"


def _attributes(content: bytes) -> dict[str, str]:
    parts = [readable(part) for part in content[1:].split(_SEPARATOR)[1:]]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def _named(content: bytes) -> dict[str, str]:
    """Attributes by names that XML may have."""
    return {_name(name): value for name, value in _attributes(content).items()}


def _name(name: str) -> str:
    """A name as XML may have it; HTML has more."""
    return _NO_NAME.sub("_", name)


def _value(content: bytes) -> str:
    """The text of a node that is not an element."""
    return readable(content[1:].replace(_SEPARATOR, b" "))


def _clean(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


def _escaped(text: str) -> str:
    return escape(_clean(text))


def _quoted(value: object) -> str:
    return quoteattr(_clean(str(value)))


class Paths:
    """XPaths of the nodes of a tree, by their identifiers."""

    def __init__(self, tree: Tree, xids: Xids) -> None:
        self._tree = tree
        self._order = np.argsort(xids, kind="stable")
        self._sorted = xids[self._order]
        self._by_parent = np.argsort(tree.parent, kind="stable")
        self._begins = np.searchsorted(tree.parent[self._by_parent], np.arange(len(tree) + 1))
        self._steps: dict[int, str] = {}
        self._among: dict[int, tuple[Numbers, Numbers, Numbers]] = {}

    def path(self, xid: int) -> str:
        """The path of a node, such as /shop/item[2]/text(); of one deeper than MOST_STEPS its end, behind `...`."""
        node = int(self._order[np.searchsorted(self._sorted, xid)])
        steps: list[str] = []
        while node and len(steps) < MOST_STEPS:
            steps.append(self._step(node))
            node = int(self._tree.parent[node])
        return (".../" if node else "/") + "/".join(reversed(steps))

    def xid_at(self, path: str) -> int:
        """The identifier of the node that has a path; 0 if there is none."""
        node = 0
        for step in path.strip("/").split("/"):
            named = _STEP.fullmatch(step)
            alike = [child for child in self._below(node) if named and self._name(child) == named[1]]
            place = int(named[2] or 1) if named else 0
            if not 0 < place <= len(alike):
                return 0
            node = alike[place - 1]
        return int(self._sorted[np.flatnonzero(self._order == node)[0]])

    def _below(self, parent: int) -> list[int]:
        below: list[int] = self._by_parent[self._begins[parent] : self._begins[parent + 1]].tolist()
        return [node for node in below if node]  # the document is its own parent

    def _name(self, node: int) -> str:
        kind = int(self._tree.kind[node])
        return self._tree.contents.name(int(self._tree.label[node])) if kind == ELEMENT else _STEPS.get(kind, "text()")

    def _step(self, node: int) -> str:
        if (known := self._steps.get(node)) is None:
            siblings, places, counts = self._siblings(int(self._tree.parent[node]))
            at = int(np.searchsorted(siblings, node))
            name = self._name(node)
            known = self._steps[node] = name if counts[at] == 1 else f"{name}[{int(places[at])}]"
        return known

    def _siblings(self, parent: int) -> tuple[Numbers, Numbers, Numbers]:
        """The children of a node, the place of each among those of its kind and name, and how many these are."""
        if (known := self._among.get(parent)) is None:
            tree = self._tree
            siblings = self._by_parent[self._begins[parent] : self._begins[parent + 1]]
            alike = np.stack((tree.kind[siblings].astype(np.int64), tree.label[siblings].astype(np.int64)))
            order = np.lexsort(alike)
            is_first = np.ones(len(siblings), dtype=np.bool_)
            is_first[1:] = (np.diff(alike[:, order]) != 0).any(axis=0)
            group = np.cumsum(is_first) - 1
            counts = np.bincount(group)
            places = np.empty(len(siblings), dtype=np.int64)
            many = np.empty(len(siblings), dtype=np.int64)
            places[order] = np.arange(len(siblings)) - np.flatnonzero(is_first)[group] + 1
            many[order] = counts[group]
            known = self._among[parent] = siblings, places, many
        return known
