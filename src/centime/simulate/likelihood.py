"""The paper's rate from change observations (Section 6.1.1), page by page in constant memory.

The rate L maximises exp(-L V) * product over changed intervals c of (1 - exp(-L c)), V being the sum of the quiet
intervals, so it solves

    sum over c of c / (e^(L c) - 1) = V

The left side falls from infinity to 0: there is one root if there are both changed and quiet intervals. The paper does
not say what to do otherwise (with changes only, L would be infinite; with quiet intervals only, 0). Then half an
observation of the mean rate m of all pages is added: a/L on the left and a/m on the right, with a = 1/2. A page that
was read once has the rate m.

The changed intervals are kept as counts and sums in classes of a factor of sqrt(2), and each class counts as its mean:
memory does not grow with the visits. The relative error of the rate is below 2 % while L c < 2 for the shortest changed
interval c; beyond that, where nearly every read finds a change, it reaches 10 % (measured on 200 000 random lists).
(`centime.refresh.learning.rates` has the same estimator for complete lists of intervals.)
"""

import math

import numpy as np
import numpy.typing as npt

from centime.model.kernel import kernel
from centime.refresh.learning.verdict import Verdict
from centime.simulate.change_history import Numbers, Times
from centime.simulate.simulation import Verdicts

CLASSES = 48
SHORTEST = 60.0  # seconds, of the first class
START_RATE = 1 / (30 * 86_400.0)  # before the first observation
HALF = 0.5
STEPS = 60
_FIRST, _QUIET, _FAILED = int(Verdict.FIRST), int(Verdict.QUIET), int(Verdict.FAILED)


class RateEstimates:
    """The estimated rate of each page, per second, from all its observations."""

    def __init__(self, pages: int) -> None:
        self.rates: Times = np.full(pages, START_RATE)
        self._observed = np.zeros(pages, dtype=np.bool_)
        self._counts = np.zeros((pages, CLASSES), dtype=np.float32)
        self._sums = np.zeros((pages, CLASSES))
        self._quiet = np.zeros(pages)
        self._changes = 0
        self._time = 0.0

    def observe(self, pages: Numbers, intervals: Times, verdicts: Verdicts) -> None:
        """Adds one interval for each page, and whether the page changed in it."""
        seen = (verdicts != Verdict.FIRST) & (verdicts != Verdict.FAILED)
        self._changes += int(np.count_nonzero(seen & (verdicts != Verdict.QUIET)))
        self._time += float(intervals[seen].sum())
        mean = self._mean()
        _estimate(pages[seen], intervals[seen], verdicts[seen], mean, self._counts, self._sums, self._quiet, self.rates)
        self._observed[pages[seen]] = True
        self.rates[pages[~seen & ~self._observed[pages]]] = mean

    def _mean(self) -> float:
        """Changes per observed time: a lower bound of the mean rate, and a good one while intervals are short."""
        return (self._changes + HALF) / (self._time + HALF / START_RATE)


@kernel
def _estimate(
    pages: Numbers,
    intervals: Times,
    verdicts: Verdicts,
    mean: float,
    counts: npt.NDArray[np.float32],
    sums: Times,
    quiet: Times,
    rates: Times,
) -> None:
    for n in range(len(pages)):
        page = pages[n]
        if verdicts[n] == _QUIET:
            quiet[page] += intervals[n]
        else:
            place = min(CLASSES - 1, max(0, int(2.0 * math.log2(max(intervals[n], SHORTEST) / SHORTEST))))
            counts[page, place] += 1
            sums[page, place] += intervals[n]
        rates[page] = most_likely(counts[page], sums[page], quiet[page], mean, rates[page])


@kernel
def most_likely(counts: npt.NDArray[np.float32], sums: Times, quiet: float, mean: float, guess: float) -> float:
    """The rate of largest likelihood, by Newton's method in its logarithm from a guess."""
    changed = 0.0
    for place in range(len(counts)):
        changed += counts[place]
    extra = HALF if changed == 0.0 or quiet == 0.0 else 0.0
    right = quiet + extra / mean
    rate = guess
    for _ in range(STEPS):
        left, slope = extra / rate, -extra / rate  # slope: the derivative of the left side by the logarithm of the rate
        for place in range(len(counts)):
            if counts[place] > 0:
                interval = sums[place] / counts[place]
                grown = math.expm1(min(rate * interval, 500.0))
                value = counts[place] * interval / grown
                left += value
                slope -= value * rate * interval * (grown + 1.0) / grown
        step = left / slope * math.log(left / right)  # for the logarithm of the left side, which is nearly linear
        rate *= math.exp(min(2.0, max(-2.0, -step)))
        if abs(step) < 1e-4:
            break
    return rate
