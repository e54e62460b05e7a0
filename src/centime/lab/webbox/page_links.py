"""The links of a page: the template of its site, its children in the tree, and the links in its text.

The links in the text are drawn slot by slot. Seven in ten stay in the site, at a distance d with density 1/d; the
others go to site k with density 1/(k + 1), to place x with density x^-0.8: in-degrees have a tail of exponent 2.25.
Three in a hundred are nofollow.

A row contains each target once and never the page itself. When a page changes, its template and its children stay. On
half of the pages the links in the text stay too; on the others a quarter of them is drawn again, at every fourth change
or at every change.
"""

import math

import numpy as np
import numpy.typing as npt

from centime.lab.webbox.chance import draw, mix, unit
from centime.lab.webbox.layout import (
    BRANCHES,
    HTML,
    MOVED,
    MOVED_TEMPORARILY,
    SECTIONS,
    START,
    XML,
    Layout,
    Numbers,
    children,
    form_of,
    ordinary_end,
    section_of,
    site_of,
    size_of,
)
from centime.model.document import EMBEDDED, NOFOLLOW
from centime.model.kernel import Whole, inlined, kernel

MOST_LINKS = 128  # of a row
MOST_IN_TEXT = 64
MOST_IN_TEMPLATE = 7  # sections that every page links to
STAYING = 0.7  # of the links in the text lead to the same site
UNFOLLOWED = 0.03
LINK_COUNT, LINK_SLOT, LINK_PERIOD, REDIRECT = 16, 17, 18, 19

Flags = npt.NDArray[np.uint8]


@inlined
def _add(targets: Numbers, flags: Flags, count: Whole, page: Whole, target: Whole, flag: Whole) -> Whole:
    if target == page:
        return count
    for place in range(count):
        if targets[place] == target:
            return count
    targets[count] = target
    flags[count] = flag
    return count + 1


@kernel
def _text_target(layout: Layout, site: Whole, local: Whole, bits: np.uint64) -> Whole:
    hosts = layout.sites.shape[0] - 1
    chance, where = unit(bits), unit(mix(bits + np.uint64(1)))
    if chance < STAYING:
        size = size_of(layout, site)
        distance = np.int64(math.exp(where * math.log(np.float64(size))))
        return np.int64(layout.sites[site, START] + (local + (distance if bits & np.uint64(1) else -distance)) % size)
    other = min(hosts - 1, np.int64(math.exp(where * math.log(np.float64(hosts + 1)))) - 1)
    depth = unit(mix(bits + np.uint64(2)))
    return np.int64(
        layout.sites[other, START] + np.int64(size_of(layout, other) * depth * depth * depth * depth * depth)
    )


@inlined
def redirect_target(layout: Layout, site: Whole, local: Whole) -> Whole:
    """The target of a redirect: always a lower page number, so that there are no loops; for one in four the root of an
    earlier site.
    """
    bits = draw(layout.seed, REDIRECT, layout.sites[site, START] + local)
    chance, depth = unit(bits), unit(mix(bits + np.uint64(1)))
    if site > 0 and chance < 0.25:
        return np.int64(layout.sites[np.int64(site * depth), START])
    return np.int64(layout.sites[site, START] + np.int64(local * depth))


@kernel
def write_row(
    layout: Layout, site: Whole, local: Whole, form: Whole, version: Whole, targets: Numbers, flags: Flags
) -> tuple[Whole, Whole]:
    """Writes the links of a page; returns their number, and how many of them belong to the template."""
    begin = layout.sites[site, START]
    page = begin + local
    if form in (MOVED, MOVED_TEMPORARILY):
        targets[0] = redirect_target(layout, site, local)
        flags[0] = 0
        return 1, 0
    if form not in (HTML, XML):
        return 0, 0
    count: Whole = 0
    template: Whole = 0
    sections, size = layout.sites[site, SECTIONS], size_of(layout, site)
    if form == HTML:
        count = _add(targets, flags, count, page, begin, 0)
        if local == 0:
            for section in range(1, sections + 1):
                count = _add(targets, flags, count, page, begin + section, 0)
            for place in range(ordinary_end(layout, site), size):
                count = _add(targets, flags, count, page, begin + place, 0)
            for other in range(BRANCHES * site + 1, min(BRANCHES * site + BRANCHES + 1, layout.sites.shape[0] - 1)):
                count = _add(targets, flags, count, page, layout.sites[other, START], 0)
        else:
            for section in range(1, min(sections, MOST_IN_TEMPLATE) + 1):
                count = _add(targets, flags, count, page, begin + section, 0)
            its_section = section_of(layout, site, local)
            if its_section:
                count = _add(targets, flags, count, page, begin + its_section, 0)
        template = count
        first, last = children(layout, site, local)
        for place in range(first, last):
            count = _add(targets, flags, count, page, begin + place, 0)
    elif size >= 20:
        count = _add(targets, flags, count, page, begin + size - 1, EMBEDDED)
        template = count
    drawn = draw(layout.seed, LINK_COUNT, page)
    in_text = min(np.int64(MOST_IN_TEXT), 8 + np.int64(-12.0 * math.log(1.0 - unit(drawn))))
    kind = unit(draw(layout.seed, LINK_PERIOD, page))
    period = 0 if kind < 0.5 else (4 if kind < 0.85 else 1)
    turn = version // period if period else 0
    own = draw(layout.seed, LINK_SLOT, page)
    for slot in range(in_text):
        bits = draw(own, slot, (turn + slot) // 4)
        flag = NOFOLLOW if form == HTML and unit(mix(bits + np.uint64(3))) < UNFOLLOWED else 0
        count = _add(targets, flags, count, page, _text_target(layout, site, local, bits), flag)
    return count, template


@kernel
def write_rows(
    layout: Layout, first: Whole, versions: Numbers, without: Whole, ends: Numbers, links: npt.NDArray[np.int32]
) -> Whole:
    """Writes the rows of the pages from `first` on, one per element of `versions`, without links that have one of the
    flags `without`; returns the number of links.
    """
    targets, flags = np.empty(MOST_LINKS, dtype=np.int64), np.empty(MOST_LINKS, dtype=np.uint8)
    total = 0
    for number in range(len(versions)):
        site = site_of(layout, first + number)
        local = first + number - layout.sites[site, START]
        count, _ = write_row(layout, site, local, form_of(layout, site, local), versions[number], targets, flags)
        for place in range(count):
            if not flags[place] & without:
                links[total] = targets[place]
                total += 1
        ends[number] = total
    return total


@kernel
def write_forms(layout: Layout, first: Whole, forms: npt.NDArray[np.uint8]) -> None:
    """Writes the forms of the pages from `first` on, one per element of `forms`."""
    for number in range(len(forms)):
        site = site_of(layout, first + number)
        forms[number] = form_of(layout, site, first + number - layout.sites[site, START])
