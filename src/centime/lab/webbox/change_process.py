"""When pages change: every page by a Poisson process of its own, known at any time without living through it.

Time is cut into blocks of 128 days. The number of changes in a block is drawn from the Poisson law; then the block is
halved again and again, and each time Binomial(n, 1/2) of the n changes fall into the first half: as many as there are
ones among n random bits. That is exactly the Poisson process, every number is a hash of (page, block, place), and

    version(page, t) = number of changes up to t        costs about log2(n) draws, and one search per block before.

Instants are told apart down to 2^-33 of a block, about a millisecond. Rates are lognormal, a part of it common to the
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
AT_ONCE = 16.0  # means up to this are drawn by one search
OLDEST = 3650 * DAY
RATE, SITE_RATE, BLOCK_COUNT, HALVES, BEFORE = 32, 33, 34, 35, 36

ONE, WORD = np.uint64(1), np.uint64(64)


@inlined
def rate_of(layout: Layout, site: Whole, page: Whole) -> float:
    """Changes of a page per day, in the long run."""
    own = SPREAD * normal(draw(layout.seed, RATE, page)) + SITE_SPREAD * normal(draw(layout.seed, SITE_RATE, site))
    return min(HIGHEST_RATE, max(LOWEST_RATE, math.exp(layout.log_rate + own)))


@kernel
def _poisson(key: np.uint64, mean: float) -> Whole:
    """A number of the Poisson law: a sum over parts, each found by adding up its probabilities."""
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
    """How many of the changes fall into the first half: the ones among so many random bits."""
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
    """How often a page has changed from the start of the box up to a time."""
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
    """When a page came to a version; version 0 is as old as a change of its rate would be."""
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
    return (
        layout.start + block * BLOCK + (place + 1.5) * (BLOCK / 2.0**DEPTH)
    )  # within the first instant at which it counts


@kernel
def write_versions(layout: Layout, first: Whole, time: float, versions: Numbers) -> None:
    """Writes the version at a time of as many pages as there is room for, from `first` on."""
    for number in range(len(versions)):
        page = first + number
        versions[number] = changes_until(layout, site_of(layout, page), page, time)


@kernel
def write_rates(layout: Layout, first: Whole, rates: npt.NDArray[np.float64]) -> None:
    """Writes the rate of as many pages as there is room for, from `first` on."""
    for number in range(len(rates)):
        page = first + number
        rates[number] = rate_of(layout, site_of(layout, page), page)


@kernel
def write_times(layout: Layout, first: Whole, versions: Numbers, times: npt.NDArray[np.float64]) -> None:
    """Writes when pages from `first` on came to the versions given."""
    for number in range(len(versions)):
        page = first + number
        times[number] = time_of(layout, site_of(layout, page), page, versions[number])


@kernel
def write_history(layout: Layout, page: Whole, times: npt.NDArray[np.float64]) -> None:
    """Writes the times of a page's first changes, as many as there is room for."""
    site = site_of(layout, page)
    for number in range(len(times)):
        times[number] = time_of(layout, site, page, number + 1)
