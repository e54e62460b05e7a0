"""One page of the refresh book, inside kernels: its belief, its index, its due age, and its part in the sums.

`belief_of` returns the belief itself; the index, the due age and the demand use the wider belief of decisions
(`worth.py`, TRUST).
"""

import math

import numpy as np

from centime.model.kernel import Whole, bare_inlined, bare_part
from centime.refresh.belief import UNIT
from centime.refresh.curves import guess_ratio, row_of
from centime.refresh.demand import add_demand
from centime.refresh.tables import (
    ALPHA,
    BETA,
    BY_BYTES,
    CLASS_BIT,
    CLASSES,
    COST_STEPS,
    COSTS,
    LEAST_INTERVAL,
    MEAN,
    PROBING,
    ROOTS,
    RULE,
    SHAPE,
    TICKS,
    RefreshTables,
)
from centime.refresh.worth import LONGEST, OPTIMAL, TRUST, UNIFORM, age_ratio, index_ratio

LEAST_IMPORTANCE = 1e-30
PRIME = 2_147_483_647


@bare_inlined
def mean_of_host(t: RefreshTables, host: Whole) -> float:
    """m: the pooled mean rate of the host, or of all pages if the host has none."""
    mean = float(t.means[host]) if 0 <= host < t.means.size else 0.0
    return mean if mean > 0.0 else t.facts[MEAN]


@bare_inlined
def class_of(importance: float) -> Whole:
    """The class of importance: 1 below 1/16, then one for each factor of 4, 7 from 64 on."""
    return np.int64(min(max(0.5 * math.log2(max(importance, LEAST_IMPORTANCE)) + 4.0, 1.0), CLASSES - 1.0))


@bare_inlined
def set_class(t: RefreshTables, page: Whole, importance: float) -> None:
    """Notes the class of a page's importance in its record."""
    record = t.records[page]
    others = np.int64(record["flags"]) & ~((CLASSES - 1) * CLASS_BIT)
    record["flags"] = np.uint8(others | (class_of(importance) * CLASS_BIT))


@bare_inlined
def factor_of(t: RefreshTables, page: Whole) -> float:
    """The factor of the prior mean by the class of the page's importance."""
    return float(t.factors[(np.int64(t.records[page]["flags"]) // CLASS_BIT) & (CLASSES - 1)])


@bare_inlined
def mean_of_page(t: RefreshTables, page: Whole, host: Whole) -> float:
    """m: the mean of the prior, by the host and by the class of importance."""
    return mean_of_host(t, host) * factor_of(t, page)


@bare_inlined
def belief_of(t: RefreshTables, page: Whole, host: Whole) -> tuple[float, float]:
    """S and B of a page's belief Gamma(S, B)."""
    k = t.facts[SHAPE]
    record = t.records[page]
    return k + record["s"] * UNIT, k / mean_of_page(t, page, host) + record["b"]


@bare_inlined
def cost_of(t: RefreshTables, page: Whole) -> float:
    """The expected cost of a read: bytes, or 1 if the budget counts pages."""
    return math.exp2(t.records[page]["cost"] / COST_STEPS) if t.facts[BY_BYTES] != 0.0 else 1.0


@bare_inlined
def scale_of(t: RefreshTables, importance: float, cost: float) -> float:
    """The factor of the index: x/cost, or 1 for the uniform rule."""
    if t.facts[RULE] == UNIFORM:
        return 1.0
    return (importance if importance > LEAST_IMPORTANCE else LEAST_IMPORTANCE) / cost


@bare_inlined
def read_time(t: RefreshTables, page: Whole) -> float:
    """Time at which the page was last read."""
    return float(t.records[page]["read"]) / TICKS


@bare_inlined
def index_of(t: RefreshTables, shape: float, rate: float, scale: float, age: float) -> float:
    """The worth of a read at this age."""
    shape *= TRUST
    rate *= TRUST
    return scale * rate * index_ratio(t.facts[RULE], t.facts[ALPHA], t.facts[BETA], shape, max(age, 0.0) / rate)


@bare_part
def due_age(t: RefreshTables, shape: float, rate: float, scale: float, threshold: float) -> float:
    """The age at which the worth reaches the threshold, but at least the least interval; infinity if never."""
    if math.isinf(threshold):
        return math.inf
    shape *= TRUST
    rate *= TRUST
    y = threshold / (scale * rate)
    guess = guess_ratio(t.curves, row_of(shape), y)
    u = age_ratio(t.facts[RULE], t.facts[ALPHA], t.facts[BETA], shape, y, LONGEST / rate, guess)
    return float(max(rate * u, t.facts[LEAST_INTERVAL]))


@bare_inlined
def probe_age(t: RefreshTables, page: Whole, importance: float) -> float:
    """The age at which the page is probed if it is not due before: an exponential variable of mean ν/sqrt(x), from a
    number that page and last read draw.
    """
    drawn = (np.int64(page) * 48_271 + np.int64(t.records[page]["read"]) * 69_621 + 12_345) % PRIME
    drawn = drawn * 48_271 % PRIME
    mean = t.facts[PROBING] / math.sqrt(max(importance, LEAST_IMPORTANCE))
    return -mean * math.log((drawn + 0.5) / PRIME)


@bare_inlined
def next_age(
    t: RefreshTables, page: Whole, shape: float, rate: float, importance: float, cost: float, threshold: float
) -> float:
    """The age at which the page is due, by its worth or for a probe."""
    age = due_age(t, shape, rate, scale_of(t, importance, cost), threshold)
    if t.facts[RULE] != OPTIMAL or t.facts[PROBING] == 0.0 or math.isinf(threshold):
        return age
    return min(age, max(probe_age(t, page, importance), t.facts[LEAST_INTERVAL]))


@bare_part
def tally(
    t: RefreshTables, kept: Whole, shape: float, rate: float, importance: float, cost: float, sign: float
) -> None:
    """Adds the page to one of the two rows of sums or, with sign -1, subtracts it."""
    scale = scale_of(t, importance, cost)
    known = importance if importance > LEAST_IMPORTANCE else LEAST_IMPORTANCE
    add_demand(
        t.demand[kept], t.curves, row_of(TRUST * shape), TRUST * rate, scale, cost, t.facts[LEAST_INTERVAL], sign
    )
    t.sums[kept, ROOTS] += sign * math.sqrt(known * shape / rate)
    t.sums[kept, COSTS] += sign * cost
