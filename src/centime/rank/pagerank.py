"""PageRank of a link graph, with a certified error.

    x = d W x + (V/N) e        W: column j is the row of page j, its weights adding up to 1;
                               e: the personalisation, adding up to N;
                               V: the money not paid along links: 1-d of each page, and all of a dangling page

The same vector has three scales ("Inside PageRank", Section 2): `mean` adds up to N; `sum` adds up to 1 (Eq. 4 and 13);
`plain` is Eq. 2 itself, x = dWx + (1-d) e, where the money of dangling pages is lost (their dummy node keeps it,
Proposition 2.1). The order of pages is the same in all three (Proposition 2.2).

Guaranteed: |x - x*|_1 <= d/(1-d) |x - h|_1, where x = Gh is one exact iteration from h. The certified error includes
what floating-point rounding can add. An error below that cannot be reached; the certified error then states the error
that was reached.

Methods: `push` is the fastest, and what `auto` takes; `sliced` is the solver that also ranks beyond memory; `jacobi`
and `gauss-seidel` are the textbook methods and can also stop by change or by a stable top.

`auto` makes no more than MOST_ITERATIONS sweeps, and neither do `sliced` and the textbook methods; the certified error
then states the error that was reached.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from math import sqrt
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from centime.model.errors import BadSetting
from centime.model.graph import Graph, Weights, row_shares
from centime.rank.certificate import certified_error, one_iteration, rounding_of_sums
from centime.rank.crew import Crew, crew_for
from centime.rank.pull import change, gauss_seidel, jacobi
from centime.rank.push import Pushing
from centime.rank.renumbering import Renumbered
from centime.rank.scores import Scores, Vector
from centime.rank.sliced.memory import MemorySlices
from centime.rank.sliced.solver import SliceSolver, Values

Method = Literal["auto", "push", "sliced", "jacobi", "gauss-seidel"]
Normalisation = Literal["mean", "sum", "plain"]
Norm = Literal["l1", "l2"]
NEARER = 0.98  # of the requested error, so that rounding does not lift the certificate above it
MOST_ITERATIONS = 100_000
IDLE = 5  # iterations in a row without a smaller change: only rounding is left
ROUNDING = 1e-6  # debts above this share of all scores are not due to rounding
LEAST_DAMPING = 1e-6  # of `sliced`, which stores d y / k instead of y
LOOKED_AT = 4  # sweeps of `push` after which it is decided whether to renumber pages
STEADY = 3  # a top that stays the same for this many iterations is stable
NO_WEIGHTS: Weights = np.empty(0)


def pagerank(
    graph: Graph,
    *,
    damping: float = 0.85,
    error: float = 1e-8,
    method: Method = "auto",
    personalisation: npt.ArrayLike | None = None,
    start: npt.ArrayLike | None = None,
    normalisation: Normalisation = "mean",
    stop_change: float | None = None,
    change_norm: Norm = "l1",
    stable_top: int | None = None,
    threads: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Scores:
    """The PageRank of each page, with a certified |x - x*|_1 / N of at most `error`.

    `stop_change` stops when |x - x'|_1 / N falls below it (with `change_norm` "l2", |x - x'|_2 / sqrt(N)); `stable_top`
    stops when the order of the first `stable_top` pages no longer changes. Both need a textbook method. `progress` is
    called from time to time with the current error bound.
    """
    started = time.perf_counter()
    check_settings(damping, error, method, normalisation, stop_change, stable_top, change_norm)
    emphasis = page_vector("the personalisation", personalisation, graph.pages)
    begin = page_vector("the start", start, graph.pages)
    weights = NO_WEIGHTS if graph.weights is None else row_shares(graph.offsets, graph.weights)[0]
    if not graph.pages:
        return Scores(np.empty(0), "none", 0, 0.0, 0.0, 0.0)
    textbook = stop_change is not None or stable_top is not None
    plain = emphasis is None and begin is None and not len(weights) and damping >= LEAST_DAMPING
    chosen = method
    if method == "auto":
        chosen = "jacobi" if textbook else "push"
    if textbook and chosen in ("push", "sliced"):
        raise BadSetting("only the methods jacobi and gauss-seidel can stop by change or by a stable top")
    if chosen == "sliced" and not plain:
        raise BadSetting(
            f"the method sliced takes no weights, no personalisation, no start and no damping below {LEAST_DAMPING}"
        )
    if normalisation == "plain":
        error *= 1 - damping  # scaling to Eq. 2 can multiply the error by 1 / (1 - damping)
    with crew_for(graph.links, threads) as crew:
        most = MOST_ITERATIONS if method == "auto" else np.inf
        if chosen == "push":
            pushing = Pushing(graph, weights, damping, emphasis, begin, crew)
            found = _push(pushing, error, progress, most, may_leave=begin is None)
            if found is None:
                other = Renumbered(graph, weights)
                pushing = Pushing(other.graph, other.weights, damping, other.moved(emphasis), None, crew)
                found = _push(pushing, error, progress, most)
                assert found is not None
                found = replace(found, scores=other.moved_back(found.scores))
        elif chosen == "sliced":
            found = _in_slices(graph, damping, crew, error, progress)
        else:
            found = _iterate(
                chosen,
                graph,
                weights,
                damping,
                emphasis,
                begin,
                crew,
                error,
                stop_change,
                change_norm,
                stable_top,
                progress,
            )
    return _scaled(found, graph, weights, damping, normalisation, time.perf_counter() - started)


def _push(
    pushing: Pushing, error: float, progress: Callable[[float], None] | None, most: float, *, may_leave: bool = False
) -> Scores | None:
    """The scores; None if pages should be renumbered first."""
    damping, pages = pushing.damping, pushing.graph.pages
    factor = damping / (1 - damping)
    goal = NEARER * error
    # The bound lies between once and twice the factor times the debt, so it is computed only if that is not decisive.
    least, idle = np.inf, 0
    while factor * pushing.debt > goal * pushing.total or pushing.bound() > goal:
        pushing.sweep()
        if may_leave and pushing.sweeps == LOOKED_AT and pushing.needs_order(goal):
            return None
        if progress is not None:
            progress(2 * factor * pushing.debt / pushing.total if pushing.total > 0 else np.inf)
        idle = idle + 1 if pushing.debt >= least else 0
        least = min(least, pushing.debt)
        patience = IDLE if pushing.debt < ROUNDING * pushing.total else 100 * IDLE
        if idle >= patience or pushing.sweeps >= most:
            break  # only rounding is left, or it would never end
    scores, moved, hidden = pushing.certify(error)
    certified = certified_error(damping, moved, hidden, pages)
    return Scores(scores, "push", pushing.sweeps, pushing.links / max(1, pushing.graph.links), moved, certified)


def _in_slices(
    graph: Graph, damping: float, crew: Crew, error: float, progress: Callable[[float], None] | None
) -> Scores:
    factor, pages = damping / (1 - damping), graph.pages
    solver = SliceSolver(MemorySlices(graph), Values(pages, np.float64), damping, crew, 0)
    solver.begin()
    aim, least, idle = error, np.inf, 0
    while True:
        solver.iterate()
        estimate = factor * solver.moved / solver.total
        if progress is not None:
            progress(estimate)
        idle = idle + 1 if solver.moved >= least else 0
        rounded = idle >= IDLE and solver.moved < ROUNDING * solver.total
        exhausted = rounded or solver.iterations >= MOST_ITERATIONS
        if estimate <= aim or exhausted:
            scores, moved = solver.scores()
            certified = certified_error(damping, moved, rounding_of_sums(graph.in_degree, scores), pages)
            if certified <= error or exhausted:
                return Scores(scores, "sliced", solver.iterations, solver.iterations + 1.0, moved, certified)
            aim = estimate / 2
        least = min(least, solver.moved)


def _iterate(
    method: str,
    graph: Graph,
    weights: Weights,
    damping: float,
    emphasis: Vector | None,
    start: Vector | None,
    crew: Crew,
    error: float,
    stop_change: float | None,
    change_norm: Norm,
    stable_top: int | None,
    progress: Callable[[float], None] | None,
) -> Scores:
    vectors: Iterator[Vector]
    if method == "jacobi":
        vectors = jacobi(graph, weights, damping, emphasis, start, crew)
    else:
        vectors = gauss_seidel(graph, weights, damping, emphasis, start)
    factor, pages = damping / (1 - damping), graph.pages
    previous = np.full(pages, np.inf)
    best: npt.NDArray[np.int64] | None = None
    steady = idle = iterations = 0
    least = aim = np.inf
    if stop_change is None and stable_top is None:
        aim = error
    while True:
        scores = next(vectors)
        iterations += 1
        moved = change(scores, previous)
        if progress is not None and iterations > 1:
            progress(factor * moved / pages)
        if stop_change is not None:
            mean = moved / pages if change_norm == "l1" else float(np.linalg.norm(scores - previous)) / sqrt(pages)
            aim_reached = mean <= stop_change
        elif stable_top is not None:
            newest = Scores(scores, method, iterations, 0.0, moved, 0.0).top(stable_top)
            steady = steady + 1 if best is not None and np.array_equal(best, newest) else 0
            best = newest
            aim_reached = steady >= STEADY
        else:
            aim_reached = factor * moved / pages <= aim
        idle = idle + 1 if moved >= least else 0
        exhausted = idle >= IDLE or iterations >= MOST_ITERATIONS
        if aim_reached or exhausted:
            proven, distance, hidden = one_iteration(graph, weights, damping, emphasis, scores, crew)
            certified = certified_error(damping, distance, hidden, pages)
            if certified <= aim or exhausted:
                break
        least = min(least, moved)
        previous[:] = scores
    return Scores(proven, method, iterations, iterations + 1.0, distance, certified)


def _scaled(
    found: Scores, graph: Graph, weights: Weights, damping: float, normalisation: Normalisation, seconds: float
) -> Scores:
    factor, error = 1.0, found.certified_error
    if normalisation == "sum":
        factor = 1.0 / graph.pages
        error = found.certified_error  # |x - x*|_1 itself, since x adds up to 1
    elif normalisation == "plain":
        factor = (1 - damping) * graph.pages / _unlinked(found.scores, graph, weights, damping)
        error = found.certified_error * factor / (1 - damping)
    if factor != 1.0:
        found.scores[:] *= factor
    return Scores(found.scores, found.method, found.iterations, found.passes, found.change * factor, error, seconds)


def _unlinked(scores: Vector, graph: Graph, weights: Weights, damping: float) -> float:
    """V, the money that pages do not pay along links."""
    dangling = graph.out_degree == 0
    if len(weights):
        carried = np.add.reduceat(np.append(weights, 0.0), graph.offsets[:-1]) if graph.links else np.zeros(graph.pages)
        dangling |= carried == 0.0
    return float((1 - damping) * scores.sum() + damping * scores[dangling].sum())


def check_settings(
    damping: float,
    error: float,
    method: str,
    normalisation: str,
    stop_change: float | None,
    stable_top: int | None,
    change_norm: str = "l1",
) -> None:
    """Raises BadSetting if a setting is out of range."""
    if not 0 <= damping < 1:
        raise BadSetting(f"damping must be at least 0 and below 1, not {damping}")
    if not 0 < error < np.inf:
        raise BadSetting(f"the error must be a number above 0, not {error}")
    if method not in get_args(Method):
        raise BadSetting(f"unknown method {method!r}; the methods are {', '.join(get_args(Method))}")
    if normalisation not in get_args(Normalisation):
        known = ", ".join(get_args(Normalisation))
        raise BadSetting(f"unknown normalisation {normalisation!r}; the normalisations are {known}")
    if change_norm not in get_args(Norm):
        raise BadSetting(f"a change is measured by {' or '.join(get_args(Norm))}, not {change_norm!r}")
    if stop_change is not None and not 0 < stop_change < np.inf:
        raise BadSetting(f"the change to stop at must be a number above 0, not {stop_change}")
    if stop_change is not None and stable_top is not None:
        raise BadSetting("iteration stops by its change or by a stable top, not by both")
    if stable_top is not None and stable_top < 1:
        raise BadSetting(f"a stable top needs at least one page, not {stable_top}")


def page_vector(what: str, values: npt.ArrayLike | None, pages: int) -> Vector | None:
    """Checks a vector with one number, zero or more, for each page, and scales it to add up to N."""
    if values is None:
        return None
    vector = np.array(values, dtype=np.float64)
    if vector.shape != (pages,):
        raise BadSetting(f"{what} needs one number for each of the {pages} pages; its shape is {vector.shape}")
    if not (np.isfinite(vector).all() and (vector >= 0).all() and (pages == 0 or vector.max() > 0)):
        raise BadSetting(f"{what} must hold finite numbers, zero or more, and not only zeros")
    if pages:
        vector /= vector.max()
        vector *= pages / vector.sum()
    return vector
