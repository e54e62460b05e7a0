"""A graph as a matrix K with one entry for each pair of pages, and its union with the inverse graph, max(K, K^T).

K[i, j] is 1 if page i links to page j, however often; with weights it is their sum. Rows are sorted.
"""

import numpy as np

from centime.model.graph import Graph, Offsets, Targets, Weights
from centime.model.kernel import Whole, kernel


def without_repeats(graph: Graph) -> Graph:
    """The graph with one link for each pair of pages; the same object if it has no repeats."""
    if rises(graph.offsets, graph.targets):
        return graph
    return _joined(
        graph.transpose().transpose(), Graph(np.zeros(graph.pages + 1, dtype=np.int64), np.empty(0, dtype=np.int32))
    )


def either_way(graph: Graph) -> Graph:
    """The graph with links in both directions between each linked pair of pages, with the larger of the two weights."""
    once = without_repeats(graph)
    return _joined(once, once.transpose())


def without_cycles(graph: Graph) -> bool:
    """Whether the links of a weight above 0 form no cycle."""
    weights = np.empty(0) if graph.weights is None else graph.weights
    return int(count_settled(graph.offsets, graph.targets, weights)) == graph.pages


def _joined(one: Graph, other: Graph) -> Graph:
    weighted = one.weights is not None
    weights = np.empty(0) if one.weights is None else one.weights
    more_weights = np.empty(0) if other.weights is None else other.weights
    offsets = np.zeros(one.pages + 1, dtype=np.int64)
    given = one.offsets, one.targets, weights, other.offsets, other.targets, more_weights, weighted
    merge(*given, offsets, np.empty(0, dtype=np.int32), np.empty(0))
    np.cumsum(offsets, out=offsets)
    targets, joined = np.empty(int(offsets[-1]), dtype=np.int32), np.empty(int(offsets[-1]) if weighted else 0)
    merge(*given, offsets, targets, joined)
    return Graph(offsets, targets, joined if weighted else None)


@kernel
def rises(offsets: Offsets, targets: Targets) -> bool:
    """Whether each row is sorted and has no page twice."""
    for page in range(len(offsets) - 1):
        for link in range(offsets[page] + 1, offsets[page + 1]):
            if targets[link] <= targets[link - 1]:
                return False
    return True


@kernel
def count_settled(offsets: Offsets, targets: Targets, weights: Weights) -> Whole:
    """The number of pages that can be removed one by one, each when no remaining page links to it."""
    pages = len(offsets) - 1
    waiting = np.zeros(pages, np.int32)
    for link in range(len(targets)):
        waiting[targets[link]] += 1 if len(weights) == 0 or weights[link] > 0.0 else 0
    settled = np.empty(pages, np.int32)
    found = 0
    for page in range(pages):
        if waiting[page] == 0:
            settled[found] = page
            found += 1
    done = 0
    while done < found:
        page = settled[done]
        done += 1
        for link in range(offsets[page], offsets[page + 1]):
            if len(weights) == 0 or weights[link] > 0.0:
                waiting[targets[link]] -= 1
                if waiting[targets[link]] == 0:
                    settled[found] = targets[link]
                    found += 1
    return done


@kernel
def merge(
    offsets: Offsets,
    targets: Targets,
    weights: Weights,
    more_offsets: Offsets,
    more_targets: Targets,
    more_weights: Weights,
    weighted: bool,
    rows: Offsets,
    row_targets: Targets,
    row_weights: Weights,
) -> None:
    """Counts the links of page i in `rows[i + 1]` if `row_targets` is empty; else fills row i from `rows[i]` on."""
    counting = len(row_targets) == 0
    for page in range(len(offsets) - 1):
        at, end = offsets[page], offsets[page + 1]
        more, more_end = more_offsets[page], more_offsets[page + 1]
        found = 0
        while at < end or more < more_end:
            target = (
                targets[at]
                if more == more_end or (at < end and targets[at] <= more_targets[more])
                else more_targets[more]
            )
            weight = 0.0
            while at < end and targets[at] == target:
                weight += weights[at] if weighted else 1.0
                at += 1
            while more < more_end and more_targets[more] == target:
                weight = max(weight, more_weights[more]) if weighted else 1.0
                more += 1
            if not counting:
                row_targets[rows[page] + found] = target
                if weighted:
                    row_weights[rows[page] + found] = weight
            found += 1
        if counting:
            rows[page + 1] = found
