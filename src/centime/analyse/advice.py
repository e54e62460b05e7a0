"""The three golden rules (Section 1.2) as advice for one community, each with what it would bring.

a. Split: the same content on more pages has more default energy. A new page that links to page p of the community
brings at least
   (1-d) (1 + d kept_p) energy (`fate`), up to 1 where nothing leaks.
b. Link back: a dangling page p loses all that it has. One link from it to page r brings at least d x*_p kept_r. c.
Move: links out of the community cost least on pages with a small score and many links inside. Their loss on page i is
about
   d x*_i (1 - f_i) times what a unit is worth along its other links; moved to page j they dilute j's links instead.

Guaranteed: for b and c `gain` is what the change brings while the rest of the web gives the community what it gives
now, within 1e-4 of Theorem 5.3's bound; for a it is a lower bound. Only what gains is advised; the most gainful first.
The cost is that of the community.

Traps: gains of several pieces of advice do not add up exactly. A link back from a page of the community takes nothing
from anyone inside, but the rest of the web has what the community gains less. Links that leave are why others link to
you: the paper knows only energy.
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

EACH = 5  # pieces of advice of one kind that are tried out
ACCURACY = 1e-4  # of the bound of Theorem 5.3: advice is compared, not booked


@dataclass(frozen=True, slots=True)
class Advice:
    """Something that a community can do for its energy."""

    rule: Literal["split", "link back", "move links"]
    page: int
    """The page to change."""
    other: int
    """Split: the page that new pages link to, the same. Link back: where to. Move links: to which page its links out are moved."""
    links: int
    """How many links are made or moved."""
    gain: float
    """How much energy the community gains."""


def advice(graph: Graph, scores: Vector, community: Subgraph, fate: Fate, most: int = 10) -> list[Advice]:
    """What the community can do, the most gainful first."""
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
    worth = fate.kept - 1.0  # d times what a unit is worth along the links inside
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
    """What a change of links brings the community."""
    proposed = change(graph, Numbers(graph.pages), added, removed).within(community)
    own = scores[community.pages]
    return float(
        effect(community.inside, own, fate.damping, proposed, scores_error=0.0, accuracy=ACCURACY).gained.sum()
    )
