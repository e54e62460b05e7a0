"""The 90 % bounds of a page's change rate that are shown to people, from its reads and from other pages.

Beliefs of decisions need a prior from the first read on; a promise to people must not rest on one that nothing
supports. So the prior w counts as much as there are pages behind it, N of them with evidence:

    low bound     the posterior under w^τ                   τ = N/(N + DOUBTED)
    high bound    the posterior under w^τ · λ^(1-τ)

With τ = 0 these are the exact bounds of a Poisson process that was watched for a time v and changed n times (quantiles
of Gamma(n, v) and Gamma(n + 1, v)): they hold whatever the rate is. With τ = 1 they are those of the belief.

    never seen to change (n < FEWEST)                    0, and the rate below which 90 % lie
    quiet times do not exclude rates above (v·high < 1)  the rate above which 90 % lie, and infinity

The second is a page that changed in every interval, or nearly: reads as far apart as these cannot show how much faster
it is. Its low bound, of which the posterior without a prior would depend on where the grid ends, is the rate at which n
changes would be seen with a probability of 10 %, (1 - e^(-λc))^n, drawn to that of the belief by τ.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from centime.refresh.learning.evidence import UNIT, stored_interval
from centime.refresh.tables import LIMIT, RefreshTables

CONFIDENCE = 0.9
DOUBTED = 20.0
FEWEST = 0.1

Floats = npt.NDArray[np.float64]
Quantiles = Callable[[RefreshTables, float], Floats]


def bounds_by(t: RefreshTables, pages: npt.NDArray[np.int64], quantiles: Quantiles) -> tuple[Floats, Floats]:
    """The bounds of each page; `quantiles` returns the rates below which a share of the belief under some tables
    lies.
    """
    records = t.records[: t.counts[LIMIT]]
    behind = np.count_nonzero((records["b"] > 0.0) | (records["s"] > 0))
    trust = behind / (behind + DOUBTED)
    lower = t._replace(log_weights=trust * t.log_weights)
    upper = t._replace(log_weights=trust * t.log_weights + (1.0 - trust) * np.log(t.ratios))
    one_sided, two_sided = 1.0 - CONFIDENCE, (1.0 - CONFIDENCE) / 2.0
    changes, quiet, interval = np.zeros((3, len(pages)))
    known = (pages >= 0) & (pages < len(records))
    changes[known], quiet[known] = records["s"][pages[known]] * UNIT, records["b"][pages[known]]
    interval[known] = [stored_interval(b) for b in records["b"][pages[known]]]
    still = changes < FEWEST
    high = np.where(still, quantiles(upper, 1.0 - one_sided), quantiles(upper, 1.0 - two_sided))
    open_above = (quiet * high < 1.0) & ~(still & (trust > 0.5))
    low = np.where(open_above, quantiles(lower, one_sided), quantiles(lower, two_sided))
    exact = open_above & ~still & (interval > 0.0)
    alone = -np.log1p(-(one_sided ** (1.0 / changes[exact]))) / interval[exact]
    low[exact] = alone ** (1.0 - trust) * low[exact] ** trust
    return np.where(still, 0.0, low), np.where(open_above, np.inf, high)
