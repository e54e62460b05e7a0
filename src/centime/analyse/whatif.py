"""What a change of links does to the scores, without computing them anew.

With W' = W + D after the change, y = x' - x* obeys

    y = d W' y + d D x*

so the difference spreads from the changed rows alone: page after page passes on what has reached it (`gained`), until
what is still under way, r, is small. Passing on what a page has shrinks |r|_1 by the share 1 - d of that or more. A
sweep passes on where that is cheap, on pages with more than half the mean for each of their links: at least half of
|r|_1, so a sweep shrinks it by a factor of (1 + d) / 2 or better, and the cost follows the change and not the graph.

Guaranteed: |x' - (x + y)|_1 <= `error` = (|r|_1 + `scores_error` (1-d)) / (1-d), where `scores_error` certifies the
scores given. Theorem 5.3: |y|_1 <= `bound` = d/(1-d) * sum over C of delta_p x*_p <= `coarse_bound` = 2d/(1-d) E_C.

Traps: the theorem is for scores of Eq. 2. For those of Eq. 13, where dangling pages pay everyone, a page that starts or
ceases to dangle has delta_p up to 2, not 1.
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
    """How the scores change."""

    pages: Pages
    """Pages that the change reaches, rising; no other score moves by more than `error`."""
    gained: Vector
    """How much each of them gains or loses."""
    error: float
    """At most so far, all pages together, are the old scores plus what is gained from the true new ones."""
    bound: float
    """What Theorem 5.3 allows the change to be at most."""
    coarse_bound: float
    links_followed: int

    @property
    def size(self) -> float:
        """|x' - x*|_1."""
        return float(np.abs(self.gained).sum())


def effect(
    walk: Transition, scores: Vector, damping: float, proposed: Change, *, scores_error: float, accuracy: float = 1e-6
) -> Effect:
    """How a change moves the scores: what is left under way is at most `accuracy` of the bound of Theorem 5.3."""
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
    """How many random pages may change their links until the scores have to be computed anew, to stay within |x - x'|_1
    <= `error`.

    Section 5.2: a random page has score 1 and moves the scores by 2d/(1-d) at most, so the answer is (1-d)/(2d) * error
    pages.
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
    """Passes on what is under way until no more than the goal is; returns how many pages were reached and links
    followed, what is left.
    """
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
    """How many links a page has after the change."""
    if place[page] >= 0:
        return int(changed[0][place[page] + 1] - changed[0][place[page]])
    return int(walk[0][page + 1] - walk[0][page])


@inlined
def _size(values: Vector, pages: Pages, count: int) -> float:
    """The sum of what some pages have, without signs."""
    total = 0.0
    for place in range(count):
        total += abs(values[pages[place]])
    return total
