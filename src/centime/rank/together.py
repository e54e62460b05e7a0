"""Several vectors in one pass over the links (Xyleme paper, Section 5.3, "Combined computation of multiple ranking").

One scan of the out-rows moves importance forward and interest backward, for any number of personalisations e of each:

    for each page i, for each j in Out(i):    importance'_j += d importance_i w_ij
                                              interest'_i   += d interest_j v_ij
    then, in both:                            x' += (1 - (sum of x') / N) e

    w_ij: the share of the link in row i, adding up to 1; v_ij: its share in all links to j, adding up to 1

The values of a page are adjacent in memory, so a link costs one visit to its target, whatever the number of vectors.

Guaranteed: |x - x*|_1 / N <= `certified_error` for each vector, which is d/(1-d) of its last change. The same number of
threads gives the same bits. The result equals that of `pagerank` and `interest` within the certified errors of both.

One pass pays off if links are expensive to read or vectors are many. It is plain iteration: a hundred passes, where
`push` reads the equivalent of twenty-five. So if vectors fit into a cache and are few, `push` is used for one vector
after the other: on cnr-2000, to 1e-8, that takes about a fifth of the time for one vector, two thirds for four, and the
same time for sixteen. Memory of the one pass: 8 bytes per page for each thread and vector, and 24 more for each vector.
"""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from centime.model.errors import BadSetting
from centime.model.graph import Graph, Offsets, Targets, Weights, row_shares
from centime.model.kernel import Whole, kernel
from centime.rank.certificate import certified_error, rounding_of_sums
from centime.rank.crew import crew_for, cut_evenly
from centime.rank.interest import Options
from centime.rank.pagerank import page_vector, pagerank
from centime.rank.scores import Scores

Table = npt.NDArray[np.float64]
MANY_PAGES = 4_000_000
"""From this number of pages on, all vectors are computed in the same passes."""
FEW = 8
"""The most vectors for which one after the other is faster."""


class Together(NamedTuple):
    """The vectors of one computation, in the requested order; each has mean 1."""

    importance: list[Scores]
    interest: list[Scores]


def rank_together(
    graph: Graph,
    importance: Sequence[npt.ArrayLike | None],
    interest: Sequence[npt.ArrayLike | None] = (),
    *,
    damping: float = 0.85,
    error: float = 1e-8,
    one_pass: bool | None = None,
    threads: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Together:
    """The importance for each personalisation of one list (None: all pages equal) and the interest for each of another.

    `one_pass` forces or forbids the same passes over the links for all vectors; by default the faster way is chosen.
    """
    started = time.perf_counter()
    if not 0 <= damping < 1:
        raise BadSetting(f"damping must be at least 0 and below 1, not {damping}")
    if not 0 < error < np.inf:
        raise BadSetting(f"the error must be a number above 0, not {error}")
    pages, count, forward = graph.pages, len(importance) + len(interest), len(importance)
    if one_pass is False or (one_pass is None and pages < MANY_PAGES and count <= FEW):
        return _one_by_one(
            graph, importance, interest, {"damping": damping, "error": error, "threads": threads, "progress": progress}
        )
    emphasis = np.empty((pages, count))
    for column, given in enumerate([*importance, *interest]):
        vector = page_vector("a personalisation", given, pages)
        emphasis[:, column] = 1.0 if vector is None else vector
    if not pages or not count:
        empty = Scores(np.empty(pages), "together", 0, 0.0, 0.0, 0.0)
        return Together([empty] * forward, [empty] * (count - forward))
    shares, out_weights, in_weights = _shares(graph, damping, forward, count)
    values, old = np.empty((pages, count)), emphasis.copy()
    terms = _terms(graph)
    least, iterations = np.inf, 0
    with crew_for(graph.links, threads) as crew:
        cuts = cut_evenly(graph.offsets, crew.parts)
        room = [np.empty((pages, count)) for _ in range(crew.parts)]

        def work(part: int) -> None:
            room[part][:] = 0.0
            scan(
                graph.offsets,
                graph.targets,
                out_weights,
                in_weights,
                forward,
                values,
                room[part],
                int(cuts[part]),
                int(cuts[part + 1]),
            )

        while True:
            np.multiply(old, shares, out=values)
            crew.do(work)
            new = room[0]
            for other in room[1:]:
                new += other
            moved = settle(new, old, emphasis)
            iterations += 1
            estimate = damping / (1 - damping) * moved.max() / pages
            if progress is not None:
                progress(float(estimate))
            exhausted = moved.max() >= least  # only rounding is left: otherwise changes shrink by d or more
            if estimate <= error or exhausted:
                hidden = [rounding_of_sums(terms[column < forward], new[:, column]) for column in range(count)]
                certified = [certified_error(damping, moved[column], hidden[column], pages) for column in range(count)]
                if max(certified) <= error or exhausted:
                    break
            least = min(least, moved.max())
            room[0], old = old, new
    seconds = time.perf_counter() - started
    found = [
        Scores(
            new[:, column].copy(),
            "together",
            iterations,
            float(iterations),
            float(moved[column]),
            certified[column],
            seconds,
        )
        for column in range(count)
    ]
    return Together(found[:forward], found[forward:])


def _one_by_one(
    graph: Graph, importance: Sequence[npt.ArrayLike | None], interest: Sequence[npt.ArrayLike | None], options: Options
) -> Together:
    """Computes each vector on its own with `push`."""
    found = [pagerank(graph, personalisation=given, **options) for given in importance]
    turned = graph.transpose() if interest else graph
    return Together(found, [pagerank(turned, personalisation=given, **options) for given in interest])


def _shares(graph: Graph, damping: float, forward: int, count: int) -> tuple[Table, Weights, Weights]:
    """The payment of a page along a link of weight 1 in each vector, and the weights of the links forward and
    backward."""
    shares = np.full((graph.pages, count), damping)
    if graph.weights is None:
        shares[:, :forward] /= np.maximum(graph.out_degree, 1)[:, None]
        shares[:, forward:] /= np.maximum(graph.in_degree, 1)[:, None]
        return shares, np.empty(0), np.empty(0)
    backward = np.empty(0)
    if forward < count:
        turned = graph.transpose()
        assert turned.weights is not None
        shared = Graph(turned.offsets, turned.targets, row_shares(turned.offsets, turned.weights)[0])
        backward = _back_in_order(graph, shared)
    return shares, row_shares(graph.offsets, graph.weights)[0], backward


def _terms(graph: Graph) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The number of terms in the sums of each page: backward, along its own links, and forward, along the links to it.

    A weight is a share of a sum and has as many roundings as that sum has terms, so with weights the largest number of
    terms is added.
    """
    backward, forward = graph.out_degree, graph.in_degree
    if graph.weights is None or not graph.links:
        return backward, forward
    return backward + forward.max(), forward + backward.max()


def _back_in_order(graph: Graph, turned: Graph) -> Weights:
    """The weights of the reversed links, in the order of the original links."""
    assert turned.weights is not None
    placed = np.empty(graph.links)
    place_back(graph.offsets, graph.targets, turned.offsets[:-1].copy(), turned.weights, placed)
    return placed


@kernel
def place_back(offsets: Offsets, targets: Targets, place: Offsets, turned: Weights, placed: Weights) -> None:
    """Visits the links as `Graph.transpose` does, and copies each weight from where it put the link."""
    for page in range(len(offsets) - 1):
        for link in range(offsets[page], offsets[page + 1]):
            placed[link] = turned[place[targets[link]]]
            place[targets[link]] += 1


@kernel
def scan(
    offsets: Offsets,
    targets: Targets,
    out_weights: Weights,
    in_weights: Weights,
    forward: Whole,
    values: Table,
    received: Table,
    first: Whole,
    end: Whole,
) -> None:
    """One pass over the rows of a range: the first columns pay along the links, the others collect along them."""
    count = values.shape[1]
    weighted = len(out_weights) > 0 or len(in_weights) > 0
    for page in range(first, end):
        for link in range(offsets[page], offsets[page + 1]):
            target = targets[link]
            if weighted:
                for column in range(forward):
                    received[target, column] += values[page, column] * out_weights[link]
                for column in range(forward, count):
                    received[page, column] += values[target, column] * in_weights[link]
            else:
                for column in range(forward):
                    received[target, column] += values[page, column]
                for column in range(forward, count):
                    received[page, column] += values[target, column]


@kernel
def settle(new: Table, old: Table, emphasis: Table) -> npt.NDArray[np.float64]:
    """Lets the virtual page pay, so that each column adds up to N; returns how far each column has moved."""
    pages, count = new.shape
    total = np.zeros(count)
    lost = np.zeros(count)  # the rounding error of the sum (Kahan): in a long vector it would move every page
    moved = np.zeros(count)
    for page in range(pages):
        for column in range(count):
            term = new[page, column] - lost[column]
            longer = total[column] + term
            lost[column] = (longer - total[column]) - term
            total[column] = longer
    left = 1.0 - total / pages
    for page in range(pages):
        for column in range(count):
            new[page, column] += left[column] * emphasis[page, column]
            moved[column] += abs(new[page, column] - old[page, column])
    return moved
