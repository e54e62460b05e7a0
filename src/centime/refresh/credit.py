"""The credit of those who announce changes or publish how often their pages change, learned from what came true.

A source (a publisher, or the sitemap, feed or cache header of a host) has three whole numbers: claims it made that
nobody has looked at yet, claims that proved right, claims that proved wrong.

    credit = (1 + right) / (2 + right + wrong)            the mean of a Beta(1 + right, 1 + wrong): 1/2 for a stranger, within (0, 1)
    weight = 2 · credit²                                  what a published frequency counts, in changes seen: 1/2 for a stranger, below 2

What was claimed and never looked at changes no credit. When 255 were looked at, right and wrong are halved: who has
changed is judged by what it does now, and no credit is so large that lies could draw on it for ever (128 lies bring any
credit below 1/2).

A claim "these pages changed" is right if the content of the page had changed. A published period p is right if the
rates that the visits leave possible (low to high) reach into 1/(3p)..3/p, and wrong if they do not; nothing is said
while they span more than a factor of 10.
"""

import math
from typing import NamedTuple

HOUR, DAY = 3_600.0, 86_400.0
FULL = 255
MOST_CLAIMED = 2**32 - 1
MOST_WEIGHT = 2.0
NEAR_ENOUGH = (
    3.0  # a published period may be wrong by this factor either way: the names are hour, day, week, month, year
)
KNOWN_ENOUGH = 10.0  # rates that span more than this say nothing yet
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
    """What is known of a source: claims not looked at yet (32 bits), right ones and wrong ones (8 bits each)."""

    claimed: int = 0
    right: int = 0
    wrong: int = 0


STRANGER = Credit()


def claimed(source: Credit, claims: int) -> Credit:
    """The source after it made so many claims."""
    return source._replace(claimed=min(source.claimed + claims, MOST_CLAIMED))


def verified(source: Credit, right: bool) -> Credit:
    """The source after one of its claims proved right or wrong."""
    if source.right + source.wrong >= FULL:
        source = source._replace(right=source.right // 2, wrong=source.wrong // 2)
    return Credit(max(source.claimed - 1, 0), source.right + right, source.wrong + (not right))


def credit(source: Credit) -> float:
    """The share of right claims that is to be expected of the source, between 0 and 1."""
    return (1 + source.right) / (2 + source.right + source.wrong)


def weight(source: Credit) -> float:
    """How many changes seen a published frequency of this source counts for, between 0 and 2."""
    return MOST_WEIGHT * credit(source) ** 2


def frequency_verdict(period: float, low: float, high: float) -> bool | None:
    """Whether a published period agrees with the rates between low and high that visits leave possible; None while
    they say too little.
    """
    if not 0.0 < low <= high <= KNOWN_ENOUGH * low:
        return None
    return low <= NEAR_ENOUGH / period and high >= 1.0 / (NEAR_ENOUGH * period)


def period_of_changefreq(name: str) -> float | None:
    """The seconds that a sitemap's changefreq stands for; None for what is no such name."""
    return CHANGE_FREQUENCIES.get(name.strip().lower())


def period_of_ttl(minutes: float) -> float | None:
    """The seconds of a feed's ttl, at most ten years; None for what is no time."""
    return period_of_max_age(minutes * 60.0)


def period_of_max_age(seconds: float) -> float | None:
    """The seconds of a cache header's max-age, at most ten years; None for what is no time; 0 says nothing of
    changes.
    """
    return min(seconds, LONGEST) if seconds > 0.0 and not math.isnan(seconds) else None
