"""The ready queues of each standing and kind, in a pairing heap by their best page: the root is the best queue of all.

The heap needs no memory except three links in each queue. Entering and becoming better cost O(1); leaving costs
O(log n), amortized. The order is that inside a queue: the larger key, then the lower page number. It is total, so the
root never depends on history.
"""

import numpy as np

from centime.frontier.kind import CLASSES, KINDS
from centime.frontier.queue import place
from centime.frontier.tables import (
    BEFORE,
    BEST,
    CHILD,
    HOST,
    KIND,
    OUTSIDE,
    READY_QUEUES,
    SIBLING,
    STANDING,
    Tables,
)
from centime.model.kernel import Whole, bare_inlined


@bare_inlined
def heap_of(t: Tables, q: Whole) -> Whole:
    """The number of the heap in which a queue lies while its host is ready: where in `roots` its root is."""
    return np.int64(t.hosts[t.queues[q, HOST], STANDING]) * KINDS + np.int64(t.queues[q, KIND])


@bare_inlined
def _meld(t: Tables, a: Whole, b: Whole) -> Whole:
    if a < 0:
        return np.int64(b)
    if b < 0:
        return np.int64(a)
    winner = np.int64(a)
    loser = np.int64(b)
    if t.queue_keys[b] > t.queue_keys[a] or (
        t.queue_keys[b] == t.queue_keys[a] and t.queues[b, BEST] < t.queues[a, BEST]
    ):
        winner = np.int64(b)
        loser = np.int64(a)
    child = t.queues[winner, CHILD]
    t.queues[loser, SIBLING] = child
    if child >= 0:
        t.queues[child, BEFORE] = loser
    t.queues[loser, BEFORE] = winner
    t.queues[winner, CHILD] = loser
    return winner


@bare_inlined
def _detach(t: Tables, q: Whole) -> None:
    """Detaches a queue, with all queues below it, from its parent."""
    before = t.queues[q, BEFORE]
    sibling = t.queues[q, SIBLING]
    if before >= 0:
        if t.queues[before, CHILD] == q:
            t.queues[before, CHILD] = sibling
        else:
            t.queues[before, SIBLING] = sibling
        if sibling >= 0:
            t.queues[sibling, BEFORE] = before
    t.queues[q, BEFORE] = OUTSIDE
    t.queues[q, SIBLING] = OUTSIDE


@bare_inlined
def _join(t: Tables, first: Whole) -> Whole:
    """Melds a list of siblings into one heap: in pairs from the left, then all from the right."""
    pairs = np.int64(OUTSIDE)
    rest = np.int64(first)
    while rest >= 0:
        a = rest
        b = np.int64(t.queues[a, SIBLING])
        rest = np.int64(OUTSIDE)
        t.queues[a, BEFORE] = OUTSIDE
        if b >= 0:
            rest = np.int64(t.queues[b, SIBLING])
            t.queues[b, SIBLING] = OUTSIDE
            a = np.int64(_meld(t, a, b))
            t.queues[a, BEFORE] = OUTSIDE
        t.queues[a, SIBLING] = pairs
        pairs = a
    root = np.int64(OUTSIDE)
    while pairs >= 0:
        a = pairs
        pairs = np.int64(t.queues[a, SIBLING])
        t.queues[a, SIBLING] = OUTSIDE
        root = np.int64(_meld(t, root, a))
    return root


@bare_inlined
def enter(t: Tables, q: Whole) -> None:
    """Adds a queue to the ready queues of its kind."""
    root = place(t, q, 0)
    heap = heap_of(t, q)
    t.queue_keys[q] = t.keys[root]
    t.queues[q, BEST] = t.pages[root]
    t.queues[q, CHILD] = OUTSIDE
    t.queues[q, SIBLING] = OUTSIDE
    t.queues[q, BEFORE] = OUTSIDE
    t.roots[heap] = _meld(t, t.roots[heap], q)
    t.levels[READY_QUEUES, t.queues[q, KIND] // CLASSES] += 1


@bare_inlined
def leave(t: Tables, q: Whole) -> None:
    """Removes a queue from the ready queues."""
    heap = heap_of(t, q)
    rest = np.int64(OUTSIDE)
    if t.roots[heap] != q:
        _detach(t, q)
        rest = np.int64(t.roots[heap])
    t.roots[heap] = _meld(t, rest, _join(t, t.queues[q, CHILD]))
    t.levels[READY_QUEUES, t.queues[q, KIND] // CLASSES] -= 1


@bare_inlined
def renew(t: Tables, q: Whole) -> None:
    """Moves a ready queue whose best page has changed to its new place."""
    root = place(t, q, 0)
    key = t.keys[root]
    page = t.pages[root]
    if key < t.queue_keys[q] or (key == t.queue_keys[q] and page > t.queues[q, BEST]):
        leave(t, q)
        enter(t, q)
        return
    heap = heap_of(t, q)
    t.queue_keys[q] = key
    t.queues[q, BEST] = page
    if t.roots[heap] != q:
        _detach(t, q)
        t.roots[heap] = _meld(t, t.roots[heap], q)
