"""Where a page's score comes from and goes to.

    x*_p = (1 - d) + d * sum over links q->p of w_(p,q) x*_q           (Eq. 1: what each link brings)
    x*_p = x^i_p + x^e_p                                               (Definition 4.1: the part its community gives it by itself, the rest)
    x*_p = sum over k of (1 - d) d^k * sum over all q of (W^k)_(p,q)   (what the default score of pages k links away brings)

The last sum is followed back from p link by link: a page q at k links, through which a share a of its score reaches p,
brings (1 - d) a, and what remains of a x*_q comes from farther away. Shares too small to matter are not followed; what
they bring is `beyond`.

Of its own score the page passes d x*_p on along its links, loses it when it dangles, and d/(1-d) x*_p is that energy
over all that follows.

Guaranteed: default, links and, in the last sum, distances and `beyond` add up to the score, but for its own error.

Trap: a page's links back to itself and to pages that link to it bring it its own score again; it is counted where it
arrives.
"""

from dataclasses import dataclass

import numpy as np

from centime.analyse.transition import Pages, Transition, Vector, check
from centime.model.errors import BadInput
from centime.model.graph import Graph, Offsets, Targets, Weights
from centime.model.kernel import kernel

TOO_LITTLE = 1e-6  # of the score: a page that brings less than this is not followed back
MOST_STEPS = 60


@dataclass(frozen=True, slots=True)
class Explanation:
    """Where the score of a page comes from."""

    page: int
    score: float
    default: float
    """1 - d, what every page has."""
    sources: Pages
    """The pages that link to it, those that bring most first."""
    brought: Vector
    """What the links of each of them bring."""
    by_distance: Vector
    """What the default scores of pages 0, 1, 2, ... links away bring."""
    beyond: float
    """What was not followed back."""
    origins: Pages
    """Pages whose default score reaches it, those that bring most first."""
    reached: Vector
    """What the default score of each of them brings."""
    passed_on: float
    """What the page gives on along its links."""
    lost: float
    """What it would give on and cannot, because it dangles."""


def explanation(walk: Transition, scores: Vector, damping: float, page: int) -> Explanation:
    """Where the score of a page comes from, and what it gives on."""
    check(walk, scores, damping)
    if not 0 <= page < walk.pages:
        raise BadInput(f"the graph has no page {page}")
    turned = Graph(walk.offsets, walk.targets, walk.weights if len(walk.weights) else None).transpose()
    in_weights = np.empty(0) if turned.weights is None else turned.weights
    row = slice(turned.offsets[page], turned.offsets[page + 1])
    shares = walk.share[turned.targets[row]] * (1.0 if turned.weights is None else turned.weights[row])
    sources, place = np.unique(turned.targets[row], return_inverse=True)
    brought = np.zeros(len(sources))
    np.add.at(brought, place, damping * shares * scores[turned.targets[row]])
    by_distance, reached, beyond = _follow_back(
        turned.offsets,
        turned.targets,
        in_weights,
        walk.share * damping,
        scores,
        page,
        TOO_LITTLE * scores[page],
        1.0 - damping,
    )
    origins = np.flatnonzero(reached)
    origins = origins[np.argsort(-reached[origins], kind="stable")]
    order = np.argsort(-brought, kind="stable")
    given = damping * float(scores[page])
    dangles = bool(walk.dangling[page])
    return Explanation(
        page=page,
        score=float(scores[page]),
        default=1.0 - damping,
        sources=sources[order].astype(np.int64),
        brought=brought[order],
        by_distance=by_distance,
        beyond=beyond,
        origins=origins,
        reached=reached[origins],
        passed_on=0.0 if dangles else given,
        lost=given if dangles else 0.0,
    )


@kernel
def _follow_back(
    offsets: Offsets,
    sources: Targets,
    weights: Weights,
    paid: Vector,
    scores: Vector,
    page: int,
    too_little: float,
    default: float,
) -> tuple[Vector, Vector, float]:
    """Follows the shares back step by step; returns what each distance and each page brings, and what was not
    followed.
    """
    weighted = len(weights) > 0
    pages = len(scores)
    share, next_share = np.zeros(pages), np.zeros(pages)
    here, there = np.empty(pages, dtype=np.int64), np.empty(pages, dtype=np.int64)
    reached = np.zeros(pages)
    by_distance = np.zeros(MOST_STEPS)
    share[page], here[0], count = 1.0, page, 1
    beyond = 0.0
    steps = 0
    while count > 0:
        found = 0
        for place in range(count):
            at = here[place]
            amount = share[at]
            share[at] = 0.0
            if steps == MOST_STEPS or (amount * scores[at] < too_little and steps > 0):
                beyond += amount * scores[at]
                continue
            by_distance[steps] += default * amount
            reached[at] += default * amount
            for link in range(offsets[at], offsets[at + 1]):
                source = sources[link]
                more = amount * paid[source] * (weights[link] if weighted else 1.0)
                if more > 0.0:
                    if next_share[source] == 0.0:
                        there[found] = source
                        found += 1
                    next_share[source] += more
        share, next_share = next_share, share
        here, there = there, here
        count = found
        steps += 1
    return by_distance[: max(1, min(steps, MOST_STEPS))], reached, beyond
