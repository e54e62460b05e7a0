"""The simulated web's history of changes as a value: every change of every page up to a horizon, with the truth that the oracle knows.

What servers say of a page is part of it: the sites whose Last-Modified is honest are `dated`, of the others (none, the time of the
request, a date that never moves) a reader learns only that a page has changed, from its content.
"""

import math
from statistics import NormalDist

import numpy as np

from centime.crawl.policies.history import ChangeHistory, Numbers, Times
from centime.lab.webbox.box import WebBox
from centime.lab.webbox.change import DAY, time_of
from centime.lab.webbox.layout import MODIFIED_MISSING, MODIFIED_NOW, MODIFIED_OLD, START, TRAITS, Layout, site_of
from centime.model.kernel import kernel

MEDIAN_RATE, SPREAD, EXPONENT = 0.0438, 2.025, 1.22


def known_web(pages: int) -> tuple[Times, Times]:
    """Importance and rates (changes a day) of a web without chance: lognormal rates, Pareto importance, each of one with each of the other.

    The design's table of rules does not tell the parameters of the two laws; these are fitted to it. There are at most `pages` pages.
    """
    ranks = max(2, math.isqrt(pages // 4))
    steps = pages // ranks
    normal = NormalDist()
    rates = np.array([MEDIAN_RATE * math.exp(SPREAD * normal.inv_cdf((rank + 0.5) / ranks)) for rank in range(ranks)])
    kept = 1 - 1 / EXPONENT
    importance = np.diff(np.linspace(0.0, 1.0, steps + 1) ** kept / kept) * steps - 1  # the mean of each part, the tail in the first
    return np.tile(importance / importance.mean(), ranks), np.repeat(rates, steps)


def webbox_history(box: WebBox, days: float) -> ChangeHistory:
    """The history of all pages of a box for so many days from its start on, at which each is read once; every read costs 1."""
    end = box.start + days * DAY
    offsets = np.zeros(box.pages + 1, dtype=np.int64)
    np.cumsum(box.versions(end), out=offsets[1:])
    times = np.empty(offsets[-1])
    _write_changes(box.layout, offsets, times)
    sites = box.layout.sites
    hosts = np.searchsorted(sites[:, START], np.arange(box.pages), side="right") - 1
    unreliable = sites[:, TRAITS] & (MODIFIED_MISSING | MODIFIED_NOW | MODIFIED_OLD)
    return ChangeHistory(
        offsets=offsets,
        times=times,
        hosts=hosts,
        importance=box.importance(),
        costs=np.ones(box.pages),
        rates=box.rates() / DAY,
        dated=unreliable[hosts] == 0,
        born=np.full(box.pages, box.start),
        end=end,
    )


@kernel
def _write_changes(layout: Layout, offsets: Numbers, times: Times) -> None:
    """Writes the times of all changes of every page."""
    for page in range(len(offsets) - 1):
        site = site_of(layout, page)
        for version in range(offsets[page + 1] - offsets[page]):
            times[offsets[page] + version] = time_of(layout, site, page, version + 1)
