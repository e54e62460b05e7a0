"""The verifier of a refresh book: scans records, calendar and sums, and checks every invariant.

Always:   every refreshed page lies in exactly one slot, except pages that the running pass has not reached; no list has
          a page twice or a page that is not marked as filed; the counts are right; evidence and priors are finite.
In full:  right after a complete pass with the same importance, in addition: a page that `inspect` did not return lies
          in a slot that opens at most a second after the page is due (or after the slot that was next when it was
          filed); D at all μ, S, and the factor EXACT equal those recomputed from all pages, within 1e-6.
"""

import math

import numpy as np
import numpy.typing as npt

from centime.model.errors import ScheduleBroken
from centime.model.kernel import bare_kernel
from centime.refresh.calendar import NONE, RINGS, SIZE, Calendar, Records, opening_time
from centime.refresh.demand import demand_at
from centime.refresh.observation import Floats, Pages
from centime.refresh.sweep import LEAST_EXACT, MOST_EXACT, asked_by_pages, due_times_of_pages, tally_pages
from centime.refresh.tables import (
    ASKED,
    CURSOR,
    EXACT,
    FILED,
    HANDED,
    HOST_LIMIT,
    INSIDE,
    LEVEL,
    LIMIT,
    NO_PASS,
    PAGE_COUNT,
    RefreshTables,
)

TOLERANCE = 1e-6


@bare_kernel
def _walk(records: Records, head: int, when: float, opens: Floats) -> int:
    """Writes the time at which the pages of a list open; returns the first page that is wrong in the list, or NONE."""
    page = np.int64(head)
    while page != NONE:
        if not 0 <= page < opens.size or not math.isnan(opens[page]):
            return int(page)
        opens[page] = when
        page = np.int64(records[page]["next"])
    return NONE


def _opening_times(t: RefreshTables, calendar: Calendar) -> Floats:
    """Time at which the slot of each page opens; NaN for pages in no slot."""
    opens = np.full(int(t.counts[LIMIT]), math.nan)
    for ring in range(RINGS):
        clock = int(calendar.clocks[ring])
        lists = [(int(calendar.open_heads[ring]), -math.inf)]
        lists += [(int(calendar.heads[ring, n % SIZE]), opening_time(ring, n)) for n in range(clock, clock + SIZE)]
        for head, when in lists:
            wrong = _walk(t.records, head, when, opens) if head != NONE else NONE
            if wrong != NONE:
                raise ScheduleBroken(f"a slot holds page {wrong}, which is not in the book or lies in a slot already")
    return opens


def verify_filing(t: RefreshTables, calendar: Calendar) -> Floats:
    """Time at which the slot of each page opens; raises ScheduleBroken if pages are filed incorrectly."""
    opens = _opening_times(t, calendar)
    filed = ~np.isnan(opens)
    flags = t.records["flags"][: t.counts[LIMIT]]
    inside = (flags & INSIDE) != 0
    reached = np.arange(len(flags)) < (t.counts[CURSOR] if t.counts[CURSOR] != NO_PASS else len(flags))
    for wrong, what in (
        (inside & reached & ~filed, "is refreshed but lies in no slot"),
        (filed & ~reached, "lies in a slot although the running pass has not reached it"),
        (reached & (filed != ((flags & FILED) != 0)), "is marked as filed but lies in no slot, or the reverse"),
    ):
        if wrong.any():
            raise ScheduleBroken(f"page {np.flatnonzero(wrong)[0]} {what}")
    if inside.sum() != t.counts[PAGE_COUNT]:
        raise ScheduleBroken(f"{inside.sum()} pages are refreshed, but the count is {t.counts[PAGE_COUNT]}")
    b = t.records["b"][: t.counts[LIMIT]]
    if not (np.isfinite(b) & (b >= 0)).all():
        wrong_page = np.flatnonzero(~(np.isfinite(b) & (b >= 0)))[0]
        raise ScheduleBroken(f"the evidence of page {wrong_page} is {b[wrong_page]} seconds")
    means = t.means[: t.counts[HOST_LIMIT]]
    if not (np.isfinite(means) & (means >= 0)).all():
        raise ScheduleBroken("the pooled rate of a host is below 0 or not a finite number")
    return opens


def verify_times(
    t: RefreshTables,
    calendar: Calendar,
    opens: Floats,
    pages: Pages,
    hosts: Pages,
    importance: Floats,
    threshold: float,
) -> None:
    """Raises ScheduleBroken if a page would be inspected too late for the threshold that it was filed under."""
    due = np.empty(len(pages))
    due_times_of_pages(t, pages, hosts, importance, threshold, True, due)
    last = opening_time(RINGS - 1, int(calendar.clocks[RINGS - 1]) + SIZE - 1)
    allowed = np.minimum(np.maximum(due, float(calendar.clocks[0])) + 1.0, last)
    late = (opens[pages] > allowed + 1e-3) & ((t.records["flags"][pages] & HANDED) == 0)
    if late.any():
        first = np.flatnonzero(late)[0]
        raise ScheduleBroken(f"page {pages[first]} is due at {due[first]} s but inspected at {opens[pages[first]]} s")


def verify_sums(t: RefreshTables, pages: Pages, hosts: Pages, importance: Floats) -> None:
    """Raises ScheduleBroken if the sums differ from the recomputed ones."""
    fresh = t._replace(demand=np.zeros_like(t.demand), sums=np.zeros_like(t.sums))
    tally_pages(fresh, 0, pages, hosts, importance)
    for kept, counted, what in ((t.demand[0], fresh.demand[0], "the demand"), (t.sums[0], fresh.sums[0], "a sum")):
        if not _alike(kept, counted):
            raise ScheduleBroken(f"{what} is {kept[~np.isclose(kept, counted, TOLERANCE)]} and differs when recomputed")


def verify_exactness(t: RefreshTables, pages: Pages, hosts: Pages, importance: Floats) -> None:
    """Raises ScheduleBroken if the exact demand of the last pass, or its ratio to the sums, differs from the recomputed
    one.
    """
    asked = asked_by_pages(t, pages, hosts, importance, t.facts[LEVEL])
    if not math.isclose(t.facts[ASKED], asked, rel_tol=TOLERANCE, abs_tol=1e-30):
        raise ScheduleBroken(f"the exact demand is {t.facts[ASKED]} per second, but {asked} when recomputed")
    guessed = demand_at(t.demand[0], t.facts[LEVEL])
    if guessed > 0.0 and not math.isclose(
        t.facts[EXACT], min(max(asked / guessed, LEAST_EXACT), MOST_EXACT), rel_tol=TOLERANCE
    ):
        raise ScheduleBroken(f"the factor of the demand is {t.facts[EXACT]}, but {asked / guessed} when recomputed")


def _alike(kept: npt.NDArray[np.float64], counted: npt.NDArray[np.float64]) -> bool:
    return bool(np.allclose(kept, counted, rtol=TOLERANCE, atol=TOLERANCE * (1e-30 + float(counted.max(initial=0.0)))))
