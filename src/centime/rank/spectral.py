"""Scores by other link matrices (WWW 2003 paper, Section 1): the eigenvector of the largest eigenvalue, without
damping.

    matrix         L                            a page scores high if
    all-ones       L = K^T                      pages that score high link to it
    undirected     L = max(K, K^T)              a link in either direction connects it with such pages
    authorities    L = K^T K                    good hubs link to it (HITS)
    hubs           L = K K^T                    it links to good authorities

K[i, j] is 1 if page i links to page j, however often; with weights it is their sum. The iteration is (†') of the paper,

    x <- (L + sI) x / |(L + sI) x|              from x = 1, with r = |Lx| / |x| and s = r/8

Its limit is also a limit of x <- Lx/|Lx|, but it converges on periodic graphs too. (The paper has s = 1: also correct,
but slow if eigenvalues are large, since the part of -r then shrinks only by (r-1)/(r+1). Compared with s = 0, an eighth
costs little.)

The result: x adds up to N, and no entry is negative. `residual`, |Lx - rx|_1 / (r |x|_1), is at most `error`, unless
`MOST_ITERATIONS` were done. If several parts of the graph have the largest eigenvalue, x is the projection of the start
on their eigenvectors, so each part keeps its share of the start. Without links, L = 0, every vector is a solution, and
all pages have the same score. Without cycles (all-ones only), the eigenvalue is 0 and the pages without links have all
of the score.

Traps: pages outside the parts with the largest eigenvalue score 0, unless those parts lead to them: "the core of the
web would have a null importance", says the paper, and prefers the random walk. If one of two parts with the same
eigenvalue leads to the other, convergence is as slow as 1/k; the residual shows it.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from centime.model.errors import BadSetting
from centime.model.graph import Graph, Offsets, Targets, Weights
from centime.model.kernel import Whole, kernel
from centime.rank.certificate import distance
from centime.rank.crew import Crew, crew_for, cut_evenly
from centime.rank.scores import Vector
from centime.rank.union import either_way, without_cycles, without_repeats

SHIFT = 1 / 8  # s, as a share of the eigenvalue
NOTHING = 1e-15  # an eigenvalue below this fraction of the first estimate is taken as 0
MOST_ITERATIONS = 10_000

Matrix = Literal["all-ones", "undirected", "hubs", "authorities"]
Progress = Callable[[float], None] | None
Product = Callable[[Vector], Vector]


@dataclass(frozen=True, slots=True)
class Eigenvector:
    """A score for each page (mean 1) with its eigenvalue r.

    `residual` is |Lx - rx|_1 / (r |x|_1), without the divisor r if r is 0.
    """

    scores: Vector
    eigenvalue: float
    residual: float
    iterations: int
    seconds: float = 0.0


def eigenvector(
    graph: Graph, matrix: Matrix, *, error: float = 1e-8, threads: int | None = None, progress: Progress = None
) -> Eigenvector:
    """The scores for one of the matrices."""
    if matrix == "hubs":
        return hubs_and_authorities(graph, error=error, threads=threads, progress=progress)[0]
    if matrix == "authorities":
        return hubs_and_authorities(graph, error=error, threads=threads, progress=progress)[1]
    if matrix not in get_args(Matrix):
        raise BadSetting(f"unknown matrix {matrix!r}; the matrices are {', '.join(get_args(Matrix))}")
    started = time.perf_counter()
    links, scale = _scaled(either_way(graph) if matrix == "undirected" else without_repeats(graph).transpose())
    # Without cycles, vectors near the end of the paths seem to have a tiny eigenvalue; the correct one is 0.
    bound = 0.0 if matrix == "all-ones" and without_cycles(links) else _checked(error)
    with crew_for(links.links, threads) as crew:
        return _dominant(_product(links, crew), graph.pages, scale, bound, progress, started)


def hubs_and_authorities(
    graph: Graph, *, error: float = 1e-8, threads: int | None = None, progress: Progress = None
) -> tuple[Eigenvector, Eigenvector]:
    """Hub and authority scores (HITS); both eigenvalues converge to the square of the largest singular value of K."""
    started = time.perf_counter()
    links, scale = _scaled(without_repeats(graph))
    with crew_for(links.links, threads) as crew:
        down, up = _product(links, crew), _product(links.transpose(), crew)
        authorities = _dominant(lambda x: up(down(x)), graph.pages, scale * scale, _checked(error), progress, started)
        # K times an authority vector is a hub vector; one more product gives its residual.
        hubs = down(authorities.scores)
        if not hubs.any():
            return replace(authorities, scores=authorities.scores.copy()), authorities
        hubs *= graph.pages / hubs.sum()
        image = down(up(hubs))
    eigenvalue = float(image.sum()) / graph.pages
    residual = float(distance(image, eigenvalue * hubs)) / (graph.pages * eigenvalue)
    seconds = time.perf_counter() - started
    return Eigenvector(hubs, eigenvalue * scale * scale, residual, authorities.iterations, seconds), authorities


def _checked(error: float) -> float:
    """Returns the error if it is valid."""
    if not 0 < error < np.inf:
        raise BadSetting(f"the error must be a number above 0, not {error}")
    return error


def _dominant(
    multiply: Product, pages: int, scale: float, error: float, progress: Progress, started: float
) -> Eigenvector:
    """Iterates on a matrix whose weights were divided by `scale`."""
    scores, eigenvalue, residual, first, iterations = np.ones(pages), 0.0, 0.0, 0.0, 0
    while pages and iterations < MOST_ITERATIONS:
        image = multiply(scores)
        iterations += 1
        eigenvalue = float(image.sum()) / pages
        first = first or eigenvalue
        if eigenvalue <= NOTHING * first:
            eigenvalue, residual = 0.0, eigenvalue * scale
            break
        residual = float(distance(image, eigenvalue * scores)) / (pages * eigenvalue)
        if progress is not None:
            progress(residual)
        if residual <= error:
            break
        image += SHIFT * eigenvalue * scores
        image *= pages / image.sum()
        scores = image
    return Eigenvector(scores, eigenvalue * scale, residual, iterations, time.perf_counter() - started)


def _scaled(graph: Graph) -> tuple[Graph, float]:
    """The graph with weights of at most 1, so that no product overflows, and the divisor."""
    if graph.weights is None or not graph.links or not graph.weights.max() > 0:
        return graph, 1.0
    scale = float(graph.weights.max())
    return Graph(graph.offsets, graph.targets, graph.weights / scale), scale


def _product(graph: Graph, crew: Crew) -> Product:
    """The function x -> Kx, on all threads."""
    cuts = cut_evenly(graph.offsets, crew.parts)
    weights = np.empty(0) if graph.weights is None else graph.weights

    def multiply(vector: Vector) -> Vector:
        image = np.empty(graph.pages)
        crew.do(
            lambda part: gather(
                graph.offsets, graph.targets, weights, vector, image, int(cuts[part]), int(cuts[part + 1])
            )
        )
        return image

    return multiply


@kernel
def gather(
    offsets: Offsets, targets: Targets, weights: Weights, vector: Vector, image: Vector, first: Whole, end: Whole
) -> None:
    """Multiplies the rows of a range by a vector."""
    for page in range(first, end):
        total = 0.0
        for link in range(offsets[page], offsets[page + 1]):
            total += vector[targets[link]] * weights[link] if len(weights) > 0 else vector[targets[link]]
        image[page] = total
