"""Whether the changes of a page look like a Poisson process, as its belief assumes, or come in bursts or evenly.

Interval i, of length t_i, has a change (c_i = 1) or not. Under a Poisson process of rate λ,

    p_i = 1 - e^(-λ t_i),   r_i = c_i - p_i,   m_i = MEMORY·(m_(i-1) + r_(i-1))      what intervals before i showed
    z = (Σ r_i m_i + bias) / sqrt(Σ p_i (1 - p_i) m_i²)

The r_i are independent of what came before, so z is nearly normal with mean 0 and variance 1. After a burst has begun
more changes follow, and z is high; after an even change there is none for a while, and z is low. λ is the rate of
largest likelihood, which is fitted to the same intervals and so makes the sum lower: with d_i = t_i e^(-λ t_i), the
derivative of p_i, E r_i r_j is -d_i d_j / Σ (d²/p(1 - p)) instead of 0. The bias makes up for that.

The same sums over many pages of one host show what no single page shows (`pooled`), and those over pages of all hosts
what no host shows: Σ(Σ r m)/Σ(Σ p (1 - p) m²) is an effect e, and a page with the variance V would have z = e·sqrt(V)
if it changed like the others. If e is large and sure, pages count as irregular unless their own z contradicts that.

Trap: bursts within one interval are one change to every reader. They cannot be seen, and the estimated rate is that at
which copies become stale, not the rate of single changes.
"""

import math
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from centime.refresh.learning.rates import likeliest_rate

MEMORY = 0.7
FEWEST_INTERVALS = 8
FEWEST = 3  # of intervals with a change, and of those without
BOUND = 2.0  # of z, for one page
POOLED_BOUND = 4.0
CRAWL_BOUND, LEAST_EFFECT = 3.0, 0.2  # of z and e, for pages of all hosts

Vector = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


class Pattern(StrEnum):
    """How the changes of a page are spread over time."""

    CHANCE = "chance"  # nothing contradicts a Poisson process
    BURSTS = "bursts"
    EVEN = "even"
    HOST_BURSTS = "bursts on its host"  # other pages show it, this one does not
    HOST_EVEN = "even on its host"
    CRAWL_BURSTS = "bursts on other hosts"  # pages of its host show too little
    CRAWL_EVEN = "even on other hosts"
    RHYTHM = "rhythm"  # by the clock (`rhythm.py`)
    UNKNOWN = "unknown"  # too few changes, or too few quiet intervals


class Dispersion(NamedTuple):
    """Σ r m with its bias, and Σ p (1 - p) m², of one page or several."""

    total: float
    variance: float

    @property
    def effect(self) -> float:
        """e: z by the root of the variance, which does not grow with the number of reads."""
        return self.total / self.variance if self.variance > 0.0 else 0.0

    @property
    def z(self) -> float:
        """How far the changes are from those of a Poisson process, in standard deviations."""
        return self.total / math.sqrt(self.variance) if self.variance > 0.0 else 0.0


def dispersion(times: Vector, changed: Flags) -> Dispersion | None:
    """The dispersion of a page that was read at `times` (the first is the first copy); `changed` says whether each read
    found a change. None if the reads show too little.
    """
    intervals, seen = np.diff(times), changed[1:]
    changes = int(seen.sum())
    if len(intervals) < FEWEST_INTERVALS or not FEWEST <= changes <= len(intervals) - FEWEST:
        return None
    rate = likeliest_rate(float(intervals[~seen].sum()), intervals[seen], 0)
    expected = -np.expm1(-rate * intervals)
    slopes = intervals * (1.0 - expected)
    total = variance = before = bias = slopes_before = known = 0.0
    residuals: Vector = seen - expected
    for p, residual, slope in zip(expected.tolist(), residuals.tolist(), slopes.tolist(), strict=True):
        total += residual * before
        variance += p * (1.0 - p) * before * before
        bias += slope * slopes_before
        known += slope * slope / (p * (1.0 - p)) if p < 1.0 else 0.0
        before = MEMORY * (before + residual)
        slopes_before = MEMORY * (slopes_before + slope)
    return Dispersion(total + bias / known, variance)


def pooled(some: Iterable[Dispersion | None]) -> Dispersion:
    """The dispersion of several pages together."""
    known = [one for one in some if one is not None]
    return Dispersion(sum(one.total for one in known), sum(one.variance for one in known))


def pattern_of(page: Dispersion | None, host: Dispersion, crawl: Callable[[], Dispersion]) -> Pattern:
    """The pattern of a page's changes, by its own reads, by those of pages of its host and, if these do not show it, by
    those of pages of all hosts.
    """
    if page is not None and abs(page.z) >= BOUND:
        return Pattern.BURSTS if page.z > 0.0 else Pattern.EVEN
    if abs(host.z) >= POOLED_BOUND:
        return Pattern.HOST_BURSTS if host.z > 0.0 else Pattern.HOST_EVEN
    whole = crawl()
    if abs(whole.z) >= CRAWL_BOUND and abs(whole.effect) >= LEAST_EFFECT and not _contradicts(page, whole.effect):
        return Pattern.CRAWL_BURSTS if whole.z > 0.0 else Pattern.CRAWL_EVEN
    return Pattern.UNKNOWN if page is None else Pattern.CHANCE


def _contradicts(page: Dispersion | None, effect: float) -> bool:
    """Whether the reads of a page contradict an effect."""
    if page is None:
        return False
    expected = effect * math.sqrt(page.variance)
    return abs(expected) >= BOUND and abs(page.z - expected) >= BOUND and abs(page.z) < abs(expected)
