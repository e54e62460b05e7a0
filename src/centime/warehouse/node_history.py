"""The history of a node: the versions of its document in which it was inserted, changed, moved or deleted.

A node is named by its identifier (XID), which persists from version to version, or by a path that it has in one of the
versions, the newest if several nodes had it: both as deltas show them (`written_delta.py`). Versions without a tree are
skipped.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from centime.model.errors import UnknownPage
from centime.warehouse.comparison import Document, numbered_trees
from centime.warehouse.delta import Node, Xids
from centime.warehouse.matching import Matching
from centime.warehouse.tree import NotWellFormed, Tree
from centime.warehouse.written_delta import Paths, written_subtree


class Moment(NamedTuple):
    """A version in which something happened to a node."""

    version: int  # its place among the versions
    what: str  # inserted, deleted, or a description of the change
    path: str  # in this version; of a node that was deleted, in the one before
    content: str  # the node with its subtree, as XML


def node_history(versions: Sequence[Document], named: str) -> list[Moment]:
    """The history of the node with an identifier or a path, oldest first; UnknownPage if there never was one."""
    xid = int(named) if named.isdecimal() and named.isascii() else _newest_at(versions, named)
    moments: list[Moment] = []
    last: tuple[Tree, int, str, str] | None = None  # tree and node, path and content
    for number, tree, xids, matching in numbered_trees(versions):
        if isinstance(tree, NotWellFormed):
            continue
        found = np.flatnonzero(xids == xid)
        if not len(found) or not xid:
            if last is not None:
                moments.append(Moment(number, "deleted", last[2], last[3]))
            last = None
            continue
        node = int(found[0])
        path, content = Paths(tree, xids).path(xid), _content(tree, xids, node)
        what = "inserted" if last is None else _change(last[0], last[1], last[3], tree, node, content, matching)
        if what:
            moments.append(Moment(number, what, path, content))
        last = tree, node, path, content
    if not moments:
        raise UnknownPage(f"no version has a node {named}; centime diff --xml shows identifiers and paths")
    return moments


def _newest_at(versions: Iterable[Document], path: str) -> int:
    """The identifier of the node that had a path in the newest version that has such a node; 0 if there is none."""
    xid = 0
    for _, tree, xids, _ in numbered_trees(versions):
        if not isinstance(tree, NotWellFormed):
            xid = Paths(tree, xids).xid_at(path) or xid
    return xid


def _change(
    old: Tree, before: int, old_content: str, new: Tree, node: int, content: str, matching: Matching | None
) -> str:
    """The change of a node that both trees have, in words; empty if there is none."""
    words = []
    if matching is not None and not matching.stays[node]:
        words.append("moved")
    if old.content[before] != new.content[node]:
        words.append("updated")
    elif old_content != content:
        words.append("changed inside")
    return " and ".join(words)


def _content(tree: Tree, xids: Xids, node: int) -> str:
    """A node with its subtree, as XML."""
    end = node + 1
    while end < len(tree) and tree.parent[end] >= node:  # nodes are in the order of the document
        end += 1
    rows = range(node, end)
    subtree = (Node(int(xids[row]), int(xids[tree.parent[row]]), 0, tree.contents[tree.content[row]]) for row in rows)
    return "".join(written_subtree(tuple(subtree)))
