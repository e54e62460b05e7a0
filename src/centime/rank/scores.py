"""The result of a solver: a score for each page, how it was computed, and a bound on its error."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scores:
    """A score for each page.

    `certified_error` bounds |x - x*|_1 / N for scores that add up to N; for another scale it has the unit of the
    scores. `passes` is the number of links read, in units of the whole graph. `change` is |x - x'|_1, where x' is the
    vector one iteration earlier.
    """

    scores: Vector
    method: str
    iterations: int
    passes: float
    change: float
    certified_error: float
    seconds: float = 0.0

    def top(self, count: int = 20) -> npt.NDArray[np.int64]:
        """The numbers of the `count` pages with the highest scores, best first; ties by lower number."""
        count = max(0, min(count, len(self.scores)))
        if not count:
            return np.empty(0, dtype=np.int64)
        # Takes all pages with the score of the last one, so that ties there are broken by number too.
        edge = np.partition(self.scores, len(self.scores) - count)[len(self.scores) - count]
        best = np.flatnonzero(self.scores >= edge)
        return best[np.lexsort((best, -self.scores[best]))][:count]
