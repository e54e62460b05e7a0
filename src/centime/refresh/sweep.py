"""The pass over all pages: files every page anew and makes every sum anew, some pages a call.

A pass begins with empty calendar and goes through the pages by number. Each is filed for its due time under the
threshold as it is now, and added to the sums in the making, which replace the kept ones when the pass is through. What
it sets right: due times after the threshold has fallen, after a page proved quicker than its slot, after priors or
importance have moved; and the drift of the sums.

The sums overrate what is asked for: between the points of their table, pages that are as good as given up still ask for
a little. So the pass also adds up what every page asks for exactly, and what the sums say of the same pages under the
same threshold; until the next pass the sums count times the ratio of the two (EXACT). Measured at 0.02 reads a page and
day it is 0.95; without it so much of the budget was spent.

A page that the pass has yet to reach lies in no slot, and is looked at so much later: LENGTH calls of `inspect` at
most. One that is due when it is reached can be taken at once.

    a pass begins    after max(256, pages/8) observations; half of that if the priors moved by a tenth, an eighth if two-fold;
                     at once if μ fell below 0.8 of what pages were filed under, or settings were told that ask for it
    a call takes     max(4096, pages/LENGTH) pages

so that an observation pays for 8 pages of a pass (16 while priors move, 64 after a leap), and no call takes long.
Measured with importance walking by 2 % a day, D is wrong by 0.2 % at most when the next pass begins; by 10 % a day, by
2 %.
"""

import math

import numpy as np
import numpy.typing as npt

from centime.model.kernel import bare_kernel
from centime.refresh.calendar import Calendar, clear, file_page, hand_in
from centime.refresh.demand import demand_at
from centime.refresh.gamma import digamma
from centime.refresh.observation import Floats, Pages
from centime.refresh.page_record import belief_of, cost_of, due_age, index_of, mean_of_host, read_time, scale_of, tally
from centime.refresh.pooling import begin_pooling, end_pooling
from centime.refresh.tables import (
    ASKED,
    CURSOR,
    EXACT,
    FILED,
    GUESSED,
    HANDED,
    HIGHEST_THRESHOLD,
    INSIDE,
    LEAST_INTERVAL,
    LEVEL,
    LIMIT,
    MOVED,
    NO_PASS,
    OBSERVED,
    PAGE_COUNT,
    PASSES,
    RATED,
    RATES,
    SOUND,
    SPREAD,
    SPREAD_COUNT,
    THRESHOLD,
    URGENT,
    RefreshTables,
)

LENGTH = 128
FEWEST_PAGES = 4096
FEWEST_OBSERVATIONS = 256
PAGES_PER_OBSERVATION = 8
FALLEN = 0.8
LOOK_AGAIN = 1.25
"""A page handed out is looked at again at so many times its age."""
LEAST_EXACT, MOST_EXACT = 0.5, 2.0
_SOONER = (1, 2, 8)  # by how far the priors moved
_SPREAD_PAGES = 50_000
_SLACK = 1.0 - 1e-9


def is_wanted(t: RefreshTables) -> bool:
    """Whether a pass is to begin, if none is under way."""
    if t.counts[URGENT] or t.facts[THRESHOLD] < FALLEN * t.facts[HIGHEST_THRESHOLD]:
        return True
    needed = max(FEWEST_OBSERVATIONS, int(t.counts[PAGE_COUNT]) // PAGES_PER_OBSERVATION)
    return bool(t.counts[OBSERVED] >= needed // _SOONER[t.counts[MOVED]])


def begin_pass(t: RefreshTables, calendar: Calendar) -> None:
    """Drops all lists, puts the sums in the making to nought and the priors that the last pass found into effect."""
    begin_pooling(t)
    clear(calendar)
    t.demand[1], t.sums[1] = 0.0, 0.0
    t.counts[[CURSOR, OBSERVED, URGENT]] = 0
    t.counts[SOUND] = 1
    t.facts[[LEVEL, HIGHEST_THRESHOLD]] = t.facts[THRESHOLD]
    t.facts[[ASKED, GUESSED]] = 0.0


def end_pass(t: RefreshTables) -> None:
    """Lets the sums that were made take the place of the kept ones, unless the rule became another on the way."""
    t.counts[CURSOR] = NO_PASS
    t.counts[PASSES] += 1
    end_pooling(t)
    if t.counts[SOUND]:
        t.demand[0], t.sums[0] = t.demand[1], t.sums[1]
        if t.facts[GUESSED] > 0.0:
            t.facts[EXACT] = min(max(t.facts[ASKED] / t.facts[GUESSED], LEAST_EXACT), MOST_EXACT)


def next_stretch(t: RefreshTables) -> tuple[int, int]:
    """The pages from and up to which the pass goes in this call."""
    first, limit = int(t.counts[CURSOR]), int(t.counts[LIMIT])
    return first, min(limit, first + max(FEWEST_PAGES, -(-limit // LENGTH)))


@bare_kernel
def pages_inside(t: RefreshTables, first: int, last: int, step: int, pages: Pages) -> int:
    """Fills the array with the pages between two that are inside; the others lie in no slot any more if all are
    asked for.
    """
    count = 0
    for page in range(first, last, step):
        if t.records[page]["flags"] & INSIDE:
            pages[count] = page
            count += 1
        elif step == 1:
            t.records[page]["flags"] = np.uint8(0)
    return count


@bare_kernel
def tally_pages(t: RefreshTables, kept: int, pages: Pages, hosts: Pages, importance: Floats) -> None:
    """Adds pages to one of the two rows of sums."""
    for i in range(pages.size):
        shape, rate = belief_of(t, pages[i], hosts[i])
        tally(t, kept, shape, rate, importance[i], cost_of(t, pages[i]), 1.0)


@bare_kernel
def sweep_pages(
    t: RefreshTables, calendar: Calendar, pages: Pages, hosts: Pages, importance: Floats, now: float
) -> None:
    """Files pages that are inside anew and adds them to the sums in the making."""
    t.facts[GUESSED] -= demand_at(t.demand[1], t.facts[THRESHOLD])
    every = 1 + t.counts[LIMIT] // _SPREAD_PAGES  # logarithms are dear, and so many pages tell the shape well
    for i in range(pages.size):
        page, host = pages[i], hosts[i]
        record = t.records[page]
        record["flags"] = np.uint8(record["flags"] | FILED)
        shape, rate = belief_of(t, page, host)
        cost = cost_of(t, page)
        tally(t, 1, shape, rate, importance[i], cost, 1.0)
        read = read_time(t, page)
        age = due_age(t, shape, rate, scale_of(t, importance[i], cost), t.facts[THRESHOLD])
        t.facts[ASKED] += cost / age
        time = read + age
        if time > now:
            file_page(calendar, t.records, page, time)
        elif record["flags"] & HANDED:
            file_page(calendar, t.records, page, read + LOOK_AGAIN * (now - read))
        else:
            hand_in(calendar, t.records, page)
        if record["b"] > 0.0 and 0 <= host < t.host_pages.size:
            t.host_rates[host] += shape / rate
            t.host_pages[host] += 1
            t.pooled[RATES] += shape / rate
            t.pooled[RATED] += 1.0
            if page % every == 0:
                mean = mean_of_host(t, host)
                t.pooled[SPREAD] += shape / (rate * mean) - 1.0 + math.log(mean * rate) - digamma(shape)
                t.pooled[SPREAD_COUNT] += 1.0
    t.facts[GUESSED] += demand_at(t.demand[1], t.facts[THRESHOLD])


@bare_kernel
def judge_pages(
    t: RefreshTables,
    calendar: Calendar,
    pages: Pages,
    hosts: Pages,
    importance: Floats,
    now: float,
    due: Pages,
    worths: Floats,
) -> int:
    """Looks at pages taken out of their calendar: gives those that are due and files all of them again."""
    count = 0
    threshold = t.facts[THRESHOLD]
    for i in range(pages.size):
        page = pages[i]
        record = t.records[page]
        if not record["flags"] & INSIDE:
            record["flags"] = np.uint8(0)
            continue
        shape, rate = belief_of(t, page, hosts[i])
        scale = scale_of(t, importance[i], cost_of(t, page))
        read = read_time(t, page)
        age = now - read
        worth = index_of(t, shape, rate, scale, age)
        if age >= t.facts[LEAST_INTERVAL] and worth >= threshold * _SLACK:
            due[count] = page
            worths[count] = worth
            count += 1
            record["flags"] = np.uint8(record["flags"] | HANDED)
            file_page(calendar, t.records, page, read + LOOK_AGAIN * age)
        else:
            file_page(calendar, t.records, page, read + due_age(t, shape, rate, scale, threshold))
    return count


@bare_kernel
def worth_of_pages(
    t: RefreshTables, pages: Pages, hosts: Pages, importance: Floats, now: float, worths: Floats
) -> None:
    """What a read of each page is worth now; not a number for those that are not inside."""
    for i in range(pages.size):
        page = pages[i]
        if 0 <= page < t.records.size and t.records[page]["flags"] & INSIDE:
            shape, rate = belief_of(t, page, hosts[i])
            scale = scale_of(t, importance[i], cost_of(t, page))
            worths[i] = index_of(t, shape, rate, scale, now - read_time(t, page))
        else:
            worths[i] = math.nan


@bare_kernel
def due_times_of_pages(
    t: RefreshTables, pages: Pages, hosts: Pages, importance: Floats, threshold: float, times: npt.NDArray[np.float64]
) -> None:
    """When each page is due under a threshold; infinity for never, and for those that are not inside."""
    for i in range(pages.size):
        page = pages[i]
        times[i] = math.inf
        if 0 <= page < t.records.size and t.records[page]["flags"] & INSIDE:
            shape, rate = belief_of(t, page, hosts[i])
            times[i] = read_time(t, page) + due_age(
                t, shape, rate, scale_of(t, importance[i], cost_of(t, page)), threshold
            )


@bare_kernel
def asked_by_pages(t: RefreshTables, pages: Pages, hosts: Pages, importance: Floats, threshold: float) -> float:
    """What pages ask for under a threshold, per second, counted exactly."""
    asked = 0.0
    for i in range(pages.size):
        shape, rate = belief_of(t, pages[i], hosts[i])
        cost = cost_of(t, pages[i])
        asked += cost / due_age(t, shape, rate, scale_of(t, importance[i], cost), threshold)
    return asked
