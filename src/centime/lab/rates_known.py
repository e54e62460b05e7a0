"""The best possible estimate of a page's rate: the posterior under the true law of all rates, with the host's true part
and every observation.

    posterior of u = log(rate / rate of the host):   exp(-u² / (2 SPREAD²)) · likelihood of the observations

with the likelihood of `refresh/learning/rates.py`, on a grid of u, which is the only approximation. The estimate is the
median: the truth lies above and below it with equal probability, whatever was seen. No estimate from the same
observations with less knowledge is expected to be closer.
"""

import math

import numpy as np
import numpy.typing as npt

from centime.lab.rates_seen import Vector
from centime.lab.webbox.change_process import SPREAD
from centime.model.kernel import kernel

WIDTH, POINTS = 4.5, 241  # the grid reaches WIDTH times SPREAD to either side


@kernel
def known_rates(
    intervals: Vector,
    changed: npt.NDArray[np.bool_],
    since: Vector,
    host_rates: Vector,
    with_dates: bool,
    rates: Vector,
) -> None:
    """Writes the median of the exact posterior of each page (row) after all its observations."""
    logs = np.empty(POINTS)
    for page in range(len(intervals)):
        most = -math.inf
        for point in range(POINTS):
            place = WIDTH * (2.0 * point / (POINTS - 1) - 1.0)
            log_rate = SPREAD * place + math.log(host_rates[page])
            rate = math.exp(log_rate)
            total = -0.5 * place * place
            for read in range(intervals.shape[1]):
                if not changed[page, read]:
                    total -= rate * intervals[page, read]
                elif with_dates:
                    total += log_rate - rate * since[page, read]
                else:
                    total += math.log(-math.expm1(-rate * intervals[page, read]))
            logs[point] = total
            most = max(most, total)
        weights = np.exp(logs - most)
        below, half = 0.0, weights.sum() / 2.0
        point = 0
        while below + weights[point] < half:
            below += weights[point]
            point += 1
        place = WIDTH * (2.0 * (point - 0.5 + (half - below) / weights[point]) / (POINTS - 1) - 1.0)
        rates[page] = host_rates[page] * math.exp(SPREAD * place)
