"""The oracle of a world: the optimal threshold rule with the rates at every moment and the phase of every rhythm.

A page that changes by the clock is worth a read only just after its moment: then its copy is fresh for the whole
period P, so the worth is x·P. It is read then if x·P reaches the threshold μ at which all pages together spend the
budget, and never otherwise. The rest of the budget reads other pages by their worth.
"""

import math

import numpy as np

from centime.simulate import rules
from centime.simulate.change_history import Flags, Numbers, Times
from centime.simulate.processes import World
from centime.simulate.scanning import first_by, write_freshness_index
from centime.simulate.simulation import Verdicts


class Informed:
    """Knows everything except the changes themselves."""

    def __init__(self, world: World, budget: float) -> None:
        pages = world.history.pages
        self._world = world
        self._weight = world.history.importance / world.history.costs
        self._read = np.full(pages, math.inf)
        self._index = np.zeros(pages)
        self._period = np.zeros(pages) if world.period is None else world.period
        self._phase = np.zeros(pages) if world.phase is None else world.phase
        self._kept = self._worth_keeping(budget)

    def _worth_keeping(self, budget: float) -> Flags:
        """The pages with a rhythm that are read in every period."""
        regular = self._period > 0
        value = self._weight * self._period
        if not regular.any():
            return regular
        rates = self._world.rates_at(0.0)[~regular]
        for low in np.sort(value[regular])[::-1]:  # from few pages to many, until the budget is spent
            kept = regular & (value >= low)
            spent = float((1.0 / self._period[kept]).sum())
            others = rules.demand(self._weight[~regular], rates, float(low)) if len(rates) else 0.0
            if spent + others > budget:
                return np.asarray(regular & (value > low))
        return regular

    def choose(self, now: float, count: int) -> Numbers:
        """The kept pages whose moment has come, then the others of the largest worth."""
        write_freshness_index(self._weight, self._world.rates_at(now), self._read, now, self._index)
        regular = self._period > 0
        period = np.maximum(self._period, 1.0)
        since = np.mod(now - self._phase, period)  # since the last moment
        changed = regular & (now - self._read > since) & np.isfinite(self._read)
        left = self._weight * (period - since)
        self._index[regular] = np.where(changed, np.where(self._kept, 1e12, 1.0) * left, 0.0)[regular]
        return first_by(self._index, count)

    def record(self, pages: Numbers, now: float, verdicts: Verdicts, since: Times) -> None:
        """Notes when they were read."""
        self._read[pages] = now

    def drop(self, pages: Numbers) -> None:
        """Forgets these pages."""
        self._read[pages] = math.inf
