"""Promoting communities planted in a graph, and how many of them a search finds.

Each planted community C has 20 to 200 new pages and one to three targets D, which are pages of the graph with few links
to them. Every page of C links to a target (Theorem 5.2). The other links depend on the pattern:

| pattern | links of a page of C |
|---|---|
| star | only the target |
| ring | also the next page of C |
| random | also three to eight random pages of C |
| hidden | the same, and one random page of the graph |
| stolen | the same as random, and three pages of the graph link to the community |

    precision = found communities that are planted / found        recall = planted communities that are found / planted

A found community matches a planted one if it has one of its targets and more than half of its pages are planted there.

Guaranteed: the same arguments give the same graph.

Trap: a community that is found but was not planted may promote pages too; a graph does not show intent.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from centime.analyse.promotion import Promotion
from centime.analyse.transition import Pages
from centime.model.errors import BadSetting
from centime.model.graph import LARGEST_PAGE_COUNT, Graph, graph_from_links

PATTERNS = ("star", "ring", "random", "hidden", "stolen")
SMALLEST, LARGEST = 20, 200
MOST_TARGETS = 3
STOLEN_LINKS = 3


@dataclass(frozen=True, slots=True)
class Planted:
    """A planted promoting community."""

    pattern: str
    targets: Pages
    supporters: Pages


@dataclass(frozen=True, slots=True)
class Finding:
    """The quality of a search for planted communities."""

    planted: int
    found: int
    right: int
    precision: float
    recall: float


def plant(graph: Graph, communities: int, seed: int) -> tuple[Graph, list[Planted]]:
    """The graph with `communities` promoting communities added after its last page."""
    if graph.weights is not None or graph.pages < 100:
        raise BadSetting("planting communities needs a graph without weights, with 100 pages or more")
    if not 1 <= communities <= (LARGEST_PAGE_COUNT - graph.pages) // LARGEST:
        raise BadSetting(f"the number of planted communities must be one or more, not {communities}")
    random = np.random.default_rng(seed)
    humble = np.flatnonzero(graph.in_degree <= np.median(graph.in_degree))
    sources, targets, planted = (
        [np.repeat(np.arange(graph.pages), graph.out_degree)],
        [graph.targets.astype(np.int64)],
        [],
    )
    pages = graph.pages
    for number in range(communities):
        pattern = PATTERNS[number % len(PATTERNS)]
        members = np.arange(pages, pages + random.integers(SMALLEST, LARGEST + 1))
        promoted = random.choice(humble, size=random.integers(1, MOST_TARGETS + 1), replace=False)
        for source, target in _links(pattern, members, promoted, graph.pages, random):
            sources.append(source)
            targets.append(target)
        planted.append(Planted(pattern, promoted, members))
        pages += len(members)
    return graph_from_links(pages, np.concatenate(sources), np.concatenate(targets)), planted


def _links(
    pattern: str, members: Pages, promoted: Pages, pages: int, random: np.random.Generator
) -> list[tuple[Pages, Pages]]:
    links = [(members, random.choice(promoted, size=len(members)))]
    match pattern:
        case "ring":
            links.append((members, np.roll(members, -1)))
        case "random" | "hidden" | "stolen":
            sources = np.repeat(members, random.integers(3, 9, size=len(members)))
            links.append((sources, random.choice(members, size=len(sources))))
    if pattern == "hidden":
        links.append((members, random.integers(0, pages, size=len(members))))
    if pattern == "stolen":
        links.append((random.integers(0, pages, size=STOLEN_LINKS), random.choice(members, size=STOLEN_LINKS)))
    return links


def judge(planted: Sequence[Planted], found: Sequence[Promotion]) -> Finding:
    """Compares the found communities with the planted ones."""
    matched = [
        next((number for number, each in enumerate(planted) if _is(each, promotion)), None) for promotion in found
    ]
    right = sum(number is not None for number in matched)
    met = len({number for number in matched if number is not None})
    return Finding(
        len(planted), len(found), right, right / len(found) if found else 1.0, met / len(planted) if planted else 1.0
    )


def _is(planted: Planted, promotion: Promotion) -> bool:
    aimed = np.isin(promotion.targets, planted.targets).any()
    return bool(aimed and 2 * np.isin(promotion.supporters, planted.supporters).sum() > len(promotion.supporters))
