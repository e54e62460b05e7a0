"""The contribution of each page to a community, and what happens to it (Theorem 4.3).

A page p outside I brings c, of which e is entrapped in I, s is lost in the dangling pages of I, and o is spread over
the rest of the web:

    c_p = d/(1-d) f_p x*_p
    e_p = d             * sum over links p->r into I of w_(r,p) kept_r    * x*_p
    s_p = d/(1-d) * d   * sum over links p->r into I of w_(r,p) sunk_r    * x*_p
    o_p = c_p - e_p - s_p

with kept and sunk of `fate.py`. A page p of I brings its default energy c_p = 1, of which e_p = (1-d) kept_p and
s_p = d sunk_p.

Guaranteed: c = e + s + o, nothing is negative except for rounding, and e_p >= (1 - d^(L_p)) c_p (Theorem 4.4).

Traps: the paper calls c/e the entrapped portion; it is e/c. Its sum of e over in(I) is the external energy, not all of
E_I.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from centime.analyse.fate import NEVER, Distances, Fate
from centime.analyse.subgraph import Subgraph
from centime.analyse.transition import Pages, Transition, Vector, check
from centime.model.graph import Offsets, Targets, Weights
from centime.model.kernel import kernel


@dataclass(frozen=True, slots=True)
class Contributions:
    """The contributions of some pages to a community, and what happens to them."""

    pages: Pages
    brought: Vector
    entrapped: Vector
    lost: Vector
    steps_to_leak: Distances
    """L_p: the least number of links from the page to a leak of the community; `NEVER` if it reaches none."""

    @property
    def spread(self) -> Vector:
        """The part that the community spreads over the rest of the web."""
        return np.maximum(self.brought - self.entrapped - self.lost, 0.0)


def contributions(
    walk: Transition, scores: Vector, community: Subgraph, fate: Fate, pages: npt.ArrayLike
) -> Contributions:
    """The contributions of pages to a community: a page outside along its links, a page inside by its default
    energy."""
    damping = fate.damping
    check(walk, scores, damping)
    chosen = np.asarray(pages, dtype=np.int64)
    number = np.full(walk.pages, -1, dtype=np.int32)
    number[community.pages] = np.arange(len(community.pages))
    sums = np.zeros((3, len(chosen)))
    steps = np.full(len(chosen), NEVER, dtype=np.int32)
    _follow(
        walk.offsets,
        walk.targets,
        walk.weights,
        walk.share,
        chosen,
        number,
        fate.kept,
        fate.sunk,
        fate.distance,
        sums,
        steps,
    )
    own = number[chosen] >= 0
    paid = damping * scores[chosen]
    place = number[chosen[own]]
    brought, entrapped, lost = sums[0] * paid / (1 - damping), sums[1] * paid, sums[2] * paid * damping / (1 - damping)
    brought[own] = 1.0
    entrapped[own] = (1.0 - damping) * fate.kept[place]
    lost[own] = damping * fate.sunk[place]
    steps[own] = fate.distance[place]
    return Contributions(chosen, brought, entrapped, lost, steps)


@kernel
def _follow(
    offsets: Offsets,
    targets: Targets,
    weights: Weights,
    share: Vector,
    chosen: Pages,
    number: Targets,
    kept: Vector,
    sunk: Vector,
    distance: Distances,
    sums: npt.NDArray[np.float64],
    steps: Distances,
) -> None:
    """Adds up, over the links of each page into the community, the shares, the kept parts and the sunk parts."""
    weighted = len(weights) > 0
    for place in range(len(chosen)):
        page = chosen[place]
        for link in range(offsets[page], offsets[page + 1]):
            target = number[targets[link]]
            if target >= 0:
                part = share[page] * (weights[link] if weighted else 1.0)
                sums[0, place] += part
                sums[1, place] += part * kept[target]
                sums[2, place] += part * sunk[target]
                if distance[target] < NEVER:
                    steps[place] = min(steps[place], distance[target] + 1)
