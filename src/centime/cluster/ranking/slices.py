"""Cuts a graph into slices for workers: runs of pages with about as many links to them, and the links to them."""

from collections.abc import Iterator

import numpy as np

from centime.cluster.ranking.said import Slice
from centime.model.graph import Graph, row_shares
from centime.rank.crew import cut_evenly


def slices_of(graph: Graph, damping: float, count: int) -> Iterator[Slice]:
    """The slices of a graph for `count` workers, in the order of their pages."""
    if graph.weights is None:
        links, shares = graph.transpose(), damping / np.maximum(graph.out_degree, 1)
    else:
        weights = row_shares(graph.offsets, graph.weights)[0]
        links, shares = Graph(graph.offsets, graph.targets, weights).transpose(), np.full(graph.pages, damping)
    cuts = cut_evenly(links.offsets, count)
    ghosts = [_ghosts(links, int(cuts[worker]), int(cuts[worker + 1])) for worker in range(count)]
    for worker in range(count):
        first, end = int(cuts[worker]), int(cuts[worker + 1])
        begin, stop = int(links.offsets[first]), int(links.offsets[end])
        sources, mine = links.targets[begin:stop], ghosts[worker]
        is_own = (sources >= first) & (sources < end)
        local = np.where(is_own, sources - first, end - first + np.searchsorted(mine, sources)).astype(np.int32)
        starts = end - first + np.searchsorted(mine, cuts)
        needed = [
            (other[(other >= first) & (other < end)] - first).astype(np.int32).tobytes() if number != worker else b""
            for number, other in enumerate(ghosts)
        ]
        yield Slice(
            damping=damping,
            offsets=(links.offsets[first : end + 1] - begin).tobytes(),
            sources=local.tobytes(),
            weights=b"" if links.weights is None else links.weights[begin:stop].tobytes(),
            shares=np.concatenate([shares[first:end], shares[mine]]).tobytes(),
            ghosts=starts.tolist(),
            needed=needed,
        )


def _ghosts(links: Graph, first: int, end: int) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """The pages outside of a range that link into it, in their order."""
    found = np.unique(links.targets[links.offsets[first] : links.offsets[end]])
    return found[(found < first) | (found >= end)]
