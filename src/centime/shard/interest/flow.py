"""Interest on-line: how well each page leads to wanted pages, for the links known now.

    y_i = e_i + d · sum over links i->j of y_j / k_j        e_i: 1 if page i is wanted, else 0
                                                            k_j: the number of known pages that link to j

Up to its scale this is the interest PR' of the Xyleme paper (`rank/interest.py`): the random walk against the links,
which starts again at a wanted page. Money that reaches a page without links to it goes back to the wanted pages there;
that changes only the scale. y - e is in wanted pages: a page that alone links to 20 wanted pages has 20 d.

Interest moves against the links, but a sum over the links *of* a page needs its own row alone. So no row of pages that
link to a page is kept:

- a visit counts k and computes y of the page, in time O(old links + new links);
- a change of y moves on to the parent, one of the pages that link to it, to the parent's parent, and so on: O(1) each.
  The parent is the first page that is found to link to it, until another one leads to clearly more per link;
- a sweep computes y of all pages again, some after each visit. The operator is d times a matrix whose columns add up
  to 1 at most, so such sweeps converge in any order.

Guarantee: with the residual r = e + dWy - y, |y - y*|_1 <= |r|_1 / (1-d), in whatever order values were computed. y and
y* are divided by their sums T, so the shares differ by at most 2 |r|_1 / ((1-d) T) in all. `residual` reads all links
once.

Law: k and parents follow from the rows (a page with a parent is linked from it), and the evidence of groups and parents
from marks, y and parents. `interest.py` verifies it.
"""

import numpy as np
import numpy.typing as npt

from centime.model.kernel import Whole, bare_inlined, late_kernel
from centime.model.row_batch import Pages, RowBatch
from centime.shard.interest.evidence import adopt, count_at_parent, count_in_groups, probability_of
from centime.shard.interest.tables import COUNTED, WANTED, Tables

LEAST_CHANGE = 1e-9  # of y, that moves on to the parent
MOST_STEPS = 64  # from parent to parent
CLEARLY = 1.5  # times as much per link, that makes another page the parent


@bare_inlined
def set_interest(t: Tables, page: Whole, value: float) -> float:
    """Sets y of a page and returns by how much it has changed."""
    change = value - t.interest[page]
    t.interest[page] = value
    t.total[0] += change
    if t.marks[page] & COUNTED and change != 0.0:
        count_in_groups(t, page, 0, 0, change)
        parent = t.parent[page] - 1
        if parent >= 0:
            t.child_interest[parent] += change
    return np.float64(change)


@bare_inlined
def move_on(t: Tables, page: Whole, change: float, damping: float) -> None:
    """Adds the effect of a change of y to the interest of the parents."""
    for _ in range(MOST_STEPS):
        parent = t.parent[page] - 1
        if parent < 0:
            return
        change = change * damping / t.degree[page]
        if abs(change) < LEAST_CHANGE:
            return
        set_interest(t, parent, t.interest[parent] + change)
        page = parent


@bare_inlined
def value_of(t: Tables, rows: RowBatch, row: Whole, page: Whole, damping: float) -> float:
    """The right side of the equation for a page."""
    led_to = 0.0
    for link in range(rows.starts[row], rows.starts[row] + rows.lengths[row]):
        target = rows.targets[link]
        led_to += t.interest[target] / t.degree[target]
    return np.float64(t.marks[page] & WANTED) + damping * led_to


@bare_inlined
def lose_link(t: Tables, page: Whole, target: Whole) -> None:
    """Counts one link less."""
    t.degree[target] -= 1
    if t.parent[target] == page + 1:
        adopt(t, target, 0)


@bare_inlined
def gain_link(t: Tables, page: Whole, target: Whole) -> None:
    """Counts one link more."""
    t.degree[target] += 1
    if t.parent[target] == 0 and target != page:
        adopt(t, target, page + 1)


@late_kernel(0.5)
def relink(t: Tables, pages: Pages, old: RowBatch, new: RowBatch) -> None:
    """Replaces the rows of pages; the targets of each row are in ascending order, each once."""
    for k in range(len(pages)):
        page = pages[k]
        t.links[page] = new.lengths[k]
        one, other = old.starts[k], new.starts[k]
        one_end, other_end = one + old.lengths[k], other + new.lengths[k]
        while one < one_end or other < other_end:
            if other == other_end or (one < one_end and old.targets[one] < new.targets[other]):
                lose_link(t, page, np.int64(old.targets[one]))
                one += 1
            elif one == one_end or new.targets[other] < old.targets[one]:
                gain_link(t, page, np.int64(new.targets[other]))
                other += 1
            else:
                one += 1
                other += 1


@late_kernel(0.5)
def observe(t: Tables, pages: Pages, wanted: npt.NDArray[np.bool_], damping: float, patterns: bool) -> None:
    """Counts what visits showed: whether each of the pages is wanted."""
    for k in range(len(pages)):
        page = pages[k]
        before = np.int64(t.marks[page] & WANTED)
        now = np.int64(wanted[k])
        if t.marks[page] & COUNTED:
            count_at_parent(t, page, -1)
            count_in_groups(t, page, -1, -before, before - t.interest[page])
        else:
            t.expected[page] = probability_of(t, page, patterns)
        t.marks[page] = np.uint8((t.marks[page] & ~np.uint8(WANTED)) | np.uint8(COUNTED) | np.uint8(now))
        t.interest[page] += now - before
        t.total[0] += now - before
        count_in_groups(t, page, 1, now, t.interest[page] - now)
        count_at_parent(t, page, 1)
        if now != before:
            move_on(t, page, np.float64(now - before), damping)


@bare_inlined
def yield_of(t: Tables, page: Whole) -> float:
    """The number of wanted pages that a page leads to, per link."""
    return np.float64((t.interest[page] - (t.marks[page] & WANTED)) / max(1, t.links[page]))


@bare_inlined
def take_over(t: Tables, rows: RowBatch, row: Whole, page: Whole) -> None:
    """Makes a page the parent of those that it links to, if it leads to more per link than their parents do."""
    best = yield_of(t, page)
    for link in range(rows.starts[row], rows.starts[row] + rows.lengths[row]):
        target = np.int64(rows.targets[link])
        parent = t.parent[target] - 1
        if target != page and parent != page and (parent < 0 or best > CLEARLY * yield_of(t, parent) + LEAST_CHANGE):
            adopt(t, target, page + 1)


@late_kernel(0.5)
def compute(t: Tables, pages: Pages, rows: RowBatch, damping: float, moves_on: bool) -> None:
    """Computes y of pages from their rows, and makes them parents where they lead to more; with `moves_on`, passes the
    change on to their own parents.
    """
    for k in range(len(pages)):
        change = set_interest(t, pages[k], value_of(t, rows, k, pages[k], damping))
        take_over(t, rows, k, pages[k])
        if moves_on:
            move_on(t, pages[k], change, damping)


@late_kernel(0.5)
def residual(t: Tables, pages: Pages, rows: RowBatch, damping: float) -> float:
    """The sum of |r| over pages."""
    found = 0.0
    for k in range(len(pages)):
        found += abs(value_of(t, rows, k, pages[k], damping) - t.interest[pages[k]])
    return found
