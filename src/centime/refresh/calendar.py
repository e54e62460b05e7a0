"""The calendar: pages by the time of their next inspection, in a calendar queue of three rings of slots.

    ring 0: 1024 slots of 1 second,   ring 1: 1024 slots of 1024 seconds,   ring 2: 1024 slots of 12 days   (36 years)

A page lies in one slot of the calendar, in a list linked through the `next` of its record. It is filed in the finest
ring that reaches its time. A slot of ring 0 opens when its second is over, so that all its pages are due. A slot of the
other rings opens when it begins, so that its pages can be filed again in a finer ring. Opening a slot appends its list
to the ring's open list in O(1). `take` removes a few pages at a time from the open lists, so a million pages that are
due at once cost no more than a list of a million pages. A time beyond the last slot counts as the last slot.

    opening time of a page's slot ≤ max(time it was filed for + 1 s, opening time of the next slot when it was filed)

Times are seconds since the book began. Time that runs backwards opens no slot, and a page filed for the past goes into
the next slot to open. A page cannot be removed from the middle of a list: pages that are no longer refreshed are
dropped when they are taken. `clear` empties all lists at once.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from centime.model.kernel import Whole, bare_inlined, bare_kernel

RINGS = 3
SIZE = 1024
NONE = -1

RECORD = np.dtype([("b", "<f4"), ("read", "<u4"), ("next", "<i4"), ("s", "<u2"), ("cost", "u1"), ("flags", "u1")])
"""The record of a page: evidence s (in 1/1024) and b, last read (1/8 s since the book began), cost (2^(n/8)), flags,
and the next page of its slot."""

Records = npt.NDArray[np.void]


class Calendar(NamedTuple):
    """The lists: the first and last page of each slot and of each ring's open list, and the number of the slot of each
    ring that opens next.
    """

    heads: npt.NDArray[np.int32]
    tails: npt.NDArray[np.int32]
    open_heads: npt.NDArray[np.int32]
    open_tails: npt.NDArray[np.int32]
    clocks: npt.NDArray[np.int64]


def empty_calendar() -> Calendar:
    """A calendar without pages, at the time at which the book began."""
    return Calendar(
        np.full((RINGS, SIZE), NONE, dtype=np.int32),
        np.full((RINGS, SIZE), NONE, dtype=np.int32),
        np.full(RINGS, NONE, dtype=np.int32),
        np.full(RINGS, NONE, dtype=np.int32),
        np.array([0, 1, 1], dtype=np.int64),
    )


def set_clocks(calendar: Calendar, time: float) -> None:
    """Empties the calendar and sets it to a time."""
    clear(calendar)
    second = int(time)
    calendar.clocks[:] = [second, *((second >> (10 * ring)) + 1 for ring in range(1, RINGS))]


def clear(calendar: Calendar) -> None:
    """Empties all slots and open lists."""
    for array in calendar[:4]:
        array.fill(NONE)


@bare_kernel
def opening_time(ring: Whole, number: Whole) -> float:
    """Time at which a slot opens."""
    if ring == 0:
        return float(number + 1)
    return float(number << (10 * ring))


@bare_inlined
def file_page(calendar: Calendar, records: Records, page: Whole, time: float) -> None:
    """Files a page that lies in no slot for a time."""
    second = np.int64(min(max(time, 0.0), 2.0**40))
    ring = np.int64(0)
    number = max(second, calendar.clocks[0])
    while number >= calendar.clocks[ring] + SIZE and ring < RINGS - 1:
        ring += 1
        number = max(second >> (10 * ring), calendar.clocks[ring])
    number = min(number, calendar.clocks[ring] + SIZE - 1)
    place = number & (SIZE - 1)
    records[page]["next"] = calendar.heads[ring, place]
    if calendar.heads[ring, place] == NONE:
        calendar.tails[ring, place] = page
    calendar.heads[ring, place] = page


@bare_inlined
def open_page(calendar: Calendar, records: Records, page: Whole) -> None:
    """Puts a page that lies in no slot first into the open list of ring 0."""
    records[page]["next"] = calendar.open_heads[0]
    if calendar.open_heads[0] == NONE:
        calendar.open_tails[0] = page
    calendar.open_heads[0] = page


@bare_inlined
def open_slot(calendar: Calendar, records: Records, ring: Whole, place: Whole) -> None:
    """Appends the pages of a slot to the open list of its ring."""
    head = calendar.heads[ring, place]
    if head == NONE:
        return
    if calendar.open_heads[ring] == NONE:
        calendar.open_heads[ring] = head
    else:
        records[calendar.open_tails[ring]]["next"] = head
    calendar.open_tails[ring] = calendar.tails[ring, place]
    calendar.heads[ring, place] = NONE


@bare_kernel
def advance(calendar: Calendar, records: Records, now: float) -> None:
    """Opens all slots whose time has come."""
    second = np.int64(math.floor(min(max(now, -1.0), 2.0**40)))
    for ring in range(RINGS):
        ahead = second if ring == 0 else (second >> (10 * ring)) + 1  # the first slot whose time has not come
        behind = calendar.clocks[ring]
        for number in range(behind, min(ahead, behind + SIZE)):
            open_slot(calendar, records, ring, number & (SIZE - 1))
        calendar.clocks[ring] = max(ahead, behind)


@bare_inlined
def _take_from(
    calendar: Calendar, records: Records, ring: Whole, pages: npt.NDArray[np.int64], first: Whole, last: Whole
) -> Whole:
    while first < last and calendar.open_heads[ring] != NONE:
        page = calendar.open_heads[ring]
        calendar.open_heads[ring] = records[page]["next"]
        pages[first] = page
        first += 1
    return first


@bare_kernel
def take(calendar: Calendar, records: Records, pages: npt.NDArray[np.int64]) -> int:
    """Moves pages from the open lists into the array and returns how many. Up to half of the array is reserved for the
    coarse rings.
    """
    count: Whole = np.int64(0)
    half = np.int64((pages.size + 1) // 2)
    for ring in range(1, RINGS):
        count = _take_from(calendar, records, ring, pages, count, half)
    for ring in range(RINGS):
        count = _take_from(calendar, records, ring, pages, count, np.int64(pages.size))
    return int(count)


@bare_kernel
def earliest_opening(calendar: Calendar) -> float:
    """Time at which the next slot with pages opens; minus infinity if a page is open, infinity if there is no page."""
    best = math.inf
    for ring in range(RINGS):
        if calendar.open_heads[ring] != NONE:
            return -math.inf
        for number in range(calendar.clocks[ring], calendar.clocks[ring] + SIZE):
            if calendar.heads[ring, number & (SIZE - 1)] != NONE:
                best = min(best, opening_time(ring, number))
                break
    return best
