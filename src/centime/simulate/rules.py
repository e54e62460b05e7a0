"""What rules would realise if rates and importance were known: intervals between reads in closed form, and the
freshness that they give.

    freshness of a page read every T      (1 - e^(-L T)) / (L T)
    uniform          T = N / G
    proportional     T = K / (x L)
    square root      T = K / sqrt(x L)                                       the paper's Eq. 22, K = S / G
    threshold        (x/L) (1 - e^(-L T) (1 + L T)) = mu                     the best; never read where x/L <= mu

G is the budget, so that the sum of 1/T is G; L the rates of change, x importance, N the pages. mu solves that sum by
bisection, with the inverse of 1 - e^(-v) (1 + v) from a table that is good to 1e-6; a page that would be read once in
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
        """The interval between reads of every page, infinite for one that is not read, under a budget of reads a
        time.
        """
        ...


def weighted_freshness(importance: Times, rates: Times, intervals: Times) -> float:
    """The share of the copy that is fresh, weighted by importance, when every page is read after these intervals."""
    changes = rates * intervals
    fresh = np.where(np.isinf(changes), 0.0, -np.expm1(-changes) / np.maximum(changes, 1e-300))
    return float((importance * np.where(changes > 0, fresh, 1.0)).sum() / importance.sum())


def uniform(importance: Times, rates: Times, budget: float) -> Times:
    """All pages alike."""
    return np.full(len(rates), len(rates) / budget)


def proportional(importance: Times, rates: Times, budget: float) -> Times:
    """Each page as often as its importance times its rate."""
    speed = importance * rates
    return np.asarray(speed.sum() / budget / speed)


def square_root(importance: Times, rates: Times, budget: float) -> Times:
    """The paper's rule."""
    speed = np.sqrt(importance * rates)
    return np.asarray(speed.sum() / budget / speed)


def threshold(importance: Times, rates: Times, budget: float) -> Times:
    """The optimal rule."""
    high = float(np.log((importance / rates).max()))
    low = high - 80.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if (1.0 / _intervals(importance, rates, middle)).sum() > budget:
            low = middle
        else:
            high = middle
    return _intervals(importance, rates, high)


def _intervals(importance: Times, rates: Times, log_worth: float) -> Times:
    """When the index of each page reaches the threshold."""
    share = np.log(rates / importance) + log_worth
    changes = np.exp(np.interp(share, np.log(_SHARES), np.log(_CHANGES)))
    return np.where(share < np.log(_SHARES[-1]), changes, np.inf) / rates


RULES: Mapping[str, Rule] = MappingProxyType(
    {"uniform": uniform, "proportional": proportional, "square root": square_root, "threshold": threshold}
)
