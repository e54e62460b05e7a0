"""The three golden rules (Section 1.2) as advice for one community, each with its gain.

a. Split: the same content on more pages has more default energy. A new page that links to page p of the community
   brings at least (1-d) (1 + d kept_p) energy (`fate`), up to 1 if nothing leaks.
b. Link back: a dangling page p loses all of its score. One link from it to page r brings at least d x*_p kept_r.
c. Move: links out of the community cost least on pages with a small score and many links inside. On page i they cost
   about d x*_i (1 - f_i) times the value of a unit along its other links. After a move to page j, they dilute the links
   of page j instead.

Guaranteed: for b and c, `gain` is the effect of the change if the rest of the web gives the community as much as
before, within 1e-4 of the bound of Theorem 5.3; for a it is a lower bound. Only advice with a gain is listed, the
largest gain first. The cost depends on the size of the community, not of the graph.

Traps: the gains of several pieces of advice do not add up exactly. A link back takes nothing from pages inside the
community, but the rest of the web loses what the community gains. Links out of a community may be the reason why others
link to it: the paper considers only energy.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import nlargest
from itertools import chain
from typing import Literal

import numpy as np

from centime.analyse.community import Numbers
from centime.analyse.fate import Fate
from centime.analyse.link_change import Link, change
from centime.analyse.subgraph import Subgraph
from centime.analyse.transition import Vector
from centime.analyse.whatif import effect
from centime.model.graph import Graph

EACH = 5  # pieces of advice of one kind whose gain is computed
ACCURACY = 1e-4  # of the bound of Theorem 5.3: enough to compare pieces of advice


@dataclass(frozen=True, slots=True)
class Advice:
    """A change that increases the energy of a community."""

    rule: Literal["split", "link back", "move links"]
    page: int
    """The page to change."""
    other: int
    """Split: the same page, to which new pages link. Link back: the target of the new link. Move links: the page that
    gets the links.
    """
    links: int
    """The number of links that are added or moved."""
    gain: float
    """The energy that the community gains."""


def advice(graph: Graph, scores: Vector, community: Subgraph, fate: Fate, most: int = 10) -> list[Advice]:
    """At most `most` pieces of advice for a community, the largest gain first."""
    found = chain(
        _split(community, fate), _link_back(graph, scores, community, fate), _move(graph, scores, community, fate)
    )
    return nlargest(most, (each for each in found if each.gain > 0.0), key=lambda each: each.gain)


def _split(community: Subgraph, fate: Fate) -> Iterator[Advice]:
    place = int(np.argmax(fate.kept))
    page = int(community.pages[place])
    yield Advice("split", page, page, 1, (1.0 - fate.damping) * (1.0 + fate.damping * float(fate.kept[place])))


def _link_back(graph: Graph, scores: Vector, community: Subgraph, fate: Fate) -> Iterator[Advice]:
    own = scores[community.pages]
    best = np.flatnonzero(fate.kept >= fate.kept.max() - 1e-9)
    home = int(community.pages[best[np.argmax(own[best])]])
    dangling = community.pages[community.dangling]
    for page in dangling[np.argsort(-scores[dangling], kind="stable")][:EACH].tolist():
        target = home if home != page else _another(community, fate, page)
        if target is not None:
            yield Advice("link back", page, target, 1, _gain(graph, scores, community, fate, [(page, target, 1.0)], []))


def _another(community: Subgraph, fate: Fate, page: int) -> int | None:
    others = np.flatnonzero(community.pages != page)
    return int(community.pages[others[np.argmax(fate.kept[others])]]) if len(others) else None


def _move(graph: Graph, scores: Vector, community: Subgraph, fate: Fate) -> Iterator[Advice]:
    own = scores[community.pages]
    inside = community.marks(graph.pages)
    worth = fate.kept - 1.0  # d times the value of a unit along the links inside
    stays = community.leaving & (community.kept > 0.0)
    leaks = np.where(stays, own * worth * (1.0 - community.kept) / np.maximum(community.kept, 1e-12), 0.0)
    homes = np.flatnonzero(~community.dangling & (community.kept > 0.0))
    for place in np.argsort(-leaks, kind="stable")[:EACH]:
        page = int(community.pages[place])
        row = slice(graph.offsets[page], graph.offsets[page + 1])
        weights = np.ones(row.stop - row.start) if graph.weights is None else graph.weights[row]
        leaving = [
            link for link in zip(graph.targets[row].tolist(), weights.tolist(), strict=True) if not inside[link[0]]
        ]
        others = homes[homes != place]
        if not leaks[place] or not len(others):
            return
        degree = graph.out_degree[community.pages[others]]
        home = others[np.argmin(own[others] * worth[others] * len(leaving) / (degree + len(leaving)))]
        new = int(community.pages[home])
        added, removed = [(new, *link) for link in leaving], [(page, *link) for link in leaving]
        yield Advice("move links", page, new, len(leaving), _gain(graph, scores, community, fate, added, removed))


def _gain(
    graph: Graph, scores: Vector, community: Subgraph, fate: Fate, added: list[Link], removed: list[Link]
) -> float:
    """The energy that the community gains by a change of links."""
    proposed = change(graph, Numbers(graph.pages), added, removed).within(community)
    own = scores[community.pages]
    return float(
        effect(community.inside, own, fate.damping, proposed, scores_error=0.0, accuracy=ACCURACY).gained.sum()
    )
