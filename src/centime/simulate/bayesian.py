"""Bayesian policies with the whole likelihood of every page on a grid of rates, for comparison with ours.

    λ_j = LOW·2^(j/2)                               the grid, j < SIZE
    l_j = Σ -λ_j t  or  log(1 - e^(-λ_j t))         log likelihood of a page: quiet intervals t, changed ones
    p_j ∝ w_j e^(l_j)                                its posterior; a dated change adds log λ_j - λ_j·since
    I(a) = x Σ p_j/λ_j · (1 - e^(-λ_j a)(1 + λ_j a))  the worth of a read: the index of `worth.py`, averaged

    known law     w is the law from which the rates were drawn, given the importance of the page: no policy that
                  reads by such an index can know more
    empirical     w is the mean of all posteriors, by steps of expectation maximisation, one a day
    fading        the same, and log likelihoods fade by e^(-t/MEMORY) before an interval t counts
    Thompson      the same as empirical, but I is that of one rate drawn from the posterior at each read

They need 8·SIZE bytes of a page and look at every page in every tick: no crawler could run them. `Likeliest` is the
threshold rule with the rate of largest likelihood, as if it were certain.
"""

import math
from collections.abc import Callable

import numpy as np

from centime.model.kernel import kernel
from centime.refresh.learning.verdict import Verdict
from centime.simulate.change_history import ChangeHistory, Numbers, Times
from centime.simulate.likelihood import RateEstimates
from centime.simulate.scanning import first_by, write_freshness_index
from centime.simulate.simulation import DAY, Verdicts

LOW, SIZE = 2.0**-11 / DAY, 36
MEMORY = 60 * DAY
_QUIET, _DATED = int(Verdict.QUIET), int(Verdict.DATED)

GRID: Times = LOW * np.exp2(np.arange(SIZE) / 2)


class GridBayes:
    """The threshold rule with the posterior of every page on a grid of rates."""

    def __init__(
        self,
        history: ChangeHistory,
        law: Callable[[Times], Times] | None = None,
        *,
        memory: float = math.inf,
        sampled: bool = False,
    ) -> None:
        pages = history.pages
        self._weight = history.importance / history.costs
        self._read = np.full(pages, math.inf)
        self._index = np.zeros(pages)
        self._likelihood = np.zeros((pages, SIZE))
        self._learns = law is None
        prior = np.full((pages, SIZE), 1.0 / SIZE) if law is None else np.array(law(GRID), dtype=np.float64)
        self._prior = prior / prior.sum(axis=1, keepdims=True)
        self.posterior = self._prior.copy()
        self._memory = memory
        self._learned = history.begin
        self._chance = np.random.default_rng(0) if sampled else None
        self._drawn = np.zeros(pages)

    def choose(self, now: float, count: int) -> Numbers:
        """The pages of the largest worth."""
        if self._learns and now >= self._learned + DAY:
            self._learned = now
            known = np.isfinite(self._read)
            self._prior[:] = self.posterior[known].mean(axis=0) + 1e-9
            self._update(np.flatnonzero(known))
        if self._chance is not None:
            write_freshness_index(self._weight, self._drawn, self._read, now, self._index)
        else:
            _write_index(self._weight, self.posterior, GRID, self._read, now, self._index)
        return first_by(self._index, count)

    def record(self, pages: Numbers, now: float, verdicts: Verdicts, since: Times) -> None:
        """Adds the intervals to the likelihoods."""
        seen = np.isfinite(self._read[pages]) & (verdicts != Verdict.FIRST) & (verdicts != Verdict.FAILED)
        intervals = now - self._read[pages[seen]]
        _observe(self._likelihood, GRID, pages[seen], intervals, verdicts[seen], since[seen], self._memory)
        self._read[pages] = now
        self._update(pages)

    def drop(self, pages: Numbers) -> None:
        """Forgets these pages."""
        self._read[pages] = math.inf

    def _update(self, pages: Numbers) -> None:
        log = self._likelihood[pages] + np.log(self._prior[pages] + 1e-300)
        log -= log.max(axis=1, keepdims=True)
        weights = np.exp(log)
        self.posterior[pages] = weights / weights.sum(axis=1, keepdims=True)
        if self._chance is not None:
            place = (self.posterior[pages].cumsum(axis=1) < self._chance.random(len(pages))[:, None]).sum(axis=1)
            self._drawn[pages] = GRID[np.minimum(place, SIZE - 1)]


class Likeliest:
    """The threshold rule with the rate of largest likelihood."""

    def __init__(self, history: ChangeHistory) -> None:
        self._read = np.full(history.pages, math.inf)
        self._weight = history.importance / history.costs
        self._index = np.zeros(history.pages)
        self.estimates = RateEstimates(history.pages)

    def choose(self, now: float, count: int) -> Numbers:
        """The pages of the largest worth."""
        write_freshness_index(self._weight, self.estimates.rates, self._read, now, self._index)
        return first_by(self._index, count)

    def record(self, pages: Numbers, now: float, verdicts: Verdicts, since: Times) -> None:
        """Updates their rates."""
        self.estimates.observe(pages, now - self._read[pages], verdicts)
        self._read[pages] = now

    def drop(self, pages: Numbers) -> None:
        """Forgets these pages."""
        self._read[pages] = math.inf


@kernel
def _observe(
    likelihood: Times, grid: Times, pages: Numbers, intervals: Times, verdicts: Verdicts, since: Times, memory: float
) -> None:
    for n in range(len(pages)):
        row, interval = likelihood[pages[n]], intervals[n]
        if not interval > 0.0:
            continue
        kept = math.exp(-interval / memory)
        for j in range(len(grid)):
            if verdicts[n] == _QUIET:
                seen = -grid[j] * interval
            elif verdicts[n] == _DATED:
                seen = math.log(grid[j]) - grid[j] * since[n]
            else:
                seen = math.log(-math.expm1(-grid[j] * interval))
            row[j] = row[j] * kept + seen


@kernel
def _write_index(weight: Times, posterior: Times, grid: Times, read: Times, now: float, index: Times) -> None:
    """Writes the mean index of every page; 0 if it was never read. The grid has steps of sqrt(2), so two exponentials
    give all others by squaring.
    """
    for page in range(len(weight)):
        age = now - read[page]
        index[page] = 0.0
        if not age > 0.0:
            continue
        total, even, odd = 0.0, math.exp(-grid[0] * age), math.exp(-grid[1] * age)
        for j in range(len(grid)):
            changes, kept = grid[j] * age, even if j % 2 == 0 else odd
            part = 1.0 - kept * (1.0 + changes) if changes > 1e-4 else 0.5 * changes * changes
            total += posterior[page, j] / grid[j] * part
            if j % 2 == 0:
                even *= even
            else:
                odd *= odd
        index[page] = weight[page] * total
