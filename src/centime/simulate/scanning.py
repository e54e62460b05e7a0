"""Policies that scan all pages in every tick and read those of the largest index: uniform, the paper's rule, the
oracle.

    uniform     I = a                                     round robin, the oldest copy first
    paper       I = x L a^2                               Eq. 22: read when a >= K / sqrt(x L), which is I >= K^2
    oracle      I = (x/L) (1 - e^(-L a) (1 + L a))        the optimal threshold rule, L the true rate

a is the age of the copy, x the importance, L the change rate; I is divided by the cost of a read. The paper sets K =
S/G, S = sum of sqrt(x L), so that G reads per unit of time are due. A policy that reads the G pages of the largest I in
every tick does the same and never leaves budget unspent, so S and the threshold are not needed here.
"""

import math

import numpy as np

from centime.model.kernel import kernel
from centime.simulate.change_history import ChangeHistory, Numbers, Times
from centime.simulate.likelihood import RateEstimates
from centime.simulate.simulation import Verdicts


def first_by(index: Times, count: int) -> Numbers:
    """The places of the `count` largest values above 0, in no order."""
    above = np.flatnonzero(index > 0.0)  # before the partition, which is slow with many equal values
    if count >= len(above):
        return above
    return np.sort(above[np.argpartition(index[above], len(above) - count)[len(above) - count :]])


class Uniform:
    """The oldest copy first."""

    def __init__(self, history: ChangeHistory) -> None:
        self._read = np.full(history.pages, math.inf)

    def choose(self, now: float, count: int) -> Numbers:
        """The pages read longest ago."""
        return first_by(now - self._read, count)

    def record(self, pages: Numbers, now: float, verdicts: Verdicts, since: Times) -> None:
        """Notes when they were read."""
        self._read[pages] = now

    def drop(self, pages: Numbers) -> None:
        """Forgets these pages."""
        self._read[pages] = math.inf


class Paper:
    """The square root rule with rates by the paper's change observations."""

    def __init__(self, history: ChangeHistory) -> None:
        self._read = np.full(history.pages, math.inf)
        self._weight = history.importance / history.costs
        self.estimates = RateEstimates(history.pages)

    def choose(self, now: float, count: int) -> Numbers:
        """The pages that exceed their interval most."""
        age = np.maximum(0.0, now - self._read)
        return first_by(self._weight * self.estimates.rates * age * age, count)

    def record(self, pages: Numbers, now: float, verdicts: Verdicts, since: Times) -> None:
        """Updates their rates."""
        self.estimates.observe(pages, now - self._read[pages], verdicts)
        self._read[pages] = now

    def drop(self, pages: Numbers) -> None:
        """Forgets these pages."""
        self._read[pages] = math.inf


class Oracle:
    """The optimal rule with the true rates."""

    def __init__(self, history: ChangeHistory) -> None:
        self._read = np.full(history.pages, math.inf)
        self._weight = history.importance / history.costs
        self._rates = history.rates
        self._index = np.zeros(history.pages)

    def choose(self, now: float, count: int) -> Numbers:
        """The pages of the largest worth."""
        write_freshness_index(self._weight, self._rates, self._read, now, self._index)
        return first_by(self._index, count)

    def record(self, pages: Numbers, now: float, verdicts: Verdicts, since: Times) -> None:
        """Notes when they were read."""
        self._read[pages] = now

    def drop(self, pages: Numbers) -> None:
        """Forgets these pages."""
        self._read[pages] = math.inf


@kernel
def write_freshness_index(weight: Times, rates: Times, read: Times, now: float, index: Times) -> None:
    """Writes (x/L)(1 - e^(-L a)(1 + L a)) of every page; 0 if it never changes or was never read."""
    for page in range(len(rates)):
        changes = rates[page] * (now - read[page])
        index[page] = 0.0
        if changes > 0.0:
            index[page] = weight[page] / rates[page] * (1.0 - math.exp(-changes) * (1.0 + changes))
