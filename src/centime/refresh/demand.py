"""The demand D(μ), the cost of reads per second under a threshold μ, and the threshold at which it equals the budget.

    D(μ) = Σ cost_i / max(age_i(μ), least interval),   D(μ) = budget

D falls in μ. The book keeps it at μ = 2^(LOW + g/2), g = 0 ... 192: whenever the belief about a page changes, the
page's old demand is subtracted and its new demand added at all of these at once. Between them, log D is interpolated
linearly in log μ. If even the lowest μ demands less than the budget, μ is 0 and every page is read at its least
interval. With a budget of 0, μ is infinite and no page is read.

The book also keeps the paper's sum S = Σ sqrt(x λ) (`roots`), with K = S/G for a budget of G pages per second.

Trap: importance moves without notice, so the demand that is subtracted is not exactly the one that was added. The
passes over all pages (`sweep.py`) correct both.
"""

import math

import numpy as np
import numpy.typing as npt

from centime.model.kernel import bare_kernel, bare_part, late_kernel
from centime.refresh.curves import COLUMNS, LOW_INDEX, STEPS, Curves

LOW = -48.0
POINTS = 193
_NOTHING = 1e-12  # the share of D to which it falls where it becomes 0, because log 0 does not exist

Demand = npt.NDArray[np.float64]


@bare_part
def add_demand(
    demand: Demand,
    curves: Curves,
    row: float,
    rate: float,
    scale: float,
    cost: float,
    least_interval: float,
    sign: float,
) -> None:
    """Adds (or, with sign -1, subtracts) the demand of a page of belief rate B and scale x/cost."""
    at = (LOW - math.log2(scale * rate) - LOW_INDEX) * STEPS
    at = min(max(at, -4.0 * POINTS), 4.0 * COLUMNS)
    j = math.floor(at)
    right = at - j
    i = int(row)
    down = row - i
    weight = sign * cost / rate
    most = rate / least_interval
    first = min(max(-j, 0), POINTS)  # below it, outside the table, the least interval decides
    last = max(min(COLUMNS - 1 - j, POINTS), first)  # from it on, the demand is 0
    for g in range(first):
        demand[g] += weight * most
    if last > first:
        above = curves[i, j + first : j + last + 1]
        below = curves[i + 1, j + first : j + last + 1]
        part = demand[first:last]
        w00, w01 = (1.0 - down) * (1.0 - right), (1.0 - down) * right
        w10, w11 = down * (1.0 - right), down * right
        for g in range(part.size):
            reads = w00 * above[g] + w01 * above[g + 1] + w10 * below[g] + w11 * below[g + 1]
            part[g] += weight * (reads if reads < most else most)


@late_kernel(0.5)
def solve_threshold(demand: Demand, budget: float) -> float:
    """The threshold at which the demand equals the budget."""
    if budget <= 0.0:
        return math.inf
    if demand[0] <= budget:
        return 0.0
    for g in range(1, POINTS):
        if demand[g] <= budget:
            below = max(demand[g], demand[g - 1] * _NOTHING)
            part = math.log(demand[g - 1] / budget) / math.log(demand[g - 1] / below)
            return math.exp2(LOW + (g - 1 + min(part, 1.0)) / STEPS)
    return math.inf


@bare_kernel
def demand_at(demand: Demand, threshold: float) -> float:
    """The demand at a threshold, per second."""
    if math.isinf(threshold):
        return 0.0
    at = (math.log2(threshold) - LOW) * STEPS if threshold > 0.0 else 0.0
    if at <= 0.0:
        return float(max(demand[0], 0.0))
    if at >= POINTS - 1.0:
        return float(max(demand[POINTS - 1], 0.0))
    g = int(at)
    above, below = demand[g], max(demand[g + 1], demand[g] * _NOTHING)
    if above <= 0.0:
        return 0.0
    return float(above * (below / above) ** (at - g))
