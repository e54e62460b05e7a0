"""The effect of a change of links on the scores, without a new computation of all scores.

With W' = W + D after the change, y = x' - x* obeys

    y = d W' y + d D x*

So the difference spreads from the changed rows alone: each page passes on what has reached it (`gained`), until the
pending rest r is small. When a page passes on an amount, |r|_1 shrinks by at least 1-d of it. A sweep visits only
pages where this is cheap: those whose pending amount per link is more than half the mean. They hold at least half of
|r|_1, so a sweep shrinks it by a factor of (1 + d) / 2 or better, and the cost depends on the change, not on the graph.

Guaranteed: |x' - (x + y)|_1 <= `error` = (|r|_1 + `scores_error` (1-d)) / (1-d), where `scores_error` certifies the
given scores. Theorem 5.3: |y|_1 <= `bound` = d/(1-d) * sum over C of delta_p x*_p <= `coarse_bound` = 2d/(1-d) E_C.

Trap: the theorem is for scores of Eq. 2. For those of Eq. 13, where dangling pages pay all pages, a page that starts or
stops dangling has a delta_p of up to 2, not 1.
"""

from dataclasses import dataclass
from math import inf

import numpy as np

from centime.analyse.link_change import Change
from centime.analyse.transition import Marks, Pages, Transition, Vector, check, check_damping
from centime.model.errors import BadSetting
from centime.model.graph import Offsets, Targets, Weights
from centime.model.kernel import Whole, inlined, kernel


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of a change on the scores."""

    pages: Pages
    """The pages that the change reaches, sorted; no other score changes by more than `error`."""
    gained: Vector
    """What each of them gains or loses."""
    error: float
    """A bound on the L1 distance between the old scores plus `gained` and the exact new scores."""
    bound: float
    """The bound of Theorem 5.3 on the size of the effect."""
    coarse_bound: float
    links_followed: int

    @property
    def size(self) -> float:
        """|x' - x*|_1."""
        return float(np.abs(self.gained).sum())


def effect(
    walk: Transition, scores: Vector, damping: float, proposed: Change, *, scores_error: float, accuracy: float = 1e-6
) -> Effect:
    """The effect of a change; the pending rest is at most `accuracy` times the bound of Theorem 5.3."""
    check(walk, scores, damping)
    if not 0 < accuracy < 1:
        raise BadSetting(f"the accuracy must be above 0 and below 1, not {accuracy}")
    passed_on = damping / (1.0 - damping)
    rows, targets, shares = proposed.differences()
    old = scores[proposed.pages]
    under_way, gained = np.zeros(walk.pages), np.zeros(walk.pages)
    np.add.at(under_way, targets, damping * shares * old[rows])
    met = np.zeros(walk.pages, dtype=np.bool_)
    met[targets] = True
    reached = np.empty(walk.pages, dtype=np.int64)
    first = np.flatnonzero(met)
    reached[: len(first)] = first
    place = np.full(walk.pages, -1, dtype=np.int32)
    place[proposed.pages] = np.arange(len(proposed.pages))
    bound = passed_on * float(proposed.deltas() @ old)
    after = proposed.after
    count, followed, left = _spread(
        (walk.offsets, walk.targets, walk.weights, walk.share),
        (after.offsets, after.targets, after.weights, after.share),
        place,
        damping,
        accuracy * bound * (1.0 - damping),
        under_way,
        gained,
        met,
        reached,
        len(first),
    )
    pages = np.sort(reached[:count])
    error = left / (1.0 - damping) + scores_error
    return Effect(pages, gained[pages], error, bound, 2.0 * passed_on * float(old.sum()), followed)


def pages_until(damping: float, error: float) -> float:
    """The number of random pages that may change their links before |x - x'|_1 can exceed `error`.

    Section 5.2: a random page has score 1 and moves the scores by at most 2d/(1-d), so the result is (1-d)/(2d) * error
    pages. Then the scores should be computed again.
    """
    check_damping(damping)
    return (1.0 - damping) / (2.0 * damping) * error if damping else inf


Rows = tuple[Offsets, Targets, Weights, Vector]


@kernel
def _spread(
    walk: Rows,
    changed: Rows,
    place: Targets,
    damping: float,
    goal: float,
    under_way: Vector,
    gained: Vector,
    met: Marks,
    reached: Pages,
    count: int,
) -> tuple[int, int, float]:
    """Passes on pending amounts until they are at most `goal`; returns the pages reached, links followed, and rest."""
    followed = 0
    volume = 0
    for at in range(count):
        volume += 1 + _degree(walk, changed, place, reached[at])
    left = _size(under_way, reached, count)
    while left > goal:
        enough = left / (2 * volume)
        at = 0
        while at < count:
            page = reached[at]
            at += 1
            amount = under_way[page]
            if abs(amount) <= enough * (1 + _degree(walk, changed, place, page)):
                continue
            gained[page] += amount
            under_way[page] = 0.0
            row = page
            offsets, targets, weights, share = walk
            if place[page] >= 0:
                row = np.int64(place[page])
                offsets, targets, weights, share = changed
            weighted = len(weights) > 0
            payment = damping * share[row] * amount
            followed += offsets[row + 1] - offsets[row]
            for link in range(offsets[row], offsets[row + 1]):
                target = targets[link]
                under_way[target] += payment * weights[link] if weighted else payment
                if not met[target]:
                    met[target] = True
                    reached[count] = target
                    count += 1
                    volume += 1 + _degree(walk, changed, place, target)
        left = _size(under_way, reached, count)
    return count, followed, left


@inlined
def _degree(walk: Rows, changed: Rows, place: Targets, page: Whole) -> int:
    """The number of links of a page after the change."""
    if place[page] >= 0:
        return int(changed[0][place[page] + 1] - changed[0][place[page]])
    return int(walk[0][page + 1] - walk[0][page])


@inlined
def _size(values: Vector, pages: Pages, count: int) -> float:
    """The sum of the absolute values of some pages."""
    total = 0.0
    for place in range(count):
        total += abs(values[pages[place]])
    return total
