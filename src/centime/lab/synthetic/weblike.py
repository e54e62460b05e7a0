"""A graph like a crawl of the web: hosts, templates, closed sections, most links internal, most pages unread.

Pages are sorted as by URL: host after host, the front page of a host first, then deeper and deeper pages.

- Hosts: their sizes follow the power law 2.1, with 20 pages on average and at most a twentieth of all pages.
- Read pages: a quarter of all, shallow pages more likely. The others dangle; unread pages and pages really without
  links cannot be distinguished.
- Sections: runs of the read pages of a host, whose lengths follow the power law 2.1. Each page of a section links to
  its first page, to the previous page and to the next one. On a large host one section in seven is closed: a manual or
  an archive whose pages link to nothing else.
- Template: all other read pages of a host link to its first few pages. So in-degrees follow the host sizes, which is a
  power law.
- Listings: one read page in eight. They link to read and unread pages of their host. Every page is known because a
  listing of its host links to it or, for a front page, a page with links to other hosts.
- Content: the remaining links, distributed by a power law, more of them to listings and shallow pages. These also have
  more in-links, so in- and out-degrees are correlated. One read page in four has most of its content links on other
  hosts, more often on large hosts and most often to front pages; a host without such a page has no link out. The other
  content links lead to read pages of the host (pages with many in-links are read early), half of them to nearby pages,
  half anywhere with a preference for shallow pages.

The graph mixes as slowly as the web does: money stays in closed sections and on hosts with few links out, so plain
power iteration converges like d^k (61 to 67 iterations to an error of 1e-6, cnr-2000: 65; without sections, and with
content links to unread pages, 11).

Guaranteed: the same arguments give the same graph; no page links to itself or twice to another; rows are sorted; every
page has an in-link, except those of a lone host. With 20 000 pages or more and 10 links, `links` is met within 15 %,
and 80 to 90 % of the links are internal. Trap: it is a caricature. It has the features that make crawling and ranking
hard, not the numbers of the web.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from centime.lab.synthetic.degrees import power_law_counts
from centime.lab.synthetic.plain import IN_DEGREE_EXPONENT, check_size
from centime.model.graph import Graph
from centime.model.kernel import Whole, kernel

READ_SHARE = 0.25
PAGES_PER_HOST = 20
LARGEST_TEMPLATE = 40
PAGES_PER_SECTION, LARGEST_SECTION = 30, 1000
CLOSED_SHARE = 1 / 7
LARGE_HOST = 100  # read pages
LISTING_EVERY = 8
OUTWARD_SHARE, OUTWARD_LINKS = 0.25, 0.9  # of the read pages, and of their content links
NEAR_SHARE = 0.5
SHALLOW = 5  # a link anywhere on the host leads to the place u^5 of its pages: half of them into the first thirtieth
CONTENT_EXPONENT = 2.7  # of out-degrees, as measured on the web
TRIES = 64  # to find another target if the drawn one is linked to already
REPEATED_SHARE = 0.1  # of the content links for which that fails
ROWS_AT_ONCE = 50_000

Numbers = npt.NDArray[np.int64]
Draws = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Reading:
    """The read pages, ascending, and the properties of each, by its place among them."""

    pages: Numbers
    host_first: Numbers
    """The place of the first read page of its host."""
    host_end: Numbers
    first: Numbers
    """The place of the first page of its section."""
    end: Numbers
    closed: Flags
    listing: Flags
    outward: Flags
    """Whether it links to other hosts."""


def weblike(pages: int, seed: int, links: float = 10.0) -> Graph:
    """A graph of hosts with the shape of a crawl, with about `links` links per page, read or unread."""
    check_size(pages, links)
    random = np.random.default_rng(seed)
    starts = host_starts(pages, random)
    sizes = np.diff(starts)
    host = np.repeat(np.arange(len(sizes)), sizes)
    depth = (np.arange(pages) - starts[host]) / sizes[host] + 0.7 * random.random(pages)
    read = np.sort(np.argsort(depth, kind="stable")[: -(-pages // round(1 / READ_SHARE))])
    reading = _reading(read, starts, host, random)
    found_by = _finders(starts, host, reading, random)
    readers = reading.host_end - reading.host_first
    template = np.minimum(random.integers(1, LARGEST_TEMPLATE + 1, size=len(sizes))[host[read]], readers)
    template[reading.closed] = 0
    wanted = round((links * pages - pages - int(template.sum())) / (1 - REPEATED_SHARE))
    room = (
        np.where(
            reading.closed,
            reading.end - reading.first,
            np.where(reading.listing, sizes[host[read]], readers) - template,
        )
        // 2
    )
    room += 5 * reading.outward
    content = _content(
        wanted, room, np.argsort(depth[read] + random.random(len(read)) - reading.listing, kind="stable")
    )
    around = np.where(reading.listing, starts[host[read]], np.where(reading.closed, reading.first, reading.host_first))
    until = np.where(reading.listing, starts[host[read] + 1], np.where(reading.closed, reading.end, reading.host_end))
    by_finder = np.argsort(found_by, kind="stable")
    linked = np.full(pages, -1, dtype=np.int32)
    keys = []
    for row in range(0, len(read), ROWS_AT_ONCE):
        rows = slice(row, row + ROWS_AT_ONCE)
        found = by_finder[slice(*np.searchsorted(found_by[by_finder], [row, row + ROWS_AT_ONCE]))]
        found = found[read[found_by[found]] != found]  # a lone page
        draws = random.random((int(content[rows].sum()), 3))
        key = np.empty(len(draws) + int(template[rows].sum()) + 3 * len(read[rows]), dtype=np.int64)
        made = _write_links(
            read, template, content, reading.host_first, reading.host_end, reading.first, reading.end,
            reading.listing, reading.outward, around, until, row, row + len(read[rows]), pages, draws, linked, key,
        )  # fmt: skip
        key = np.sort(np.concatenate([read[found_by[found]] * pages + found, key[:made]]))
        repeated = key == np.append(-1, key[:-1])  # np.unique hashes since numpy 2.3: ten times slower than a sort
        keys.append(key[~repeated])
    return _graph(pages, keys)


def host_starts(pages: int, random: np.random.Generator) -> Numbers:
    """The number of each host's front page, followed by the number of pages."""
    hosts = -(-pages // PAGES_PER_HOST)
    sizes = power_law_counts(hosts, pages, IN_DEGREE_EXPONENT, max(pages // 20, PAGES_PER_HOST))
    random.shuffle(sizes)
    return np.concatenate([[0], np.cumsum(sizes[sizes > 0])]).astype(np.int64)


def _reading(read: Numbers, starts: Numbers, host: Numbers, random: np.random.Generator) -> Reading:
    """The read pages with their hosts and sections. The first section of a host is never closed, so that its other
    sections have in-links.
    """
    places = np.arange(len(read))
    before = np.searchsorted(read, starts)
    host_first, host_end = before[host[read]], before[host[read] + 1]
    lengths = power_law_counts(-(-len(read) // PAGES_PER_SECTION), len(read), IN_DEGREE_EXPONENT, LARGEST_SECTION)
    random.shuffle(lengths)
    cuts = np.unique(np.concatenate([before, np.cumsum(lengths)]))
    section = np.searchsorted(cuts, places, side="right") - 1
    first, end = cuts[section], cuts[np.minimum(section + 1, len(cuts) - 1)]
    closed = (
        (random.random(len(cuts)) < CLOSED_SHARE)[section]
        & (first != host_first)
        & (end - first > 1)
        & (host_end - host_first >= LARGE_HOST)
    )
    last = np.where(
        host_end - host_first < LISTING_EVERY, places == host_end - 1, (places - host_first + 1) % LISTING_EVERY == 0
    )
    outward = (random.random(len(read)) < OUTWARD_SHARE) & ~closed
    return Reading(read, host_first, host_end, first, end, closed, last & ~closed, outward)


def _finders(starts: Numbers, host: Numbers, reading: Reading, random: np.random.Generator) -> Numbers:
    """For each page, the place of the read page that discovers it."""
    pages, read = len(host), reading.pages
    listings = np.flatnonzero(reading.listing)
    abroad = np.flatnonzero(reading.outward if reading.outward.any() else ~reading.closed)
    before = np.searchsorted(read[listings], starts)
    low, high = before[host], before[host + 1]
    draw = random.random(pages)
    foreign = (low == high) | (np.arange(pages) == starts[host])
    finder = np.empty(pages, dtype=np.int64)
    finder[foreign] = abroad[(draw[foreign] * len(abroad)).astype(np.int64)]
    finder[~foreign] = listings[(low + draw * (high - low)).astype(np.int64)[~foreign]]
    itself = np.flatnonzero(read[finder] == np.arange(pages))
    beside = np.where(finder[itself] > reading.host_first[finder[itself]], finder[itself] - 1, finder[itself] + 1)
    finder[itself] = beside % max(len(read), 1)
    return finder


def _content(wanted: int, room: Numbers, places: Numbers) -> Numbers:
    """The number of content links of each read page: `wanted` in total, most for the first in `places`, at most `room`
    each.
    """
    content = np.zeros(len(places), dtype=np.int64)
    asked = float(max(wanted, 0))
    for _ in range(8):
        content[places] = power_law_counts(len(places), round(asked), CONTENT_EXPONENT, max(len(places) // 10, 1))
        content = np.minimum(content, room)
        asked *= max(wanted, 0) / max(int(content.sum()), 1)
    return content


@kernel
def _write_links(
    read: Numbers,
    template: Numbers,
    content: Numbers,
    host_first: Numbers,
    host_end: Numbers,
    first: Numbers,
    end: Numbers,
    listing: Flags,
    outward: Flags,
    around: Numbers,
    until: Numbers,
    row: Whole,
    after: Whole,
    pages: Whole,
    draws: Draws,
    linked: npt.NDArray[np.int32],
    key: Numbers,
) -> Whole:
    """Writes the section, template and content links of the pages at these places, as source times pages plus target,
    and returns how many.

    The links of a page on its host lead to `around` up to `until`: page numbers for a listing, places for others.
    `linked` holds for each page the last place with a link to it. A target that already has a link from this page is
    replaced by the next one.
    """
    made = 0
    draw = 0
    for place in range(row, after):
        source = read[place]
        linked[source] = place
        for near in (first[place], max(place - 1, first[place]), min(place + 1, end[place] - 1)):
            if linked[read[near]] != place:
                linked[read[near]] = place
                key[made] = source * pages + read[near]
                made += 1
        for front in range(host_first[place], host_first[place] + template[place]):
            if linked[read[front]] != place:
                linked[read[front]] = place
                key[made] = source * pages + read[front]
                made += 1
        for _ in range(content[place]):
            one, two, three = draws[draw, 0], draws[draw, 1], draws[draw, 2]
            draw += 1
            by_number = listing[place]
            low, high = around[place], until[place]
            if outward[place] and three < OUTWARD_LINKS:
                by_number = False
                other = int(one * len(read))
                low, high = host_first[other], host_end[other]
                at = int((high - low) * max(2.0 * two - 1.0, 0.0) ** 3)
            elif two < NEAR_SHARE or by_number:
                gap = int(np.exp(one * np.log(high - low)))
                at = (
                    (source if by_number else place)
                    - low
                    + (gap if two < NEAR_SHARE / 2 or (by_number and two > 0.75) else high - low - gap)
                ) % (high - low)
            else:
                at = (template[place] + int((high - low) * one**SHALLOW)) % (high - low)
            for _ in range(TRIES):
                target = low + at if by_number else read[low + at]
                if linked[target] != place:
                    linked[target] = place
                    key[made] = source * pages + target
                    made += 1
                    break
                at = (at + 1) % (high - low)
    return made


def _graph(pages: int, keys: list[Numbers]) -> Graph:
    """The graph of sorted keys: source times pages plus target."""
    offsets = np.zeros(pages + 1, dtype=np.int64)
    for key in keys:
        offsets[1:] += np.bincount(key // pages, minlength=pages)
    np.cumsum(offsets, out=offsets)
    targets = [(key % pages).astype(np.int32) for key in keys]
    return Graph(offsets, np.concatenate(targets) if targets else np.empty(0, dtype=np.int32))
