"""Counts that follow a power law: links to pages, pages on hosts.

    P(count = n) ~ n^-exponent,  count = floor(m * q),  q = u^(-1/(exponent - 1))

The u are not random: they are the midpoints (i + 1/2)/n of n equal parts of 0 to 1. So the counts are the quantiles of
the law, and the smallest count m is chosen so that the sum is exactly the total.

Guaranteed: the same arguments give the same counts; the total is exact if n * largest allows it. The mean of a random
sample of the law with exponent 2.1 would be useless (its variance is infinite): two seeds would give graphs of
different sizes and errors that cannot be compared.

Trap: counts are sorted, the largest first; the caller shuffles them.
"""

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]


def power_law_counts(number: int, total: int, exponent: float, largest: int) -> Counts:
    """Falling counts that follow the power law, none above `largest`, adding up to `total`."""
    if number == 0:
        return np.empty(0, dtype=np.int64)
    if total >= number * largest:
        return np.full(number, largest, dtype=np.int64)
    quantile = ((np.arange(number) + 0.5) / number) ** (-1.0 / (exponent - 1.0))
    low, high = 0.0, float(largest)
    for _ in range(60):
        middle = (low + high) / 2
        if _counts(quantile, middle, largest).sum() <= total:
            low = middle
        else:
            high = middle
    counts = _counts(quantile, low, largest).astype(np.int64)
    room = np.flatnonzero(counts < largest)[: total - counts.sum()]
    counts[room] += 1
    return counts


def _counts(quantile: npt.NDArray[np.float64], smallest: float, largest: int) -> npt.NDArray[np.float64]:
    return np.minimum(np.floor(smallest * quantile), float(largest))
