"""The prior: the belief about a page without evidence, learned from all pages.

The rate of a page is λ = m·2^x: m is the usual rate of its host and its importance, and x is drawn from a law of any
form, the weights w on the grid of `posterior.py`. A law of a given form would not do: under a gamma, pages that change
by Pareto's law were given up or read too often. Each pass over all pages makes one step of expectation maximisation,
from the posteriors p_i of the pages with evidence:

    w       = mean of p_i, moved as the usual rates, smoothed by SMOOTHING, with FIRST_PAGES pages of the first law
    e_i     = E log2 λ_i, but at least log2 of 1/(4v)
    M       = mean of e_i less the octaves of the page's class of importance
    M_h     = (Σ_h e_i less those octaves + STRENGTH·M) / (n_h + STRENGTH)           a host of few pages is near M
    octaves = slope·z + bend·b(z), z = class - mean class, the line through e_i - M_h by classes of importance
    b(z)    = z² within SPREADS standard deviations of z, and straight beyond

so that m = 2^(M_h + octaves). Logarithms are pooled: they are spread far less than rates (the mean rate of fifty pages
of a Pareto law is wrong by a factor of three), and the fastest host does not move a thousand quiet pages. Importance
counts as a line with a slope and a bend: where important pages change faster they are read more often, and without the
line they dominated the estimates of all others; one factor for each class needs more evidence than a slow crawl has.
Rates have a floor (no page is seen to be slower than the crawl is old), so where they grow with importance the line
bends upwards; with a straight one, the most important pages were estimated four times too slow, and reads of them were
wasted.

A step moves only as far as the evidence outweighs the prior. So if a pass moves the priors by a tenth or more, further
steps follow at once on a sample of pages, for one factor on all rates (`settle`).

The result takes effect when the next pass begins, so that the sums of a pass belong to one prior. Repeated steps
converge to the prior of largest likelihood, which smoothing and the first law keep from becoming a few spikes.
"""

import math

import numpy as np
import numpy.typing as npt

from centime.model.kernel import bare_kernel
from centime.refresh.learning.evidence import UNIT, stored_interval
from centime.refresh.learning.information import gains_of_tests
from centime.refresh.learning.posterior import (
    AGE_COUNT,
    CENTRE,
    fresh_curves,
    learned_octaves,
    logs_of_change,
    ratios,
    weigh,
)
from centime.refresh.tables import (
    CLASS_BIT,
    CLASSES,
    FAR,
    GRID_POINTS,
    MEAN,
    MOVED,
    MOVES,
    NEXT_BEND,
    NEXT_MEAN,
    NEXT_SLOPE,
    RATED,
    RATES,
    RefreshTables,
)

Floats = npt.NDArray[np.float64]
Pages = npt.NDArray[np.int64]

FIRST_SPREAD = 3.0  # octaves, of the first law, which is lognormal
FIRST_PAGES = 0.5
STRENGTH = 16.0
CLASS_STRENGTH, BEND_STRENGTH = 300.0, 3_000.0
SMOOTHING = 0.05
LEAST_MEAN, MOST_MEAN = 1.0 / (150 * 86_400.0), 10.0
"""Of a usual rate: 26 octaves above the lowest, at the end of the grid, a page changes several times per second."""
MOST_SLOPE, MOST_BEND = 2.0, 0.15
SPREADS = 2.0
SAMPLE = 1024
_STEPS = 32  # at most, on the sample
_NOTABLE = 0.15  # octaves
_FAR = 1.0
_SETTLED = 0.02
_FEWEST = 20  # pages with evidence, for further steps

_OCTAVES = (np.arange(GRID_POINTS) - CENTRE) / 2.0
LEAST_WEIGHTS = 1e-7 * np.exp2(-np.maximum(_OCTAVES - 10.0, 0.0))
"""Of any rate; less for the fastest, whose share in the mean would be large."""


def first_weights() -> Floats:
    """The prior before there is evidence: a wide lognormal law, with a tail by Pareto's law of exponent 1, so that two
    changes within a short time are enough to make a fast page likely.
    """
    weights = np.exp(-0.5 * (_OCTAVES / FIRST_SPREAD) ** 2)
    weights[CENTRE:] = np.maximum(weights[CENTRE:], np.exp2(-_OCTAVES[CENTRE:]))
    weights += LEAST_WEIGHTS
    return np.asarray(weights / weights.sum())


def mean_factor(weights: Floats) -> float:
    """The mean rate of a law over its usual rate."""
    return float((weights * np.exp2(_OCTAVES)).sum())


def with_prior(t: RefreshTables, mean_rate: float) -> RefreshTables:
    """The tables with the first prior, of this mean rate, and with what is computed from it."""
    t = t._replace(logs=logs_of_change(), gains=gains_of_tests(), ratios=ratios(), prior=np.zeros((3, AGE_COUNT)))
    start_prior(t, mean_rate)
    return t


def start_prior(t: RefreshTables, mean_rate: float) -> None:
    """Sets the first prior, of this mean rate."""
    t.next_weights[:] = first_weights()
    set_weights(t)
    t.facts[[MEAN, NEXT_MEAN]] = mean_rate / mean_factor(t.weights)


def set_weights(t: RefreshTables) -> None:
    """Applies the next weights."""
    t.weights[:] = t.next_weights
    derive_from_weights(t)


def derive_from_weights(t: RefreshTables) -> None:
    """Recomputes the values that follow from the weights."""
    t.log_weights[:] = np.log(t.weights)
    t.prior[:] = fresh_curves(t.weights)


def begin_pooling(t: RefreshTables) -> None:
    """Applies the priors that the last pass found, and clears the sums for the next pass."""
    t.facts[MEAN] = t.facts[NEXT_MEAN]
    t.means[:] = _next_means(t)
    t.factors[:] = _next_factors(t)
    set_weights(t)
    t.host_rates[:] = 0.0
    t.host_pages[:] = 0
    t.class_rates[:] = 0.0
    t.class_pages[:] = 0.0
    t.shares[:] = 0.0
    t.pooled[:] = 0.0
    t.counts[MOVED] = 0


def _next_means(t: RefreshTables) -> Floats:
    """The usual rates of hosts as the last pass found them; 0 for hosts without evidence."""
    counted = t.host_pages
    octaves = (t.host_rates + STRENGTH * math.log2(t.facts[NEXT_MEAN])) / (counted + STRENGTH)
    return np.where(counted > 0, np.exp2(np.clip(octaves, math.log2(LEAST_MEAN), math.log2(MOST_MEAN))), 0.0)


def _next_factors(t: RefreshTables) -> Floats:
    """The factors of classes of importance as the last pass found them. Their mean logarithm over all pages is 0,
    because hosts have the rate itself.
    """
    whole = float(t.class_pages.sum())
    if whole == 0.0:
        return t.factors.copy()
    octaves = t.facts[NEXT_SLOPE] * _places(t) + t.facts[NEXT_BEND] * _bend(t)
    octaves -= float((t.class_pages * octaves).sum()) / whole
    factors = np.exp2(octaves)
    factors[0] = 1.0
    return np.asarray(factors)


def _learn_line(t: RefreshTables) -> None:
    """Finds the slope and the bend of the line through the mean octaves of the classes, weighted by their pages."""
    terms = np.stack([np.ones(CLASSES), _places(t), _bend(t)])
    normal = (terms * t.class_pages) @ terms.T + np.diag([1e-6, CLASS_STRENGTH, BEND_STRENGTH])
    bend = float(np.linalg.solve(normal, terms @ t.class_rates)[2])
    t.facts[NEXT_BEND] = bend = min(max(bend, 0.0), MOST_BEND)  # a downward bend was chance, and cost freshness
    rest = terms @ (t.class_rates - bend * t.class_pages * terms[2])
    t.facts[NEXT_SLOPE] = _bounded(float(np.linalg.solve(normal[:2, :2], rest[:2])[1]))


def _places(t: RefreshTables) -> Floats:
    """The place of each class, from the mean class."""
    return np.arange(CLASSES, dtype=np.float64) - np.float64(_mean_class(t))


def _bend(t: RefreshTables) -> Floats:
    """The square of the place of each class, but straight beyond SPREADS standard deviations."""
    place = np.abs(_places(t))
    whole = max(float(t.class_pages.sum()), 1.0)
    edge = SPREADS * math.sqrt(float((t.class_pages * place * place).sum()) / whole)
    bent = np.where(place < edge, place * place, edge * (2.0 * place - edge))
    return np.asarray(bent, dtype=np.float64)


def _mean_class(t: RefreshTables) -> float:
    return float((t.class_pages * np.arange(CLASSES)).sum()) / max(float(t.class_pages.sum()), 1.0)


def _bounded(slope: float) -> float:
    return min(max(slope, -MOST_SLOPE), MOST_SLOPE)


def _next_weights(t: RefreshTables, pages: float, moved: float) -> Floats:
    """The weights from the posteriors of a pass, around usual rates that have moved by some octaves; smoothed."""
    weights = np.interp(_OCTAVES + moved, _OCTAVES, t.shares, left=0.0, right=0.0)
    weights *= pages / max(float(weights.sum()), 1e-300)
    weights = (weights + FIRST_PAGES * first_weights()) / (pages + FIRST_PAGES)
    beside = np.concatenate([weights[:1], weights, weights[-1:]])
    weights = (1.0 - 2.0 * SMOOTHING) * weights + SMOOTHING * (beside[:-2] + beside[2:]) + LEAST_WEIGHTS
    return np.asarray(weights / weights.sum())


def end_pooling(t: RefreshTables) -> None:
    """Finds the next prior of all pages from the sums of a pass."""
    pages = float(t.pooled[RATED])
    if pages == 0:
        return
    wanted = float(t.pooled[RATES]) / pages
    octaves = min(max(wanted, math.log2(LEAST_MEAN)), math.log2(MOST_MEAN))
    t.facts[NEXT_MEAN] = math.exp2(octaves)
    _learn_line(t)
    t.next_weights[:] = _next_weights(t, pages, float(t.pooled[MOVES]) / pages + octaves - wanted)
    t.counts[MOVED] = abs(math.log2(t.facts[NEXT_MEAN] / t.facts[MEAN])) > _NOTABLE


def settle(t: RefreshTables, pages: Pages, hosts: Pages) -> None:
    """Makes further steps for the usual rate, the slope and the weights, on a sample of pages."""
    known = ((t.records["b"][pages] > 0.0) | (t.records["s"][pages] > 0)) & (hosts >= 0) & (hosts < len(t.means))
    pages, hosts = pages[known], hosts[known]
    if len(pages) < _FEWEST:
        return
    means = _next_means(t)[hosts]
    means[means == 0.0] = t.facts[NEXT_MEAN]
    classes = (t.records["flags"][pages] // CLASS_BIT).astype(np.int64) % CLASSES
    place = np.where(classes > 0, classes - _mean_class(t), 0.0)
    bent = np.log2(_next_factors(t))[classes] - t.facts[NEXT_SLOPE] * place
    squares, strength = float((place * place).sum()), CLASS_STRENGTH * len(pages) / max(1.0, float(t.pooled[RATED]))
    lowest, highest = math.log2(LEAST_MEAN / t.facts[NEXT_MEAN]), math.log2(MOST_MEAN / t.facts[NEXT_MEAN])
    octaves, slope, moved = 0.0, float(t.facts[NEXT_SLOPE]), np.empty(len(pages))
    for _ in range(_STEPS):
        t.log_weights[:] = np.log(t.next_weights)
        t.shares[:] = 0.0
        _write_moves(t, pages, means * np.exp2(octaves + slope * place + bent), moved)
        step = min(max(octaves + float(moved.mean()), lowest), highest) - octaves
        t.next_weights[:] = _next_weights(t, len(pages), step)
        octaves += step
        before, slope = slope, _bounded((slope * squares + float((place * moved).sum())) / (squares + strength))
        if abs(step) < _SETTLED and abs(slope - before) < _SETTLED:
            break
    t.log_weights[:] = np.log(t.weights)
    t.host_rates[:] += np.float32(octaves) * t.host_pages
    t.facts[NEXT_MEAN] *= math.exp2(octaves)
    t.facts[NEXT_SLOPE] = slope
    far = abs(math.log2(t.facts[NEXT_MEAN] / t.facts[MEAN]))
    t.counts[MOVED] = FAR if far > _FAR else far > _NOTABLE


@bare_kernel
def _write_moves(t: RefreshTables, pages: Pages, means: Floats, moved: Floats) -> None:
    """Writes the octaves from the usual rate of each page to the one that its posterior expects, and adds the
    posteriors up.
    """
    for i in range(pages.size):
        record = t.records[pages[i]]
        weigh(t, record["s"] * UNIT, stored_interval(record["b"]), float(record["b"]), means[i])
        moved[i] = learned_octaves(t, float(record["b"]), means[i])
        for j in range(t.window[0], t.window[1]):
            t.shares[j] += t.scratch[j]
