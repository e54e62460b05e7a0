"""Completed deltas: inserted, deleted, moved and updated nodes, with persistent identifiers (XIDs).

A delta is a set of operations, not a program. Positions of deleted nodes are those in the old version, positions of
inserted nodes are those in the new one. It has the old and the new values, so the inverse only swaps them:

    apply(delta, old) = new        apply(inverse(delta), new) = old        identifiers included

The first version numbers its nodes in document order; an inserted node gets the next number, and no number is used
again. An inserted or deleted subtree leaves out nodes that moved into or out of it.

A delta is exact for the information set, not for bytes: differences in quotes, the order of attributes, line ends,
encodings and the XML declaration give no operations.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec
import numpy as np
import numpy.typing as npt

from centime.model.errors import BadInput
from centime.warehouse.matching import Matching, Shape, match_known
from centime.warehouse.nodes import Numbers
from centime.warehouse.tree import Tree

Xids = npt.NDArray[np.int64]


class NotThisVersion(BadInput):
    """A delta is applied to another version than its own."""


class Node(msgspec.Struct, frozen=True, array_like=True):
    """A node that is inserted or deleted, below its parent."""

    xid: int
    parent: int
    position: int
    content: bytes  # as in `contents.py`


class Move(msgspec.Struct, frozen=True, array_like=True):
    """A node that changes its place, with its subtree."""

    xid: int
    old_parent: int
    old_position: int
    new_parent: int
    new_position: int


class Update(msgspec.Struct, frozen=True, array_like=True):
    """A node that keeps its place and changes its text, or its name or attributes."""

    xid: int
    old: bytes
    new: bytes


Subtree = tuple[Node, ...]
"""Nodes in document order, the topmost first."""


class Delta(msgspec.Struct, frozen=True, array_like=True):
    """The operations that lead from one version to another, and back."""

    deleted: tuple[Subtree, ...] = ()
    inserted: tuple[Subtree, ...] = ()
    moved: tuple[Move, ...] = ()
    updated: tuple[Update, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.deleted or self.inserted or self.moved or self.updated)

    def __len__(self) -> int:
        return len(self.deleted) + len(self.inserted) + len(self.moved) + len(self.updated)

    def inverse(self) -> "Delta":
        """The delta that leads back."""
        moved = (
            Move(one.xid, one.new_parent, one.new_position, one.old_parent, one.old_position) for one in self.moved
        )
        updated = (Update(one.xid, one.new, one.old) for one in self.updated)
        return Delta(self.inserted, self.deleted, tuple(moved), tuple(updated))


def first_xids(tree: Tree) -> Xids:
    """The identifiers of a first version."""
    return np.arange(len(tree), dtype=np.int64)


def next_xids(matching: Matching, xids: Xids, free: int) -> tuple[Xids, int]:
    """The identifiers of the new version, and the next one that is free."""
    to_old = matching.to_old
    known = to_old >= 0
    fresh = np.flatnonzero(~known)
    new_xids = np.where(known, xids[np.maximum(to_old, 0)], 0)
    new_xids[fresh] = free + np.arange(len(fresh))
    return new_xids, free + len(fresh)


def delta_of(matching: Matching, xids: Xids, new_xids: Xids) -> Delta:
    """The delta between two versions."""
    old, new, to_old = matching.old, matching.new, matching.to_old
    both = np.flatnonzero(to_old >= 0)
    moved = both[~matching.stays[both]]
    changed = both[old.content[to_old[both]] != new.content[both]]
    values = (new_xids[changed], old.content[to_old[changed]], new.content[changed])
    return Delta(
        _subtrees(old, matching.old_shape, matching.to_new, xids),
        _subtrees(new, matching.new_shape, to_old, new_xids),
        tuple(Move(*numbers) for numbers in _places(matching, moved, xids, new_xids)),
        tuple(
            Update(xid, old.contents[before], old.contents[after])
            for xid, before, after in zip(*(column.tolist() for column in values), strict=True)
        ),
    )


def delta_between(old: Tree, xids: Xids, new: Tree, new_xids: Xids) -> Delta:
    """The delta between two versions that are not neighbours: nodes with the same identifier are the same."""
    order = np.argsort(xids, kind="stable")
    place = np.minimum(np.searchsorted(xids[order], new_xids), len(xids) - 1)
    to_old = np.where(xids[order[place]] == new_xids, order[place], -1).astype(np.int32)
    return delta_of(match_known(old, new, to_old), xids, new_xids)


def _places(matching: Matching, nodes: npt.NDArray[np.intp], xids: Xids, new_xids: Xids) -> Iterable[tuple[int, ...]]:
    """Of moved nodes of the new tree: identifier, old parent and position, new parent and position."""
    before = matching.to_old[nodes]
    columns = (
        new_xids[nodes],
        xids[matching.old.parent[before]],
        matching.old_shape.position[before],
        new_xids[matching.new.parent[nodes]],
        matching.new_shape.position[nodes],
    )
    return zip(*(column.tolist() for column in columns), strict=True)


def _subtrees(tree: Tree, shape: Shape, matched: Numbers, xids: Xids) -> tuple[Subtree, ...]:
    """The unmatched nodes of a tree, connected ones as one subtree."""
    nodes = np.flatnonzero(matched < 0)
    if not len(nodes):
        return ()
    parents = tree.parent[nodes]
    made = [
        Node(xid, parent, position, tree.contents[content])
        for xid, parent, position, content in zip(
            xids[nodes].tolist(),
            xids[parents].tolist(),
            shape.position[nodes].tolist(),
            tree.content[nodes].tolist(),
            strict=True,
        )
    ]
    subtrees: dict[int, list[Node]] = {}
    top: dict[int, int] = {}
    for number, parent, node in zip(nodes.tolist(), parents.tolist(), made, strict=True):
        top[number] = top.get(parent, number)
        subtrees.setdefault(top[number], []).append(node)
    return tuple(map(tuple, subtrees.values()))


@dataclass(slots=True)
class Version:
    """A document by identifiers, to which deltas are applied."""

    contents: dict[int, bytes] = field(default_factory=dict)
    children: dict[int, list[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, tree: Tree, xids: Xids) -> "Version":
        """A tree and the identifiers of its nodes."""
        made = cls()
        names = xids.tolist()
        for number, (xid, parent) in enumerate(zip(names, tree.parent.tolist(), strict=True)):
            made.contents[xid] = tree.contents[int(tree.content[number])]
            made.children[xid] = []
            if number:
                made.children[names[parent]].append(xid)
        return made

    def apply(self, delta: Delta) -> None:
        """Makes the next version of this one."""
        self._must_be_of(delta)
        gone = {node.xid for subtree in delta.deleted for node in subtree}
        leaving: dict[int, set[int]] = {}
        for parent, xid in (
            *((subtree[0].parent, subtree[0].xid) for subtree in delta.deleted),
            *((move.old_parent, move.xid) for move in delta.moved),
        ):
            leaving.setdefault(parent, set()).add(xid)
        for parent, xids in leaving.items():
            self.children[parent] = [child for child in self.children[parent] if child not in xids]
        for xid in gone:
            del self.contents[xid], self.children[xid]
        coming: dict[int, list[tuple[int, int]]] = {}
        for subtree in delta.inserted:
            for node in subtree:
                self.contents[node.xid] = node.content
                self.children[node.xid] = []
                coming.setdefault(node.parent, []).append((node.position, node.xid))
        for move in delta.moved:
            coming.setdefault(move.new_parent, []).append((move.new_position, move.xid))
        for parent, places in coming.items():
            self.children[parent] = _filled(self.children[parent], places)
        for update in delta.updated:
            self.contents[update.xid] = update.new

    def _must_be_of(self, delta: Delta) -> None:
        """Raises unless every node that the delta removes or changes is here, as the delta describes it."""
        expected: Mapping[int, bytes] = {update.xid: update.old for update in delta.updated} | {
            node.xid: node.content for subtree in delta.deleted for node in subtree
        }
        here = (self.contents.get(xid) == content for xid, content in expected.items())
        moved = (move.xid in self.contents and move.old_parent in self.contents for move in delta.moved)
        if not (all(here) and all(moved)):
            raise NotThisVersion("the delta is of another version")


def _filled(children: list[int], places: list[tuple[int, int]]) -> list[int]:
    """Children with others put in at their positions."""
    filled: list[int] = []
    staying = iter(children)
    for position, xid in sorted(places):
        while len(filled) < position:
            try:
                filled.append(next(staying))
            except StopIteration:
                raise NotThisVersion("the delta is of another version") from None
        filled.append(xid)
    return [*filled, *staying]
