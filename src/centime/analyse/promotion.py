"""Promotion: how high a page can be brought, and the communities that bring pages high (Section 5).

The largest score that a page of an island of N pages can have (Theorem 5.1):

    x = 1 + (N - 1) d                  with a link to itself: all pages link to it alone, itself included
    x = (1 + (N - 1) d) / (1 + d)      without

and the least energy of a community D when every page of C, with at most F links each, has one to D (Theorem 5.2),
whatever C looks like:

    E_D >= d (1 - d) / F * |C|

A promoting community is found by what the theorem says of it, not by a pattern: its pages live on their own default
energy and give it to the target. The supporters of a page (`support`) are a promoting community if they are ten or
more, give it at least three times the mean score, and most of their supply of energy is their own:

    own = |C| / (|C| + E_in of C) >= 3/4

Targets that have most of their supporters in common are promoted by one community.

Guaranteed: nothing is called promoting without these numbers, which are reported.

Traps: links alone do not tell why: a site that nobody links to, and whose pages all link to its front page, is such a
community too. The paper prints gamma = 0 for Figure 7(b) where it is 1, and a minus for a plus in the derivative of Eq.
42; the maxima are right.
"""

from dataclasses import dataclass

import numpy as np

from centime.analyse.support import LEAST_PAGES, Support, SupportSearch
from centime.analyse.transition import Pages, Transition, Vector, check, check_damping
from centime.model.errors import BadSetting
from centime.model.graph import Graph

LEAST_GIVEN = 3.0  # times the mean score
LEAST_OWN = 0.75


@dataclass(frozen=True, slots=True)
class Promotion:
    """A community that promotes some pages."""

    targets: Pages
    """D: the pages promoted, the one that is given most first."""
    supporters: Pages
    """C: the promoting pages, rising."""
    given: float
    """How much of the targets' scores comes from links of the supporters."""
    share: float
    """The part of the targets' scores that this is."""
    own: float
    """The part of the supporters' supply of energy that is their own default energy."""
    least: float
    """What Theorem 5.2 gives the targets at least."""


def largest_score(pages: int, damping: float, *, self_links: bool) -> float:
    """The largest score that a page of an island of so many pages can have (Theorem 5.1)."""
    check_damping(damping)
    if pages < 1 or (pages == 1 and not self_links):
        raise BadSetting(
            f"an island of {pages} pages has no largest score; there must be two pages, or one that may link to itself"
        )
    most = 1.0 + (pages - 1) * damping
    return most if self_links else most / (1.0 + damping)


def least_energy(supporters: int, most_links: int, damping: float) -> float:
    """The least energy of a community to which each of so many pages, with at most so many links, has a link
    (Theorem 5.2).
    """
    check_damping(damping)
    if most_links < 1:
        raise BadSetting(f"a page that supports another has at least one link, not {most_links}")
    return damping * (1.0 - damping) / most_links * supporters


def promotions(walk: Transition, scores: Vector, damping: float) -> list[Promotion]:
    """The promoting communities of a graph, those that give most first."""
    check(walk, scores, damping)
    turned = Graph(walk.offsets, walk.targets, walk.weights if len(walk.weights) else None).transpose()
    least = LEAST_GIVEN * float(scores.mean()) if walk.pages else 0.0
    candidates = np.flatnonzero((np.diff(turned.offsets) >= LEAST_PAGES) & (scores >= least))
    search = SupportSearch(walk, turned, scores, damping)
    groups: list[list[Support]] = []
    group_of = np.full(walk.pages, -1, dtype=np.int64)
    for target in candidates[np.argsort(-scores[candidates], kind="stable")].tolist():
        found = search.around(target)
        if found is None or found.given < least or found.own < LEAST_OWN:
            continue
        known, count = np.unique(group_of[found.supporters], return_counts=True)
        group = int(known[count.argmax()]) if 2 * count.max() > len(found.supporters) else -1
        if group < 0:
            group = len(groups)
            groups.append([])
        groups[group].append(found)
        group_of[found.supporters] = group
    return sorted((_joined(group, walk, scores, damping) for group in groups), key=lambda promotion: -promotion.given)


def _joined(group: list[Support], walk: Transition, scores: Vector, damping: float) -> Promotion:
    """One community of all supports that are the same one's."""
    targets = [found.target for found in sorted(group, key=lambda found: -found.given)]
    supporters = np.unique(np.concatenate([found.supporters for found in group]))
    given = sum(found.given for found in group)
    own = len(supporters) / (len(supporters) + max(found.received for found in group))
    most_links = int((walk.offsets[supporters + 1] - walk.offsets[supporters]).max())
    share = given / float(scores[targets].sum())
    return Promotion(
        np.array(targets), supporters, given, share, own, least_energy(len(supporters), most_links, damping)
    )
