"""The value of a test of a page: a read before the page is due, which shows whether it is slower than estimated.

A page that is estimated to change too fast is given up. But the reads behind that estimate may all have been far apart:
then each of them showed a change, as it would have on a page that is well worth reading, and further reads as rare as
these confirm the mistake. Only a read at a young age is informative. With w = μ·cost/(x·beta), a page of rate λ is
worth reading if r = λw < 1, at intervals between 3.3·w and 5·w for nearly every r below 1. A test at the age AGE·w
shows no change with the probability e^(-AGE·r), and if it shows none, reading the page from then on at intervals of
INTERVAL·w gains its mean freshness less the price of the reads. By the posterior p_j that is, per second and unit of
x·beta,

    Σ p_j φ(λ_j w),    φ(r) = e^(-AGE·r) · ((1 - e^(-INTERVAL·r)) / (INTERVAL·r) - 1/INTERVAL)

and a test, which costs w in these units, pays if HORIZON times that is more. φ is below 0 where r > 1, so pages that
are surely too fast are not tested; and a test that shows a change makes the belief faster, so that tests end by
themselves.

Only pages whose copy would be stale by the time they are due (F < STALE) are tested: the ordinary reads of others show
enough, and their tests cost more than they gained (docs/decisions/refresh-on-other-processes.md).
"""

import math

import numpy as np
import numpy.typing as npt

from centime.model.kernel import bare_part
from centime.refresh.tables import RefreshTables

AGE, INTERVAL = 1.5, 3.5
HORIZON = 1_000 * 86_400.0
STALE = 0.05
_LOWEST, _STEPS, _OCTAVES = -30, 8, 38


def gains_of_tests() -> npt.NDArray[np.float64]:
    """φ(r) at r = 2^(_LOWEST + i/_STEPS)."""
    r = np.exp2(_LOWEST + np.arange(_OCTAVES * _STEPS + 2) / _STEPS)
    return np.exp(-AGE * r) * (-np.expm1(-INTERVAL * r) / (INTERVAL * r) - 1.0 / INTERVAL)


@bare_part
def gain_of_test(t: RefreshTables, m: float, w: float) -> float:
    """Σ p_j φ(λ_j w) of the posterior in `scratch`."""
    at = max((math.log2(m * w * t.ratios[t.window[0]]) - _LOWEST) * _STEPS, 0.0)
    gain = 0.0
    for j in range(t.window[0], t.window[1]):
        if at >= _OCTAVES * _STEPS:  # φ is 0 from there on
            break
        i = int(at)
        gain += t.scratch[j] * (t.gains[i] + (at - i) * (t.gains[i + 1] - t.gains[i]))
        at += _STEPS // 2
    return gain
