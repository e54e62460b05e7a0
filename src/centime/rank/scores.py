"""What a ranking gives back: a number for every page, how it was found and how far it may be from the truth."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scores:
    """A score for every page.

    `certified_error` bounds |x - x*|_1 over the number of pages (in units of the scores themselves when they add up to
    something else); `passes` is how often the links were read, in whole graphs; `change` is |x - x'|_1, x' being the
    vector one iteration before.
    """

    scores: Vector
    method: str
    iterations: int
    passes: float
    change: float
    certified_error: float
    seconds: float = 0.0

    def top(self, count: int = 20) -> npt.NDArray[np.int64]:
        """The numbers of the pages with the highest scores, the first first; of equal ones the lower number first."""
        count = max(0, min(count, len(self.scores)))
        if not count:
            return np.empty(0, dtype=np.int64)
        # All that reach the score of the last of them, so that equal scores at the edge are decided by their numbers
        # too.
        edge = np.partition(self.scores, len(self.scores) - count)[len(self.scores) - count]
        best = np.flatnonzero(self.scores >= edge)
        return best[np.lexsort((best, -self.scores[best]))][:count]
