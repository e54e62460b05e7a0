"""Promotion: the largest score that a page can have, and the communities that promote pages (Section 5).

The largest score of a page on an island of N pages (Theorem 5.1):

    x = 1 + (N - 1) d                  with self-links: all pages link to this page only, and so does the page itself
    x = (1 + (N - 1) d) / (1 + d)      without self-links

The least energy of a community D if every page of C, with at most F links each, has a link to D (Theorem 5.2), whatever
the links inside C are:

    E_D >= d (1 - d) / F * |C|

A promoting community is found by the property that the theorem describes, not by a link pattern: its pages have little
but their own default energy, lead it to the target, directly or through each other, and the target gives nothing back.
The supporters of a page (`support.py`) are a promoting community if they are 25 or more and

    given    >= 5 times the mean score, 7 % of their default energy, and 40 % of the target's score
                (10 % if it is 10 times the mean score)
    own      >= 90 %: the share of their energy that is their own, |C| / (|C| + E_in of C)
    entered  <= 10 % of them receive anything from outside
    returned <= 50 % of them are led to by pages to which they lead back: a site is, a farm is not
    rivals   <= 4 other pages receive as much from them, and none leads back to 20 % of them, as a front page does

Targets that share most of their supporters are promoted by one community; so are pages of a community through which it
promotes another.

Guaranteed: every promoting community is reported once, with these numbers.

Traps: links do not show intent. The limits were chosen on cnr-2000 and planted communities (`python -m bench.promotion`
shows what they find elsewhere). A target that links to all of its supporters makes a site of them, which is not found.
The paper prints gamma = 0 for Figure 7(b), where it is 1, and a minus for a plus in the
derivative of Eq. 42; the maxima are correct.
"""

from dataclasses import dataclass

import numpy as np

from centime.analyse.planting import Community
from centime.analyse.support import MOST_RIVALS, Support, SupportSearch
from centime.analyse.transition import Transition, Vector, check, check_damping
from centime.model.errors import BadSetting
from centime.model.graph import Graph

LEAST_GIVEN, MUCH_GIVEN = 5.0, 10.0  # times the mean score
LEAST_OWN = 0.9
LEAST_AIMED = 0.07
LEAST_SHARE, LEAST_SHARE_OF_MUCH = 0.4, 0.1
MOST_ENTERED = 0.1
MOST_RETURNED = 0.5
MOST_RULED = 0.2


@dataclass(frozen=True, slots=True)
class Promotion(Community):
    """A community that promotes some pages."""

    given: float
    """The part of the scores of the targets that comes from links of the supporters."""
    share: float
    """`given` as a share of the scores of the targets."""
    own: float
    """The share of the supporters' energy that is their own default energy."""
    least: float
    """The least energy of the targets by Theorem 5.2."""


def largest_score(pages: int, damping: float, *, self_links: bool) -> float:
    """The largest score that a page on an island of `pages` pages can have (Theorem 5.1)."""
    check_damping(damping)
    if pages < 1 or (pages == 1 and not self_links):
        raise BadSetting(
            f"an island of {pages} pages has no largest score; it needs two pages, or one page that may link to itself"
        )
    most = 1.0 + (pages - 1) * damping
    return most if self_links else most / (1.0 + damping)


def least_energy(supporters: int, most_links: int, damping: float) -> float:
    """The least energy of a community to which `supporters` pages link, each with at most `most_links` links (Theorem
    5.2).
    """
    check_damping(damping)
    if most_links < 1:
        raise BadSetting(f"a supporting page has at least one link, not {most_links}")
    return damping * (1.0 - damping) / most_links * supporters


def promotions(walk: Transition, scores: Vector, damping: float) -> list[Promotion]:
    """The promoting communities of a graph, the one that gives most first."""
    check(walk, scores, damping)
    turned = Graph(walk.offsets, walk.targets, walk.weights if len(walk.weights) else None).transpose()
    least = LEAST_GIVEN * float(scores.mean()) if walk.pages else 0.0
    candidates = np.flatnonzero((np.diff(turned.offsets) > 0) & (scores >= least))
    search = SupportSearch(walk, turned, scores, damping)
    groups: list[list[Support]] = []
    group_of = np.full(walk.pages, -1, dtype=np.int64)
    for target in candidates[np.argsort(-scores[candidates], kind="stable")].tolist():
        found = search.around(target)
        if found is None or found.given < least or not _promotes(found, float(scores[target]), least, damping):
            continue
        known, count = np.unique(group_of[found.supporters], return_counts=True)
        group = int(known[count.argmax()]) if 2 * count.max() > len(found.supporters) else -1
        if group < 0:
            group = len(groups)
            groups.append([])
        groups[group].append(found)
        group_of[found.supporters] = group
    return sorted((_joined(group, walk, scores, damping) for group in groups), key=lambda promotion: -promotion.given)


def _promotes(found: Support, score: float, least: float, damping: float) -> bool:
    """Whether the supporters of a target promote it, and are not a site that readers visit."""
    much = found.given >= MUCH_GIVEN / LEAST_GIVEN * least
    share = LEAST_SHARE_OF_MUCH if much else LEAST_SHARE
    return (
        found.own >= LEAST_OWN
        and found.given >= max(LEAST_AIMED * (1.0 - damping) * len(found.supporters), share * score)
        and found.entered <= MOST_ENTERED
        and found.returned <= MOST_RETURNED
        and found.rivals <= MOST_RIVALS
        and found.ruled <= MOST_RULED
    )


def _joined(group: list[Support], walk: Transition, scores: Vector, damping: float) -> Promotion:
    """Merges the supports of one community."""
    targets = [found.target for found in sorted(group, key=lambda found: -found.given)]
    supporters = np.unique(np.concatenate([found.supporters for found in group]))
    given = sum(found.given for found in group)
    own = len(supporters) / (len(supporters) + max(found.received for found in group))
    most_links = int((walk.offsets[supporters + 1] - walk.offsets[supporters]).max())
    share = given / float(scores[targets].sum())
    return Promotion(
        np.array(targets), supporters, given, share, own, least_energy(len(supporters), most_links, damping)
    )
