"""How the order of pages depends on the damping d (Section 6), and how many iterations an accuracy needs.

With a small d only pages nearby count; with d near 1 distant pages count too. So two pages may change places as d grows
(Example 6.1, at d = 1/4). Scores are computed for some dampings; a crossing between two of them is interpolated
linearly.

    |e_rel(t)|_1 <= d^t |e_rel(0)|_1                    (Theorem 6.1)
    t >= log((1-d) e) / log d                           (Remark 6.1; with no dangling page log(e/2) / log d)

Guaranteed: `iterations_needed` holds for Eq. 3 started from ones. Ranks count the pages whose score is higher by more
than `RESOLUTION`.

Traps: Remark 6.1 says |x* - x(0)|_1 <= N, which is false for x(0) = 1 (a star). But
|e_rel(0)|_1 <= max(2d, d/(1-d)) <= 1/(1-d) holds, so its conclusion is correct. Its 3.5e-15 after 50 steps with d = 1/2
should be 1.8e-15. Two crossings of the same pages between neighbouring dampings are not detected.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, log

import numpy as np
import numpy.typing as npt

from centime.analyse.agreement import kendall_tau
from centime.analyse.transition import Pages, Vector, check_damping
from centime.model.errors import BadSetting

DAMPINGS = tuple(round(0.05 * step, 2) for step in range(10, 20))
RESOLUTION = 1e-7


@dataclass(frozen=True, slots=True)
class Crossing:
    """Two pages that change places: `above` ranks higher for dampings above `damping`, `below` for lower ones."""

    above: int
    below: int
    damping: float


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

    def crossings(self, limit: int) -> list[Crossing]:
        """The pairs among the best `limit` pages that change places, sorted by damping."""
        return sorted(self._crossings(limit), key=lambda crossing: (crossing.damping, crossing.above, crossing.below))

    def _crossings(self, limit: int) -> Iterator[Crossing]:
        scores = self.scores[:, :limit]
        pages = self.pages[:limit].tolist()
        for low in range(len(self.dampings) - 1):
            before = scores[low][:, None] - scores[low][None, :]
            after = scores[low + 1][:, None] - scores[low + 1][None, :]
            for one, other in np.argwhere((before < -RESOLUTION) & (after > RESOLUTION)):
                way = before[one, other] / (before[one, other] - after[one, other])
                damping = self.dampings[low] + way * (self.dampings[low + 1] - self.dampings[low])
                yield Crossing(pages[one], pages[other], float(damping))


def sensitivity(
    solve: Callable[[float], Vector], dampings: Sequence[float] = DAMPINGS, reference: float = 0.85, best: int = 100
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
