"""A graph like a crawl of the web: hosts, templates, most links internal, most pages unread.

Pages stand in the order of their URLs: host after host, a host's front page first, then deeper and deeper pages.

- Hosts: their sizes follow the power law 2.1, 20 pages on average, none above a twentieth of all pages.
- Read pages: a quarter, the shallow ones more likely. The others dangle, whether unread or really without links: nobody can tell.
- Discovery: every page is known because a read page links to it: one of the same host, or any one for a front page.
- Template: all read pages of a host link to its first few pages. So in-degrees follow the host sizes: a power law.
- Content: what is left of the links, shared out by a power law, more to shallow pages. Those also have more links to them: in- and
  out-degrees are correlated. One in six leads to another host, large hosts more often and front pages most; of the
  others half lead near by, half anywhere on the host with a preference for shallow pages.

Guaranteed: same arguments, same graph; no page links to itself or twice to another; rows are sorted; every page but those of a lone
host is linked to. For 10 000 pages and more, `links` is met within 15 % and 80 to 90 % of the links are internal.
Trap: it is a caricature. It has the features that make crawling and ranking hard, not the web's own numbers.
"""

import numpy as np
import numpy.typing as npt

from centime.lab.degrees import power_law_counts
from centime.lab.plain import IN_DEGREE_EXPONENT, check_size
from centime.model.graph import Graph

READ_SHARE = 0.25
PAGES_PER_HOST = 20
LARGEST_TEMPLATE = 12
REPEATED_SHARE = 0.28  # of the content links drawn, because they repeat another link of their page
EXTERNAL_SHARE = 1 / 6
CONTENT_EXPONENT = 2.7  # of out-degrees, as measured on the web
ROWS_AT_ONCE = 50_000

Numbers = npt.NDArray[np.int64]
Draws = npt.NDArray[np.float64]


def weblike(pages: int, seed: int, links: float = 10.0) -> Graph:
    """A graph of hosts with the shape of a crawl, with about `links` links for each page, read or not."""
    check_size(pages, links)
    random = np.random.default_rng(seed)
    starts = host_starts(pages, random)
    sizes = np.diff(starts)
    host = np.repeat(np.arange(len(sizes)), sizes)
    depth = (np.arange(pages) - starts[host]) / sizes[host] + 0.7 * random.random(pages)
    read = np.sort(np.argsort(depth, kind="stable")[: -(-pages // round(1 / READ_SHARE))])
    found_by = _finders(starts, host, read, random)
    template = np.minimum(random.integers(1, LARGEST_TEMPLATE + 1, size=len(sizes)), sizes)[host[read]]
    wanted = round((links * pages - pages - int(template.sum())) / (1 - REPEATED_SHARE))
    content = _content(wanted, sizes[host[read]] // 2, np.argsort(depth[read] + random.random(len(read)), kind="stable"))
    order = np.argsort(found_by, kind="stable")
    keys = []
    for row in range(0, len(read), ROWS_AT_ONCE):
        rows = slice(row, row + ROWS_AT_ONCE)
        found = order[slice(*np.searchsorted(found_by[order], [row, row + ROWS_AT_ONCE]))]
        sources = [read[found_by[found]], np.repeat(read[rows], template[rows]), np.repeat(read[rows], content[rows])]
        to_template = starts[host[sources[1]]] + _count_up(template[rows])
        to_content = _content_targets(sources[2], starts, host, random)
        key = np.sort(np.concatenate(sources) * pages + np.concatenate([found, to_template, to_content]))
        repeated = key == np.append(-1, key[:-1])  # np.unique hashes since numpy 2.3: ten times slower than a sort
        keys.append(key[~repeated & (key // pages != key % pages)])
    return _graph(pages, keys)


def host_starts(pages: int, random: np.random.Generator) -> Numbers:
    """The number of each host's front page, and the number of pages at the end."""
    hosts = -(-pages // PAGES_PER_HOST)
    sizes = power_law_counts(hosts, pages, IN_DEGREE_EXPONENT, max(pages // 20, PAGES_PER_HOST))
    random.shuffle(sizes)
    return np.concatenate([[0], np.cumsum(sizes[sizes > 0])]).astype(np.int64)


def _finders(starts: Numbers, host: Numbers, read: Numbers, random: np.random.Generator) -> Numbers:
    """For each page the place in `read` of the page that links to it first."""
    pages = len(host)
    before = np.searchsorted(read, starts)
    low, high = before[host], before[host + 1]
    low = np.where((low == high) | (np.arange(pages) == starts[host]), 0, low)
    high = np.where(low == 0, len(read), high)
    finder = (low + random.random(pages) * (high - low)).astype(np.int64)
    itself = read[finder] == np.arange(pages) if pages else np.empty(0, dtype=np.bool_)
    return np.where(itself, (finder + 1) % max(len(read), 1), finder)


def _content(wanted: int, room: Numbers, order: Numbers) -> Numbers:
    """Content links of each read page: `wanted` in all, most for the first in `order`, few where the host has little room."""
    content = np.zeros(len(order), dtype=np.int64)
    asked = float(max(wanted, 0))
    for _ in range(8):
        content[order] = power_law_counts(len(order), round(asked), CONTENT_EXPONENT, max(len(order) // 10, 1))
        content = np.minimum(content, room + 5)
        asked *= max(wanted, 0) / max(int(content.sum()), 1)
    return content


def _content_targets(sources: Numbers, starts: Numbers, host: Numbers, random: np.random.Generator) -> Numbers:
    """Where each content link leads."""
    kind, first, second = random.random((3, len(sources)))
    start, size = starts[host[sources]], np.diff(starts)[host[sources]]
    gap = np.where(second < 0.5, 1, -1) * (size**first).astype(np.int64)
    near = (sources - start + gap) % size
    shallow = (size * first**2.5).astype(np.int64)
    internal = start + np.where(kind < 0.5 + EXTERNAL_SHARE / 2, near, shallow)
    other = host[(first * len(host)).astype(np.int64)]
    depth = np.maximum(2 * second - 1, 0) ** 3
    external = starts[other] + (np.diff(starts)[other] * depth).astype(np.int64)
    targets: Numbers = np.where(kind < EXTERNAL_SHARE, external, internal)
    return targets


def _count_up(counts: Numbers) -> Numbers:
    """0, 1, ... up to each count, one after the other."""
    ends = np.cumsum(counts)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - counts, counts)


def _graph(pages: int, keys: list[Numbers]) -> Graph:
    """The graph of sorted keys: source times pages plus target."""
    offsets = np.zeros(pages + 1, dtype=np.int64)
    for key in keys:
        offsets[1:] += np.bincount(key // pages, minlength=pages)
    np.cumsum(offsets, out=offsets)
    targets = [(key % pages).astype(np.int32) for key in keys]
    return Graph(offsets, np.concatenate(targets) if targets else np.empty(0, dtype=np.int32))
