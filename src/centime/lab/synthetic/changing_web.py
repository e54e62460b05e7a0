"""A changing web: pages whose in-degree is halved or doubled (Adaptive OPIC, Section 4.2).

A share `rate` of the pages, chosen uniformly, changes. A halved page of in-degree k loses floor(k/2) of its in-links,
chosen uniformly; a doubled page gains k links from pages that do not link to it yet, chosen uniformly among the pages
that have links.

Drift: with even odds the number of links grows, E[factor] = (1/2 + 2)/2 = 1.25. A change rate of 50 % would make the
graph 3.2 times as large in ten crawls, which is no longer the same experiment. So the probability p of doubling is such
that the expected number of links stays the same:

    p * sum of gains = (1 - p) * sum of losses     over the pages that can do both,

minus the effect of the other pages: a page of in-degree 1 can only double, a page without in-links gets its first link,
and a page to which nearly all pages link gains what is left. On the power law p is about 0.3, close to 1/(1 + 2^1.1) =
0.318, which keeps the law n^-2.1 itself in balance, octave by octave. With the pages of in-degree 1, about half of the
changes are doublings.

Guaranteed: the same arguments give the same graph; a chosen page changes if it can; no new duplicate link appears; no
page loses its last link, and no dangling page gets one. Traps: the number of links is kept only on average, and one
hub changes it by some percent. New links are at the end of their row.
"""

import numpy as np
import numpy.typing as npt

from centime.model.errors import BadGraph, BadSetting
from centime.model.graph import Graph, Offsets, Targets
from centime.model.kernel import kernel

Numbers = npt.NDArray[np.int64]


def changed(graph: Graph, rate: float, seed: int) -> Graph:
    """The graph after a share `rate` of its pages had their in-degree halved or doubled."""
    if not 0 <= rate <= 1:
        raise BadSetting(f"the change rate must be a share from 0 to 1, not {rate}")
    if graph.weights is not None:
        raise BadGraph("in-degrees of a graph with weights cannot be halved or doubled")
    random = np.random.default_rng(seed)
    readers = np.flatnonzero(graph.out_degree > 0)
    in_degree = graph.in_degree
    gain = np.minimum(np.maximum(in_degree, 1), np.maximum(len(readers) - 1 - in_degree, 0))
    loss = in_degree // 2
    chosen = random.choice(graph.pages, size=round(rate * graph.pages), replace=False, shuffle=False)
    doubled = random.random(len(chosen)) < _doubling_odds(gain, loss)[chosen]
    gains, losses = chosen[doubled], np.zeros(graph.pages, dtype=np.int64)
    losses[chosen[~doubled]] = loss[chosen[~doubled]]
    kept = np.ones(graph.links, dtype=np.bool_)
    draws = random.random(int(in_degree[losses > 0].sum()))
    out_degree = graph.out_degree
    _drop(graph.targets, graph.offsets, in_degree, losses, draws, out_degree, kept)
    sources = random.integers(0, max(len(readers), 1), size=int(gain[gains].sum()))
    _find_sources(graph.offsets, graph.targets, readers, gains, gain, sources)
    offsets = np.zeros(graph.pages + 1, dtype=np.int64)
    np.cumsum(out_degree + np.bincount(sources, minlength=graph.pages), out=offsets[1:])
    targets = np.empty(offsets[-1], dtype=np.int32)
    _fill(graph.offsets, graph.targets, kept, sources, gains, gain, offsets, targets)
    return Graph(offsets, targets)


def _doubling_odds(gain: Numbers, loss: Numbers) -> npt.NDArray[np.float64]:
    """The probability that each page, if chosen, is doubled; the expected number of links stays the same."""
    both = (gain > 0) & (loss > 0)
    gains, losses = int(gain[both].sum()), int(loss[both].sum())
    forced = int(gain[loss == 0].sum()) - int(loss[gain == 0].sum())
    odds = (losses - forced) / (gains + losses) if gains + losses else 0.0
    return np.where(both, min(max(odds, 0.0), 1.0), (loss == 0).astype(np.float64))


@kernel
def _drop(
    targets: Targets,
    offsets: Offsets,
    in_degree: Numbers,
    losses: Numbers,
    draws: npt.NDArray[np.float64],
    out_degree: Numbers,
    kept: npt.NDArray[np.bool_],
) -> None:
    """Marks the links to drop, in one pass: each link to a halved page with probability (still to lose) / (still to
    come).
    """
    to_come, to_lose = in_degree.copy(), losses.copy()
    halved = losses > 0
    draw = 0
    for page in range(len(offsets) - 1):
        for link in range(offsets[page], offsets[page + 1]):
            target = targets[link]
            if halved[target]:
                if draws[draw] * to_come[target] < to_lose[target] and out_degree[page] > 1:
                    kept[link] = False
                    to_lose[target] -= 1
                    out_degree[page] -= 1
                to_come[target] -= 1
                draw += 1


@kernel
def _find_sources(
    offsets: Offsets, targets: Targets, readers: Numbers, gains: Numbers, gain: Numbers, sources: Numbers
) -> None:
    """Turns random places in `readers` into pages that do not link to the doubled page yet; takes the next page if one
    does.
    """
    taken_for = np.full(len(offsets) - 1, np.int64(-1), np.int64)
    link = 0
    for page in gains:
        taken_for[page] = page
        for _ in range(gain[page]):
            place = sources[link]
            searching = True
            while searching:
                source = readers[place]
                searching = taken_for[source] == page
                if not searching:
                    taken_for[source] = page
                    for known in range(offsets[source], offsets[source + 1]):
                        searching = searching or targets[known] == page
                place = place + 1 if place + 1 < len(readers) else np.int64(0)
            sources[link] = source
            link += 1


@kernel
def _fill(
    old_offsets: Offsets,
    old_targets: Targets,
    kept: npt.NDArray[np.bool_],
    sources: Numbers,
    gains: Numbers,
    gain: Numbers,
    offsets: Offsets,
    targets: Targets,
) -> None:
    """Writes each row: first the links that were kept, then the new ones."""
    place = offsets[:-1].copy()
    for page in range(len(old_offsets) - 1):
        for link in range(old_offsets[page], old_offsets[page + 1]):
            if kept[link]:
                targets[place[page]] = old_targets[link]
                place[page] += 1
    link = 0
    for page in gains:
        for _ in range(gain[page]):
            targets[place[sources[link]]] = page
            place[sources[link]] += 1
            link += 1
