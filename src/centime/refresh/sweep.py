"""The pass over all pages: it files every page again and recomputes every sum, some pages per call.

A pass empties the calendar and goes through the pages by number. It files each page for its due time under the current
threshold and adds it to the new sums, which replace the old ones when the pass ends. This corrects the due times after
the threshold has fallen, after a page was found to change faster than its slot assumes, and after priors or importance
have moved; and it corrects the drift of the sums.

The sums overestimate the demand: between the points of their table, pages that are practically given up still demand a
little. So the pass also adds up the exact demand of every page, and the demand of the same pages by the sums under the
same threshold; until the next pass, the sums are multiplied by the ratio of the two (EXACT). Measured at 0.02 reads per
page and day the ratio is 0.95; without it, only that share of the budget was spent.

A page that the running pass has not reached lies in no slot, so its inspection is late by at most LENGTH calls of
`inspect`. A page that is due when the pass reaches it can be taken at once.

    a pass begins    after max(256, pages/4 - 256) observations; half of that if the priors moved by a tenth, an eighth
                     if two-fold; at once if μ fell below 0.8 of the one that pages were filed under, or if new
                     settings need it
    a call takes     max(4096, pages/LENGTH) pages

So an observation pays for 4 pages of a pass (8 while priors move, 32 after a large move), and no call takes long.
Measured with importance walking by 2 % per day, the error of D is at most 0.2 % when the next pass begins; by 10 % per
day, 2 %.
"""

import math

import numpy as np
import numpy.typing as npt

from centime.model.kernel import Whole, bare_inlined, bare_kernel, late_kernel
from centime.refresh.calendar import Calendar, clear, file_page, open_page
from centime.refresh.demand import demand_at
from centime.refresh.learning.doubt import learn_doubt
from centime.refresh.learning.pooling import begin_pooling, end_pooling
from centime.refresh.learning.posterior import learned_octaves, mean_ratio, quantile_octaves, weigh
from centime.refresh.observation import Floats, Pages
from centime.refresh.page_record import (
    LEAST_IMPORTANCE,
    belief_of,
    class_of_page,
    cost_of,
    due_age,
    factor_of,
    gamma_of,
    has_evidence,
    index_of,
    mean_of_host,
    mean_of_page,
    next_age,
    read_time,
    scale_of,
    set_class,
    sooner,
    tally,
    weigh_page,
    with_deaths,
)
from centime.refresh.tables import (
    ASKED,
    CURSOR,
    DEATHS,
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
    MOVES,
    NEXT_DEATHS,
    NO_PASS,
    OBSERVATIONS,
    OBSERVED,
    PAGE_COUNT,
    PASSES,
    PROBED,
    PROBING,
    RATED,
    RATES,
    SOUND,
    THRESHOLD,
    URGENT,
    RefreshTables,
)

LENGTH = 512
FEWEST_PAGES = 4096
FEWEST_OBSERVATIONS = 256
PAGES_PER_OBSERVATION = 4
FALLEN = 0.8
LOOK_AGAIN = 1.05
"""A due page that `inspect` returned is inspected again at this multiple of its age."""
LEAST_EXACT, MOST_EXACT = 0.5, 2.0
PROBE_WORTH = 2.0
"""The worth of a page that is due for a test or a probe, in thresholds: it must not wait behind pages just due."""
PROBE_SHARE, FIRST_PROBE_SHARE, PROBES_HALVED_AFTER = 0.01, 0.03, 0.25


def probe_share(t: RefreshTables) -> float:
    """The share of the budget that probes may take: large while little is known, PROBE_SHARE in the long run."""
    return float(PROBE_SHARE + FIRST_PROBE_SHARE / (1.0 + _reads_again(t) / PROBES_HALVED_AFTER))


def _reads_again(t: RefreshTables) -> float:
    """How often a page was read again, on average."""
    return max(0.0, float(t.counts[OBSERVATIONS]) / max(1, int(t.counts[PAGE_COUNT])) - 1.0)


_SOONER = (1, 2, 8)  # by how far the priors moved
_SLACK = 1.0 - 1e-9


def is_wanted(t: RefreshTables) -> bool:
    """Whether a pass should begin if none is running."""
    if t.counts[URGENT] or t.facts[THRESHOLD] < FALLEN * t.facts[HIGHEST_THRESHOLD]:
        return True
    needed = max(FEWEST_OBSERVATIONS, int(t.counts[PAGE_COUNT]) // PAGES_PER_OBSERVATION - FEWEST_OBSERVATIONS)
    return bool(t.counts[OBSERVED] >= needed // _SOONER[t.counts[MOVED]])


def begin_pass(t: RefreshTables, calendar: Calendar, budget: float) -> None:
    """Empties the calendar, clears the new sums, and applies the priors that the last pass found."""
    begin_pooling(t)
    learn_doubt(t)
    clear(calendar)
    t.facts[PROBING] = t.facts[PROBED] / (probe_share(t) * budget) if budget > 0.0 else 0.0
    t.demand[1], t.sums[1] = 0.0, 0.0
    t.counts[[CURSOR, OBSERVED, URGENT]] = 0
    t.counts[SOUND] = 1
    t.facts[[LEVEL, HIGHEST_THRESHOLD]] = t.facts[THRESHOLD]
    t.facts[[ASKED, GUESSED, PROBED]] = 0.0
    t.facts[DEATHS] = t.facts[NEXT_DEATHS]


def end_pass(t: RefreshTables) -> None:
    """Replaces the sums by the new ones, unless the rule changed during the pass."""
    t.counts[CURSOR] = NO_PASS
    t.counts[PASSES] += 1
    end_pooling(t)
    if t.counts[SOUND]:
        t.demand[0], t.sums[0] = t.demand[1], t.sums[1]
        if t.facts[GUESSED] > 0.0:
            t.facts[EXACT] = min(max(t.facts[ASKED] / t.facts[GUESSED], LEAST_EXACT), MOST_EXACT)


def next_stretch(t: RefreshTables) -> tuple[int, int]:
    """The first page of this call of the pass, and the one after the last."""
    first, limit = int(t.counts[CURSOR]), int(t.counts[LIMIT])
    return first, min(limit, first + max(FEWEST_PAGES, -(-limit // LENGTH)))


@bare_kernel
def pages_inside(t: RefreshTables, first: int, last: int, step: int, pages: Pages) -> int:
    """Writes every `step`-th page of a range that is inside into the array and returns how many. With step 1, clears
    the flags of the others: a pass has emptied their slots.
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
        cost = cost_of(t, pages[i])
        shape, rate = belief_of(t, pages[i], hosts[i], importance[i], cost)
        tally(t, pages[i], kept, shape, rate, importance[i], cost, 1.0)


@bare_inlined
def _pool(t: RefreshTables, page: Whole, host: Whole, m: float) -> None:
    """Adds the posterior in `scratch`, of a page with evidence, to the sums of `learning/pooling.py`."""
    moved = learned_octaves(t, float(t.records[page]["b"]), m)
    octaves = math.log2(m) + moved
    factor = math.log2(factor_of(t, page))
    number = class_of_page(t, page)
    t.host_rates[host] += octaves - factor
    t.host_pages[host] += 1
    t.class_rates[number] += moved + factor
    t.class_pages[number] += 1.0
    t.pooled[RATES] += octaves - factor
    t.pooled[MOVES] += moved
    t.pooled[RATED] += 1.0
    for j in range(t.window[0], t.window[1]):
        t.shares[j] += t.scratch[j]


@bare_kernel
def sweep_pages(
    t: RefreshTables, calendar: Calendar, pages: Pages, hosts: Pages, importance: Floats, now: float
) -> None:
    """Files pages that are inside again, and adds them to the new sums."""
    t.facts[GUESSED] -= demand_at(t.demand[1], t.facts[THRESHOLD])
    for i in range(pages.size):
        page, host = pages[i], hosts[i]
        record = t.records[page]
        record["flags"] = np.uint8(record["flags"] | FILED)
        set_class(t, page, importance[i])
        cost = cost_of(t, page)
        m = mean_of_page(t, page, host)
        weigh_page(t, page, m)
        if has_evidence(t, page) and 0 <= host < t.host_pages.size:
            _pool(t, page, host, m)
        shape, rate = gamma_of(t, m, scale_of(t, importance[i], cost))
        tally(t, page, 1, shape, rate, importance[i], cost, 1.0)
        read = read_time(t, page)
        decided = with_deaths(t, shape, rate)
        age = due_age(t, decided[0], decided[1], scale_of(t, importance[i], cost), t.facts[THRESHOLD])
        t.facts[ASKED] += cost / age
        t.facts[PROBED] += cost * math.sqrt(max(importance[i], LEAST_IMPORTANCE))
        time = read + sooner(t, page, m, decided[0], decided[1], importance[i], cost, t.facts[THRESHOLD], age)
        if time > now:
            file_page(calendar, t.records, page, time)
        elif record["flags"] & HANDED:
            file_page(calendar, t.records, page, read + LOOK_AGAIN * (now - read))
        else:
            open_page(calendar, t.records, page)
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
    """Inspects pages taken from the calendar: writes those that are due and their worth, returns how many, and files
    all pages again.
    """
    count = 0
    threshold = t.facts[THRESHOLD]
    for i in range(pages.size):
        page = pages[i]
        record = t.records[page]
        if not record["flags"] & INSIDE:
            record["flags"] = np.uint8(0)
            continue
        cost = cost_of(t, page)
        shape, rate = belief_of(t, page, hosts[i], importance[i], cost)
        read = read_time(t, page)
        age = now - read
        decided = with_deaths(t, shape, rate)
        worth = index_of(t, decided[0], decided[1], scale_of(t, importance[i], cost), age)
        after = math.nan
        if worth < threshold:
            after = next_age(t, page, hosts[i], shape, rate, importance[i], cost, threshold)
            if age >= after * _SLACK:
                worth = PROBE_WORTH * threshold
        if age >= t.facts[LEAST_INTERVAL] and worth >= threshold * _SLACK:
            due[count] = page
            worths[count] = worth
            count += 1
            record["flags"] = np.uint8(record["flags"] | HANDED)
            file_page(calendar, t.records, page, read + LOOK_AGAIN * age)
        else:
            if math.isnan(after):
                after = next_age(t, page, hosts[i], shape, rate, importance[i], cost, threshold)
            file_page(calendar, t.records, page, read + after)
    return count


@bare_kernel
def worth_of_pages(
    t: RefreshTables, pages: Pages, hosts: Pages, importance: Floats, now: float, worths: Floats
) -> None:
    """Writes the worth of a read of each page now; NaN for pages that are not inside."""
    for i in range(pages.size):
        page = pages[i]
        if 0 <= page < t.records.size and t.records[page]["flags"] & INSIDE:
            cost = cost_of(t, page)
            shape, rate = belief_of(t, page, hosts[i], importance[i], cost)
            scale = scale_of(t, importance[i], cost)
            decided = with_deaths(t, shape, rate)
            worths[i] = index_of(t, decided[0], decided[1], scale, now - read_time(t, page))
        else:
            worths[i] = math.nan


@bare_kernel
def due_times_of_pages(
    t: RefreshTables,
    pages: Pages,
    hosts: Pages,
    importance: Floats,
    threshold: float,
    probed: bool,
    times: npt.NDArray[np.float64],
) -> None:
    """Writes the time at which each page is due under a threshold; infinity for never and for pages not inside."""
    for i in range(pages.size):
        page = pages[i]
        times[i] = math.inf
        if 0 <= page < t.records.size and t.records[page]["flags"] & INSIDE:
            cost = cost_of(t, page)
            shape, rate = belief_of(t, page, hosts[i], importance[i], cost)
            age = next_age(t, page, hosts[i], shape, rate, importance[i], cost, threshold)
            if not probed:
                decided = with_deaths(t, shape, rate)
                age = due_age(t, decided[0], decided[1], scale_of(t, importance[i], cost), threshold)
            times[i] = read_time(t, page) + age


@bare_kernel
def asked_by_pages(t: RefreshTables, pages: Pages, hosts: Pages, importance: Floats, threshold: float) -> float:
    """The exact demand of pages under a threshold, per second."""
    asked = 0.0
    for i in range(pages.size):
        cost = cost_of(t, pages[i])
        shape, rate = belief_of(t, pages[i], hosts[i], importance[i], cost)
        decided = with_deaths(t, shape, rate)
        asked += cost / due_age(t, decided[0], decided[1], scale_of(t, importance[i], cost), threshold)
    return asked


@bare_inlined
def _has_record(t: RefreshTables, page: Whole) -> bool:
    return bool(0 <= page < t.records.size)


@bare_inlined
def _weigh_any(t: RefreshTables, page: Whole, host: Whole) -> float:
    """Writes the posterior of a page, or the prior if it has no record, into `scratch`; returns its usual rate."""
    if _has_record(t, page):
        m = mean_of_page(t, page, host)
        weigh_page(t, page, m)
    else:
        m = mean_of_host(t, host)
        weigh(t, 0.0, 0.0, 0.0, m)
    return m


@late_kernel(1.0)
def beliefs_of_pages(
    t: RefreshTables, pages: Pages, hosts: Pages, importance: Floats, shapes: Floats, rates: Floats
) -> None:
    """Writes S and B of each page's belief; the prior for pages that were never read."""
    for i in range(pages.size):
        m = _weigh_any(t, pages[i], hosts[i])
        cost = cost_of(t, pages[i]) if _has_record(t, pages[i]) else 1.0
        shapes[i], rates[i] = gamma_of(t, m, scale_of(t, importance[i], cost))


@bare_kernel
def rates_of_pages(
    t: RefreshTables, pages: Pages, hosts: Pages, edge: float, means: Floats, low: Floats, high: Floats
) -> None:
    """Writes the mean rate of each page, and the rates below and above which the share `edge` of its belief lies."""
    for i in range(pages.size):
        m = _weigh_any(t, pages[i], hosts[i])
        means[i] = m * mean_ratio(t)
        low[i] = m * math.exp2(quantile_octaves(t, edge))
        high[i] = m * math.exp2(quantile_octaves(t, 1.0 - edge))
