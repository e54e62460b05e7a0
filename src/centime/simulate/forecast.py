"""Expected freshness and age from beliefs: now, over the coming days, and in the steady state; pure functions of
arrays.

The belief about a page's change rate is Gamma(S, B). Its mean is S/B, and a copy of age a is still fresh with the
probability

    F(a) = (B / (B + a))^S        E(a) = integral of F from 0 to a        A(a) = a - E(a), the expected age of the copy

(the age of a copy is the time since the first change that was not seen, 0 while there is none). A page read every T is
fresh for the share E(T)/T of the time, and its mean age is the integral of A over T; for a page that is never read (T
infinite) these tend to 0 and to infinity. The worth of a read at age a is

    I(a) = x [alpha (S/B) a^2/2 + beta (E(a) - a F(a))] / cost

and the rule reads at I = mu, the threshold at which the demand, the sum of cost/T, equals the budget. Beliefs are the
refresh book's: exact near the age at which it reads a page (`centime.refresh.learning.posterior`).

Pages go away at a rate δ (`refresh/learning/mortality.py`), and a page that is gone is a stale copy until a read
detects that; from then on it does not count. So a copy of age a is fresh with the probability F(a) e^(-δa), a page is
still there for the next round with the probability e^(-δT), and freshness is the expected fresh time over the expected
time that pages count. As many pages are born as go away, of which there are δ e^(-δa) like a page whose copy has the
age a: that page may be gone already. They are read when they appear, so their first copy is fresh. Ages leave deaths
and births out.

A page with a rhythm (`centime.refresh.beats`) is read just after its moment in every period P if x·beta·P / cost
reaches the threshold, and never otherwise. It is then fresh, except for half of the time that its phase is uncertain.

A forecast assumes that the beliefs stay as they are; a crawl continues to learn and does a little better.

Traps: E has the factor 1/(S - 1), its integral also 1/(S - 2). Both are computed through expm1, and S is moved away
from 1 and 2, where they would be 0/0. The integral of E at small ages comes from its series.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from centime.model.kernel import inlined, kernel

Vector = npt.NDArray[np.float64]

NEVER = 1e13  # seconds; a page with a longer interval is never read
OFF = 1e-5
HALVINGS = 52
BIRTHS = 8  # times at which pages are born, within the coming days
MOST_PAGES = 200_000  # in the sample from which a threshold is computed


@dataclass(frozen=True, kw_only=True)
class Rhythms:
    """The rhythms of some pages: the period in seconds, 0 for a page without one; the share of it for which a page that
    is read just after its moments is fresh; and whether the copy is fresh now.
    """

    period: Vector
    caught: Vector
    fresh: Vector

    def taken(self, places: npt.NDArray[np.int64]) -> "Rhythms":
        """The rhythms of some of the pages."""
        return Rhythms(period=self.period[places], caught=self.caught[places], fresh=self.fresh[places])


@dataclass(frozen=True, kw_only=True)
class Beliefs:
    """The beliefs about some pages (shape S and scale B of their rates), with their importance, the cost of a read, and
    the seconds since the last read.
    """

    shape: Vector
    scale: Vector
    importance: Vector
    cost: Vector
    age: Vector
    alpha: float = 0.0
    beta: float = 1.0
    least_interval: float = 0.0
    probe_share: float = 0.0  # of the budget
    death_rate: float = 0.0  # of a page, per second
    rhythms: Rhythms | None = None

    def __len__(self) -> int:
        return len(self.shape)

    def taken(self, places: npt.NDArray[np.int64]) -> "Beliefs":
        """The beliefs about some of the pages."""
        return replace(
            self,
            **{name: getattr(self, name)[places] for name in ("shape", "scale", "importance", "cost", "age")},
            rhythms=None if self.rhythms is None else self.rhythms.taken(places),
        )

    def with_weights(
        self, *, alpha: float | None = None, beta: float | None = None, cost: Vector | None = None
    ) -> "Beliefs":
        """The same beliefs with other weights or costs."""
        return replace(
            self,
            alpha=self.alpha if alpha is None else alpha,
            beta=self.beta if beta is None else beta,
            cost=self.cost if cost is None else cost,
        )


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected freshness and age of the copy, both weighted by importance."""

    freshness: float
    age_days: float


@inlined
def _whole(shape: float, scale: float, age: float) -> float:
    """E(a): the integral of (B / (B + u))^S over u from 0 to the age."""
    power = 1.0 - shape
    logarithm = math.log1p(age / scale)
    if abs(power) < 1e-9:
        return scale * logarithm
    return scale * math.expm1(power * logarithm) / power


@inlined
def _fresh(shape: float, scale: float, age: float) -> float:
    return math.exp(-shape * math.log1p(age / scale))


@inlined
def _index(shape: float, scale: float, weight: float, alpha: float, beta: float, age: float) -> float:
    """The worth of a read at an age."""
    fresh = max(0.0, _whole(shape, scale, age) - age * _fresh(shape, scale, age))
    return weight * (alpha * shape / scale * age * age / 2.0 + beta * fresh)


@kernel
def _write_intervals(
    shape: Vector,
    scale: Vector,
    weight: Vector,
    alpha: float,
    beta: float,
    least: float,
    worth: float,
    intervals: Vector,
) -> None:
    for page in range(len(shape)):
        if not _index(shape[page], scale[page], weight[page], alpha, beta, NEVER) >= worth:
            intervals[page] = math.inf
            continue
        low, high = 0.0, math.log(NEVER)
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            if _index(shape[page], scale[page], weight[page], alpha, beta, math.exp(middle)) < worth:
                low = middle
            else:
                high = middle
        intervals[page] = max(least, math.exp(high))


# the nodes and weights of Gauss and Legendre on [-1, 1]
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


@inlined
def _living(shape: float, scale: float, begin: float, end: float, death_rate: float) -> float:
    """The integral of F(u) e^(-δu) from one age to another, over v = log(1 + u/B), in which F is e^(-Sv)."""
    end = min(end, begin + 20.0 / death_rate)  # what is beyond is nothing
    low, high = math.log1p(begin / scale), math.log1p(end / scale)
    total = 0.0
    for node in range(len(_NODES)):
        v = 0.5 * (low + high + (high - low) * _NODES[node])
        total += _WEIGHTS[node] * math.exp((1.0 - shape) * v - death_rate * scale * math.expm1(v))
    return scale * 0.5 * (high - low) * total


@kernel
def _write_now(shape: Vector, scale: Vector, age: Vector, death_rate: float, fresh: Vector, stale: Vector) -> None:
    for page in range(len(shape)):
        fresh[page] = _fresh(shape[page], scale[page], age[page]) * math.exp(-death_rate * age[page])
        stale[page] = age[page] - _whole(shape[page], scale[page], age[page])


@inlined
def _twice(shape: float, scale: float, age: float) -> float:
    """The integral of E from 0 to an age."""
    for pole in (1.0, 2.0):
        if abs(shape - pole) < OFF:
            shape = pole + OFF
    if age < 1e-3 * scale / max(shape, 1.0):  # the first terms of the series, because the closed form cancels here
        return age * age / 2.0 - shape / scale * age**3 / 6.0
    return scale / (shape - 1.0) * (age - _whole(shape - 1.0, scale, age))


@inlined
def _over(shape: float, scale: float, begin: float, end: float, death_rate: float) -> tuple[float, float]:
    """The fresh time, and the integral of the age, of a copy from one age to another."""
    if death_rate > 0.0:
        fresh = _living(shape, scale, begin, end, death_rate)
    else:
        fresh = _whole(shape, scale, end) - _whole(shape, scale, begin)
    stale = (end * end - begin * begin) / 2.0 - (_twice(shape, scale, end) - _twice(shape, scale, begin))
    return fresh, max(0.0, stale)


@kernel
def _write_coming(
    shape: Vector,
    scale: Vector,
    age: Vector,
    intervals: Vector,
    horizon: float,
    death_rate: float,
    fresh: Vector,
    stale: Vector,
    counted: Vector,
) -> None:
    """Writes the means of every page over the horizon if it is read at its interval, and at once if that is over; and
    the share of the horizon for which it counts.
    """
    for page in range(len(shape)):
        left = horizon
        begin = age[page]
        if begin >= intervals[page]:
            begin = 0.0
        part = min(left, intervals[page] - begin)
        total, older = _over(shape[page], scale[page], begin, begin + part, death_rate)
        time = part
        left -= part
        if left > 0.0:
            rounds = math.floor(left / intervals[page])
            more, older_more = _over(shape[page], scale[page], 0.0, intervals[page], death_rate)
            rest, older_rest = _over(shape[page], scale[page], 0.0, left - rounds * intervals[page], death_rate)
            first = math.exp(-death_rate * (begin + part))  # it is still there at the first read of all rounds
            kept = math.exp(-death_rate * intervals[page])
            last = kept**rounds
            whole = rounds if kept == 1.0 else (1.0 - last) / (1.0 - kept)  # rounds, each by its probability
            total += first * (whole * more + last * rest)
            time += first * (whole * intervals[page] + last * (left - rounds * intervals[page]))
            older += rounds * older_more + older_rest
        fresh[page] = total / horizon
        stale[page] = older / horizon
        counted[page] = time / horizon


@kernel
def _write_steady(
    shape: Vector, scale: Vector, intervals: Vector, death_rate: float, fresh: Vector, stale: Vector
) -> None:
    for page in range(len(shape)):
        fresh[page] = 0.0
        stale[page] = math.inf
        if intervals[page] < math.inf:
            total, older = _over(shape[page], scale[page], 0.0, intervals[page], death_rate)
            fresh[page] = total / intervals[page]
            stale[page] = older / intervals[page]


def intervals_at(beliefs: Beliefs, worth: float) -> Vector:
    """The interval between reads of every page under a threshold; infinite if its worth never reaches that."""
    intervals = np.empty(len(beliefs))
    weight = beliefs.importance / beliefs.cost
    _write_intervals(
        beliefs.shape,
        beliefs.scale,
        weight,
        beliefs.alpha,
        beliefs.beta,
        beliefs.least_interval,
        worth,
        intervals,
    )
    if beliefs.rhythms is not None and beliefs.beta > 0.0:
        period = beliefs.rhythms.period
        by_the_clock = np.where(weight * beliefs.beta * period >= worth, period, math.inf)
        intervals = np.where(period > 0.0, by_the_clock, intervals)
    return intervals


def demand_at(beliefs: Beliefs, worth: float) -> float:
    """The cost per second of all reads under a threshold, without probes."""
    return float((beliefs.cost / intervals_at(beliefs, worth)).sum())


def threshold_for(beliefs: Beliefs, budget: float) -> float:
    """The threshold at which the demand equals the budget, computed from a sample if there are very many pages."""
    budget *= 1.0 - beliefs.probe_share
    if len(beliefs) > MOST_PAGES:
        budget *= MOST_PAGES / len(beliefs)
        beliefs = beliefs.taken(np.sort(np.random.default_rng(0).choice(len(beliefs), MOST_PAGES, replace=False)))
    low, high = -120.0, 120.0
    while high - low > 1e-6:
        middle = 0.5 * (low + high)
        if demand_at(beliefs, math.exp(middle)) > budget:
            low = middle
        else:
            high = middle
    return math.exp(high)


def worth_of(beliefs: Beliefs) -> Vector:
    """The worth of a read of every page now."""
    index = np.empty(len(beliefs))
    _write_index(
        beliefs.shape,
        beliefs.scale,
        beliefs.importance / beliefs.cost,
        beliefs.alpha,
        beliefs.beta,
        beliefs.age,
        index,
    )
    return index


@kernel
def _write_index(
    shape: Vector, scale: Vector, weight: Vector, alpha: float, beta: float, age: Vector, index: Vector
) -> None:
    for page in range(len(shape)):
        index[page] = _index(shape[page], scale[page], weight[page], alpha, beta, age[page])


def expected_now(beliefs: Beliefs) -> Expected:
    """The expected freshness and age now."""
    fresh, stale = np.empty(len(beliefs)), np.empty(len(beliefs))
    _write_now(beliefs.shape, beliefs.scale, beliefs.age, beliefs.death_rate, fresh, stale)
    if beliefs.rhythms is not None:
        fresh = np.where(beliefs.rhythms.period > 0.0, beliefs.rhythms.fresh, fresh)
    return _weighted(beliefs, fresh, stale, np.ones(len(beliefs)))


def expected_coming(beliefs: Beliefs, intervals: Vector, seconds: float) -> Expected:
    """The expected means over the coming `seconds` if pages are read at these intervals, starting from the copies'
    ages now, with the pages that are born meanwhile.
    """
    fresh, stale, counted = _coming(beliefs, intervals, seconds)
    if beliefs.death_rate > 0.0:
        young = replace(beliefs, age=np.zeros(len(beliefs)))
        births = beliefs.death_rate * np.exp(-beliefs.death_rate * beliefs.age) * seconds / BIRTHS
        for part in range(BIRTHS):
            left = (part + 0.5) / BIRTHS
            more, _, time = _coming(young, intervals, left * seconds)
            born = births * left
            fresh += born * more
            counted += born * time
    return _weighted(beliefs, fresh, stale, counted)


def _coming(beliefs: Beliefs, intervals: Vector, seconds: float) -> tuple[Vector, Vector, Vector]:
    """The mean freshness and age of every page over the coming `seconds`, and the share of them for which it counts."""
    fresh, stale, counted = np.empty(len(beliefs)), np.empty(len(beliefs)), np.empty(len(beliefs))
    _write_coming(
        beliefs.shape, beliefs.scale, beliefs.age, intervals, seconds, beliefs.death_rate, fresh, stale, counted
    )
    return _by_the_clock(beliefs, intervals, fresh, counted), stale, counted


def expected_steady(beliefs: Beliefs, intervals: Vector) -> Expected:
    """The expected means in the long run; the age is that of the pages that are read at all."""
    fresh, stale = _steady(beliefs, intervals)
    read = np.isfinite(intervals)
    weights = beliefs.importance
    age = float((weights[read] * stale[read]).sum() / weights[read].sum()) if weights[read].sum() > 0 else math.inf
    return Expected(float((weights * fresh).sum() / weights.sum()), age / 86_400.0)


def fresh_steady(beliefs: Beliefs, intervals: Vector) -> Vector:
    """The expected freshness of each page in the long run."""
    return _steady(beliefs, intervals)[0]


def _steady(beliefs: Beliefs, intervals: Vector) -> tuple[Vector, Vector]:
    """The expected freshness and age of each page in the long run."""
    fresh, stale = np.empty(len(beliefs)), np.empty(len(beliefs))
    _write_steady(beliefs.shape, beliefs.scale, intervals, beliefs.death_rate, fresh, stale)
    return _by_the_clock(beliefs, intervals, fresh, np.ones(len(beliefs))), stale


def _by_the_clock(beliefs: Beliefs, intervals: Vector, fresh: Vector, counted: Vector) -> Vector:
    """The fresh shares, with those of pages with a rhythm that are read at their moments or never."""
    if beliefs.rhythms is None or not beliefs.beta > 0.0:
        return fresh
    caught = np.where(np.isfinite(intervals), beliefs.rhythms.caught * counted, 0.0)
    return np.where(beliefs.rhythms.period > 0.0, caught, fresh)


def _weighted(beliefs: Beliefs, fresh: Vector, stale: Vector, counted: Vector) -> Expected:
    weights = beliefs.importance
    freshness = float((weights * fresh).sum() / (weights * counted).sum())
    return Expected(freshness, float((weights * stale).sum() / weights.sum()) / 86_400.0)
