"""Matches the nodes of two versions of a document: bottom-up, lazy-down (Cobena, Abiteboul, Marian 2002).

    signature(n) = hash of content(n) and the signatures of its children
    weight(n)    = 1 + log(its text) + the weights of its children

1. The heaviest subtrees of the new version first: one with the same signature in the old version is matched, all of it.
   Among several, one with a matched parent or ancestor is taken; without one, the subtree must be heavy, or the only
   one. Its ancestors are matched upwards, as far as their labels are equal, and the farther the heavier it is.
2. From the root down, the remaining children of matched nodes: equal ones between matched neighbours, then those with
   the same label there, then those whose label is unique among them.

A child weighs less than its parent, so one sort by weight gives the order of the paper's queue. Light nodes (white
space, single words) are matched only downwards: matched by signature, they would give random moves.

The matching is a guess about what people did; the delta is exact for any matching. So hashes may collide.

Time is linear except for sorting: candidates that are taken are skipped by a forest of pointers with path halving, at
most MOST_CANDIDATES are looked at for a node, MOST_NEIGHBOURS in a gap and MOST_UNIQUE labels of a parent.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from centime.model.kernel import Whole, bare_inlined, bare_part, late_kernel
from centime.parse.words import mixed
from centime.warehouse.nodes import ELEMENT, Numbers
from centime.warehouse.staying import find_staying
from centime.warehouse.tree import Tree

Long = npt.NDArray[np.int64]

MOST_CANDIDATES = 20
MOST_NEIGHBOURS = 16
MOST_UNIQUE = 64
_OF_NODE, _OF_ATTRIBUTE, _OF_BIT = 10, 2, 7  # weights: of a node, of an attribute, and of a doubling of text
_LIGHT = 25  # and less: matched downwards only
_ALONE = 40  # more: matched without an ancestor if it is the only one
_HEAVY = 240  # more: matched without an ancestor in any case


@dataclass(frozen=True, slots=True)
class Shape:
    """Columns that follow from a tree alone."""

    signature: Long
    weight: Long
    end: Numbers  # the node behind the last one of a subtree
    before: Numbers  # the sibling before, or -1
    position: Numbers  # among the siblings


@dataclass(frozen=True, slots=True)
class Matching:
    """Pairs of nodes of two trees, and which of them have kept their place."""

    old: Tree
    new: Tree
    old_shape: Shape
    new_shape: Shape
    to_new: Numbers  # by nodes of the old tree; -1 for deleted ones
    to_old: Numbers  # by nodes of the new tree; -1 for inserted ones
    stays: npt.NDArray[np.bool_]  # by nodes of the new tree: the same parent, and in the same order as its siblings


def match_trees(old: Tree, new: Tree) -> Matching:
    """Matches the nodes of two trees with the same contents."""
    if old.contents is not new.contents:
        raise ValueError("the trees have different contents")
    a, b = _shape(old), _shape(new)
    by_signature = np.argsort(a.signature, kind="stable").astype(np.int32)
    within = np.empty(len(old), dtype=np.int64)
    _signatures_within(a.signature, old.parent, within)
    by_place = np.argsort(within, kind="stable").astype(np.int32)
    heaviest = np.argsort(-b.weight, kind="stable").astype(np.int32)
    to_new = np.full(len(old), -1, dtype=np.int32)
    to_old = np.full(len(new), -1, dtype=np.int32)
    to_new[0] = to_old[0] = 0
    ours = (old.parent, old.label, a.end, a.before, a.signature)
    theirs = (new.parent, new.label, b.end, b.before, b.signature)
    _match_heaviest(
        ours,
        theirs,
        b.weight,
        heaviest,
        (by_signature, a.signature[by_signature], np.arange(len(old) + 1, dtype=np.int32)),
        (by_place, within[by_place], np.arange(len(old) + 1, dtype=np.int32)),
        to_new,
        to_old,
    )
    _match_children(ours, theirs, old.kind, to_new, to_old, np.empty(2 * MOST_UNIQUE, dtype=np.int32))
    return _placed(old, new, a, b, to_new, to_old)


def match_known(old: Tree, new: Tree, to_old: Numbers) -> Matching:
    """The matching of two trees whose pairs are known."""
    to_new = np.full(len(old), -1, dtype=np.int32)
    pairs = np.flatnonzero(to_old >= 0)
    to_new[to_old[pairs]] = pairs
    return _placed(old, new, _shape(old), _shape(new), to_new, to_old)


def _placed(old: Tree, new: Tree, a: Shape, b: Shape, to_new: Numbers, to_old: Numbers) -> Matching:
    """A matching, with the nodes that keep their place."""
    stays = np.zeros(len(new), dtype=np.bool_)
    scratch = np.empty((5, len(old) + 2), dtype=np.int64)
    find_staying(old.parent, b.end, a.position, b.weight, to_old, stays, scratch)
    return Matching(old, new, a, b, to_new, to_old, stays)


def _shape(tree: Tree) -> Shape:
    count = len(tree)
    signature, weight = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    end, before, position = (np.empty(count, dtype=np.int32) for _ in range(3))
    _measure(tree.parent, tree.content, tree.size, tree.kind, signature, weight, end, before, position)
    return Shape(signature, weight, end, before, position)


@late_kernel(1.0)
def _measure(
    parent: Numbers, content: Numbers, size: Numbers, kind: npt.NDArray[np.int8], signature: Long, weight: Long,
    end: Numbers, before: Numbers, position: Numbers,
) -> None:  # fmt: skip
    count = len(parent)
    for node in range(count):
        signature[node] = mixed(0, content[node])
        weight[node] = _OF_NODE
        if kind[node] == ELEMENT:
            weight[node] += _OF_ATTRIBUTE * size[node]
        else:
            left = np.int64(size[node])
            while left:
                weight[node] += _OF_BIT
                left >>= 1
        end[node] = node + 1
        before[node] = -1
        position[node] = 0
    for node in range(count - 1, 0, -1):
        above = parent[node]
        signature[above] = mixed(signature[above], signature[node])
        weight[above] += weight[node]
        end[above] = max(end[above], end[node])
    for node in range(1, count):
        following = end[node]
        if following < end[parent[node]]:
            before[following] = node
            position[following] = position[node] + 1


@late_kernel(0.5)
def _signatures_within(signature: Long, parent: Numbers, within: Long) -> None:
    """Hashes of signatures together with the parent."""
    for node in range(len(parent)):
        within[node] = mixed(signature[node], max(np.int64(parent[node]), np.int64(0)))


Side = tuple[Numbers, Numbers, Numbers, Numbers, Long]
"""Parent, label, end of the subtree, sibling before, and signature of the nodes of one version."""
Index = tuple[Numbers, Long, Numbers]
"""Nodes sorted by a key, these keys, and for each place the next one that may be free."""


@bare_part
def _find(keys: Long, key: Whole) -> Whole:
    """The first place of a key, or of the next larger one."""
    low, high = np.int64(0), np.int64(len(keys))
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


@bare_part
def _free(index: Index, place: Whole, key: Whole, to_new: Numbers) -> Whole:
    """The next place with this key, from this one on, whose node is not matched; -1 if there is none."""
    nodes, keys, following = index
    while True:
        while following[place] != place:
            following[place] = following[following[place]]
            place = np.int64(following[place])
        if place >= len(keys) or keys[place] != key:
            return np.int64(-1)
        if to_new[nodes[place]] < 0:
            return place
        following[place] = place + 1


@bare_inlined
def _match_subtrees(old: Whole, new: Whole, count: Whole, to_new: Numbers, to_old: Numbers) -> None:
    for step in range(count):
        if to_new[old + step] < 0 and to_old[new + step] < 0:
            to_new[old + step] = new + step
            to_old[new + step] = old + step


@late_kernel(3.0)
def _match_heaviest(
    ours: Side, theirs: Side, weight: Long, heaviest: Numbers, by_signature: Index, by_place: Index, to_new: Numbers,
    to_old: Numbers,
) -> None:  # fmt: skip
    """Matches equal subtrees, the heaviest first, and their ancestors."""
    old_parent, old_label, old_end, _, old_signature = ours
    new_parent, new_label, new_end, _, new_signature = theirs
    bits = np.int64(0)
    left = len(new_parent)
    while left:
        bits += _OF_BIT
        left >>= 1
    total = max(weight[0], np.int64(1))
    for step in range(len(heaviest)):
        node = np.int64(heaviest[step])
        if weight[node] <= _LIGHT:
            break
        if to_old[node] >= 0:
            continue
        depth = 1 + bits * weight[node] // (10 * total)
        found = _candidate(ours, theirs, node, depth, weight[node], by_signature, by_place, to_new, to_old)
        if found < 0:
            continue
        count = new_end[node] - node
        if old_end[found] - found != count or old_signature[found] != new_signature[node]:
            continue
        _match_subtrees(found, node, count, to_new, to_old)
        above, beyond = np.int64(old_parent[found]), np.int64(new_parent[node])
        for _ in range(depth + 1):
            if above <= 0 or beyond <= 0 or to_new[above] >= 0 or to_old[beyond] >= 0:
                break
            if old_label[above] != new_label[beyond]:
                break
            to_new[above] = beyond
            to_old[beyond] = above
            above, beyond = np.int64(old_parent[above]), np.int64(new_parent[beyond])


@bare_part
def _candidate(
    ours: Side, theirs: Side, node: Whole, depth: Whole, weight: Whole, by_signature: Index, by_place: Index,
    to_new: Numbers, to_old: Numbers,
) -> Whole:  # fmt: skip
    """The old node that is matched to a new one; -1 if there is none."""
    old_parent, old_label, old_end, old_before, old_signature = ours
    new_parent, new_label, new_end, new_before, new_signature = theirs
    signature = new_signature[node]
    first = _free(by_signature, _find(by_signature[1], signature), signature, to_new)
    if first < 0:
        return np.int64(-1)
    beyond = np.int64(new_parent[node])
    above = np.int64(to_old[beyond])
    if above >= 0:  # a sibling of its neighbours, then any child of the same parent
        other = np.int64(to_old[new_before[node]]) if new_before[node] >= 0 else np.int64(-1)
        if other >= 0 and old_parent[other] == above and old_end[other] < old_end[above]:
            other = np.int64(old_end[other])
            if to_new[other] < 0 and old_signature[other] == signature:
                return other
        other = np.int64(to_old[new_end[node]]) if new_end[node] < new_end[beyond] else np.int64(-1)
        if other >= 0 and old_parent[other] == above and old_before[other] >= 0:
            other = np.int64(old_before[other])
            if to_new[other] < 0 and old_signature[other] == signature:
                return other
        key = mixed(signature, above)
        place = _free(by_place, _find(by_place[1], key), key, to_new)
        if place >= 0:
            return np.int64(by_place[0][place])
    place = first
    looked = np.int64(0)
    while place >= 0 and looked < MOST_CANDIDATES:
        candidate = np.int64(by_signature[0][place])
        above, other = np.int64(old_parent[candidate]), beyond
        for _ in range(depth + 1):
            if above <= 0 or other <= 0:
                break
            if to_old[other] == above:
                return candidate
            if old_label[above] != new_label[other]:
                break
            above, other = np.int64(old_parent[above]), np.int64(new_parent[other])
        looked += 1
        place = _free(by_signature, place + 1, signature, to_new)
    if weight > _HEAVY or (weight > _ALONE and looked == 1):
        return np.int64(by_signature[0][first])
    return np.int64(-1)


@late_kernel(2.0)
def _match_children(
    ours: Side, theirs: Side, kind: npt.NDArray[np.int8], to_new: Numbers, to_old: Numbers, left: Numbers
) -> None:
    """Matches children of matched nodes, from the root down."""
    new_end = theirs[2]
    for node in range(len(to_old)):
        old = np.int64(to_old[node])
        if old < 0:
            continue
        child = np.int64(node + 1)
        while child < new_end[node] and to_old[child] >= 0:
            child = np.int64(new_end[child])
        if child < new_end[node]:
            _match_between(ours, theirs, old, node, True, to_new, to_old)
            _match_between(ours, theirs, old, node, False, to_new, to_old)
            _match_unique(ours, theirs, kind, old, node, to_new, to_old, left)


@bare_part
def _match_between(
    ours: Side, theirs: Side, old: Whole, new: Whole, equal: bool | np.bool_, to_new: Numbers, to_old: Numbers
) -> None:
    """Matches children between the same matched neighbours that are equal, or have the same label."""
    old_parent, old_label, old_end, _, old_signature = ours
    _, new_label, new_end, _, new_signature = theirs
    gap = np.int64(old + 1)
    child = np.int64(new + 1)
    while child < new_end[new]:
        other = np.int64(to_old[child])
        if other >= 0:
            if old_parent[other] == old:
                gap = np.int64(old_end[other])
        else:
            other = gap
            for _ in range(MOST_NEIGHBOURS):
                if other >= old_end[old] or to_new[other] >= 0:
                    break
                count = new_end[child] - child
                if equal and old_signature[other] == new_signature[child] and old_end[other] - other == count:
                    _match_subtrees(other, child, count, to_new, to_old)
                    gap = np.int64(old_end[other])
                    break
                if not equal and old_label[other] == new_label[child]:
                    to_new[other] = child
                    to_old[child] = other
                    gap = np.int64(old_end[other])
                    break
                other = np.int64(old_end[other])
        child = np.int64(new_end[child])


@bare_part
def _match_unique(
    ours: Side, theirs: Side, kind: npt.NDArray[np.int8], old: Whole, new: Whole, to_new: Numbers, to_old: Numbers,
    left: Numbers,
) -> None:  # fmt: skip
    """Matches elements whose label is unique among the unmatched children of both."""
    old_label, new_label = ours[1], theirs[1]
    ones = np.int64(0)
    child = np.int64(old + 1)
    while child < ours[2][old]:
        if to_new[child] < 0 and kind[child] == ELEMENT:
            if ones == MOST_UNIQUE:
                return
            left[ones] = child
            ones += 1
        child = np.int64(ours[2][child])
    others = np.int64(0)
    child = np.int64(new + 1)
    while child < theirs[2][new]:
        if to_old[child] < 0:
            if others == MOST_UNIQUE:
                return
            left[MOST_UNIQUE + others] = child
            others += 1
        child = np.int64(theirs[2][child])
    for one in range(ones):
        label = old_label[left[one]]
        same = np.int64(0)
        for each in range(ones):
            same += old_label[left[each]] == label
        hit = np.int64(-1)
        for each in range(others):
            if new_label[left[MOST_UNIQUE + each]] == label:
                same += 1
                hit = np.int64(left[MOST_UNIQUE + each])
        if same == 2 and hit >= 0 and to_old[hit] < 0:
            to_new[left[one]] = hit
            to_old[hit] = left[one]
