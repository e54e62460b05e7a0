"""Where the score of a page comes from, and where it goes.

    x*_p = (1 - d) + d * sum over links q->p of w_(p,q) x*_q           (Eq. 1: what each link brings)
    x*_p = x^i_p + x^e_p                                               (Definition 4.1: the part that its own community
                                                                       gives, and the rest)
    x*_p = sum over k of (1 - d) d^k * sum over all q of (W^k)_(p,q)   (what the default score of pages k links away
                                                                       brings)

The last sum is followed back from p, link by link. If a share a of the score of a page q reaches p over k links, q
brings (1 - d) a, and the rest of a x*_q comes from pages farther away. Shares that are too small are not followed; what
they bring is `beyond`.

The page passes d x*_p on along its links, or loses it if it dangles. Over all later steps that energy is
d/(1-d) x*_p.

Guaranteed: the default and the links add up to the score, and so do the distances and `beyond`, except for the error of
the score.

Trap: the links of a page to itself, and to pages that link to it, bring its own score back; it counts where it arrives.
"""

from dataclasses import dataclass

import numpy as np

from centime.analyse.transition import Pages, Transition, Vector, check
from centime.model.errors import BadInput
from centime.model.graph import Graph, Offsets, Targets, Weights
from centime.model.kernel import kernel

TOO_LITTLE = 1e-6  # a page that brings less than this share of the score is not followed back
MOST_STEPS = 60


@dataclass(frozen=True, slots=True)
class Explanation:
    """Where the score of a page comes from."""

    page: int
    score: float
    default: float
    """1 - d, the default score of each page."""
    sources: Pages
    """The pages that link to the page, the largest contribution first."""
    brought: Vector
    """What the links of each source bring."""
    by_distance: Vector
    """What the default scores of pages 0, 1, 2, ... links away bring."""
    beyond: float
    """The part that was not followed back."""
    origins: Pages
    """The pages whose default score reaches the page, the largest contribution first."""
    reached: Vector
    """What the default score of each origin brings."""
    passed_on: float
    """What the page passes on along its links."""
    lost: float
    """What the page loses because it dangles."""


def explanation(walk: Transition, scores: Vector, damping: float, page: int) -> Explanation:
    """Explains the score of a page: where it comes from, and how much of it is passed on."""
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
    """Follows the shares back step by step; returns what each distance and each page brings, and the rest."""
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
