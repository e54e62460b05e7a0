"""The agreement of two orders of the same pages: Kendall's tau.

    tau_b = (C - D) / sqrt((n0 - n1) (n0 - n2))

C and D are the numbers of pairs of pages in the same and in the opposite order, n0 the number of all pairs, n1 and n2
the numbers of pairs that are tied in the first and in the second vector.

Guaranteed: exact for any number of pages, in n log n steps (Knight's algorithm: sort by one vector, count the exchanges
that sort the other).

Trap: the order of scores that differ by less than their error is meaningless. Scores within `resolution` count as
equal.
"""

from math import sqrt

import numpy as np
import numpy.typing as npt

from centime.analyse.transition import Vector
from centime.model.kernel import kernel

Steps = npt.NDArray[np.int64]


def kendall_tau(first: Vector, second: Vector, resolution: float) -> float:
    """Tau of two score vectors: 1 for the same order, -1 for the opposite; 1 if one of them ties all pages."""
    a, b = (np.rint(values / resolution).astype(np.int64) for values in (first, second))
    order = np.lexsort((b, a))
    a, b = a[order], b[order]
    pairs = _pairs(np.array([len(a)]))
    tied_first, tied_second = _pairs(_runs(a)), _pairs(_runs(np.sort(b)))
    tied_both = _pairs(np.diff(np.flatnonzero(np.concatenate([[True], (np.diff(a) != 0) | (np.diff(b) != 0), [True]]))))
    opposite = int(_exchanges(b.copy(), np.empty_like(b)))
    same = pairs - tied_first - tied_second + tied_both - opposite
    divisor = sqrt((pairs - tied_first) * (pairs - tied_second))
    return (same - opposite) / divisor if divisor else 1.0


def _runs(values: Steps) -> Steps:
    """The number of occurrences of each value in a sorted list."""
    return np.diff(np.flatnonzero(np.concatenate([[True], np.diff(values) != 0, [True]])))


def _pairs(counts: Steps) -> int:
    return int((counts * (counts - 1) // 2).sum())


@kernel
def _exchanges(values: Steps, room: Steps) -> int:
    """The number of pairs in decreasing order; sorts the values by merging runs."""
    count = len(values)
    exchanges = 0
    width = 1
    while width < count:
        for start in range(0, count, 2 * width):
            middle, end = min(start + width, count), min(start + 2 * width, count)
            left, right = start, middle
            for place in range(start, end):
                if right >= end or (left < middle and values[left] <= values[right]):
                    room[place] = values[left]
                    left += 1
                else:
                    room[place] = values[right]
                    right += 1
                    exchanges += middle - left
        values, room = room, values
        width *= 2
    return exchanges
