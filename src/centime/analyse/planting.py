"""Promoting communities planted in a graph, and how many of them a search finds.

Each planted community C has new pages, and one to three targets D, which are pages of the graph with few links to them.
All of C leads to a target. The shapes:

| shape | links of a page of C | pages |
|---|---|---|
| star | the target | 40 to 200 |
| ring | a target, and the next page of C | 40 to 200 for each target |
| random | a target, and three to eight random pages of C | 80 to 200 for each target |
| hidden | the same, and one random page of the graph | 120 to 200 for each target |
| stolen | the same as random; and three pages of the graph link to C | 80 to 200 for each target |
| levels | one in 20 links to the target, the others to one of these | 60 to 500 |
| tree | the page above; two to eight pages link to each | 60 to 500 |
| camouflaged | the target, and three to ten random pages of the graph | 60 to 120 for each of these |

Shapes for which no limit of the search was chosen (`HELD_OUT`):

| shape | links of a page of C | pages |
|---|---|---|
| chains | the next page, every fourth the target | 60 to 500 |
| mixed | as levels, and two random pages of the graph; three pages of the graph link to C | 300 to 800 |
| popular | the target, and the same three to ten of the most linked pages of the graph | 60 to 120 for each of these |
| alliance | as levels; the pages that link to the target also link to as many others of C | 60 to 500 |

    precision = found communities that are planted / found        recall = planted communities that are found / planted

A found community matches a planted one if it has one of its targets and more than half of its pages are planted there.
If several match the same one, all but the first are wrong.

Guaranteed: the same arguments give the same graph.

Trap: a community that is found but was not planted may promote pages too; a graph does not show intent. Hence precision
depends on how many are planted.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from centime.analyse.transition import Pages
from centime.model.errors import BadSetting
from centime.model.graph import LARGEST_PAGE_COUNT, Graph, graph_from_links

SHAPES = ("star", "ring", "random", "hidden", "stolen", "levels", "tree", "camouflaged")
HELD_OUT = ("chains", "mixed", "popular", "alliance")
SMALLEST = {
    "star": 40,
    "ring": 40,
    "random": 80,
    "hidden": 120,
    "stolen": 80,
    "camouflaged": 60,
    "popular": 60,
    "mixed": 300,
}
LARGEST = {"camouflaged": 120, "popular": 120, "mixed": 800} | dict.fromkeys(
    ("star", "ring", "random", "hidden", "stolen"), 200
)
SMALLEST_LEVELS, LARGEST_LEVELS = 60, 500
LARGEST_OF_ALL = 1_200
MOST_TARGETS = 3
STOLEN_LINKS = 3
MOST_LINKED = 100

Links = list[tuple[Pages, Pages]]


@dataclass(frozen=True, slots=True)
class Community:
    """Targets and the pages that promote them."""

    targets: Pages
    """D: the promoted pages, the one that receives most first."""
    supporters: Pages
    """C: the promoting pages, sorted."""


@dataclass(frozen=True, slots=True)
class Planted(Community):
    """A planted promoting community."""

    pattern: str


@dataclass(frozen=True, slots=True)
class Finding:
    """The quality of a search for planted communities."""

    planted: int
    found: int
    right: int
    precision: float
    recall: float
    missed: tuple[str, ...]
    """The shapes of the planted communities that were not found."""


def plant(graph: Graph, communities: int, seed: int, shapes: Sequence[str] = SHAPES) -> tuple[Graph, list[Planted]]:
    """The graph with `communities` promoting communities added after its last page, of the shapes in turn."""
    if graph.weights is not None or graph.pages < 100:
        raise BadSetting("planting communities needs a graph without weights, with 100 pages or more")
    if not 1 <= communities <= (LARGEST_PAGE_COUNT - graph.pages) // LARGEST_OF_ALL:
        raise BadSetting(f"the number of planted communities must be one or more, not {communities}")
    random = np.random.default_rng(seed)
    humble = np.flatnonzero(graph.in_degree <= np.median(graph.in_degree))
    links: Links = [(np.repeat(np.arange(graph.pages), graph.out_degree), graph.targets.astype(np.int64))]
    planted = []
    pages = graph.pages
    for number in range(communities):
        shape = shapes[number % len(shapes)]
        several = MOST_TARGETS if shape in ("ring", "random", "hidden", "stolen") else 1
        promoted = random.choice(humble, size=random.integers(1, several + 1), replace=False)
        camouflage = int(random.integers(3, 11))
        size = int(random.integers(SMALLEST.get(shape, SMALLEST_LEVELS), LARGEST.get(shape, LARGEST_LEVELS) + 1))
        size *= camouflage if shape in ("camouflaged", "popular") else len(promoted)
        members = np.arange(pages, pages + size)
        links += _inner_links(shape, members, promoted, random)
        links += _outer_links(shape, members, camouflage, graph, random)
        planted.append(Planted(promoted, members, shape))
        pages += size
    sources, targets = (np.concatenate(ends) for ends in zip(*links, strict=True))
    return graph_from_links(pages, sources, targets), planted


def _inner_links(shape: str, members: Pages, promoted: Pages, random: np.random.Generator) -> Links:
    """The links inside a community and to its targets."""
    count = len(members)
    places = np.arange(count)
    if shape in ("levels", "mixed", "alliance"):
        upper = max(count // 20, 2)
        links = [(members[:upper], np.repeat(promoted, upper)), (members[upper:], members[places[upper:] % upper])]
        return [*links, (members[:upper], members[-upper:])] if shape == "alliance" else links
    if shape == "tree":
        above = places // random.integers(2, 9) - 1
        return [(members, np.where(above < 0, promoted, members[above]))]
    if shape == "chains":
        return [(members, np.where((places % 4 == 3) | (places == count - 1), promoted, np.roll(members, -1)))]
    links = [(members, random.choice(promoted, size=count))]
    if shape == "ring":
        links.append((members, np.roll(members, -1)))
    if shape in ("random", "hidden", "stolen"):
        sources = np.repeat(members, random.integers(3, 9, size=count))
        links.append((sources, random.choice(members, size=len(sources))))
    return links


def _outer_links(shape: str, members: Pages, camouflage: int, graph: Graph, random: np.random.Generator) -> Links:
    """The links between a community and pages of the graph that are not targets."""
    each = {"hidden": 1, "mixed": 2, "camouflaged": camouflage}.get(shape, 0)
    links = [(np.repeat(members, each), random.integers(0, graph.pages, size=each * len(members)))]
    if shape == "popular":
        known = np.argsort(-graph.in_degree, kind="stable")[:MOST_LINKED]
        chosen = random.choice(known, size=camouflage, replace=False)
        links.append((np.repeat(members, camouflage), np.tile(chosen, len(members))))
    if shape in ("stolen", "mixed"):
        links.append((random.integers(0, graph.pages, size=STOLEN_LINKS), random.choice(members, size=STOLEN_LINKS)))
    return links


def judge(planted: Sequence[Planted], found: Sequence[Community]) -> Finding:
    """Compares the found communities with the planted ones."""
    met: set[int] = set()
    for community in found:
        met |= {next((number for number, each in enumerate(planted) if _is(each, community)), -1)}
    met.discard(-1)
    missed = tuple(each.pattern for number, each in enumerate(planted) if number not in met)
    right = len(met)
    return Finding(
        len(planted),
        len(found),
        right,
        right / len(found) if found else 1.0,
        right / len(planted) if planted else 1.0,
        missed,
    )


def _is(planted: Planted, community: Community) -> bool:
    aimed = np.isin(community.targets, planted.targets).any()
    return bool(aimed and 2 * np.isin(community.supporters, planted.supporters).sum() > len(community.supporters))
