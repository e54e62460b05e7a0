"""One page of the refresh book, inside kernels: its belief, its index, its due age, and its part in the sums.

`belief_of` returns the belief itself. The index, the due age and the demand use the belief of decisions: the rate of
deaths (`learning/mortality.py`) is added to the mean, because a page that is gone is a stale copy too.

A test is a read of a page that is given up, at an age that shows whether it is too fast (`learning/information.py`). A
probe is a read of a page that is not due. Its age is drawn from an exponential distribution, so that probes come at
all ages, from the first day on, and no page is never read: its mean is PROBING/sqrt(x), with PROBING such that all
probes together take their share of the budget (`sweep.py`).
"""

import math

import numpy as np

from centime.model.kernel import Whole, bare_inlined, bare_part
from centime.refresh.curves import guess_ratio, row_of
from centime.refresh.demand import add_demand
from centime.refresh.learning.evidence import UNIT, stored_interval
from centime.refresh.learning.information import AGE, HORIZON, STALE, gain_of_test
from centime.refresh.learning.posterior import fresh_shares, matching_gamma, mean_gamma, mean_octaves, weigh
from centime.refresh.tables import (
    ALPHA,
    BETA,
    BY_BYTES,
    CLASS_BIT,
    CLASSES,
    COST_STEPS,
    COSTS,
    DEATHS,
    LEAST_INTERVAL,
    LEVEL,
    MEAN,
    PROBING,
    ROOTS,
    RULE,
    TICKS,
    RefreshTables,
)
from centime.refresh.worth import LONGEST, OPTIMAL, UNIFORM, age_ratio, index_ratio

LEAST_IMPORTANCE = 1e-30
PRIME = 2_147_483_647
_SURELY_STALE = 2.5  # changes expected
_ROUNDS = 6
_NEAR = 0.2
_FARTHEST = 2.0  # octaves of e, in one round


@bare_inlined
def mean_of_host(t: RefreshTables, host: Whole) -> float:
    """The usual rate of the host, or of all pages if the host has none."""
    mean = float(t.means[host]) if 0 <= host < t.means.size else 0.0
    return mean if mean > 0.0 else t.facts[MEAN]


@bare_inlined
def class_of(importance: float) -> Whole:
    """The class of importance: 1 below 1/256, then one for each factor of 2."""
    return np.int64(min(max(math.log2(max(importance, LEAST_IMPORTANCE)) + 9.5, 1.0), CLASSES - 1.0))


@bare_inlined
def set_class(t: RefreshTables, page: Whole, importance: float) -> None:
    """Notes the class of a page's importance in its record."""
    record = t.records[page]
    others = np.int64(record["flags"]) & ~((CLASSES - 1) * CLASS_BIT)
    record["flags"] = np.uint8(others | (class_of(importance) * CLASS_BIT))


@bare_inlined
def factor_of(t: RefreshTables, page: Whole) -> float:
    """The factor of the usual rate by the class of the page's importance."""
    return float(t.factors[class_of_page(t, page)])


@bare_inlined
def class_of_page(t: RefreshTables, page: Whole) -> Whole:
    """The class of a page's importance, from its record."""
    return (np.int64(t.records[page]["flags"]) // CLASS_BIT) & (CLASSES - 1)


@bare_inlined
def has_evidence(t: RefreshTables, page: Whole) -> bool:
    """Whether there is evidence about the changes of a page."""
    return bool(t.records[page]["b"] > 0.0 or t.records[page]["s"] > 0)


@bare_inlined
def mean_of_page(t: RefreshTables, page: Whole, host: Whole) -> float:
    """m: the usual rate, by the host and by the class of importance."""
    return mean_of_host(t, host) * factor_of(t, page)


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
    """The worth of a read at this age, by the belief of decisions."""
    return scale * rate * index_ratio(t.facts[RULE], t.facts[ALPHA], t.facts[BETA], shape, max(age, 0.0) / rate)


@bare_part
def due_age(t: RefreshTables, shape: float, rate: float, scale: float, threshold: float) -> float:
    """The age at which the worth reaches the threshold, but at least the least interval; infinity if never."""
    if math.isinf(threshold):
        return math.inf
    y = threshold / (scale * rate)
    guess = guess_ratio(t.curves, row_of(shape), y)
    u = age_ratio(t.facts[RULE], t.facts[ALPHA], t.facts[BETA], shape, y, LONGEST / rate, guess)
    return float(max(rate * u, t.facts[LEAST_INTERVAL]))


@bare_inlined
def weigh_page(t: RefreshTables, page: Whole, m: float) -> None:
    """Writes the posterior of a page into `scratch`."""
    record = t.records[page]
    weigh(t, record["s"] * UNIT, stored_interval(record["b"]), float(record["b"]), m)


@bare_part
def belief_of(t: RefreshTables, page: Whole, host: Whole, importance: float, cost: float) -> tuple[float, float]:
    """S and B of a page's belief Gamma(S, B), exact near the age at which the page is due."""
    m = mean_of_page(t, page, host)
    weigh_page(t, page, m)
    return gamma_of(t, m, scale_of(t, importance, cost))


@bare_part
def gamma_of(t: RefreshTables, m: float, scale: float) -> tuple[float, float]:
    """S and B of the gamma that represents the posterior in `scratch`."""
    wanted = t.facts[LEVEL] / (scale * t.facts[BETA]) if t.facts[BETA] > 0.0 else math.inf
    if t.facts[RULE] != OPTIMAL or t.facts[ALPHA] > 0.0 or not 0.0 < wanted < math.inf:
        return mean_gamma(t, m)
    usual = m * math.exp2(mean_octaves(t))
    age = _SURELY_STALE / usual
    if wanted * usual < 0.5:
        age = math.sqrt(2.0 * wanted / usual)
    age = min(age, LONGEST)
    fresh, mean, falling = fresh_shares(t, m, age)
    for _ in range(_ROUNDS):
        # Newton's method for the logarithm of I = a·(e - F) in that of a
        steepness = falling / (mean - fresh) if mean > fresh else 2.0
        step = math.log(wanted / max(age * (mean - fresh), 1e-300)) / max(steepness, 1e-3)
        if abs(step) < _NEAR:
            break
        age = min(age * math.exp(min(max(step, -_FARTHEST), _FARTHEST)), LONGEST)
        fresh, mean, falling = fresh_shares(t, m, age)
        if age == LONGEST:
            break
    return matching_gamma(fresh, mean, age)


@bare_inlined
def drawn_number(t: RefreshTables, page: Whole, step: Whole) -> Whole:
    """A pseudo-random number below 2^31 that follows from the page and its last read; another one for another step."""
    drawn = (np.int64(page) * 48_271 + np.int64(t.records[page]["read"]) * 69_621 + step) % PRIME
    return drawn * 48_271 % PRIME * 69_621 % PRIME


@bare_inlined
def with_deaths(t: RefreshTables, shape: float, rate: float) -> tuple[float, float]:
    """The belief of decisions: a page that is gone is a stale copy too, so the rate of deaths is added to the mean."""
    if t.facts[RULE] == OPTIMAL and t.facts[DEATHS] > 0.0:
        return shape, shape / (shape / rate + t.facts[DEATHS])
    return shape, rate


@bare_inlined
def probe_age(t: RefreshTables, page: Whole, importance: float) -> float:
    """The age at which the page is probed if it is not due before: an exponential variable of mean
    PROBING/sqrt(x), from a number that follows from the page and its last read.
    """
    mean = float(t.facts[PROBING]) / math.sqrt(max(importance, LEAST_IMPORTANCE))
    return -mean * math.log((drawn_number(t, page, 0) + 0.5) / PRIME)


@bare_part
def age_of_test(
    t: RefreshTables, m: float, shape: float, rate: float, scale: float, threshold: float, age: float
) -> float:
    """The age at which to test the page whose posterior is in `scratch` and which is due at `age`; infinity if a test
    does not pay.
    """
    if t.facts[ALPHA] > 0.0 or not t.facts[BETA] > 0.0 or not threshold > 0.0:
        return math.inf
    if age < LONGEST and math.exp(-shape * math.log1p(age / rate)) > STALE:
        return math.inf
    w = float(threshold / (scale * t.facts[BETA]))
    if HORIZON * gain_of_test(t, m, w) <= w:
        return math.inf
    return AGE * w


@bare_part
def sooner(
    t: RefreshTables,
    page: Whole,
    m: float,
    shape: float,
    rate: float,
    importance: float,
    cost: float,
    threshold: float,
    age: float,
) -> float:
    """The age at which a page that is due at an age by its worth is read next: sooner for a test or a probe. Its
    posterior is in `scratch`.
    """
    if t.facts[RULE] != OPTIMAL or t.facts[PROBING] == 0.0 or math.isinf(threshold):
        return age
    early = min(
        probe_age(t, page, importance), age_of_test(t, m, shape, rate, scale_of(t, importance, cost), threshold, age)
    )
    return min(age, max(early, float(t.facts[LEAST_INTERVAL])))


@bare_inlined
def next_age(
    t: RefreshTables,
    page: Whole,
    host: Whole,
    shape: float,
    rate: float,
    importance: float,
    cost: float,
    threshold: float,
) -> float:
    """The age at which the page is due: by its worth, for a test or for a probe. Its posterior is in `scratch`."""
    decided = with_deaths(t, shape, rate)
    age = due_age(t, decided[0], decided[1], scale_of(t, importance, cost), threshold)
    m = mean_of_page(t, page, host)
    return sooner(t, page, m, decided[0], decided[1], importance, cost, threshold, age)


@bare_part
def tally(
    t: RefreshTables, page: Whole, kept: Whole, shape: float, rate: float, importance: float, cost: float, sign: float
) -> None:
    """Adds the page to one of the two rows of sums or, with sign -1, subtracts it."""
    scale = scale_of(t, importance, cost)
    decided = with_deaths(t, shape, rate)
    known = importance if importance > LEAST_IMPORTANCE else LEAST_IMPORTANCE
    add_demand(t.demand[kept], t.curves, row_of(decided[0]), decided[1], scale, cost, t.facts[LEAST_INTERVAL], sign)
    t.sums[kept, ROOTS] += sign * math.sqrt(known * shape / rate)
    t.sums[kept, COSTS] += sign * cost
