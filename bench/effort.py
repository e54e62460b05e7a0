"""The least effort with which a solver reaches a true error, found with few runs.

The effort of a solver is a place on its ladder: a number of iterations, or a tolerance. The logarithm of the true error
falls about evenly along it, so two runs tell about where the wanted error is reached, and one or two more find the
place itself: it reaches the error, the one before it does not. What a run has told serves every other error as well.
Nothing of this is on the clock."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil, inf, log

import numpy as np

from bench.peers import DAMPING, OWN_TRUTH, PEERS, Solve, Vector
from centime.model.graph import Graph

PATIENCE_SECONDS = 60.0
"""A solver that needs longer for one run is not held up with more of them."""
FINENESS = 16
"""Tolerances of one power of ten; about as fine as single iterations are."""
ITERATIONS = [float(k) for k in range(1, 5001)]
TOLERANCES = [10.0 ** (-k / FINENESS) for k in range(2 * FINENESS, 20 * FINENESS)]
ROUNDING = 1e-17
"""What is left of the first error after as many iterations as give the truth of a peer."""
CLOSEST = 1e-18
"""A true error below this is taken for it, so that it has a logarithm."""


@dataclass(slots=True)
class Contender:
    """A solver on its own graph, what is true for it, its ladder, and what its runs have told: the error and the
    seconds by place."""

    name: str
    solve: Solve
    truth: Vector
    ladder: Sequence[float]
    damping: float = DAMPING
    told: dict[int, tuple[float, float]] = field(default_factory=dict)

    def error_at(self, place: int) -> float:
        """The true error of a run, over the pages."""
        if place not in self.told:
            started = time.perf_counter()
            try:
                scores = self.solve(self.ladder[place])
                error = float(np.abs(scores - self.truth).sum()) / len(self.truth)
            except Exception:  # a peer that does not converge raises what it likes
                error = inf
            self.told[place] = max(error, CLOSEST), time.perf_counter() - started
        return self.told[place][0]

    @property
    def longest(self) -> float:
        """The seconds of the longest run so far."""
        return max((seconds for _, seconds in self.told.values()), default=0.0)


def contenders(
    web: Graph, exact: Vector, damping: float = DAMPING, threads: int | None = None, names: Sequence[str] = tuple(PEERS)
) -> Iterator[Contender | str]:
    """Every peer that is installed, with its graph; a sentence for one that is not tried."""
    for name in names:
        make, levels, most = PEERS[name]
        if web.links > most:
            limit = f"{most / 1e6:g} M links"
            yield f"{name}: not tried with more than {limit}, it would take minutes and gigabytes to build its graph"
            continue
        try:
            solve = make(web, damping, threads)
        except ImportError:
            yield f"{name}: not installed"
            continue
        ladder = levels if len(levels) == 1 else ITERATIONS if levels[0] < levels[-1] else TOLERANCES
        truth = solve(ceil(log(ROUNDING) / log(damping))) if name in OWN_TRUTH else exact
        yield Contender(name, solve, truth, ladder, damping)


def least_effort(contender: Contender, error: float, patience: float = PATIENCE_SECONDS) -> float | str:
    """The place on the ladder that reaches a true error while the one before does not, as a level; or a sentence why
    there is none."""
    below, reaching = -1, len(contender.ladder)
    runs = 0
    for place, (found, _) in contender.told.items():
        below, reaching = (below, min(reaching, place)) if found <= error else (max(below, place), reaching)
    while reaching - below > 1:
        place = _next(contender, error, below, reaching, halve=runs % 4 == 3)
        found = contender.error_at(place)
        if contender.told[place][1] > patience:
            return f"one run takes more than {patience:g} s"
        below, reaching = (below, place) if found <= error else (place, reaching)
        runs += 1
    return "does not reach it" if reaching == len(contender.ladder) else contender.ladder[reaching]


def _next(contender: Contender, error: float, below: int, reaching: int, *, halve: bool) -> int:
    """Where to try next, between a place that does not reach the error and one that does."""
    last = len(contender.ladder) - 1
    shrinks = (
        -log(contender.damping) if contender.ladder is ITERATIONS else log(10) / FINENESS
    )  # the error, by a step, about
    if below < 0 and reaching > last:
        return min(
            last,
            ceil(-log(error) / shrinks)
            if contender.ladder is ITERATIONS
            else ceil((-log(error) - 2 * log(10)) / shrinks),
        )
    far = inf if below < 0 else contender.error_at(below)
    if reaching > last or far == inf:
        known = below if reaching > last else reaching
        apart = abs(log(contender.error_at(known) / error)) if contender.error_at(known) < inf else inf
        step = max(1, ceil(apart / shrinks)) if apart < inf else len(contender.ladder)
        wanted = known + step if reaching > last else known - step
    elif halve:
        wanted = (below + reaching) // 2
    else:
        near = contender.error_at(reaching)
        wanted = below + ceil((reaching - below) * log(far / error) / log(far / near))
    return min(max(wanted, below + 1), min(reaching, last + 1) - 1)
