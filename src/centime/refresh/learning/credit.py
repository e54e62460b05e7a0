"""The credit of sources that announce changes or publish how often their pages change, learned from their past claims.

A source (a publisher, or the sitemap, feed or cache header of a host) has three whole numbers: its claims that were not
verified yet, its claims that were right, its claims that were wrong.

    credit = (1 + right) / (2 + right + wrong)    the mean of Beta(1 + right, 1 + wrong): 1/2 for a stranger, in (0, 1)
    weight = 2 · credit²                          the observed changes that a published frequency counts for: 1/2 for a
                                                  stranger, below 2

A claim that is never verified changes no credit. After 255 verified claims, right and wrong are halved: so a source
that changes is judged by its recent claims, and no source can rely on its credit indefinitely (128 lies bring any
credit below 1/2).

The claim "this page changed" is right if the content of the page had changed. A published period p is right if the
interval of rates that the visits allow (low to high) overlaps 1/(3p)..3/p, and wrong if it does not; there is no
verdict while the interval spans more than a factor of 10.
"""

import math
from typing import NamedTuple

HOUR, DAY = 3_600.0, 86_400.0
FULL = 255
MOST_CLAIMED = 2**32 - 1
MOST_WEIGHT = 2.0
NEAR_ENOUGH = 3.0  # the factor by which a right period may be off, either way: the names are hour, day, week ...
KNOWN_ENOUGH = 10.0  # an interval of rates that spans more than this factor gives no verdict
LONGEST = 3650 * DAY  # stands for "never"

CHANGE_FREQUENCIES = {
    "always": HOUR / 4,
    "hourly": HOUR,
    "daily": DAY,
    "weekly": 7 * DAY,
    "monthly": 365.25 / 12 * DAY,
    "yearly": 365.25 * DAY,
    "never": LONGEST,
}


class Credit(NamedTuple):
    """The claims of a source: not verified yet (32 bits), right and wrong (8 bits each)."""

    claimed: int = 0
    right: int = 0
    wrong: int = 0


STRANGER = Credit()


def claimed(source: Credit, claims: int) -> Credit:
    """The source after `claims` more claims."""
    return source._replace(claimed=min(source.claimed + claims, MOST_CLAIMED))


def verified(source: Credit, right: bool) -> Credit:
    """The source after one of its claims was found right or wrong."""
    if source.right + source.wrong >= FULL:
        source = source._replace(right=source.right // 2, wrong=source.wrong // 2)
    return Credit(max(source.claimed - 1, 0), source.right + right, source.wrong + (not right))


def credit(source: Credit) -> float:
    """The expected share of right claims of the source, between 0 and 1."""
    return (1 + source.right) / (2 + source.right + source.wrong)


def weight(source: Credit) -> float:
    """The number of observed changes that a published frequency of this source counts for, between 0 and 2."""
    return MOST_WEIGHT * credit(source) ** 2


def frequency_verdict(period: float, low: float, high: float) -> bool | None:
    """Whether a published period agrees with the rates between low and high that the visits allow; None while these
    span too much.
    """
    if not 0.0 < low <= high <= KNOWN_ENOUGH * low:
        return None
    return low <= NEAR_ENOUGH / period and high >= 1.0 / (NEAR_ENOUGH * period)


def period_of_max_age(seconds: float) -> float | None:
    """The period in seconds that a cache header's max-age claims, at most ten years; None if it is not above 0."""
    return min(seconds, LONGEST) if seconds > 0.0 and not math.isnan(seconds) else None
