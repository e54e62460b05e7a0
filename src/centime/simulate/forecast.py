"""Expected freshness and age from beliefs: now, over the coming days, and in the steady state; pure functions of
arrays.

The belief about a page's change rate is Gamma(S, B). Its mean is S/B, and a copy of age a is still fresh with the
probability

    F(a) = (B / (B + a))^S        E(a) = integral of F from 0 to a        A(a) = a - E(a), the expected age of the copy

(the age of a copy is the time since the first change that was not seen, 0 while there is none). A page read every T is
fresh for the share E(T)/T of the time, and its mean age is the integral of A over T; for a page that is never read (T
infinite) these tend to 0 and to infinity. The worth of a read at age a is

    I(a) = x [alpha (S/B) a^2/2 + beta (E(a) - a F(a))] / cost

and the rule reads at I = mu, the threshold at which the demand, the sum of cost/T, equals the budget. As in the refresh
book, decisions use the wider belief Gamma(w S, w B), w = TRUST (`centime.refresh.worth` explains why), around a mean
that the last read has drawn (`centime.refresh.page_record`): this holds for
`worth_of`, `intervals_at` and all that follows from them. The results, `expected_...`, use the belief itself.

A forecast assumes that the beliefs stay as they are; a crawl goes on learning and does a little better.

Traps: E has the factor 1/(S - 1), its integral also 1/(S - 2). Both are computed through expm1, and S is moved away
from 1 and 2, where they would be 0/0. The integral of E at small ages comes from its series.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from centime.model.kernel import inlined, kernel
from centime.refresh.worth import TRUST

Vector = npt.NDArray[np.float64]

NEVER = 1e13  # seconds; a page with a longer interval is never read
OFF = 1e-5
HALVINGS = 52
MOST_PAGES = 200_000  # in the sample from which a threshold is computed


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
    drawn: Vector | None = None  # the factor of the rate in decisions, 1 by default
    probe_share: float = 0.0  # of the budget

    def __len__(self) -> int:
        return len(self.shape)

    def taken(self, places: npt.NDArray[np.int64]) -> "Beliefs":
        """The beliefs about some of the pages."""
        return replace(
            self,
            **{name: getattr(self, name)[places] for name in ("shape", "scale", "importance", "cost", "age")},
            drawn=None if self.drawn is None else self.drawn[places],
        )

    def decided_scale(self) -> Vector:
        """The scale of the beliefs of decisions, before they are widened."""
        return self.scale if self.drawn is None else self.scale / self.drawn

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
    """The index of the wider belief."""
    shape *= TRUST
    scale *= TRUST
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


@kernel
def _write_now(shape: Vector, scale: Vector, age: Vector, fresh: Vector, stale: Vector) -> None:
    for page in range(len(shape)):
        fresh[page] = _fresh(shape[page], scale[page], age[page])
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
def _over(shape: float, scale: float, begin: float, end: float) -> tuple[float, float]:
    """The fresh time, and the integral of the age, of a copy from one age to another."""
    fresh = _whole(shape, scale, end) - _whole(shape, scale, begin)
    stale = (end * end - begin * begin) / 2.0 - (_twice(shape, scale, end) - _twice(shape, scale, begin))
    return fresh, max(0.0, stale)


@kernel
def _write_coming(
    shape: Vector, scale: Vector, age: Vector, intervals: Vector, horizon: float, fresh: Vector, stale: Vector
) -> None:
    """Writes the means of every page over the horizon if it is read at its interval, and at once if that is over."""
    for page in range(len(shape)):
        left = horizon
        begin = age[page]
        if begin >= intervals[page]:
            begin = 0.0
        part = min(left, intervals[page] - begin)
        total, older = _over(shape[page], scale[page], begin, begin + part)
        left -= part
        if left > 0.0:
            rounds = math.floor(left / intervals[page])
            more, older_more = _over(shape[page], scale[page], 0.0, intervals[page])
            rest, older_rest = _over(shape[page], scale[page], 0.0, left - rounds * intervals[page])
            total += rounds * more + rest
            older += rounds * older_more + older_rest
        fresh[page] = total / horizon
        stale[page] = older / horizon


@kernel
def _write_steady(shape: Vector, scale: Vector, intervals: Vector, fresh: Vector, stale: Vector) -> None:
    for page in range(len(shape)):
        fresh[page] = 0.0
        stale[page] = math.inf
        if intervals[page] < math.inf:
            total, older = _over(shape[page], scale[page], 0.0, intervals[page])
            fresh[page] = total / intervals[page]
            stale[page] = older / intervals[page]


def intervals_at(beliefs: Beliefs, worth: float) -> Vector:
    """The interval between reads of every page under a threshold; infinite if its worth never reaches that."""
    intervals = np.empty(len(beliefs))
    weight = beliefs.importance / beliefs.cost
    _write_intervals(
        beliefs.shape,
        beliefs.decided_scale(),
        weight,
        beliefs.alpha,
        beliefs.beta,
        beliefs.least_interval,
        worth,
        intervals,
    )
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
        beliefs.decided_scale(),
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
    _write_now(beliefs.shape, beliefs.scale, beliefs.age, fresh, stale)
    return _weighted(beliefs, fresh, stale)


def expected_coming(beliefs: Beliefs, intervals: Vector, seconds: float) -> Expected:
    """The expected means over the coming `seconds` if pages are read at these intervals, starting from the copies'
    ages now.
    """
    fresh, stale = np.empty(len(beliefs)), np.empty(len(beliefs))
    _write_coming(beliefs.shape, beliefs.scale, beliefs.age, intervals, seconds, fresh, stale)
    return _weighted(beliefs, fresh, stale)


def expected_steady(beliefs: Beliefs, intervals: Vector) -> Expected:
    """The expected means in the long run; the age is that of the pages that are read at all."""
    fresh, stale = np.empty(len(beliefs)), np.empty(len(beliefs))
    _write_steady(beliefs.shape, beliefs.scale, intervals, fresh, stale)
    read = np.isfinite(intervals)
    weights = beliefs.importance
    age = float((weights[read] * stale[read]).sum() / weights[read].sum()) if weights[read].sum() > 0 else math.inf
    return Expected(float((weights * fresh).sum() / weights.sum()), age / 86_400.0)


def _weighted(beliefs: Beliefs, fresh: Vector, stale: Vector) -> Expected:
    weights = beliefs.importance
    whole = float(weights.sum())
    return Expected(float((weights * fresh).sum() / whole), float((weights * stale).sum() / whole) / 86_400.0)
