"""The papers' graphs: in-degrees by a law, random sources (Adaptive OPIC, Section 4.2).

    poisson     P(I = n) = 10^n e^-10 / n!
    power_law   P(I = n) ~ n^-2.1, scaled to a mean of 10 (as published, the law's mean is below 5 at 100 000 pages)

The links to a page come from pages chosen uniformly, so out-degrees are nearly Poisson and independent of in-degrees.

Requirements of the paper's experiment: its error is a mean of relative errors, so every page must have an importance
above 0. Here the virtual page ensures that, so a page without in-links (Poisson has some) is allowed. Its OPIC pays
equal shares to children, and every page has one, so no page dangles here: a page drawn without links takes over a link
from a page that has several, which keeps all in-degrees as the law gave them.

Guaranteed: the same arguments give the same graph; no page links to itself or twice to another; rows are sorted.
Trap: such graphs mix much faster than the web does; measure speed on `weblike` or a real graph.
"""

import numpy as np
import numpy.typing as npt

from centime.lab.synthetic.degrees import Counts, power_law_counts
from centime.model.errors import BadSetting
from centime.model.graph import LARGEST_PAGE_COUNT, Graph, Offsets, Targets
from centime.model.kernel import kernel

IN_DEGREE_EXPONENT = 2.1


def poisson(pages: int, seed: int, links: float = 10.0) -> Graph:
    """A graph whose in-degrees are Poisson with mean `links`."""
    check_size(pages, links)
    random = np.random.default_rng(seed)
    degree = np.minimum(random.poisson(links, pages), max(pages - 1, 0))
    return _random_sources(degree, random)


def power_law(pages: int, seed: int, links: float = 10.0) -> Graph:
    """A graph whose in-degrees follow the power law 2.1 with mean `links`."""
    check_size(pages, links)
    random = np.random.default_rng(seed)
    degree = power_law_counts(pages, round(pages * links), IN_DEGREE_EXPONENT, max(pages - 1, 0))
    random.shuffle(degree)
    return _random_sources(degree, random)


def check_size(pages: int, links: float) -> None:
    """Raises BadSetting for a number of pages or links that no model can have."""
    if not 0 <= pages <= LARGEST_PAGE_COUNT:
        raise BadSetting(f"a graph must have 0 to {LARGEST_PAGE_COUNT} pages, not {pages}")
    if not 0 <= links <= 10_000:
        raise BadSetting(f"the mean number of links must be 0 to 10000, not {links}")


def _random_sources(degree: Counts, random: np.random.Generator) -> Graph:
    pages = len(degree)
    offsets = np.zeros(pages + 1, dtype=np.int64)
    np.cumsum(degree, out=offsets[1:])
    sources = random.integers(0, max(pages, 1), size=offsets[-1], dtype=np.int32)
    _make_distinct(offsets, sources)
    out_degree = np.bincount(sources, minlength=pages)
    poor = np.flatnonzero(out_degree == 0)
    if len(sources):
        _take_over(offsets, sources, out_degree, poor, random.integers(0, len(sources), size=len(poor)))
    return Graph(offsets, sources).transpose()


@kernel
def _make_distinct(offsets: Offsets, sources: Targets) -> None:
    """Replaces a source that a page already has, or that is the page itself, by the next free page."""
    pages = len(offsets) - 1
    taken_for = np.full(pages, np.int32(-1), np.int32)
    for page in range(pages):
        taken_for[page] = page
        for link in range(offsets[page], offsets[page + 1]):
            source = np.int64(sources[link])
            while taken_for[source] == page:
                source = source + 1 if source + 1 < pages else np.int64(0)
            taken_for[source] = page
            sources[link] = source


@kernel
def _take_over(
    offsets: Offsets,
    sources: Targets,
    out_degree: npt.NDArray[np.int64],
    poor: npt.NDArray[np.int64],
    first: npt.NDArray[np.int64],
) -> None:
    """Gives each page without links one link of a source that has several, the next from a random place on; stops when
    no source has several.
    """
    links = len(sources)
    for place in range(len(poor)):
        page = poor[place]
        link = first[place]
        target = np.searchsorted(offsets, link, side="right") - 1
        walked = 0
        while walked < links and (out_degree[sources[link]] < 2 or target == page):
            walked += 1
            link += 1
            if link == links:
                link, target = 0, 0
            while link >= offsets[target + 1]:
                target += 1
        if walked == links:
            break
        out_degree[sources[link]] -= 1
        sources[link] = page
        out_degree[page] = 1
