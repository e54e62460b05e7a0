"""The belief about a page's change rate: the posterior on a grid of rates, and the gamma that represents it.

    λ_j = m·2^((j - CENTRE)/2)                      the grid, around the usual rate m of the page's host and importance
    p_j ∝ w_j · (1 - e^(-λ_j c))^n · e^(-λ_j v)     w: the prior, learned from all pages (`pooling.py`)

The grid reaches ten octaves down and 26 up, from the lowest usual rate (`pooling.py`) to several changes per second:
the end of the grid must not decide the estimate of a fast page, and no crawl reads pages more often. The points
that quiet time excludes are not computed, so the long grid costs little.

The rest of the book needs a distribution of two numbers, because it needs the demand of all pages under all thresholds
(`demand.py`): Gamma(S, B), with F(a) = (B/(B+a))^S the probability that a copy of age a is fresh. No gamma is like the
posterior at all ages: one with the same moments lost 3 points of freshness (`docs/decisions`). But only ages near the
one at which the page is due count. So the gamma is the one with the posterior's probability that the copy is fresh at
that age a, and its mean freshness until then:

    F = Σ p_j e^(-λ_j a),   e = Σ p_j (1 - e^(-λ_j a)) / (λ_j a)

    with F = e^(-L) and q = L/S:   e = h(q - L)/h(q),   h(x) = (e^x - 1)/x,   which falls from (1 - e^(-L))/L at q = 0
                                                                               to F: every posterior has its gamma
    S = L/q,   B = a/(e^q - 1)

A copy that is not read for long may belong to a page that has changed its habits since. If the prior says that such a
copy is fresher than the posterior does, it counts with the probability 1 - e^(-ra), r by `doubt.py`: so a page that was
found to change too fast is read again when it is old, and a page that has stopped changing is detected.

The due age under the threshold of the last pass follows from the gamma, and the gamma from the age, in a few rounds.
If the mean rate decides (the paper's rule, or a weight of age), the gamma has the mean of the posterior and its F at
the age 1/mean.
"""

import math

import numpy as np
import numpy.typing as npt

from centime.model.kernel import bare_inlined, bare_part
from centime.refresh.tables import DOUBTING, GRID_POINTS, RefreshTables

CENTRE = 20  # changing it, unlike adding points above, makes older snapshots unreadable
ROOT = math.sqrt(2.0)
LEAST_SHAPE, MOST_SHAPE = 2.0**-6.5, 1000.0
_NEGLIGIBLE = -20.0
_BEYOND = 60.0
_TINY = 1e-4
OLD, NEW = 0, 1
_STEPS = 8
_HALVINGS = 30
_CLOSE = 0.1
_MOST_LOST = 50.0
_HALF_OCTAVE = 0.5 * math.log(2.0)
LOWEST_LOG, LOG_STEPS, LOG_COUNT = -64, 8, 888
_LAST_LOG = LOG_COUNT - 2.0 - (GRID_POINTS - 1) * (LOG_STEPS // 2)
LOWEST_AGE, AGE_STEPS, AGE_COUNT = -40, 8, 480


def logs_of_change() -> npt.NDArray[np.float64]:
    """log(1 - e^(-x)) at x = 2^(LOWEST_LOG + i/LOG_STEPS), the last ones 0."""
    return np.log(-np.expm1(-np.exp2(np.minimum(LOWEST_LOG + np.arange(LOG_COUNT) / LOG_STEPS, 9.0))))


def ratios() -> npt.NDArray[np.float64]:
    """The rates of the grid over m."""
    return np.exp2((np.arange(GRID_POINTS) - CENTRE) / 2.0)


def fresh_curves(weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """F, e and -a·F' of the prior, at m·a = 2^(LOWEST_AGE + i/AGE_STEPS)."""
    x = np.exp2(LOWEST_AGE + np.arange(AGE_COUNT) / AGE_STEPS)[:, None] * ratios()[None, :]
    kept = np.exp(-x)
    return np.stack([kept @ weights, (-np.expm1(-x) / x) @ weights, (kept * x) @ weights])


@bare_inlined
def _end_of(n: float, quiet: float) -> int:
    """The number of points that evidence allows: those above have less than e^(-_BEYOND + 1) of the likelihood of the
    best one, however much the prior prefers them. Most pages were quiet for so long that this halves the work.
    """
    if not quiet > 0.0:
        return GRID_POINTS
    return int(min(max(CENTRE + 2.0 * math.log2((4.0 * n + _BEYOND) / quiet) + 1.0, 1.0), float(GRID_POINTS)))


@bare_part
def weigh(t: RefreshTables, n: float, c: float, v: float, m: float) -> None:
    """Writes the posterior into `scratch`, and the points between which it lies into `window`."""
    p, quiet = t.scratch, m * v
    end = _end_of(n, quiet)
    for j in range(end):
        p[j] = t.log_weights[j] - quiet * t.ratios[j]
    for j in range(end, GRID_POINTS):
        p[j] = 0.0
    if n > 0.0 and c > 0.0:
        at = min(max((math.log2(m * c) - 0.5 * CENTRE - LOWEST_LOG) * LOG_STEPS, 0.0), _LAST_LOG)
        i = int(at)
        above = n * (at - i)
        below = n - above
        for j in range(end):
            k = i + j * (LOG_STEPS // 2)
            p[j] += below * t.logs[k] + above * t.logs[k + 1]
    elif n > 0.0:
        for j in range(end):
            p[j] += n * _HALF_OCTAVE * j
    top = p[0]
    for j in range(1, end):
        top = max(top, p[j])
    least = top + _NEGLIGIBLE
    first, last = 0, end - 1
    while p[first] < least:
        p[first] = 0.0
        first += 1
    while p[last] < least:
        p[last] = 0.0
        last -= 1
    total = 0.0
    for j in range(first, last + 1):
        p[j] = math.exp(p[j] - top)
        total += p[j]
    part = 1.0 / total
    for j in range(first, last + 1):
        p[j] *= part
    t.window[0], t.window[1] = first, last + 1


@bare_inlined
def mean_octaves(t: RefreshTables) -> float:
    """E log2(λ/m) of the posterior in `scratch`."""
    total = 0.0
    for j in range(t.window[0], t.window[1]):
        total += t.scratch[j] * (j - CENTRE)
    return 0.5 * total


@bare_inlined
def learned_octaves(t: RefreshTables, v: float, m: float) -> float:
    """E log2(λ/m), but not below the least rate that evidence can support: a page seen unchanged for v seconds is as
    slow as 1/(4v), or slower. Without this bound the usual rate of pages that never change would fall without end.
    """
    octaves = mean_octaves(t)
    return max(octaves, -2.0 - math.log2(v * m)) if v >= 1e-3 else octaves


@bare_inlined
def mean_ratio(t: RefreshTables) -> float:
    """E λ/m of the posterior in `scratch`."""
    total = 0.0
    for j in range(t.window[0], t.window[1]):
        total += t.scratch[j] * t.ratios[j]
    return total


@bare_inlined
def quantile_octaves(t: RefreshTables, share: float) -> float:
    """log2(λ/m) below which this share of the posterior in `scratch` lies; each point stands for half an octave."""
    below = 0.0
    for j in range(t.window[0], t.window[1]):
        if below + t.scratch[j] >= share:
            return float(0.5 * (j - CENTRE - 0.5 + (share - below) / t.scratch[j]))
        below += t.scratch[j]
    return float(0.5 * (t.window[1] - CENTRE - 0.5))


@bare_part
def fresh_shares(t: RefreshTables, m: float, age: float) -> tuple[float, float, float]:
    """F and e: the probability that a copy of this age is fresh, and its mean freshness until then; and -a·F'(a)."""
    first, last = t.window[0], t.window[1]
    x = m * t.ratios[first] * age
    one, other = math.exp(-x), math.exp(-x * ROOT)
    fresh, mean, falling = 0.0, 0.0, 0.0
    for j in range(first, last):
        part = t.scratch[j] * one
        fresh += part
        falling += part * x
        mean += (t.scratch[j] - part) / x if x > _TINY else t.scratch[j] * (1.0 - 0.5 * x)
        one, other = other, one * one
        x *= ROOT
    at = (math.log2(max(m * age, 1e-30)) - LOWEST_AGE) * AGE_STEPS
    at = min(max(at, 0.0), AGE_COUNT - 1.001)
    i = int(at)
    right = at - i
    prior_fresh = t.prior[0, i] + right * (t.prior[0, i + 1] - t.prior[0, i])
    if prior_fresh > fresh:
        doubt = -math.expm1(-age * t.facts[DOUBTING])
        fresh += doubt * (prior_fresh - fresh)
        mean += doubt * (t.prior[1, i] + right * (t.prior[1, i + 1] - t.prior[1, i]) - mean)
        falling += doubt * (t.prior[2, i] + right * (t.prior[2, i + 1] - t.prior[2, i]) - falling)
    return fresh, mean, falling


@bare_part
def explain(t: RefreshTables, m: float, interval: float, since: float) -> None:
    """Writes the probability (or density) of the result of a read, by the posterior in `scratch` (OLD) and by the prior
    (NEW) into `explained`, each with the mean of λ/m and of its square after it.

    `since` is infinite for a quiet interval, negative for a change at an unknown time.
    """
    seen = interval if since < 0.0 or math.isinf(since) else since
    ratio = ROOT**-CENTRE
    even, odd = math.exp(-m * ratio * seen), math.exp(-m * ratio * ROOT * seen)
    t.explained[:] = 0.0
    for j in range(GRID_POINTS):
        kept = even if j & 1 == 0 else odd
        if since >= 0.0 and kept == 0.0:
            break
        if since < 0.0:
            kept = 1.0 - kept
        elif not math.isinf(since):
            kept *= m * ratio
        old, new = t.scratch[j] * kept, t.weights[j] * kept
        t.explained[OLD, 0] += old
        t.explained[OLD, 1] += old * ratio
        t.explained[OLD, 2] += old * ratio * ratio
        t.explained[NEW, 0] += new
        t.explained[NEW, 1] += new * ratio
        t.explained[NEW, 2] += new * ratio * ratio
        if j & 1 == 0:
            even *= even
        else:
            odd *= odd
        ratio *= ROOT
    for row in range(2):
        for power in range(1, 3):
            t.explained[row, power] /= max(t.explained[row, 0], 1e-300)


@bare_part
def matching_gamma(fresh: float, mean: float, age: float) -> tuple[float, float]:
    """S and B of the gamma with this F and e at an age."""
    if not fresh < 1.0 - _TINY:  # the copy is so young that the mean rate alone counts
        return 1.0, age / max(2.0 * (1.0 - mean), 1e-15)
    lost = min(-math.log(max(fresh, 1e-300)), _MOST_LOST)
    kept = math.exp(-lost)
    # the guess: the odds of where e lies between F and its largest value are nearly proportional to S
    most = (1.0 - kept) / lost
    here, one = (mean - kept) / (most - kept), (lost / math.expm1(lost) - kept) / (most - kept)
    shape = MOST_SHAPE
    if here < 1.0 - 1e-6:
        shape = max(here, 1e-9) / (1.0 - here) * (1.0 - one) / max(one, 1e-12)
    shape = min(max(shape, LEAST_SHAPE), MOST_SHAPE)
    for _ in range(_STEPS):
        q = lost / shape
        if q > 500.0 or q < 1e-3:
            break
        x = q - lost
        if abs(x) < 1e-3:
            x = 1e-3
        grown, beyond = math.expm1(x), math.expm1(q)
        value = math.log(grown / x * q / (beyond * mean))
        slope = q * (1.0 / grown - 1.0 / x - 1.0 / beyond + 1.0 / q)  # by log q
        step = min(max(value / slope, -1.0), 1.0) if slope < 0.0 else 0.0
        shape = min(max(shape * math.exp(step), LEAST_SHAPE), MOST_SHAPE)
        if abs(step) < _CLOSE:
            break
    return shape, age / math.expm1(min(lost / shape, 600.0))


@bare_part
def mean_gamma(t: RefreshTables, m: float) -> tuple[float, float]:
    """S and B of the gamma with the mean of the posterior and its F at the age 1/mean."""
    mean = m * mean_ratio(t)
    fresh = fresh_shares(t, m, 1.0 / mean)[0]
    low, high = LEAST_SHAPE, MOST_SHAPE
    for _ in range(_HALVINGS):
        shape = math.sqrt(low * high)
        if math.exp(-shape * math.log1p(1.0 / shape)) > fresh:
            low = shape
        else:
            high = shape
    shape = math.sqrt(low * high)
    return shape, shape / mean
