"""The kernels of `push` that only read pages: the sum of all debts, and the first and last values.

They add up in four sums at once, which compilers turn into vector instructions: additions in a row would wait for each
other. What pages without links receive is added to their y after each sweep (`settle`), so that the debts of all pages
can be added up without asking which have links. The symbols are those of `sweep.py`.
"""

import numpy as np

from centime.model.graph import Targets
from centime.model.kernel import Whole, bare_inlined, bare_kernel
from centime.rank.scores import Vector

NO_EMPHASIS: Vector = np.empty(0)


@bare_inlined
def times(factor: float, emphasis: Vector, page: Whole) -> float:
    """A multiple of e_i; without a personalisation all e_i are 1."""
    return factor * emphasis[page] if len(emphasis) > 0 else factor


@bare_kernel
def collect(debt: Vector, mail: Vector, first: Whole, end: Whole) -> None:
    """Moves the mail for a range of pages out of another thread's vector."""
    for page in range(first, end):
        debt[page] += mail[page]
        mail[page] = 0.0


@bare_kernel
def settle(dangling: Targets, paid: Vector, debt: Vector) -> float:
    """Adds what pages without links have received to their y; returns the sum of it."""
    total = 0.0
    for one in range(len(dangling)):
        page = np.uintp(dangling[one])
        total += debt[page]
        paid[page] += debt[page]
        debt[page] = 0.0
    return total


@bare_kernel
def balance(debt: Vector, first: Whole, end: Whole) -> tuple[float, float]:
    """The sums of r and of |r|."""
    a = b = c = d = 0.0
    i = j = k = m = 0.0
    stop = first + (end - first) // 4 * 4
    for page in range(np.uintp(first), np.uintp(stop), np.uintp(4)):
        p = debt[page]
        q = debt[page + np.uintp(1)]
        r = debt[page + np.uintp(2)]
        s = debt[page + np.uintp(3)]
        a += p
        b += q
        c += r
        d += s
        i += abs(p)
        j += abs(q)
        k += abs(r)
        m += abs(s)
    for page in range(np.uintp(stop), np.uintp(end)):
        a += debt[page]
        i += abs(debt[page])
    return (a + b) + (c + d), (i + j) + (k + m)


@bare_kernel
def lift(debt: Vector, level: float, emphasis: Vector, first: Whole, end: Whole) -> float:
    """Adds a multiple of e to the debts of pages; returns the sum of |r|."""
    a = b = c = d = 0.0
    stop = first + (end - first) // 4 * 4
    for page in range(np.uintp(first), np.uintp(stop), np.uintp(4)):
        one = page + np.uintp(1)
        two = page + np.uintp(2)
        three = page + np.uintp(3)
        debt[page] += times(level, emphasis, page)
        debt[one] += times(level, emphasis, one)
        debt[two] += times(level, emphasis, two)
        debt[three] += times(level, emphasis, three)
        a += abs(debt[page])
        b += abs(debt[one])
        c += abs(debt[two])
        d += abs(debt[three])
    for page in range(np.uintp(stop), np.uintp(end)):
        debt[page] += times(level, emphasis, page)
        a += abs(debt[page])
    return (a + b) + (c + d)


@bare_kernel
def close(paid: Vector, debt: Vector, scale: float, level: float, emphasis: Vector, first: Whole, end: Whole) -> None:
    """Puts x = Gh, of h = y times `scale`, into `paid`. No score is below 0, so negative values from rounding become
    0."""
    for page in range(np.uintp(first), np.uintp(end)):
        paid[page] = scale * max(0.0, paid[page] + debt[page] - times(level, emphasis, page))
