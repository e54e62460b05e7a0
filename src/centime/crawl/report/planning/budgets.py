"""Freshness over budgets, quick enough for a slider: one sample of pages, one grid of thresholds, everything between
them interpolated.

The demand D(mu) of a threshold mu falls with mu (`simulate/forecast.py`), so a grid of thresholds is a grid of budgets.
Of a crawl with more than MOST_PAGES pages in its refresh book, a random sample of that many is used, the same for the
same crawl, and budgets are those of all pages. `centime plan` computes the same without a grid and from a larger
sample; the tests compare the two.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from centime.crawl.report.planning.believed import Believed
from centime.crawl.report.planning.plan import DAY, intervals_under
from centime.simulate import forecast
from centime.simulate.forecast import Beliefs, Vector

MOST_PAGES = 8_000
POINTS = 33
SPAN = 32.0  # the grid reaches from the present budget divided by this to the present budget times this


@dataclass(frozen=True, slots=True)
class Point:
    """A budget per second, its threshold, and the freshness and age in the long run."""

    budget: float
    worth: float
    freshness: float
    age_days: float


class BudgetCurve:
    """The freshness in the long run under budgets around the present one."""

    def __init__(self, crawl: Believed) -> None:
        settings = crawl.settings.refresh_settings()
        beliefs = crawl.beliefs
        self.unit = "bytes" if settings.by_bytes else "pages"
        self.present = settings.budget or 1.0
        self.pages = len(crawl)
        self._uniform = settings.policy == "uniform"
        if settings.policy == "paper":
            beliefs = beliefs.with_weights(alpha=2.0, beta=0.0)
        places = _sample(len(crawl))
        self.sampled = len(places)
        self._share = self.sampled / self.pages
        self._beliefs: Beliefs = beliefs.taken(places)
        hosts, self._names = crawl.hosts()
        self._hosts = hosts[places]
        self.points = self._grid()
        self.fresh_now = forecast.expected_now(self._beliefs).freshness

    def row(self, name: str, budget: float, days: float) -> dict[str, Any]:
        """The forecast under a budget per second, with the names of `centime plan`."""
        worth, intervals = self._intervals(budget)
        coming = forecast.expected_coming(self._beliefs, intervals, days * DAY)
        steady = forecast.expected_steady(self._beliefs, intervals)
        return {
            "budget": name,
            "per_day": budget * DAY,
            "unit": self.unit,
            "worth_needed": worth,
            "fresh_in_the_coming_days": coming.freshness,
            "age_in_the_coming_days": coming.age_days,
            "fresh_in_the_long_run": steady.freshness,
            "age_in_the_long_run_of_what_is_read": steady.age_days,
            "pages_never_read": round(int(np.isinf(intervals).sum()) / self._share),
        }

    def hosts(self, old: float, new: float) -> list[dict[str, Any]]:
        """The effect of another budget on each host: the freshness of its copies in the long run, weighted by
        importance."""
        count = len(self._names)
        weights = np.bincount(self._hosts, weights=self._beliefs.importance, minlength=count)
        shares = []
        for budget in (old, new):
            fresh = forecast.fresh_steady(self._beliefs, self._intervals(budget)[1])
            shares.append(np.bincount(self._hosts, weights=self._beliefs.importance * fresh, minlength=count))
        rows = [
            {
                "host": self._names[number],
                "fresh_at_present": float(shares[0][number] / weights[number]),
                "fresh_with_the_other": float(shares[1][number] / weights[number]),
                "gain": float((shares[1][number] - shares[0][number]) / weights.sum()),
            }
            for number in np.flatnonzero(weights > 0.0).tolist()
        ]
        return sorted(rows, key=lambda row: -abs(row["gain"]))

    def _grid(self) -> tuple[Point, ...]:
        points = []
        if self._uniform:
            for budget in np.geomspace(self.present / SPAN, self.present * SPAN, POINTS).tolist():
                points.append(self._point(*intervals_under(self._beliefs, budget * self._share, uniform=True), budget))
            return tuple(points)
        scarce = self._threshold(self.present / SPAN)
        ample = self._threshold(self.present * SPAN)
        for log_worth in np.linspace(ample, scarce, POINTS).tolist():
            worth = math.exp(log_worth)
            intervals = forecast.intervals_at(self._beliefs, worth)
            demand = float((self._beliefs.cost / intervals).sum()) / (1.0 - self._beliefs.probe_share) / self._share
            points.append(self._point(worth, intervals, demand))
        return tuple(sorted(points, key=lambda point: point.budget))

    def _point(self, worth: float, intervals: Vector, budget: float) -> Point:
        steady = forecast.expected_steady(self._beliefs, intervals)
        return Point(budget, worth, steady.freshness, steady.age_days)

    def _threshold(self, budget: float) -> float:
        """The logarithm of the threshold for a budget, to a tenth, from a smaller sample."""
        few = self._beliefs.taken(_sample(len(self._beliefs), 1_000))
        wanted = budget * (1.0 - few.probe_share) * self._share * len(few) / len(self._beliefs)
        low, high = -120.0, 120.0
        while high - low > 0.1:
            middle = 0.5 * (low + high)
            if forecast.demand_at(few, math.exp(middle)) > wanted:
                low = middle
            else:
                high = middle
        return high

    def _intervals(self, budget: float) -> tuple[float, Vector]:
        """The threshold and the intervals of a budget, between those of the grid."""
        if self._uniform:
            return intervals_under(self._beliefs, budget * self._share, uniform=True)
        budgets = [max(point.budget, 1e-300) for point in self.points]
        worths = [math.log(point.worth) for point in self.points]
        worth = math.exp(float(np.interp(math.log(max(budget, 1e-300)), np.log(budgets), worths)))
        return worth, forecast.intervals_at(self._beliefs, worth)


def _sample(count: int, most: int = MOST_PAGES) -> npt.NDArray[np.int64]:
    if count <= most:
        return np.arange(count, dtype=np.int64)
    return np.sort(np.random.default_rng(0).choice(count, most, replace=False))
