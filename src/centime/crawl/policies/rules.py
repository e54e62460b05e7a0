"""What rules would realise if rates and importance were known: intervals between reads in closed form, and the freshness that they give.

    freshness of a page read every T      (1 - e^(-L T)) / (L T)
    uniform          T = N / G
    proportional     T = K / (x L)
    square root      T = K / sqrt(x L)                                       the paper's Eq. 22, K = S / G
    threshold        (x/L) (1 - e^(-L T) (1 + L T)) = mu                     the best; never read where x/L <= mu

G is the budget, so that the sum of 1/T is G; L the rates of change, x importance, N the pages. mu solves that sum by bisection.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

import numpy as np

from centime.crawl.policies.history import Times
from centime.model.kernel import kernel

HALVINGS = 60


class Rule(Protocol):
    """A rule with known rates."""

    def __call__(self, importance: Times, rates: Times, budget: float) -> Times:
        """The interval between reads of every page, infinite for one that is not read, under a budget of reads a time."""
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
    longest = np.log(np.max(importance / rates))
    low, high = longest - 80.0, longest
    intervals = np.empty(len(rates))
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        _write_intervals(importance, rates, float(np.exp(middle)), intervals)
        if (1.0 / intervals).sum() > budget:
            low = middle
        else:
            high = middle
    _write_intervals(importance, rates, float(np.exp(high)), intervals)
    return intervals


RULES: Mapping[str, Rule] = MappingProxyType(
    {"uniform": uniform, "proportional": proportional, "square root": square_root, "threshold": threshold}
)


@kernel
def _write_intervals(importance: Times, rates: Times, worth: float, intervals: Times) -> None:
    """Writes when the index of each page reaches the threshold."""
    for page in range(len(rates)):
        share = worth * rates[page] / importance[page]
        intervals[page] = np.inf
        if share < 1.0:
            low, high = 0.0, 2.0
            while 1.0 - np.exp(-high) * (1.0 + high) < share and high < 700.0:
                low, high = high, 2.0 * high
            for _ in range(50):
                middle = 0.5 * (low + high)
                if 1.0 - np.exp(-middle) * (1.0 + middle) < share:
                    low = middle
                else:
                    high = middle
            intervals[page] = high / rates[page]
