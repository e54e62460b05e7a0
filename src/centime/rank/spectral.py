"""Scores by other link matrices (WWW 2003 paper, Section 1): the eigenvector of the largest eigenvalue, without
damping.

    matrix         L                            a page scores high when
    all-ones       L = K^T                      pages that score high link to it
    undirected     L = max(K, K^T)              it is linked with such pages, either way
    authorities    L = K^T K                    good hubs link to it (HITS)
    hubs           L = K K^T                    it links to good authorities

K[i, j] is 1 if page i links to page j, however often; with weights it is their sum. Iterated is the paper's (†'),

    x <- (L + sI) x / |(L + sI) x|              from x = 1, with r = |Lx| / |x| and s = r/8

whose limit is also one of x <- Lx/|Lx|, but which converges on periodic graphs too. (The paper has s = 1: right as
well, and slow where eigenvalues are large, since -r then shrinks by (r-1)/(r+1) only. Against s = 0, an eighth costs
little.)

What comes out: x adds up to N and nothing in it is negative; `residual`, |Lx - rx|_1 / (r |x|_1), is at most `error`,
or `MOST_ITERATIONS` were done. Where the largest eigenvalue belongs to several parts of the graph, x is the projection
of the start on their eigenvectors, so that each part gets what it had at the start. No links: L = 0, every vector is
right, and all pages score alike. No cycles (all-ones only): the eigenvalue is 0 and the pages without links have
everything.

Traps: pages outside of the parts with the largest eigenvalue, and what leads from those, score 0: "the core of the web
would have a null importance" says the paper, and prefers the random walk. Two parts with the same eigenvalue, one of
which leads to the other, converge as slowly as 1/k; the residual says so.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from centime.model.errors import BadSetting
from centime.model.graph import Graph, Offsets, Targets, Weights
from centime.model.kernel import Whole, kernel
from centime.rank.crew import Crew, crew_for, cut_evenly
from centime.rank.push import distance
from centime.rank.scores import Vector
from centime.rank.union import either_way, without_cycles, without_repeats

SHIFT = 1 / 8  # s, as a share of the eigenvalue
NOTHING = 1e-15  # an eigenvalue below this share of the first estimate is 0
MOST_ITERATIONS = 10_000

Matrix = Literal["all-ones", "undirected", "hubs", "authorities"]
Progress = Callable[[float], None] | None
Product = Callable[[Vector], Vector]


@dataclass(frozen=True, slots=True)
class Eigenvector:
    """A score for every page (mean 1), the eigenvalue r, |Lx - rx|_1 / (r |x|_1) (without r if it is 0), and the
    iterations it took.
    """

    scores: Vector
    eigenvalue: float
    residual: float
    iterations: int
    seconds: float = 0.0


def eigenvector(
    graph: Graph, matrix: Matrix, *, error: float = 1e-8, threads: int | None = None, progress: Progress = None
) -> Eigenvector:
    """The scores by one of the matrices."""
    if matrix == "hubs":
        return hubs_and_authorities(graph, error=error, threads=threads, progress=progress)[0]
    if matrix == "authorities":
        return hubs_and_authorities(graph, error=error, threads=threads, progress=progress)[1]
    if matrix not in get_args(Matrix):
        raise BadSetting(f"unknown matrix {matrix!r}; there are {', '.join(get_args(Matrix))}")
    started = time.perf_counter()
    links, scale = _scaled(either_way(graph) if matrix == "undirected" else without_repeats(graph).transpose())
    # Without cycles every vector near the end of the paths looks like one of a tiny eigenvalue; only 0 is right.
    bound = 0.0 if matrix == "all-ones" and without_cycles(links) else _checked(error)
    with crew_for(links.links, threads) as crew:
        return _dominant(_product(links, crew), graph.pages, scale, bound, progress, started)


def hubs_and_authorities(
    graph: Graph, *, error: float = 1e-8, threads: int | None = None, progress: Progress = None
) -> tuple[Eigenvector, Eigenvector]:
    """The scores as hub and as authority (HITS); both eigenvalues tend to the square of K's largest singular value."""
    started = time.perf_counter()
    links, scale = _scaled(without_repeats(graph))
    with crew_for(links.links, threads) as crew:
        down, up = _product(links, crew), _product(links.transpose(), crew)
        authorities = _dominant(lambda x: up(down(x)), graph.pages, scale * scale, _checked(error), progress, started)
        # K times an authority vector is a hub vector; one more product tells its own residual.
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
    """The error, if it is one."""
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
    """The graph with weights up to 1, so that no product overflows, and what they were divided by."""
    if graph.weights is None or not graph.links or not graph.weights.max() > 0:
        return graph, 1.0
    scale = float(graph.weights.max())
    return Graph(graph.offsets, graph.targets, graph.weights / scale), scale


def _product(graph: Graph, crew: Crew) -> Product:
    """x -> Kx, on all threads."""
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
    """The rows of a range times a vector."""
    for page in range(first, end):
        total = 0.0
        for link in range(offsets[page], offsets[page + 1]):
            total += vector[targets[link]] * weights[link] if len(weights) > 0 else vector[targets[link]]
        image[page] = total
