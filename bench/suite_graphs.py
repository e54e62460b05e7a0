"""The graphs of the suite of ranking: each of another kind, generated the same each time, from a few hundred thousand
pages to 20 million links. No link is repeated."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from centime.graphs.files import read_graph
from centime.lab.synthetic.graphs import weblike
from centime.model.graph import Graph
from centime.model.kernel import kernel

Numbers = npt.NDArray[np.int64]


def once(pages: int, sources: Numbers, targets: Numbers) -> Graph:
    """The graph of some links, each once."""
    links = np.unique(sources * pages + targets)
    offsets = np.zeros(pages + 1, dtype=np.int64)
    np.cumsum(np.bincount(links // pages, minlength=pages), out=offsets[1:])
    return Graph(offsets, (links % pages).astype(np.int32))


def r_mat(scale: int, links: int) -> Graph:
    """R-MAT with the parameters of Graph500, its pages shuffled: hubs, and it mixes fast."""
    chance = np.random.default_rng(1)
    sources, targets = np.zeros(links, dtype=np.int64), np.zeros(links, dtype=np.int64)
    for _ in range(scale):
        draw = chance.random(links)
        sources = 2 * sources + (draw >= 0.76)
        targets = 2 * targets + (((draw >= 0.57) & (draw < 0.76)) | (draw >= 0.95))
    order = chance.permutation(1 << scale)
    return once(1 << scale, order[sources], order[targets])


@kernel
def attach(targets: Numbers, copied: npt.NDArray[np.float64], places: npt.NDArray[np.float64], each: int) -> None:
    """Each page links to earlier ones: half of the links are copied from earlier links, half are uniform."""
    for link in range(len(targets)):
        page = link // each
        if page == 0:
            targets[link] = 0
        elif copied[link] < 0.5:
            targets[link] = np.int64(places[link] * page)
        else:
            targets[link] = targets[np.int64(places[link] * page * each)]


def preferential(pages: int, each: int) -> Graph:
    """Preferential attachment: links lead to earlier pages, so that there are no cycles but one."""
    chance = np.random.default_rng(2)
    targets = np.empty(pages * each, dtype=np.int64)
    attach(targets, chance.random(pages * each), chance.random(pages * each), each)
    return once(pages, np.repeat(np.arange(pages), each), targets)


def grid(side: int) -> Graph:
    """Like roads: a grid without a fifth of its streets, a tenth of the others one-way."""
    chance = np.random.default_rng(3)
    places = np.arange(side * side)
    east, south = places[places % side < side - 1], places[: -side or None]
    sources, targets = np.concatenate([east, south]), np.concatenate([east + 1, south + side])
    kept = chance.random(len(sources)) < 0.8
    sources, targets = sources[kept], targets[kept]
    both = chance.random(len(sources)) >= 0.1
    return once(side * side, np.append(sources, targets[both]), np.append(targets, sources[both]))


def bipartite(readers: int, items: int, each: int) -> Graph:
    """Links between readers and items, in both directions: an eigenvalue of -1."""
    chance = np.random.default_rng(4)
    sources = np.repeat(np.arange(readers), each)
    targets = readers + (items * chance.random(readers * each) ** 3).astype(np.int64)
    return once(readers + items, np.append(sources, targets), np.append(targets, sources))


def chains(pages: int, length: int, *, shuffled: bool) -> Graph:
    """Long chains, a tenth of the pages with one more link, numbered along the chains or at random."""
    chance = np.random.default_rng(5)
    places = np.arange(pages)
    following = np.where(places % length < length - 1, places + 1, chance.integers(0, pages, pages))
    more = places[chance.random(pages) < 0.1]
    sources, targets = np.append(places, more), np.append(following, chance.integers(0, pages, len(more)))
    order = chance.permutation(pages) if shuffled else places
    return once(pages, order[sources], order[targets])


def suite(real: Path | None) -> dict[str, Callable[[], Graph]]:
    """How to make each graph, by name; the real one only if there is a file."""
    graphs: dict[str, Callable[[], Graph]] = {} if real is None else {real.stem: lambda: read_graph(real)}
    return graphs | {
        "r-mat": lambda: r_mat(18, 3_000_000),
        "attachment": lambda: preferential(300_000, 10),
        "grid": lambda: grid(700),
        "web": lambda: weblike(300_000, 0, links=20.0),
        "bipartite": lambda: bipartite(200_000, 50_000, 8),
        "chains": lambda: chains(500_000, 1_000, shuffled=False),
        "shuffled-chains": lambda: chains(500_000, 1_000, shuffled=True),
        "r-mat-20M": lambda: r_mat(21, 21_000_000),
    }
