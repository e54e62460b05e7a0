"""The layout of a box: page numbers, sites, sections, and the tree that makes every page reachable.

Site k has the page numbers from starts[k] up to starts[k + 1]; sites get smaller like (k + 1)^-0.8. Within a site of n
pages:

    0                     the root
    1 ... S               its sections
    S + 1 ...             ordinary pages, `per_section` of them in each section
    then P                private pages, which robots.txt disallows; they have no links
    n - 1                 the DTD of the site's XML documents, on sites of 20 pages or more

The tree: the root of site k links to the roots of sites 8k + 1 ... 8k + 8, to its sections, its private pages and its
DTD. The pages of a section are a heap: place i (0 is the section's own page) links to places 8i + 1 ... 8i + 8. Pages
with children are always ordinary HTML, so every page can be reached from the root of site 0, whatever the random forms
of the other pages are.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from centime.lab.webbox.chance import draw, unit
from centime.model.kernel import Whole, inlined, kernel

BRANCHES = 8
MOST_SECTIONS = 20
MOST_PRIVATE = 12
LEAST_WITH_DTD = 20

HTML, BARE, XML, TEXT, DTD, MOVED, MOVED_TEMPORARILY, DEAD = range(8)  # forms of a page; BARE is HTML without any link
# cumulative shares of the pages without children: BARE, XML, TEXT, MOVED, MOVED_TEMPORARILY, DEAD
FORM_SHARES = (0.04, 0.10, 0.13, 0.15, 0.16, 0.185)

# traits of a site, as bits
MODIFIED_MISSING, MODIFIED_NOW, MODIFIED_OLD = 1, 2, 4  # without one of these, Last-Modified is honest
ETAG_STRONG, ETAG_WEAK, ETAG_FICKLE = 8, 16, 32
COMPRESSES, QUERIES, TRAPPED, PRIVATE, CRAWL_DELAY, SITEMAP, SITEMAP_INDEX, SITEMAP_PACKED = (
    64,
    128,
    256,
    512,
    1024,
    2048,
    4096,
    8192,
)
LATIN, LATIN_UNDECLARED, NOISY = 16384, 32768, 65536
ANY_ETAG = ETAG_STRONG | ETAG_WEAK | ETAG_FICKLE
TRAIT_SHARES = (  # a site has at most one trait of each line
    ((MODIFIED_MISSING, 0.15), (MODIFIED_NOW, 0.08), (MODIFIED_OLD, 0.05)),
    ((ETAG_STRONG, 0.40), (ETAG_WEAK, 0.15), (ETAG_FICKLE, 0.05)),
    ((LATIN, 0.08), (LATIN_UNDECLARED, 0.05)),
    ((SITEMAP, 0.50), (SITEMAP | SITEMAP_INDEX, 0.20), (SITEMAP | SITEMAP_INDEX | SITEMAP_PACKED, 0.15)),
    ((COMPRESSES, 0.25),),
    ((QUERIES, 0.20),),
    ((TRAPPED, 0.15),),
    ((PRIVATE, 0.30),),
    ((CRAWL_DELAY, 0.20),),
    ((NOISY, 0.10),),
)
FIRST_SITE_TRAITS = ETAG_STRONG | SITEMAP  # every crawl starts here, so it is an ordinary site

START, SECTIONS, PER_SECTION, PRIVATES, TRAITS = range(5)  # columns of the table of sites
COLUMNS = 5

SITE_TRAITS, PAGE_FORM = 1, 2  # purposes of random numbers

Numbers = npt.NDArray[np.int64]


class Layout(NamedTuple):
    """The data from which kernels compute every page. It has few parts, because each is passed at every call."""

    seed: np.uint64
    sites: npt.NDArray[np.int64]  # a row for every site, and one for the end
    log_rate: float  # logarithm of the median rate of change, per day
    start: float  # of the box, in seconds since the epoch


def make_layout(hosts: int, pages: int, seed: int, median_rate: float, start: float) -> Layout:
    """The layout of a web of `hosts` sites and `pages` pages."""
    shares = np.arange(1, hosts + 1, dtype=np.float64) ** -0.8
    sizes = 1 + np.floor((pages - hosts) * (shares / shares.sum())).astype(np.int64)
    sizes[0] += pages - sizes.sum()
    chances = np.empty((hosts, len(TRAIT_SHARES)))
    _fill_chances(np.uint64(seed), chances)
    traits = np.array([_traits(row) for row in chances.tolist()], dtype=np.int64)
    traits[0] = FIRST_SITE_TRAITS
    sections = np.where(sizes < 5, 0, np.clip((np.sqrt(sizes) / 2).astype(np.int64), 1, MOST_SECTIONS))
    privates = np.where(traits & PRIVATE != 0, np.minimum(MOST_PRIVATE, sizes // 20), 0)
    ordinary = sizes - 1 - sections - privates - (sizes >= LEAST_WITH_DTD)
    sites = np.zeros((hosts + 1, COLUMNS), dtype=np.int64)
    np.cumsum(sizes, out=sites[1:, START])
    sites[:-1, SECTIONS], sites[:-1, PER_SECTION] = sections, -(-ordinary // np.maximum(1, sections))
    sites[:-1, PRIVATES], sites[:-1, TRAITS] = privates, traits
    return Layout(np.uint64(seed), sites, float(np.log(median_rate)), start)


def _traits(chances: list[float]) -> int:
    found = 0
    for chance, choices in zip(chances, TRAIT_SHARES, strict=True):
        total = 0.0
        for trait, share in choices:
            total += share
            if chance < total:
                found |= trait
                break
    return found


@kernel
def _fill_chances(seed: np.uint64, chances: npt.NDArray[np.float64]) -> None:
    for site in range(chances.shape[0]):
        for number in range(chances.shape[1]):
            chances[site, number] = unit(draw(seed, SITE_TRAITS + 256 * number, site))


@kernel
def site_of(layout: Layout, page: Whole) -> Whole:
    """The site that a page belongs to."""
    low, high = 0, layout.sites.shape[0] - 1
    while high - low > 1:
        middle = (low + high) // 2
        if layout.sites[middle, START] <= page:
            low = middle
        else:
            high = middle
    return low


@inlined
def size_of(layout: Layout, site: Whole) -> Whole:
    """The number of pages of a site."""
    return np.int64(layout.sites[site + 1, START] - layout.sites[site, START])


@inlined
def ordinary_end(layout: Layout, site: Whole) -> Whole:
    """The place after the ordinary pages of a site, where the private pages begin."""
    size = size_of(layout, site)
    return size - np.int64(layout.sites[site, PRIVATES]) - (1 if size >= LEAST_WITH_DTD else 0)


@inlined
def section_of(layout: Layout, site: Whole, local: Whole) -> Whole:
    """The section, from 1, of a place in its site; 0 for the root, private pages, the DTD and the pages of a site
    without sections.
    """
    sections = layout.sites[site, SECTIONS]
    if local <= sections:
        return local
    if sections == 0 or local >= ordinary_end(layout, site):
        return 0
    return np.int64((local - 1 - sections) // layout.sites[site, PER_SECTION] + 1)


@inlined
def children(layout: Layout, site: Whole, local: Whole) -> tuple[Whole, Whole]:
    """The places of a page's children in its section's heap: the first, and the one after the last."""
    sections, per_section = layout.sites[site, SECTIONS], layout.sites[site, PER_SECTION]
    end = ordinary_end(layout, site)
    if local >= end or (local == 0 and sections > 0):
        return end, end
    section = section_of(layout, site, local)
    before = sections + per_section * (section - 1) if sections else 0  # place i of the heap is `before + i`
    place = 0 if local <= sections else local - before
    section_end = min(end, before + per_section + 1) if sections else end
    first = min(section_end, before + BRANCHES * place + 1)
    return first, min(section_end, first + BRANCHES)


@kernel
def form_of(layout: Layout, site: Whole, local: Whole) -> Whole:
    """The form of a page: HTML, BARE, XML and so on."""
    size = size_of(layout, site)
    if size >= LEAST_WITH_DTD and local == size - 1:
        return DTD
    if local >= ordinary_end(layout, site):
        return BARE
    if local <= layout.sites[site, SECTIONS]:
        return HTML
    first, last = children(layout, site, local)
    if first < last:
        return HTML
    chance = unit(draw(layout.seed, PAGE_FORM, layout.sites[site, START] + local))
    if chance < FORM_SHARES[2]:
        return BARE if chance < FORM_SHARES[0] else (XML if chance < FORM_SHARES[1] else TEXT)
    if chance < FORM_SHARES[5]:
        return MOVED if chance < FORM_SHARES[3] else (MOVED_TEMPORARILY if chance < FORM_SHARES[4] else DEAD)
    return HTML
