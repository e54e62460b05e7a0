"""Pages of known change rates, and observations of them by irregular reads.

    log rate = SPREAD · own normal + SITE_SPREAD · the host's normal      as in the webbox; the median rate is 1 per day

Each interval between reads is a mean interval times a number that is uniform within 0.2..1.8, or exponential with mean
1. The mean interval is one day for all pages ("same interval"), or one day divided by the square root of the page's
rate ("paper's rule": t = K / sqrt(lambda), pages of equal importance). An interval c has a change with probability 1 -
exp(-lambda c); the time from the last change to the read is then exponential, truncated at c.
"""

from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from centime.lab.webbox.change_process import SITE_SPREAD, SPREAD

Vector = npt.NDArray[np.float64]
Reading = Literal["same interval", "paper's rule"]
Law = Literal["uniform", "exponential"]

PAGES_A_HOST = 100
SHORTEST, LONGEST = 0.2, 1.8  # of the mean interval, for uniform ones


class Pages(NamedTuple):
    """The truth: changes per day of each page, its host, and the part of its rate that comes from the host."""

    rates: Vector
    hosts: npt.NDArray[np.int64]
    host_rates: Vector


class Seen(NamedTuple):
    """Observations, a row per page and a column per interval: its days, whether it has a change, and if so the days
    from the last change to the read.
    """

    intervals: Vector
    changed: npt.NDArray[np.bool_]
    since: Vector


def make_pages(chance: np.random.Generator, count: int) -> Pages:
    """Pages of many hosts, with rates by the law of the webbox."""
    hosts = np.arange(count) // PAGES_A_HOST
    host_rates = np.exp(SITE_SPREAD * chance.standard_normal(int(hosts[-1]) + 1))[hosts]
    return Pages(np.exp(SPREAD * chance.standard_normal(count)) * host_rates, hosts, host_rates)


def read_pages(chance: np.random.Generator, rates: Vector, reads: int, reading: Reading, law: Law) -> Seen:
    """The observations of pages of these rates in `reads` random intervals."""
    shape = (len(rates), reads)
    parts = chance.uniform(SHORTEST, LONGEST, shape) if law == "uniform" else chance.exponential(1.0, shape)
    intervals = parts if reading == "same interval" else parts / np.sqrt(rates)[:, None]
    return observe(chance, rates, intervals)


def observe(chance: np.random.Generator, rates: Vector, intervals: Vector) -> Seen:
    """The observations of pages of these rates in these intervals."""
    quiet = np.exp(-rates[:, None] * intervals)
    changed = chance.random(intervals.shape) >= quiet
    since = -np.log1p(-chance.random(intervals.shape) * (1.0 - quiet)) / rates[:, None]
    return Seen(intervals, changed, since)
