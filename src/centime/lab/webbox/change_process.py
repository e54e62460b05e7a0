"""The changes of pages: a Poisson process for every page, which can be evaluated at any time without simulating it.

Time is divided into blocks of 128 days. The number of changes in a block has the Poisson law. Then the block is halved
again and again; each time Binomial(n, 1/2) of the n changes, the number of ones among n random bits, fall into the
first half. This is exactly the Poisson process, every number is a hash of (page, block, place), and

    version(page, t) = number of changes up to t        costs about log2(n) draws, and one search per earlier block.

Times are resolved to 2^-33 of a block, about a millisecond. Rates are lognormal; a part of a rate is common to the
site.
"""

import math

import numpy as np
import numpy.typing as npt

from centime.lab.webbox.chance import draw, normal, ones, unit
from centime.lab.webbox.layout import Layout, Numbers, site_of
from centime.model.kernel import Whole, inlined, kernel

DAY = 86_400.0
BLOCK = 128 * DAY
DEPTH = 33
SPREAD, SITE_SPREAD = 1.3, 0.5  # of the logarithm of the rates
LOWEST_RATE, HIGHEST_RATE = 1e-4, 24.0
AT_ONCE = 16.0  # the largest mean that is drawn by one search
OLDEST = 3650 * DAY
RATE, SITE_RATE, BLOCK_COUNT, HALVES, BEFORE = 32, 33, 34, 35, 36

ONE = np.uint64(1)


@inlined
def rate_of(layout: Layout, site: Whole, page: Whole) -> float:
    """The change rate of a page, in changes per day."""
    own = SPREAD * normal(draw(layout.seed, RATE, page)) + SITE_SPREAD * normal(draw(layout.seed, SITE_RATE, site))
    return min(HIGHEST_RATE, max(LOWEST_RATE, math.exp(layout.log_rate + own)))


@kernel
def _poisson(key: np.uint64, mean: float) -> Whole:
    """A Poisson number: the sum of parts, each found by adding up probabilities."""
    parts = np.int64(mean / AT_ONCE) + 1
    part_mean = mean / parts
    total = 0
    for part in range(parts):
        chance = unit(draw(key, BLOCK_COUNT, part))
        probability = math.exp(-part_mean)
        reached = probability
        number = 0
        while chance >= reached and number < 200:
            number += 1
            probability *= part_mean / number
            reached += probability
        total += number
    return total


@kernel
def _first_half(key: np.uint64, node: np.uint64, count: Whole) -> Whole:
    """How many of `count` changes fall into the first half: the number of ones among `count` random bits."""
    total, word = 0, 0
    while count >= 64:
        total += ones(draw(key, node, word))
        count -= 64
        word += 1
    if count > 0:
        total += ones(draw(key, node, word) & ((ONE << np.uint64(count)) - ONE))
    return total


@inlined
def _key(layout: Layout, page: Whole, block: Whole) -> np.uint64:
    return draw(layout.seed + np.uint64(HALVES), page, block)


@kernel
def changes_until(layout: Layout, site: Whole, page: Whole, time: float) -> Whole:
    """The number of changes of a page from the start of the box up to a time."""
    if time <= layout.start:
        return 0
    mean = rate_of(layout, site, page) * (BLOCK / DAY)
    block = np.int64((time - layout.start) / BLOCK)
    total = 0
    for number in range(block):
        total += _poisson(_key(layout, page, number), mean)
    key = _key(layout, page, block)
    count = _poisson(key, mean)
    place = np.int64((time - layout.start - block * BLOCK) / BLOCK * 2.0**DEPTH)
    node = ONE
    for level in range(DEPTH):
        if count == 0:
            break
        first = _first_half(key, node, count)
        if (place >> np.int64(DEPTH - 1 - level)) & 1:
            total += first
            count -= first
            node = (node << ONE) | ONE
        else:
            count = first
            node = node << ONE
    return total


@kernel
def time_of(layout: Layout, site: Whole, page: Whole, version: Whole) -> float:
    """Time of the change that made a version of a page; version 0 has a random age by the page's rate."""
    rate = rate_of(layout, site, page)
    if version <= 0:
        return layout.start - min(OLDEST, -math.log(1.0 - unit(draw(layout.seed, BEFORE, page))) / rate * DAY)
    block = 0
    rank = version - 1
    count = _poisson(_key(layout, page, block), rate * (BLOCK / DAY))
    while rank >= count:
        rank -= count
        block += 1
        count = _poisson(_key(layout, page, block), rate * (BLOCK / DAY))
    key = _key(layout, page, block)
    node, place = ONE, 0
    for _ in range(DEPTH):
        first = _first_half(key, node, count)
        if rank >= first:
            rank -= first
            count -= first
            node, place = (node << ONE) | ONE, 2 * place + 1
        else:
            count = first
            node, place = node << ONE, 2 * place
    # in the middle of the first instant at which `changes_until` counts it
    return layout.start + block * BLOCK + (place + 1.5) * (BLOCK / 2.0**DEPTH)


@kernel
def write_versions(layout: Layout, first: Whole, time: float, versions: Numbers) -> None:
    """Writes the versions at a time of the pages from `first` on, one per element of `versions`."""
    for number in range(len(versions)):
        page = first + number
        versions[number] = changes_until(layout, site_of(layout, page), page, time)


@kernel
def write_rates(layout: Layout, first: Whole, rates: npt.NDArray[np.float64]) -> None:
    """Writes the rates of the pages from `first` on, one per element of `rates`."""
    for number in range(len(rates)):
        page = first + number
        rates[number] = rate_of(layout, site_of(layout, page), page)


@kernel
def write_times(layout: Layout, first: Whole, versions: Numbers, times: npt.NDArray[np.float64]) -> None:
    """Writes the times at which the pages from `first` on reached the given versions."""
    for number in range(len(versions)):
        page = first + number
        times[number] = time_of(layout, site_of(layout, page), page, versions[number])


@kernel
def write_history(layout: Layout, page: Whole, times: npt.NDArray[np.float64]) -> None:
    """Writes the times of a page's first changes, one per element of `times`."""
    site = site_of(layout, page)
    for number in range(len(times)):
        times[number] = time_of(layout, site, page, number + 1)
