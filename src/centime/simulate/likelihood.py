"""The paper's rate from change observations (Section 6.1.1), page by page in constant memory.

The rate L maximises exp(-L V) * product over changed intervals c of (1 - exp(-L c)), V being the sum of the quiet
intervals, so it solves

    sum over c of c / (e^(L c) - 1) = V

The left side falls from infinity to 0: there is one root when something changed and something did not. Where the paper
says nothing (only changes: L would be infinite; only quiet intervals: 0) half an observation of the mean rate m of all
pages is added, a/L on the left and a/m on the right with a = 1/2. A page read once has the rate m.

The changed intervals are kept as counts and sums in classes of a factor of sqrt(2), each class standing for its mean:
the rate is off by less than 1 %, and nothing grows with the visits. (`centime.refresh.rates` has the same estimator for
whole lists of intervals.)
"""

import math

import numpy as np
import numpy.typing as npt

from centime.model.kernel import kernel
from centime.refresh.verdict import Verdict
from centime.simulate.change_history import Numbers, Times
from centime.simulate.simulation import Verdicts

CLASSES = 48
SHORTEST = 60.0  # seconds, of the first class
START_RATE = 1 / (30 * 86_400.0)  # until anything was observed
HALF = 0.5
STEPS = 60
_FIRST, _QUIET, _FAILED = int(Verdict.FIRST), int(Verdict.QUIET), int(Verdict.FAILED)


class RateEstimates:
    """The rate of each page, per second, by all that was observed of it."""

    def __init__(self, pages: int) -> None:
        self.rates: Times = np.full(pages, START_RATE)
        self._observed = np.zeros(pages, dtype=np.bool_)
        self._counts = np.zeros((pages, CLASSES), dtype=np.float32)
        self._sums = np.zeros((pages, CLASSES))
        self._quiet = np.zeros(pages)
        self._changes = 0
        self._time = 0.0

    def observe(self, pages: Numbers, intervals: Times, verdicts: Verdicts) -> None:
        """Takes in intervals, one for each page, and whether it changed in them."""
        said = (verdicts != Verdict.FIRST) & (verdicts != Verdict.FAILED)
        self._changes += int(np.count_nonzero(said & (verdicts != Verdict.QUIET)))
        self._time += float(intervals[said].sum())
        mean = self._mean()
        _estimate(pages[said], intervals[said], verdicts[said], mean, self._counts, self._sums, self._quiet, self.rates)
        self._observed[pages[said]] = True
        self.rates[pages[~said & ~self._observed[pages]]] = mean

    def _mean(self) -> float:
        """Changes seen over the time looked at: a lower bound of the mean rate, sensible while intervals are short."""
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
    """The rate of the greatest likelihood, by Newton's steps in its logarithm from a guess on."""
    changed = 0.0
    for place in range(len(counts)):
        changed += counts[place]
    extra = HALF if changed == 0.0 or quiet == 0.0 else 0.0
    right = quiet + extra / mean
    rate = guess
    for _ in range(STEPS):
        left, slope = extra / rate, -extra / rate  # slope: of the left side by the logarithm of the rate
        for place in range(len(counts)):
            if counts[place] > 0:
                interval = sums[place] / counts[place]
                grown = math.expm1(min(rate * interval, 500.0))
                value = counts[place] * interval / grown
                left += value
                slope -= value * rate * interval * (grown + 1.0) / grown
        step = left / slope * math.log(left / right)  # for the logarithm of the left side, which is nearly straight
        rate *= math.exp(min(2.0, max(-2.0, -step)))
        if abs(step) < 1e-4:
            break
    return rate
