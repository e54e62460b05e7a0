"""Our rates: the gamma belief of `refresh/learning/belief.py`, two numbers per page, under a prior pooled from the
page's host.

The prior is learned during the crawl, without any knowledge of the truth. It starts at shape 1 and the mean rate
changes/time of the first column; after every column of observations follows one step of expectation maximisation,

    m_host = (Σ S/B of the host's pages + STRANGERS · mean over all pages) / (pages of the host + STRANGERS)
    log k - psi(k) = mean over pages of E(rate)/m_host - 1 - E(log rate) + log m_host

with S/B the posterior mean of a page and E the mean under its belief Gamma(S, B). Old observations are never needed
again, as in a crawl.
"""

from collections.abc import Collection, Iterator

import numpy as np
import numpy.typing as npt

from centime.lab.rates_seen import Pages, Seen, Vector
from centime.model.kernel import kernel
from centime.refresh.learning.belief import MOST_S, changed, dated, kept_share, quiet
from centime.refresh.learning.gamma import digamma, shape_of_spread

STRANGERS = 3.0  # pages of the mean rate of the whole web that are added to every host
LEAST_SHAPE, MOST_SHAPE = 0.05, 50.0
DAY = 86_400.0


@kernel
def fold_in(
    s: Vector,
    b: Vector,
    shape: float,
    means: Vector,
    intervals: Vector,
    moved: npt.NDArray[np.bool_],
    since: Vector,
    with_dates: bool,
    fading: bool,
) -> None:
    """Adds one observation of each page to its evidence, in days; it is bounded as in a book."""
    for page in range(len(s)):
        kept = 1.0
        if fading:
            shown = np.inf if not moved[page] else since[page] if with_dates else -1.0
            days = (b[page] * DAY, shape, means[page] / DAY, intervals[page] * DAY, shown * DAY)
            kept = min(kept_share(s[page], *days), MOST_S / (s[page] + 1.0))
        if not moved[page]:
            s[page], b[page] = quiet(s[page] * kept, b[page] * kept, intervals[page])
        elif with_dates:
            s[page], b[page] = dated(s[page] * kept, b[page] * kept, since[page])
        else:
            s[page], b[page] = changed(s[page] * kept, b[page] * kept, shape, means[page], intervals[page])


@kernel
def _spread_of_logs(s: Vector, b: Vector, shape: float, means: Vector, new_means: Vector) -> float:
    """The mean of rate/m - 1 - log(rate/m) over the beliefs, which equals log k - psi(k) at the shape k of largest
    likelihood.
    """
    total = 0.0
    for page in range(len(s)):
        one, rate = shape + s[page], (shape / means[page] + b[page]) * new_means[page]
        total += one / rate - 1.0 - digamma(one) + np.log(rate)
    return total / len(s)


def believed(pages: Pages, seen: Seen, with_dates: bool, moments: Collection[int]) -> Iterator[tuple[int, Vector]]:
    """The mean of each page's belief after each of these numbers of observations."""
    count = len(pages.rates)
    s, b = np.zeros(count), np.zeros(count)
    shape, means = 1.0, np.full(count, seen.changed[:, 0].sum() / seen.intervals[:, 0].sum())
    of_host = np.bincount(pages.hosts)
    columns = [np.ascontiguousarray(part.T) for part in seen]
    for reads, (intervals, moved, since) in enumerate(zip(*columns, strict=True), start=1):
        fold_in(s, b, shape, means, intervals, moved, since, with_dates, True)
        mean = (shape + s) / (shape / means + b)
        host_means = (np.bincount(pages.hosts, weights=mean) + STRANGERS * mean.mean()) / (of_host + STRANGERS)
        new_means = host_means[pages.hosts]
        new_shape = shape_of_spread(_spread_of_logs(s, b, shape, means, new_means), LEAST_SHAPE, MOST_SHAPE)
        shape, means = new_shape, new_means
        if reads in moments:
            yield reads, (shape + s) / (shape / means + b)
