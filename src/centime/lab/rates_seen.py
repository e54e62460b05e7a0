"""Pages whose change rates are known, and what irregular reads of them see.

    log rate = SPREAD · own normal + SITE_SPREAD · the host's normal          as in the webbox, with a median rate of 1 a day

Each interval between reads is a mean interval times a number that is uniform within 0.2..1.8, or exponential with mean
1. The mean interval is one day for all pages ("same interval"), or one day over the root of the page's own rate
("paper's rule": t = K / sqrt(lambda), pages of one importance). An interval c has changed with probability 1 -
exp(-lambda c), and the time from the last change to the read is then exponential, cut at c.
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
    """The truth: changes a day of each page, its host, and what the host alone makes of its rate."""

    rates: Vector
    hosts: npt.NDArray[np.int64]
    host_rates: Vector


class Seen(NamedTuple):
    """What reads saw, a row a page and a column an interval: its days, whether it changed, and if so the days since
    the last change.
    """

    intervals: Vector
    changed: npt.NDArray[np.bool_]
    since: Vector


def make_pages(chance: np.random.Generator, count: int) -> Pages:
    """Pages of many hosts with rates of the webbox's law."""
    hosts = np.arange(count) // PAGES_A_HOST
    host_rates = np.exp(SITE_SPREAD * chance.standard_normal(int(hosts[-1]) + 1))[hosts]
    return Pages(np.exp(SPREAD * chance.standard_normal(count)) * host_rates, hosts, host_rates)


def look(chance: np.random.Generator, rates: Vector, reads: int, reading: Reading, law: Law) -> Seen:
    """What so many intervals between reads show of pages of these rates."""
    shape = (len(rates), reads)
    parts = chance.uniform(SHORTEST, LONGEST, shape) if law == "uniform" else chance.exponential(1.0, shape)
    intervals = parts if reading == "same interval" else parts / np.sqrt(rates)[:, None]
    return see(chance, rates, intervals)


def see(chance: np.random.Generator, rates: Vector, intervals: Vector) -> Seen:
    """What reads at these intervals show."""
    quiet = np.exp(-rates[:, None] * intervals)
    changed = chance.random(intervals.shape) >= quiet
    since = -np.log1p(-chance.random(intervals.shape) * (1.0 - quiet)) / rates[:, None]
    return Seen(intervals, changed, since)
