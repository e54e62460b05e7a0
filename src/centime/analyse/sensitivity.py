"""How the order of pages depends on the damping d (Section 6), and how many iterations an accuracy needs.

With a small d only pages nearby count; with d near 1 distant pages count too. So two pages may change places as d grows
(Example 6.1, at d = 1/4). Scores are computed for some dampings; a crossing between two of them is searched for among
the multiples of `STEP`: regula falsi, until the order is known on both sides of it.

    |e_rel(t)|_1 <= d^t |e_rel(0)|_1                    (Theorem 6.1)
    t >= log((1-d) e) / log d                           (Remark 6.1; with no dangling page log(e/2) / log d)

Guaranteed: at both ends of a crossing the scores of its pages differ by more than `RESOLUTION`, one way and the other,
and by more than the errors of all scores together, so that their order is certain; `damping` has only digits in which
both ends agree to within one unit. `iterations_needed` holds for Eq. 3 started from
ones. Ranks count the pages whose score is higher by more than `RESOLUTION`.

Traps: Remark 6.1 says |x* - x(0)|_1 <= N, which is false for x(0) = 1 (a star). But
|e_rel(0)|_1 <= max(2d, d/(1-d)) <= 1/(1-d) holds, so its conclusion is correct. Its 3.5e-15 after 50 steps with d = 1/2
should be 1.8e-15. Two crossings of the same pages between neighbouring dampings are not detected.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import ceil, floor, log, log10

import numpy as np
import numpy.typing as npt

from centime.analyse.agreement import kendall_tau
from centime.analyse.transition import Pages, Vector, check_damping
from centime.model.errors import BadSetting

DAMPINGS = tuple(round(0.05 * step, 2) for step in range(10, 20))
RESOLUTION = 1e-7
STEP = 2e-5
STEPS = 50_000
MOST_SECANTS = 8

Solve = Callable[[float], Vector]


@dataclass(frozen=True, slots=True)
class Crossing:
    """Two pages that change places: `above` ranks higher for dampings above `damping`, `below` for lower ones."""

    above: int
    below: int
    low: float
    high: float

    @property
    def damping(self) -> float:
        """The middle of `low` and `high`, with the digits that are certain."""
        return round((self.low + self.high) / 2.0, max(0, floor(-log10(2.0 * (self.high - self.low)))))


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The order of the best pages at each damping."""

    dampings: tuple[float, ...]
    tau: tuple[float, ...]
    """Kendall's tau between the order of all pages at each damping and that at the reference damping."""
    pages: Pages
    """The pages that are among the best at some damping, sorted by rank at the reference damping."""
    scores: npt.NDArray[np.float64]
    """Their scores, one row for each damping."""
    ranks: npt.NDArray[np.int64]
    """Their ranks among all pages, from 1, one row for each damping."""

    @property
    def moves(self) -> Vector:
        """The largest ratio of the ranks of each page at two dampings."""
        ratio: Vector = self.ranks.max(axis=0) / self.ranks.min(axis=0)
        return ratio

    def crossings(self, limit: int, solve: Solve, error: float = 0.0) -> list[Crossing]:
        """The pairs among the best `limit` pages that change places, sorted by damping; `solve` as in `sensitivity`.

        `error` bounds |x - x*|_1, the sum of the errors of all scores.
        """
        found = self._crossings(limit, solve, max(RESOLUTION, error))
        return sorted(found, key=lambda crossing: (crossing.low, crossing.above, crossing.below))

    def _crossings(self, limit: int, solve: Solve, least: float) -> Iterator[Crossing]:
        scores = self.scores[:, :limit]
        pages = self.pages[:limit].tolist()
        known: dict[int, Vector] = {
            round(damping * STEPS): row for damping, row in zip(self.dampings, scores, strict=True)
        }

        def at(place: int) -> Vector:
            if place not in known:
                known[place] = solve(place / STEPS)[self.pages[:limit]]
            return known[place]

        def lead(one: int, other: int, place: int) -> float:
            return float(at(place)[one] - at(place)[other])

        for lower, upper in pairwise(self.dampings):
            low, high = round(lower * STEPS), round(upper * STEPS)
            before = known[low][:, None] - known[low][None, :]
            after = known[high][:, None] - known[high][None, :]
            for one, other in np.argwhere((before < -least) & (after > least)).tolist():
                first, last = _between(partial(lead, one, other), low, high, least)
                yield Crossing(pages[one], pages[other], first / STEPS, last / STEPS)


def _between(lead: Callable[[int], float], low: int, high: int, least: float) -> tuple[int, int]:
    """Two places, next to each other if possible, between which a lead changes from below -`least` to above `least`."""
    secants = 0
    while high - low > 1:
        secants += 1
        share = -lead(low) / (lead(high) - lead(low)) if secants <= MOST_SECANTS else 0.5
        place = min(max(low + floor(share * (high - low)), low + 1), high - 1)
        if lead(place) < -least:
            low = place
        elif lead(place) > least:
            high = place
        else:
            return _certain(lead, place, low, -1, least), _certain(lead, place, high, 1, least)
    return low, high


def _certain(lead: Callable[[int], float], place: int, end: int, way: int, least: float) -> int:
    """The nearest tried place, from a place in one direction, at which the sign of the lead is certain; the end if
    there is none."""
    step = 1
    while (end - place) * way > step and way * lead(place + way * step) <= least:
        step *= 2
    return place + way * step if (end - place) * way > step else end


def sensitivity(
    solve: Solve, dampings: Sequence[float] = DAMPINGS, reference: float = 0.85, best: int = 100
) -> Sensitivity:
    """How the order of pages changes over the dampings.

    `solve(damping)` returns the scores of Eq. 2, with an error well below `RESOLUTION`.
    """
    chosen = tuple(sorted({*dampings, reference}))
    if len(chosen) < 2 or not (0 <= chosen[0] and chosen[-1] < 1):
        raise BadSetting("sensitivity needs at least two dampings, each at least 0 and below 1")
    vectors = [solve(damping) for damping in chosen]
    at_reference = vectors[chosen.index(reference)]
    tau = tuple(kendall_tau(vector, at_reference, RESOLUTION) for vector in vectors)
    pages = np.unique(np.concatenate([np.argsort(-vector, kind="stable")[:best] for vector in vectors]))
    pages = pages[np.argsort(-at_reference[pages], kind="stable")]
    ranks = np.array([rank_of(vector, pages) for vector in vectors])
    return Sensitivity(chosen, tau, pages, np.array([vector[pages] for vector in vectors]), ranks)


def rank_of(scores: Vector, pages: Pages) -> npt.NDArray[np.int64]:
    """The ranks of some pages among all: 1 plus the number of pages whose score is higher by more than `RESOLUTION`."""
    ordered = np.sort(scores)
    return 1 + len(scores) - np.searchsorted(ordered, scores[pages] + RESOLUTION, side="right").astype(np.int64)


def iterations_needed(damping: float, error: float, *, dangling: bool = True) -> int:
    """The iterations of Eq. 3, from ones, that bring the relative error in the 1-norm below `error` (Remark 6.1)."""
    check_damping(damping)
    if not error > 0:
        raise BadSetting(f"the error must be above 0, not {error}")
    if damping == 0:
        return 1
    return max(0, ceil(log(error * (1.0 - damping) if dangling else error / 2.0) / log(damping)))
