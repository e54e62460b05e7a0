"""Whether the changes of a page look like a Poisson process, as its belief assumes, or come in bursts or evenly.

Interval i, of length t_i, has a change (c_i = 1) or not. Under a Poisson process of rate λ,

    p_i = 1 - e^(-λ t_i),   r_i = c_i - p_i,   m_i = MEMORY·(m_(i-1) + r_(i-1))      the excess of intervals before i
    z = (Σ r_i m_i + bias) / sqrt(Σ p_i (1 - p_i) m_i²)

The r_i are independent of what came before, so z is nearly normal with mean 0 and variance 1. After a burst has begun
more changes follow, and z is high; after an even change there is none for a while, and z is low. λ is the rate of
largest likelihood, which is fitted to the same intervals and so makes the sum lower: with d_i = t_i e^(-λ t_i), the
derivative of p_i, E r_i r_j is -d_i d_j / Σ (d²/p(1 - p)) instead of 0. The bias compensates for that.

The same sums over many pages of one host show more than a single page (`pooled`), and those over pages of all hosts
more than one host: Σ(Σ r m)/Σ(Σ p (1 - p) m²) is an effect e, and a page with the variance V would have z = e·sqrt(V)
if it changed like the others. If e is large and sure, pages count as irregular unless their own z contradicts that.

Chance is claimed only if reads would have shown anything else: if |e| + SURE/sqrt(V), the largest effect that the reads
of the page, of its host or of the crawl allow, is at most TOLERATED. Otherwise the pattern is unknown, and the bounds
of the rate (`bounds.py`) must hold for other patterns too (`allowed`):

    low     at most (n - 1)/T: n changes were seen in T seconds, and a page that changes by the clock with the period P
            has at most T/P + 1 of them, however seldom it was read
    high    HIDDEN times as high: each change that was seen may stand for a burst that was over before the next read

Trap: bursts within one interval are one change to every reader. They cannot be seen, and the estimated rate is that at
which copies become stale, not the rate of single changes. HIDDEN is an assumption, which reads cannot confirm.
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
SURE, TOLERATED = 1.64, 0.12
HIDDEN = 3.0

Vector = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


class Pattern(StrEnum):
    """How the changes of a page are spread over time."""

    CHANCE = "chance"  # a Poisson process, as far as reads of this page or others show
    BURSTS = "bursts"
    EVEN = "even"
    HOST_BURSTS = "bursts on its host"  # other pages show it, this one does not
    HOST_EVEN = "even on its host"
    CRAWL_BURSTS = "bursts on other hosts"  # pages of its host show too little
    CRAWL_EVEN = "even on other hosts"
    RHYTHM = "rhythm"  # by the clock (`rhythm.py`)
    UNKNOWN = "unknown"  # reads show too little


_ELSEWHERE = {Pattern.BURSTS: Pattern.CRAWL_BURSTS, Pattern.EVEN: Pattern.CRAWL_EVEN}


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
        """The distance of the changes from those of a Poisson process, in standard deviations."""
        return self.total / math.sqrt(self.variance) if self.variance > 0.0 else 0.0

    @property
    def shows_chance(self) -> bool:
        """Whether these reads would have shown any pattern that matters."""
        return self.variance > 0.0 and abs(self.effect) + SURE / math.sqrt(self.variance) <= TOLERATED


def dispersion(times: Vector, changed: Flags) -> Dispersion | None:
    """The dispersion of a page that was read at `times` (the first is the first copy); `changed` says whether each read
    found a change. None if the reads show too little.
    """
    intervals, seen = np.diff(times), changed[1:]
    changes = int(seen.sum())
    if not shows_dispersion(np.array(len(times)), np.array(changes)):
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


def shows_dispersion(visits: npt.NDArray[np.int64], changes: npt.NDArray[np.int64]) -> Flags:
    """Which pages may have a known dispersion, by the number of their visits and of the changes seen."""
    intervals = visits - 1
    return (intervals >= FEWEST_INTERVALS) & (changes >= FEWEST) & (changes <= intervals - FEWEST)


def pooled(some: Iterable[Dispersion | None]) -> Dispersion:
    """The dispersion of several pages together."""
    known = [one for one in some if one is not None]
    return Dispersion(sum(one.total for one in known), sum(one.variance for one in known))


def pattern_of(
    page: Dispersion | None, host: Dispersion, crawl: Callable[[], Dispersion], *, rhythmic: bool = False
) -> Pattern:
    """The pattern of a page's changes, by its own reads, by those of pages of its host and, if these do not show it, by
    those of pages of all hosts. In a `rhythmic` crawl other pages cannot show chance: those that change by the clock
    and are read at their moments have changed at every read, which shows no dispersion.
    """
    if page is not None and abs(page.z) >= BOUND:
        return Pattern.BURSTS if page.z > 0.0 else Pattern.EVEN
    if abs(host.z) >= POOLED_BOUND:
        return Pattern.HOST_BURSTS if host.z > 0.0 else Pattern.HOST_EVEN
    if (page is not None and page.shows_chance) or (host.shows_chance and not rhythmic):
        return Pattern.CHANCE
    whole = crawl()
    usual = pattern_of_crawl(whole)
    if usual is Pattern.CHANCE and rhythmic:
        return Pattern.UNKNOWN
    if usual in _ELSEWHERE and page is not None and _contradicts(page, whole.effect):
        return Pattern.CHANCE
    return _ELSEWHERE.get(usual, usual)


def pattern_of_crawl(whole: Dispersion) -> Pattern:
    """The pattern of the changes of most pages, by the dispersion of some of them."""
    if abs(whole.z) >= CRAWL_BOUND and abs(whole.effect) >= LEAST_EFFECT:
        return Pattern.BURSTS if whole.z > 0.0 else Pattern.EVEN
    return Pattern.CHANCE if whole.shows_chance else Pattern.UNKNOWN


def _contradicts(page: Dispersion, effect: float) -> bool:
    """Whether the reads of a page contradict an effect."""
    expected = effect * math.sqrt(page.variance)
    return abs(expected) >= BOUND and abs(page.z - expected) >= BOUND and abs(page.z) < abs(expected)


def allowed(low: float, high: float, times: Vector, changed: Flags) -> tuple[float, float]:
    """Bounds of a rate that also hold if changes come in bursts or by the clock, from those that hold if they come by
    chance. The page was read at `times`.
    """
    changes, watched = int(changed[1:].sum()), float(times[-1] - times[0]) if len(times) else 0.0
    fewest = max(changes - 1, 0) / watched if watched > 0.0 else 0.0
    return min(low, fewest), HIDDEN * high
