"""The energy balance of a community (Theorem 4.2).

    E_I = sum over I of x*_i = |I| + E_in - E_out - E_dp
    E_in  = d/(1-d) * sum over in(I)  of f_i x*_i            what other pages bring
    E_out = d/(1-d) * sum over out(I) of (1 - f_i) x*_i      what links out of I spread
    E_dp  = d/(1-d) * sum over dp(I)  of x*_i                what dangling pages lose
          = d |dp(I)| + d^2/(1-d) * sum over all i of g_i x*_i    (Corollary 4.1; g_i: fraction of links of i to dp(I))

E_I is also the sum of the energy that the community has by itself and the energy that others give it (Definition 4.1,
Theorem 4.1): of the internal PageRank x^i = (1-d) (I - d W_(I,I))^-1 1 and the external PageRank x^e = x* - x^i.

Guaranteed: with exact scores, the two sides of each identity differ only by rounding. `residual` is their difference;
it is at most |d W x + (1-d) - x|_1 / (1-d), the certificate of the scores. E_I >= `least` = (1 - d^L) E_in, where L is
the least L_p (Theorem 4.4).

Traps: scores must be those of Eq. 2, not normalised to any sum. Theorem 4.4 in the paper has L(I) = max L_p; its proof,
and the truth, need the least L_p. ps[I] of Corollary 4.1 are all pages with links to dp(I), inside or outside of I.
"""

from dataclasses import dataclass

import numpy as np

from centime.analyse.fate import NEVER, distances
from centime.analyse.subgraph import Subgraph
from centime.analyse.transition import Marks, Transition, Vector, brought, check, check_damping, fractions
from centime.model.graph import Offsets, Targets
from centime.model.kernel import kernel

MOST_STEPS = 100_000  # of a sum of gains
IDLE = 1_000  # steps in a row that leave no less: only rounding is left
TINY = 1e-300


@dataclass(frozen=True, slots=True)
class Balance:
    """The energy of a community and the terms of its balance."""

    pages: int
    energy: float
    received: float
    spread: float
    lost: float
    lost_by_links: float
    """`lost`, computed by Corollary 4.1."""
    least: float
    """The lower bound of the energy by Theorem 4.4, for any links inside the community."""

    @property
    def residual(self) -> float:
        """The difference of the two sides of Theorem 4.2."""
        return self.energy - (self.pages + self.received - self.spread - self.lost)


def balance(walk: Transition, scores: Vector, damping: float, community: Subgraph) -> Balance:
    """The energy balance of a community, from scores of Eq. 2."""
    check(walk, scores, damping)
    inside = community.marks(walk.pages)
    into = np.where(inside, 0.0, fractions(walk, inside))
    to_dangling = fractions(walk, inside & walk.dangling)
    own = scores[community.pages]
    passed_on = damping / (1.0 - damping)
    received = passed_on * float(into @ scores)
    dangling = int(community.dangling.sum())
    return Balance(
        pages=len(community.pages),
        energy=float(own.sum()),
        received=received,
        spread=passed_on * float(((1.0 - community.kept) * own)[community.leaving].sum()),
        lost=passed_on * float(own[community.dangling].sum()),
        lost_by_links=damping * dangling + damping * passed_on * float(to_dangling @ scores),
        least=(1.0 - damping ** shortest_way_out(walk, community, into)) * received,
    )


def shortest_way_out(walk: Transition, community: Subgraph, into: Vector) -> int:
    """L(I): the least number of links from a page outside that links `into` the community to one of its leaks."""
    entered = np.zeros(walk.pages, dtype=np.bool_)
    _mark_targets(walk.offsets, walk.targets, into > 0, entered)
    least = int(distances(community)[entered[community.pages]].min(initial=NEVER))
    return least if least == NEVER else 1 + least


def internal_scores(community: Subgraph, damping: float, error: float = 1e-10) -> Vector:
    """x^i of Definition 4.1: the score of each page if no page outside linked to the community, with the error of
    `certain_internal_scores`.
    """
    return certain_internal_scores(community, damping, error)[0]


def certain_internal_scores(community: Subgraph, damping: float, error: float = 1e-10) -> tuple[Vector, float]:
    """The same, and a bound on its mean error: `error`, unless rounding or MOST_STEPS end the work before.

    The scores are sums of gains, g' = d W g. Once all gains shrink alike, by a factor r, the sum of all later ones is
    g / (1-r); what this leaves is t = g + (g' - g) / (1-r), and |x - x^i|_1 <= |t|_1 / (1-d).
    """
    check_damping(damping)
    scores = np.zeros(len(community.pages))
    gained = np.full(len(community.pages), 1.0 - damping)
    best, least, idle = scores, np.inf, 0
    for _ in range(MOST_STEPS):
        following = damping * brought(community.inside, gained)
        # the factor is at most d; after the end of all gains, nothing remains
        more = 1.0 / (1.0 - min(damping, float(following.sum()) / max(float(gained.sum()), TINY)))
        left = float(np.abs(gained + more * (following - gained)).mean()) / (1.0 - damping)
        if left < least:
            best, least, idle = scores + more * gained, left, 0
        else:
            idle += 1
        if least <= error or idle >= IDLE:
            break
        scores += gained
        gained = following
    return best, least


def leaks(community: Subgraph, scores: Vector, damping: float) -> Vector:
    """The energy that each page takes out of the community: its part of E_out, or of E_dp if it dangles."""
    own = scores[community.pages]
    lost = np.where(community.dangling, 1.0, np.where(community.leaving, 1.0 - community.kept, 0.0))
    result: Vector = damping / (1.0 - damping) * lost * own
    return result


@kernel
def _mark_targets(offsets: Offsets, targets: Targets, wanted: Marks, marks: Marks) -> None:
    """Marks every page that a wanted page links to."""
    for page in range(len(wanted)):
        if wanted[page]:
            for link in range(offsets[page], offsets[page + 1]):
                marks[targets[link]] = True
