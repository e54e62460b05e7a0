"""Which matched nodes keep their place: the others have moved.

Of the children that keep their parent, those in the heaviest sequence with rising old positions stay; so the moved
weight is minimal. Time is n log n in the children of a node.
"""

import numpy as np
import numpy.typing as npt

from centime.model.kernel import Whole, bare_part, late_kernel
from centime.warehouse.nodes import Numbers

Long = npt.NDArray[np.int64]


@late_kernel(2.0)
def find_staying(
    old_parent: Numbers, new_end: Numbers, position: Numbers, weight: Long, to_old: Numbers,
    stays: npt.NDArray[np.bool_], scratch: Long,
) -> None:  # fmt: skip
    """Finds the matched nodes that keep their place: the heaviest of the children that are in the same order."""
    stays[0] = True
    for node in range(len(to_old)):
        old = np.int64(to_old[node])
        if old < 0:
            continue
        count = np.int64(0)
        last = np.int64(-1)
        ordered = True
        child = np.int64(node + 1)
        while child < new_end[node]:
            other = np.int64(to_old[child])
            if other >= 0 and old_parent[other] == old:
                stays[child] = True
                ordered = ordered and position[other] > last
                last = np.int64(position[other])
                scratch[0, count] = last
                scratch[1, count] = child
                count += 1
            child = np.int64(new_end[child])
        if not ordered:
            _heaviest_in_order(count, weight, stays, scratch)


@bare_part
def _heaviest_in_order(count: Whole, weight: Long, stays: npt.NDArray[np.bool_], scratch: Long) -> None:
    """Of `count` positions and nodes, lets only those stay that are in the heaviest rising sequence: a Fenwick tree of
    greatest weights up to a position."""
    greatest = np.int64(0)
    for step in range(count):
        stays[scratch[1, step]] = False
        greatest = max(greatest, scratch[0, step])
    size = greatest + 2
    best, last, back = scratch[2], scratch[3], scratch[4]
    for place in range(size):
        best[place] = 0
        last[place] = -1
    most, end = np.int64(-1), np.int64(-1)
    for step in range(count):
        value, before = np.int64(0), np.int64(-1)
        place = scratch[0, step]
        while place > 0:
            if best[place] > value:
                value, before = best[place], last[place]
            place -= place & -place
        value += weight[scratch[1, step]]
        back[step] = before
        if value > most:
            most, end = value, np.int64(step)
        place = scratch[0, step] + 1
        while place < size:
            if value > best[place]:
                best[place], last[place] = value, step
            place += place & -place
    while end >= 0:
        stays[scratch[1, end]] = True
        end = back[end]
