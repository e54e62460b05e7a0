"""The fate of score that enters a community: the part of Theorem 4.3 that depends on the community alone.

Of a unit of score on page q of I, over all later steps,

    kept_q   = 1              + d * sum over links q->r in I of w_(r,q) kept_r       stays as score of pages of I
    sunk_q   = 1 if q dangles + d * sum over links q->r in I of w_(r,q) sunk_r       is lost in dangling pages
    spread_q = 1 - f_q        + d * sum over links q->r in I of w_(r,q) spread_r     is spread over the rest of the web

In the symbols of the paper, kept = 1' (I - d W_(I,I))^-1, and e, s, o of Theorem 4.3 are sums of these along the links
of a page, so they can be computed without knowing the rest of the web. They obey
(1 - d) kept_q + d sunk_q + d spread_q = 1, so spread need not be computed.

`distance` is the least number of links inside I from a page to dp(I) or out(I), or `NEVER` if none is reached. For a
page p that links into I, L_p of Lemma 4.1 is 1 + the least distance of the pages that it links to.

Guaranteed: `kept` and `sunk` are each at most `error` too low, for any community.

Trap: the paper prints h_(i,p) for psi_(i,p) in Theorem 4.3, and L_p = max{n | Theta_n without leaks}. A Theta_n without
leaks may follow one with leaks; the proofs use, and Theorem 5.2 needs, the least n whose Theta_n leaks.
"""

from dataclasses import dataclass
from math import inf

import numpy as np
import numpy.typing as npt

from centime.analyse.subgraph import Subgraph
from centime.analyse.transition import Marks, Vector, check_damping
from centime.model.graph import Offsets, Targets, Weights
from centime.model.kernel import kernel

Distances = npt.NDArray[np.int32]

NEVER = 2**31 - 1
ERROR = 1e-10


@dataclass(frozen=True, slots=True)
class Fate:
    """The fate of a unit of score on each page of a community."""

    damping: float
    kept: Vector
    sunk: Vector
    distance: Distances


def fate(community: Subgraph, damping: float, error: float = ERROR) -> Fate:
    """Computes the fate of a unit of score on each page of a community."""
    check_damping(damping)
    inside = community.inside
    first_sunk = community.dangling.astype(np.float64)
    kept, sunk = np.ones(len(first_sunk)), first_sunk.copy()
    backward = False
    change = inf
    while change * damping > error * (1.0 - damping):
        change = _sweep(
            inside.offsets, inside.targets, inside.weights, inside.share, damping, backward, first_sunk, kept, sunk
        )
        backward = not backward
    return Fate(damping, kept, sunk, distances(community))


def distances(community: Subgraph) -> Distances:
    """The least number of links inside the community from each page to a page that dangles or links out of it."""
    turned = community.turned()
    result = np.full(len(community.pages), NEVER, dtype=np.int32)
    _search(turned.offsets, turned.targets, community.leaks, result)
    return result


@kernel
def _sweep(
    offsets: Offsets,
    targets: Targets,
    weights: Weights,
    share: Vector,
    damping: float,
    backward: bool,
    first_sunk: Vector,
    kept: Vector,
    sunk: Vector,
) -> float:
    """One Gauss-Seidel pass over the pages, forward or backward; returns the largest change."""
    weighted = len(weights) > 0
    pages = len(share)
    change = 0.0
    for step in range(pages):
        page = pages - 1 - step if backward else step
        more_kept, more_sunk = 0.0, 0.0
        for link in range(offsets[page], offsets[page + 1]):
            weight = weights[link] if weighted else 1.0
            more_kept += weight * kept[targets[link]]
            more_sunk += weight * sunk[targets[link]]
        payment = damping * share[page]
        more_kept = 1.0 + payment * more_kept
        more_sunk = first_sunk[page] + payment * more_sunk
        change = max(change, abs(more_kept - kept[page]), abs(more_sunk - sunk[page]))
        kept[page], sunk[page] = more_kept, more_sunk
    return change


@kernel
def _search(offsets: Offsets, sources: Targets, leaks: Marks, distance: Distances) -> None:
    """Breadth-first search from the leaks, against the links."""
    queue = np.empty(len(leaks), dtype=np.int32)
    first, last = 0, 0
    for page in range(len(leaks)):
        if leaks[page]:
            distance[page] = 0
            queue[last] = page
            last += 1
    while first < last:
        page = queue[first]
        first += 1
        for link in range(offsets[page], offsets[page + 1]):
            if distance[sources[link]] == NEVER:
                distance[sources[link]] = distance[page] + 1
                queue[last] = sources[link]
                last += 1
