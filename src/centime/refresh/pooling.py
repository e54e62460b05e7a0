"""Pooled priors: what is believed of a page before it has shown anything, from its host and from all pages.

The rates of a host's pages are taken as draws of Gamma(k, k/m). One step of expectation and maximisation for each pass
over all pages:

    λ̂_i = S_i/B_i               the mean of each page's posterior, of pages with evidence only
    m    = mean of all λ̂
    m_h  : log m_h = (n_h·log(Σ_h λ̂ / n_h) + STRENGTH·log m) / (n_h + STRENGTH)       a host of few pages is taken to be like all pages
    k    : log k - ψ(k) = mean of (E λ_i/m_h - 1 + log m_h - E log λ_i)    one shape for all, right also while the means are still wrong

Hosts differ by factors, so it is logarithms that are drawn together: a thousand quiet pages are not moved by what the
quickest host does. A step moves far only as fast as the evidence outweighs the prior: three-fold, where the first prior
may be wrong a thousand-fold. So where a pass moves the priors by a tenth or more, further steps are made at once on a
sample of pages, for one factor f on all means:

    λ̂_i = (k + s_i) / (k/(f·m_h) + b_i),    f' = mean of λ̂_i/m_h

(not for k: one observation of each page says nothing of the shape, and a shape too large would silence those to come).

The result is used from the beginning of the next pass on, so that the sums of a pass belong to one prior. Repeated, the
steps climb to the most likely prior. The shape is kept within bounds: above, it would silence the evidence. Below it
may be small: three live pages among three hundred that never change have 0.03, and with 0.2 their rates were held to be
half of what they are.
"""

import math

import numpy as np
import numpy.typing as npt

from centime.model.kernel import bare_kernel
from centime.refresh.belief import UNIT
from centime.refresh.gamma import shape_of_spread
from centime.refresh.tables import (
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
LEAST_SHAPE, MOST_SHAPE = 0.02, 10.0
LEAST_MEAN, MOST_MEAN = 1e-12, 10.0
SAMPLE = 1024
_STEPS = 64  # at most, on the sample: below a millisecond
_NOTABLE = 0.1
_FAR = 0.7  # two-fold
_SETTLED = 0.01
_FEWEST = 20  # pages with evidence, for a shape to be judged


def begin_pooling(t: RefreshTables) -> None:
    """Puts the priors that the last pass found into effect, and the sums of the next to nought."""
    t.facts[SHAPE], t.facts[MEAN] = t.facts[NEXT_SHAPE], t.facts[NEXT_MEAN]
    t.means[:] = _next_means(t)
    t.host_rates[:] = 0.0
    t.host_pages[:] = 0
    t.pooled[:] = 0.0
    t.counts[MOVED] = 0


def _next_means(t: RefreshTables) -> Floats:
    """The means of hosts as the last pass found them; 0 for those without evidence."""
    counted = t.host_pages
    own = np.log(np.clip(t.host_rates / np.maximum(counted, 1), LEAST_MEAN, MOST_MEAN))
    means = np.exp((counted * own + STRENGTH * math.log(t.facts[NEXT_MEAN])) / (counted + STRENGTH))
    return np.where(counted > 0, means, 0.0)


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
    """Goes on from the next priors, step by step on a sample of pages, until they stand still."""
    known = (t.records["b"][pages] > 0.0) & (hosts >= 0) & (hosts < len(t.means))
    pages, hosts = pages[known], hosts[known]
    if len(pages) < _FEWEST:
        return
    means = _next_means(t)[hosts]
    means[means == 0.0] = t.facts[NEXT_MEAN]
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
