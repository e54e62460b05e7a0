"""Pooled priors: the belief about a page without evidence, from its host and from all pages.

The rates of a host's pages are modelled as draws from Gamma(k, k/m). Each pass over all pages makes one step of
expectation maximisation:

    λ̂_i = S_i/B_i    the mean of each page's posterior, of pages with evidence only
    m    = mean of all λ̂
    m_h  : log m_h = (n_h·log(Σ_h λ̂ / n_h) + STRENGTH·log m) / (n_h + STRENGTH)    a host of few pages is near m
    k    : log k - ψ(k) = mean of (E λ_i/m_h - 1 + log m_h - E log λ_i)    one shape for all hosts

(The equation of k holds also while the means are still wrong.) Hosts differ by factors, so their logarithms are pooled:
the fastest host does not move a thousand quiet pages. A step moves only as far as the evidence outweighs the prior:
three-fold, when the first prior may be wrong a thousand-fold. So if a pass moves the priors by a tenth or more, further
steps follow at once on a sample of pages, for one factor f on all means:

    λ̂_i = (k + s_i) / (k/(f·m_h) + b_i),    f' = mean of λ̂_i/m_h

(k stays as it is: one observation per page says nothing about the shape, and a shape that is too large would suppress
later evidence.)

The result takes effect when the next pass begins, so that the sums of a pass belong to one prior. Repeated steps
converge to the prior of largest likelihood. The shape has bounds: a larger one would suppress the evidence. It may be
small: three live pages among three hundred that never change have 0.03, and with 0.2 their rates were estimated at half
of the true ones.
"""

import math

import numpy as np
import numpy.typing as npt

from centime.model.kernel import bare_kernel
from centime.refresh.learning.belief import UNIT
from centime.refresh.learning.gamma import shape_of_spread
from centime.refresh.tables import (
    CLASS_BIT,
    CLASSES,
    FAR,
    MEAN,
    MOVED,
    NEXT_MEAN,
    NEXT_SHAPE,
    RATED,
    RATES,
    SHAPE,
    SPREAD,
    SPREAD_COUNT,
    RefreshTables,
)

Floats = npt.NDArray[np.float64]
Pages = npt.NDArray[np.int64]

FIRST_SHAPE = 0.5
STRENGTH = 4.0
CLASS_STRENGTH = 16.0
LEAST_SHAPE, MOST_SHAPE = 0.02, 10.0
LEAST_MEAN, MOST_MEAN = 1e-12, 10.0
SAMPLE = 1024
_STEPS = 64  # at most, on the sample: less than a millisecond
_NOTABLE = 0.1
_FAR = 0.7  # two-fold
_SETTLED = 0.01
_FEWEST = 20  # pages with evidence, for an estimate of the shape


def begin_pooling(t: RefreshTables) -> None:
    """Puts the priors that the last pass found into effect and clears the sums for the next pass."""
    t.facts[SHAPE], t.facts[MEAN] = t.facts[NEXT_SHAPE], t.facts[NEXT_MEAN]
    t.means[:] = _next_means(t)
    t.factors[:] = _next_factors(t)
    t.host_rates[:] = 0.0
    t.host_pages[:] = 0
    t.class_rates[:] = 0.0
    t.class_pages[:] = 0.0
    t.pooled[:] = 0.0
    t.counts[MOVED] = 0


def _next_means(t: RefreshTables) -> Floats:
    """The means of hosts as the last pass found them; 0 for hosts without evidence."""
    counted = t.host_pages
    own = np.log(np.clip(t.host_rates / np.maximum(counted, 1), LEAST_MEAN, MOST_MEAN))
    means = np.exp((counted * own + STRENGTH * math.log(t.facts[NEXT_MEAN])) / (counted + STRENGTH))
    return np.where(counted > 0, means, 0.0)


def _next_factors(t: RefreshTables) -> Floats:
    """The factors of classes of importance as the last pass found them.

    Their logarithms are drawn towards a line through all of them, weighted by their pages, so that a class of few pages
    has the trend of the others. The mean logarithm of all pages is 0, because hosts have the mean itself.
    """
    counted = t.class_pages
    whole = float(counted.sum())
    if whole == 0.0:
        return t.factors.copy()
    own = np.log(np.clip(t.class_rates / np.maximum(counted, 1.0), 1e-6, 1e6))
    place = np.arange(CLASSES) - float((counted * np.arange(CLASSES)).sum()) / whole
    level = float((counted * own).sum()) / whole
    slope = float((counted * place * own).sum()) / (float((counted * place * place).sum()) + STRENGTH)
    line = level + slope * place
    logs = (counted * own + CLASS_STRENGTH * line) / (counted + CLASS_STRENGTH)
    factors = np.exp(logs - float((counted * logs).sum()) / whole)
    factors[0] = 1.0
    return np.asarray(factors)


def end_pooling(t: RefreshTables) -> None:
    """Finds the next mean and shape of all pages from the sums of a pass."""
    if t.pooled[RATED] == 0:
        return
    mean = min(max(t.pooled[RATES] / t.pooled[RATED], LEAST_MEAN), MOST_MEAN)
    shape = float(t.facts[SHAPE])
    if t.pooled[SPREAD_COUNT] >= _FEWEST:
        shape = shape_of_spread(t.pooled[SPREAD] / t.pooled[SPREAD_COUNT], LEAST_SHAPE, MOST_SHAPE)
    t.facts[NEXT_MEAN], t.facts[NEXT_SHAPE] = mean, shape
    t.counts[MOVED] = max(abs(math.log(mean / t.facts[MEAN])), abs(math.log(shape / t.facts[SHAPE]))) > _NOTABLE


def settle(t: RefreshTables, pages: Pages, hosts: Pages) -> None:
    """Improves the next priors in steps on a sample of pages until they converge."""
    known = (t.records["b"][pages] > 0.0) & (hosts >= 0) & (hosts < len(t.means))
    pages, hosts = pages[known], hosts[known]
    if len(pages) < _FEWEST:
        return
    means = _next_means(t)[hosts]
    means[means == 0.0] = t.facts[NEXT_MEAN]
    means *= _next_factors(t)[(t.records["flags"][pages] // CLASS_BIT) % CLASSES]
    s, b = t.records["s"][pages] * UNIT, t.records["b"][pages].astype(np.float64)
    factor, lowest, highest = 1.0, LEAST_MEAN / t.facts[NEXT_MEAN], MOST_MEAN / t.facts[NEXT_MEAN]
    for _ in range(_STEPS):
        before, factor = factor, min(max(_next_factor(s, b, means, factor, t.facts[NEXT_SHAPE]), lowest), highest)
        if abs(math.log(factor / before)) < _SETTLED:
            break
    t.host_rates[:] *= np.float32(factor)
    t.facts[NEXT_MEAN] *= factor
    if abs(math.log(t.facts[NEXT_MEAN] / t.facts[MEAN])) > _FAR:
        t.counts[MOVED] = FAR


@bare_kernel
def _next_factor(s: Floats, b: Floats, means: Floats, factor: float, shape: float) -> float:
    """One step for the factor on all means."""
    ratios = 0.0
    for i in range(s.size):
        ratios += (shape + s[i]) / (shape / factor + b[i] * means[i])
    return ratios / s.size
