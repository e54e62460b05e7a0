"""Calendar: pages by the time at which they are to be looked at, a calendar queue of three rings.

    ring 0: 1024 calendar of a second,   ring 1: 1024 calendar of 1024 seconds,   ring 2: 1024 calendar of 12 days        (36 years in all)

A page lies in one slot, in a list through the `next` of its record. It is filed in the finest ring that reaches its
time. A slot of ring 0 is opened when its second is over, so that what it holds is due; a slot of the other rings when
it begins, so that what it holds can be filed again more finely. Opening appends its list to the ring's open list at no
cost; `take` hands out the open lists a few pages at a time, so that a million pages due at once are a million pages in
a list and no more. Later times than the last slot's count as that.

    opening time of a page's slot ≤ max(time it was filed for + 1 s, opening time of the next slot when it was filed)

Times are seconds since the book began. Time that runs backwards opens nothing, and what is filed for the past comes
next. A list cannot lose a page in its middle: pages that are no longer wanted are found out when they are taken.
`clear` forgets all lists at once.
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
"""All that is kept of a page: evidence s (1/1024) and b, last read (1/8 s since the book began), cost (2^(n/8)), flags, the next of its
slot."""

Records = npt.NDArray[np.void]


class Calendar(NamedTuple):
    """The lists: first and last page of each slot and of each ring's open list, and the number of each ring's next
    slot.
    """

    heads: npt.NDArray[np.int32]
    tails: npt.NDArray[np.int32]
    open_heads: npt.NDArray[np.int32]
    open_tails: npt.NDArray[np.int32]
    clocks: npt.NDArray[np.int64]


def empty_calendar() -> Calendar:
    """Calendar without pages, at the time at which the book began."""
    return Calendar(
        np.full((RINGS, SIZE), NONE, dtype=np.int32),
        np.full((RINGS, SIZE), NONE, dtype=np.int32),
        np.full(RINGS, NONE, dtype=np.int32),
        np.full(RINGS, NONE, dtype=np.int32),
        np.array([0, 1, 1], dtype=np.int64),
    )


def clear(calendar: Calendar) -> None:
    """Forgets what is filed."""
    for array in calendar[:4]:
        array.fill(NONE)


@bare_inlined
def opening_time(ring: Whole, number: Whole) -> float:
    """When a slot is opened."""
    if ring == 0:
        return float(number + 1)
    return float(number << (10 * ring))


@bare_inlined
def file_page(calendar: Calendar, records: Records, page: Whole, time: float) -> None:
    """Files a page that lies in no slot."""
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
def hand_in(calendar: Calendar, records: Records, page: Whole) -> None:
    """Puts a page that lies in no slot first among those that are open."""
    records[page]["next"] = calendar.open_heads[0]
    if calendar.open_heads[0] == NONE:
        calendar.open_tails[0] = page
    calendar.open_heads[0] = page


@bare_inlined
def open_slot(calendar: Calendar, records: Records, ring: Whole, place: Whole) -> None:
    """Puts what a slot holds behind what is open."""
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
    """Opens all calendar whose time has come."""
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
    """Fills the array with open pages, which then lie in no slot; half of it, if need be, with those of the coarse
    rings.
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
    """When the next slot with pages is opened; minus infinity if pages are open, infinity if none is filed."""
    best = math.inf
    for ring in range(RINGS):
        if calendar.open_heads[ring] != NONE:
            return -math.inf
        for number in range(calendar.clocks[ring], calendar.clocks[ring] + SIZE):
            if calendar.heads[ring, number & (SIZE - 1)] != NONE:
                best = min(best, opening_time(ring, number))
                break
    return best
