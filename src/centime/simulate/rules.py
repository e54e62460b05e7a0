"""The freshness of rules that know rates and importance: intervals between reads in closed form.

    freshness of a page read every T      (1 - e^(-L T)) / (L T)
    uniform          T = N / G
    proportional     T = K / (x L)
    square root      T = K / sqrt(x L)                        the paper's Eq. 22, K = S / G
    threshold        (x/L) (1 - e^(-L T) (1 + L T)) = mu      the optimum; a page with x/L <= mu is never read

G is the budget, so the sum of 1/T is G; L is the change rate, x the importance, N the number of pages. mu is found by
bisection, with the inverse of 1 - e^(-v) (1 + v) from a table whose error is 1e-6; a page that would be read once in
fifty changes or less is not read.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

import numpy as np

from centime.simulate.change_history import Times

HALVINGS = 50
_CHANGES = np.geomspace(1e-9, 50.0, 20_000)
_SHARES = np.where(_CHANGES < 1e-4, _CHANGES**2 / 2 * (1 - 2 * _CHANGES / 3), 1 - np.exp(-_CHANGES) * (1 + _CHANGES))


class Rule(Protocol):
    """A rule with known rates."""

    def __call__(self, importance: Times, rates: Times, budget: float) -> Times:
        """The interval between reads of every page, infinite if it is not read, under a budget of reads per unit of
        time.
        """
        ...


def weighted_freshness(importance: Times, rates: Times, intervals: Times) -> float:
    """The share of the copy that is fresh, weighted by importance, if pages are read at these intervals."""
    changes = rates * intervals
    fresh = np.where(np.isinf(changes), 0.0, -np.expm1(-changes) / np.maximum(changes, 1e-300))
    return float((importance * np.where(changes > 0, fresh, 1.0)).sum() / importance.sum())


def uniform(importance: Times, rates: Times, budget: float) -> Times:
    """The same interval for all pages."""
    return np.full(len(rates), len(rates) / budget)


def proportional(importance: Times, rates: Times, budget: float) -> Times:
    """Reads in proportion to importance times rate."""
    speed = importance * rates
    return np.asarray(speed.sum() / budget / speed)


def square_root(importance: Times, rates: Times, budget: float) -> Times:
    """The paper's rule: reads in proportion to the square root of importance times rate."""
    speed = np.sqrt(importance * rates)
    return np.asarray(speed.sum() / budget / speed)


def threshold(importance: Times, rates: Times, budget: float) -> Times:
    """The optimal rule: a page is read when its index reaches the threshold."""
    high = float(np.log((importance / rates).max()))
    low = high - 80.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if (1.0 / _intervals(importance, rates, middle)).sum() > budget:
            low = middle
        else:
            high = middle
    return _intervals(importance, rates, high)


def demand(importance: Times, rates: Times, worth: float) -> float:
    """The reads per unit of time of the optimal rule under a threshold."""
    return float((1.0 / _intervals(importance, rates, float(np.log(worth)))).sum())


def _intervals(importance: Times, rates: Times, log_worth: float) -> Times:
    """The age at which the index of each page reaches the threshold."""
    share = np.log(rates / importance) + log_worth
    changes = np.exp(np.interp(share, np.log(_SHARES), np.log(_CHANGES)))
    return np.where(share < np.log(_SHARES[-1]), changes, np.inf) / rates


RULES: Mapping[str, Rule] = MappingProxyType(
    {"uniform": uniform, "proportional": proportional, "square root": square_root, "threshold": threshold}
)
