"""Change rates from complete lists of observations: the estimators of Section 6.1 of the Xyleme paper, as printed and
corrected.

A page changes by a Poisson process of rate lambda and is read at irregular times. An interval between two reads is
quiet (v) or changed (c); for a changed one, a reliable date may show the time l from the last change to the read. The
observations have the likelihood

    L(lambda) = exp(-lambda · sum v) · product (1 - exp(-lambda c)) · product lambda exp(-lambda l)

where a changed interval counts by its l if that is known and by its c if not. There are four estimators:

    likeliest_rate        the maximum of L. The paper's Eq. 9 has a SUM instead of the product of (1 - exp(-lambda c));
    printed_rate          the maximum of Eq. 9 with the sum, as printed. It hardly depends on the number of changes: C
                          changes count about as much as one, so it is far too low when there are many;
    dated_rate            changes / (sum l + sum v), the maximum of L if every change is dated;
    printed_dated_rate    Eq. 10 as printed, changes / sum l. It omits the quiet intervals, so it is too high, most of
                          all for slow pages.

Without a change all four are 0. With changes and no quiet time, the first two have no finite maximum and are infinite;
dated rates are infinite only if every change was seen at the moment it happened. `finite_rate` is the maximum of L with
half a quiet interval of the mean length added: for regular intervals T this is -log(1 - C/(N + 0.5)) / T, the form of
Cho and Garcia-Molina, which has far less bias and is never infinite.

The score of L, sum c/(exp(lambda c) - 1) + D/lambda - (sum l + sum v), falls and is convex in lambda. Because
1/lambda - c/2 <= c/(exp(lambda c) - 1) <= 1/lambda, its zero lies between (C + D)/(sum l + sum v + sum c/2) and
(C + D)/(sum l + sum v). Newton's steps from the left end never pass the zero, so they need no bracket.

These estimators need all observations; `belief.py` does the same with two numbers per page. They serve the
lab, the detection of rhythms (`rhythm.py`), and the tests as a reference.
"""

import math

import numpy as np
import numpy.typing as npt

from centime.model.kernel import inlined, kernel

Vector = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

STEPS = 2000  # far more than the zero of a score needs: one per unit of lambda · c at worst, and exp(-750) is 0
NEAR = 4e-16  # a step smaller than this share of the rate is rounding


@inlined
def _excess(rate: float, interval: float) -> float:
    """The term of a changed interval in the score, c / (exp(lambda c) - 1)."""
    return interval / math.expm1(min(rate * interval, 700.0))


@kernel
def likeliest_rate(quiet: float, changed: Vector, dated: int = 0) -> float:
    """The rate of largest likelihood. `quiet`: total quiet time, with the l of dated changes; `changed`: changed
    intervals without a date; `dated`: number of dated changes.
    """
    count = len(changed) + dated
    if count == 0:
        return 0.0
    if quiet <= 0.0:
        return math.inf
    rate = float(count / (quiet + changed.sum() / 2.0))
    for _ in range(STEPS):
        score, slope = dated / rate - quiet, dated / (rate * rate)
        for interval in changed:
            excess = _excess(rate, interval)
            score += excess
            slope += excess * (excess + interval)
        step = score / slope
        rate += step
        if step <= NEAR * rate:
            break
    return rate


@kernel
def finite_rate(quiet: float, changed: Vector, intervals: int) -> float:
    """The rate of largest likelihood with half a quiet interval added, of the mean length of `intervals` intervals;
    always finite.
    """
    if intervals == 0:
        return 0.0
    return likeliest_rate(quiet + (quiet + changed.sum()) / intervals / 2.0, changed, 0)


@kernel
def printed_rate(quiet: float, changed: Vector) -> float:
    """The maximum of Eq. 9 as printed in the paper, with the sum over changed intervals."""
    if len(changed) == 0:
        return 0.0
    if quiet <= 0.0:
        return math.inf
    # the bounds of a single changed interval: the longest one, and one of length 0
    low, high = float(1.0 / (quiet + changed.max() / 2.0)), 1.0 / quiet
    rate = low
    for _ in range(STEPS):
        gain, bend, reached = 0.0, 0.0, 0.0
        for interval in changed:
            kept = interval * math.exp(-rate * interval)
            gain += kept
            bend += interval * kept
            reached -= math.expm1(-rate * interval)
        score = gain / reached - quiet
        if score > 0.0:
            low = max(low, rate)
        else:
            high = min(high, rate)
        slope = bend / reached + (gain / reached) ** 2
        # far beyond every changed interval the slope underflows to 0
        further = rate + score / slope if slope > 0.0 else high
        if not low < further < high:
            further = (low + high) / 2.0
        if abs(further - rate) <= NEAR * rate:
            break
        rate = further
    return rate


@kernel
def dated_rate(quiet: float, since: Vector) -> float:
    """Changes per quiet time, which is all quiet intervals and the time since the last change of each changed one."""
    return _ratio(len(since), since.sum() + quiet)


@kernel
def printed_dated_rate(since: Vector) -> float:
    """Eq. 10 as printed in the paper: the quiet intervals do not count."""
    return _ratio(len(since), since.sum())


@inlined
def _ratio(changes: int, time: float) -> float:
    if changes == 0:
        return 0.0
    return changes / time if time > 0.0 else math.inf


@kernel
def log_likelihood(rate: float, quiet: float, changed: Vector, dated: int = 0) -> float:
    """The logarithm of the likelihood of a rate (arguments as of `likeliest_rate`); its limit at 0 and infinity."""
    if rate <= 0.0:
        return 0.0 if len(changed) + dated == 0 else -math.inf
    if rate == math.inf:
        return 0.0 if quiet <= 0.0 and dated == 0 else -math.inf
    total = -rate * quiet + dated * math.log(rate)
    for interval in changed:
        total += math.log(-math.expm1(-rate * interval))
    return total


@kernel
def write_rates(
    intervals: npt.NDArray[np.float64], changed: npt.NDArray[np.bool_], since: npt.NDArray[np.float64], rates: Vector
) -> None:
    """Writes the five estimates of each page (row), in the order of ESTIMATORS; `since` counts where `changed`."""
    seen, ages = np.empty(intervals.shape[1]), np.empty(intervals.shape[1])
    for page in range(len(intervals)):
        count, quiet = 0, 0.0
        for place in range(intervals.shape[1]):
            if changed[page, place]:
                seen[count] = intervals[page, place]
                ages[count] = since[page, place]
                count += 1
            else:
                quiet += intervals[page, place]
        rates[page, 0] = printed_rate(quiet, seen[:count])
        rates[page, 1] = likeliest_rate(quiet, seen[:count], 0)
        rates[page, 2] = finite_rate(quiet, seen[:count], intervals.shape[1])
        rates[page, 3] = printed_dated_rate(ages[:count])
        rates[page, 4] = dated_rate(quiet, ages[:count])


ESTIMATORS = ("Eq. 9 printed", "Eq. 9 product", "Eq. 9 product, finite", "Eq. 10 printed", "Eq. 10 corrected")


def estimates(
    intervals: npt.NDArray[np.float64], changed: npt.NDArray[np.bool_], since: npt.NDArray[np.float64]
) -> dict[str, Vector]:
    """The rates of pages (rows) from their intervals (columns) by each estimator; `since` counts where `changed`."""
    rates = np.empty((len(intervals), len(ESTIMATORS)))
    write_rates(intervals, changed, since, rates)
    return {name: rates[:, column].copy() for column, name in enumerate(ESTIMATORS)}
