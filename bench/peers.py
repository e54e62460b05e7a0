"""The solvers that we are measured against, each on its own graph object, each told to stop where the true error is
small enough.

Each function of a web builds what its library wants, outside the clock, and gives a `Solve`, which takes a level of
effort (iterations or a tolerance). `bench/effort.py` finds the least one whose true error is at most what is asked for,
also outside the clock."""

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from centime.model.graph import Graph, Offsets
from centime.model.kernel import Whole, kernel
from centime.rank.crew import crew_for, cut_evenly
from centime.rank.pagerank import pagerank

DAMPING = 0.85
Vector = npt.NDArray[np.float64]
Solve = Callable[[float], Vector]


@kernel
def pull_simply(
    offsets: npt.NDArray[np.int64],
    sources: npt.NDArray[np.int32],
    values: Vector,
    damping: float,
    base: float,
    scores: Vector,
    first: Whole,
    end: Whole,
) -> None:
    """The inner loop of the GAP benchmark suite's PageRank, in double precision."""
    for page in range(first, end):
        total = 0.0
        for link in range(np.uintp(offsets[page]), np.uintp(offsets[page + 1])):
            total += values[np.uintp(sources[link])]
        scores[page] = base + damping * total


def simple_pull(web: Graph, damping: float = DAMPING, threads: int | None = None) -> Solve:
    """The GAP algorithm on both cores; unlike GAP it gives dangling pages' money back, so that it solves the same
    problem."""
    turned = web.transpose()
    inverse = 1.0 / np.maximum(1, web.out_degree)
    dangling = np.flatnonzero(web.out_degree == 0)

    def pull(cuts: Offsets, values: Vector, base: float, into: Vector, part: int) -> None:
        pull_simply(turned.offsets, turned.targets, values, damping, base, into, int(cuts[part]), int(cuts[part + 1]))

    def solve(iterations: float) -> Vector:
        scores, following = np.ones(web.pages), np.empty(web.pages)
        with crew_for(web.links, threads) as crew:
            cuts = cut_evenly(turned.offsets, crew.parts)
            for _ in range(int(iterations)):
                base = 1 - damping + damping * scores[dangling].sum() / web.pages
                crew.do(partial(pull, cuts, scores * inverse, base, following))
                scores, following = following, scores
        return scores

    return solve


@kernel
def relax_simply(
    offsets: npt.NDArray[np.int64],
    sources: npt.NDArray[np.int32],
    shares: Vector,
    base: float,
    values: Vector,
    scores: Vector,
) -> None:
    """One iteration of Gauss-Seidel, in the order of the pages; `values` is what each page pays along a link."""
    for page in range(len(scores)):
        total = base
        for link in range(np.uintp(offsets[page]), np.uintp(offsets[page + 1])):
            total += values[np.uintp(sources[link])]
        scores[page] = total
        values[page] = total * shares[page]


def simple_gauss_seidel(web: Graph, damping: float = DAMPING, threads: int | None = None) -> Solve:
    """Gauss-Seidel as anyone would write it, on one thread; dangling pages keep their money, and scaling mends that."""
    turned = web.transpose()
    shares = np.where(web.out_degree > 0, damping / np.maximum(1, web.out_degree), 0.0)

    def solve(iterations: float) -> Vector:
        scores, values = np.ones(web.pages), shares.copy()
        for _ in range(int(iterations)):
            relax_simply(turned.offsets, turned.targets, shares, 1 - damping, values, scores)
        return np.asarray(scores * (web.pages / scores.sum()))

    return solve


def scipy_power(web: Graph, damping: float = DAMPING, threads: int | None = None) -> Solve:
    turned = web.transpose()
    matrix = csr_array((np.ones(web.links), turned.targets, turned.offsets), shape=(web.pages, web.pages))
    out_degree = np.maximum(1, web.out_degree)

    def solve(iterations: float) -> Vector:
        scores = np.ones(web.pages)
        for _ in range(int(iterations)):
            scores = damping * (matrix @ (scores / out_degree))
            scores += (web.pages - scores.sum()) / web.pages
        return scores

    return solve


def networkx(web: Graph, damping: float = DAMPING, threads: int | None = None) -> Solve:
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_nodes_from(range(web.pages))
    graph.add_edges_from(
        zip(np.repeat(np.arange(web.pages), web.out_degree).tolist(), web.targets.tolist(), strict=True)
    )

    def solve(tolerance: float) -> Vector:
        found = nx.pagerank(graph, alpha=damping, tol=tolerance, max_iter=5000)
        return np.fromiter(found.values(), dtype=np.float64) * web.pages

    return solve


def igraph(web: Graph, damping: float = DAMPING, threads: int | None = None) -> Solve:
    import igraph as ig

    links = np.stack([np.repeat(np.arange(web.pages), web.out_degree), web.targets], axis=1)
    graph = ig.Graph(n=web.pages, edges=links, directed=True)
    return lambda level: np.asarray(graph.pagerank(damping=damping)) * web.pages


def networkit(web: Graph, damping: float = DAMPING, threads: int | None = None) -> Solve:
    import networkit as nk

    if threads is not None:
        nk.setNumberOfThreads(threads)
    graph = nk.GraphFromCoo(
        (
            np.ones(web.links),
            (np.repeat(np.arange(web.pages), web.out_degree).astype(np.uint64), web.targets.astype(np.uint64)),
        ),
        n=web.pages,
        directed=True,
    )

    def solve(tolerance: float) -> Vector:
        algorithm = nk.centrality.PageRank(
            graph, damp=damping, tol=tolerance, distributeSinks=nk.centrality.SinkHandling.DistributeSinks
        )
        algorithm.norm = nk.centrality.Norm.L1_NORM
        algorithm.run()
        return np.asarray(algorithm.scores()) * web.pages

    return solve


def scikit_network(web: Graph, damping: float = DAMPING, threads: int | None = None) -> Solve:
    """Where pages dangle it solves another problem, so it is held against its own fixpoint (see `OWN_TRUTH`)."""
    from scipy.sparse import csr_matrix
    from sknetwork.ranking import PageRank

    matrix = csr_matrix((np.ones(web.links), web.targets, web.offsets), shape=(web.pages, web.pages))

    def solve(iterations: float) -> Vector:
        found = PageRank(damping_factor=damping, solver="piteration", n_iter=int(iterations), tol=0).fit_predict(matrix)
        return np.asarray(found) * web.pages

    return solve


def ours(web: Graph, damping: float = DAMPING, threads: int | None = None) -> Solve:
    return lambda error: pagerank(web, damping=damping, error=error, threads=threads).scores


ITERATIONS = [float(round(1.02**k)) for k in range(400) if round(1.02**k) != round(1.02 ** (k - 1))]
TOLERANCES = [10.0 ** (-k / 4) for k in range(8, 60)]
PEERS: dict[str, tuple[Callable[[Graph, float, int | None], Solve], list[float], int]] = {
    "centime": (ours, [10.0 ** (-k / 8) for k in range(24, 110)], 10**10),
    "simple pull": (simple_pull, ITERATIONS, 10**10),
    "simple Gauss-Seidel": (simple_gauss_seidel, ITERATIONS, 10**10),
    "scipy": (scipy_power, ITERATIONS, 10**10),
    "igraph": (igraph, [0.0], 10**10),
    "networkit": (networkit, TOLERANCES, 10**10),
    "scikit-network": (scikit_network, ITERATIONS, 10**10),
    "networkx": (networkx, TOLERANCES, 5_000_000),
}
"""How to make each, its levels of effort from little to much, and the most links that it is tried with."""


OWN_TRUTH = {"scikit-network": 600.0}
"""Peers that are held against what they give with this much effort."""
