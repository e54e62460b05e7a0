"""The probable kind and interest of an unread page, estimated from pages that were read.

Evidence about a page, from far to near: pages with the same suffix, those of them on its host, those of them in its
directory, and the pages that its parent links to (its siblings). Each narrower group moves the estimate of the wider
one towards its own pages; the wider estimate counts as STRENGTH pages:

    P_g = (wanted_g + STRENGTH · P_above) / (read_g + STRENGTH)         the probability that a page of g is wanted
    Y_g = (sum of y - e in g + STRENGTH · Y_above) / (read_g + STRENGTH)     the interest that a page of g has

The widest group begins with a prior: OF_THE_KIND if the suffix is usual for wanted pages, else OF_ANOTHER. It counts as
FIRST_WANTED wanted pages among FIRST_WANTED / prior pages. A parent links to pages of any suffix, so its children are
compared with the expectation from their URLs:

    P = P_g + (wanted children - expected children) / (read children + STRENGTH)     from 0 to 1; Y as above

If a pattern of URLs defines the wanted pages, P is 1 or 0.
"""

import numpy as np
import numpy.typing as npt

from centime.model.kernel import Whole, bare_inlined, late_kernel
from centime.model.row_batch import Pages
from centime.shard.interest.tables import COUNTED, MATCHES, WANTED, Tables

STRENGTH = 2.0  # pages
FIRST_WANTED = 20.0  # wanted pages that the prior counts as: it must outlast the first thousand pages without one
OF_THE_KIND, OF_ANOTHER = 0.8, 0.02  # probabilities before any page was read
LEVELS = 3  # groups around a page: suffix, host, directory


@bare_inlined
def probability_of(t: Tables, page: Whole, patterns: bool) -> float:
    """P: the probability that a page which was not read yet is wanted."""
    if patterns:
        return 1.0 if t.marks[page] & MATCHES else 0.0
    found = _of_group(t, page, True)
    parent = t.parent[page] - 1
    if parent >= 0:
        found += (t.child_wanted[parent] - t.child_expected[parent]) / (t.child_read[parent] + STRENGTH)
    return min(1.0, max(0.0, found))


@bare_inlined
def interest_of(t: Tables, page: Whole) -> float:
    """Y: the interest that a page which was not read yet probably has."""
    found = _of_group(t, page, False)
    parent = t.parent[page] - 1
    if parent >= 0:
        found = (t.child_interest[parent] + STRENGTH * found) / (t.child_read[parent] + STRENGTH)
    return max(0.0, found)


@bare_inlined
def _of_group(t: Tables, page: Whole, is_probability: bool) -> float:
    """P or Y of the groups of a page, from the widest to the narrowest."""
    near = t.group[page]
    middle = t.above[near] - 1
    far = t.above[middle] - 1 if middle >= 0 else -1
    widest = far if far >= 0 else middle if middle >= 0 else near
    found = t.prior[widest] if is_probability else 0.0
    for level in range(LEVELS):
        group = far if level == 0 else middle if level == 1 else near
        if group >= 0:
            seen = np.float64(t.wanted[group]) if is_probability else t.sums[group]
            strength = FIRST_WANTED / t.prior[group] if group == widest and is_probability else STRENGTH
            found = (seen + strength * found) / (t.read[group] + strength)
    return np.float64(found)


@bare_inlined
def lesson_of(t: Tables, page: Whole, probability: float) -> float:
    """L: by how much the expected number of wanted unread siblings rises if this page is wanted."""
    parent = t.parent[page] - 1
    if parent < 0:
        return 0.0
    siblings = t.children[parent] - t.child_read[parent] - 1
    return np.float64((1.0 - probability) * siblings / (t.child_read[parent] + STRENGTH + 1.0))


@late_kernel(0.5)
def estimate_pages(
    t: Tables,
    pages: Pages,
    patterns: bool,
    wanted: npt.NDArray[np.float64],
    interest: npt.NDArray[np.float64],
    lesson: npt.NDArray[np.float64],
) -> None:
    """Writes P, Y and L of unread pages."""
    for k in range(len(pages)):
        wanted[k] = probability_of(t, pages[k], patterns)
        interest[k] = interest_of(t, pages[k])
        lesson[k] = lesson_of(t, pages[k], wanted[k])


@bare_inlined
def count_in_groups(t: Tables, page: Whole, read: Whole, wanted: Whole, interest: float) -> None:
    """Adds to the evidence of all groups of a page."""
    group = t.group[page]
    while group >= 0:
        t.read[group] += read
        t.wanted[group] += wanted
        t.sums[group] += interest
        group = t.above[group] - 1


@bare_inlined
def count_at_parent(t: Tables, page: Whole, sign: Whole) -> None:
    """Adds a page that was read to the children of its parent (`sign` 1), or removes it (-1)."""
    parent = t.parent[page] - 1
    if parent >= 0:
        wanted = np.int64(t.marks[page] & WANTED)
        t.child_read[parent] += sign
        t.child_wanted[parent] += sign * wanted
        t.child_expected[parent] += sign * t.expected[page]
        t.child_interest[parent] += sign * (t.interest[page] - wanted)


@bare_inlined
def adopt(t: Tables, page: Whole, parent: Whole) -> None:
    """Gives a page another parent: a number + 1, or 0."""
    if t.parent[page] > 0:
        t.children[t.parent[page] - 1] -= 1
    if t.marks[page] & COUNTED:
        count_at_parent(t, page, -1)
    t.parent[page] = parent
    if parent > 0:
        t.children[parent - 1] += 1
    if t.marks[page] & COUNTED:
        count_at_parent(t, page, 1)
