"""Looks at everything in a refresh book and says what is broken: the full scan behind the calendar and the sums.

Always:    every page that is refreshed and that no pass under way has yet to reach lies in exactly one slot, and no
list has a page
           twice or a page that is not marked as filed; the counts are right; every record is a number that a record can be.
In full:   right after a whole pass with the same importance, besides, no page that was not handed out lies in a slot
that is opened later
           than a second after it is due (or after the slot that was next when it was filed); D at all μ, and S, are those of all pages
           counted anew within 1e-6, and so is what they are multiplied with.
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
    """Writes down when the pages of a list are opened; gives the page at which the list goes wrong, or NONE."""
    page = np.int64(head)
    while page != NONE:
        if not 0 <= page < opens.size or not math.isnan(opens[page]):
            return int(page)
        opens[page] = when
        page = np.int64(records[page]["next"])
    return NONE


def _opening_times(t: RefreshTables, calendar: Calendar) -> Floats:
    """When each page's slot is opened; not a number for pages in none."""
    opens = np.full(int(t.counts[LIMIT]), math.nan)
    for ring in range(RINGS):
        clock = int(calendar.clocks[ring])
        lists = [(int(calendar.open_heads[ring]), -math.inf)]
        lists += [(int(calendar.heads[ring, n % SIZE]), opening_time(ring, n)) for n in range(clock, clock + SIZE)]
        for head, when in lists:
            wrong = _walk(t.records, head, when, opens) if head != NONE else NONE
            if wrong != NONE:
                raise ScheduleBroken(f"a slot holds {wrong}, which is no page of the book or lies in a slot already")
    return opens


def prove_filing(t: RefreshTables, calendar: Calendar) -> Floats:
    """When each page's slot is opened; raises if pages are not filed as they must be."""
    opens = _opening_times(t, calendar)
    filed = ~np.isnan(opens)
    flags = t.records["flags"][: t.counts[LIMIT]]
    inside = (flags & INSIDE) != 0
    reached = np.arange(len(flags)) < (t.counts[CURSOR] if t.counts[CURSOR] != NO_PASS else len(flags))
    for wrong, what in (
        (inside & reached & ~filed, "is refreshed but lies in no slot"),
        (filed & ~reached, "lies in a slot though the pass has yet to reach it"),
        (reached & (filed != ((flags & FILED) != 0)), "is marked as filed and is not, or the other way round"),
    ):
        if wrong.any():
            raise ScheduleBroken(f"page {np.flatnonzero(wrong)[0]} {what}")
    if inside.sum() != t.counts[PAGE_COUNT]:
        raise ScheduleBroken(f"{inside.sum()} pages are refreshed, {t.counts[PAGE_COUNT]} are counted")
    b = t.records["b"][: t.counts[LIMIT]]
    if not (np.isfinite(b) & (b >= 0)).all():
        raise ScheduleBroken(
            f"the evidence of page {np.flatnonzero(~(np.isfinite(b) & (b >= 0)))[0]} is not a number of seconds"
        )
    means = t.means[: t.counts[HOST_LIMIT]]
    if not (np.isfinite(means) & (means >= 0)).all():
        raise ScheduleBroken("the pooled rate of a host is not a number")
    return opens


def prove_times(
    t: RefreshTables,
    calendar: Calendar,
    opens: Floats,
    pages: Pages,
    hosts: Pages,
    importance: Floats,
    threshold: float,
) -> None:
    """Raises if a page would be looked at too late under the threshold that it was filed under."""
    due = np.empty(len(pages))
    due_times_of_pages(t, pages, hosts, importance, threshold, due)
    last = opening_time(RINGS - 1, int(calendar.clocks[RINGS - 1]) + SIZE - 1)
    allowed = np.minimum(np.maximum(due, float(calendar.clocks[0])) + 1.0, last)
    late = (opens[pages] > allowed + 1e-3) & ((t.records["flags"][pages] & HANDED) == 0)
    if late.any():
        first = np.flatnonzero(late)[0]
        raise ScheduleBroken(f"page {pages[first]} is due at {due[first]} s and looked at at {opens[pages[first]]} s")


def prove_sums(t: RefreshTables, pages: Pages, hosts: Pages, importance: Floats) -> None:
    """Raises if the sums are not those of all pages counted anew."""
    fresh = t._replace(demand=np.zeros_like(t.demand), sums=np.zeros_like(t.sums))
    tally_pages(fresh, 0, pages, hosts, importance)
    for kept, counted, what in ((t.demand[0], fresh.demand[0], "the demand"), (t.sums[0], fresh.sums[0], "a sum")):
        if not _alike(kept, counted):
            raise ScheduleBroken(f"{what} is {kept[~np.isclose(kept, counted, TOLERANCE)]}, counted anew it is another")


def prove_exactness(t: RefreshTables, pages: Pages, hosts: Pages, importance: Floats) -> None:
    """Raises if what the last pass asked for, or its ratio to what the sums say, is not that of all pages counted
    anew.
    """
    asked = asked_by_pages(t, pages, hosts, importance, t.facts[LEVEL])
    if not math.isclose(t.facts[ASKED], asked, rel_tol=TOLERANCE, abs_tol=1e-30):
        raise ScheduleBroken(f"the pages are said to ask for {t.facts[ASKED]} a second, counted anew for {asked}")
    guessed = demand_at(t.demand[0], t.facts[LEVEL])
    if guessed > 0.0 and not math.isclose(
        t.facts[EXACT], min(max(asked / guessed, LEAST_EXACT), MOST_EXACT), rel_tol=TOLERANCE
    ):
        raise ScheduleBroken(f"the demand counts times {t.facts[EXACT]}, and should times {asked / guessed}")


def _alike(kept: npt.NDArray[np.float64], counted: npt.NDArray[np.float64]) -> bool:
    return bool(np.allclose(kept, counted, rtol=TOLERANCE, atol=TOLERANCE * (1e-30 + float(counted.max(initial=0.0)))))
