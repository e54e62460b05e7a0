"""URLs: from a page's number to its path and back, and the kernels that write bytes.

    /                               the root                    /section-3/page-1234.html    .xml, .txt by form
    /section-3/                     a section                   /section-3/item?id=1234      on sites that use queries
    /private/page-1300.html         a private page              /dtd/catalogue.dtd           the DTD

The number in a path is the page's place in its site, so both directions take a few steps, whatever the size of the web.
All paths are canonical.
"""

import numpy as np

from centime.lab.webbox.ink import Bytes, Ink
from centime.lab.webbox.layout import (
    DTD,
    QUERIES,
    SECTIONS,
    START,
    TEXT,
    TRAITS,
    XML,
    Layout,
    Numbers,
    form_of,
    ordinary_end,
    section_of,
    site_of,
)
from centime.model.kernel import Whole, kernel

ORIGIN, HOST_END, SECTION, PAGE, ITEM, PRIVATE_PAGE, DTD_PATH, HTML_SUFFIX, XML_SUFFIX, TEXT_SUFFIX = range(10)
PATH_PIECES = {
    ORIGIN: "http://site",
    HOST_END: ".localhost{port}",
    SECTION: "/section-",
    PAGE: "/page-",
    ITEM: "/item?id=",
    PRIVATE_PAGE: "/private/page-",
    DTD_PATH: "/dtd/catalogue.dtd",
    HTML_SUFFIX: ".html",
    XML_SUFFIX: ".xml",
    TEXT_SUFFIX: ".txt",
}
SLASH, ZERO = 47, 48


@kernel
def piece(buffer: Bytes, at: Whole, ink: Ink, number: Whole) -> Whole:
    """Writes a text of the ink at a place; returns the place after it."""
    begin = ink.ends[number]
    length = np.int64(ink.ends[number + 1] - begin)
    for place in range(length):
        buffer[at + place] = ink.text[begin + place]
    return at + length


@kernel
def put_number(buffer: Bytes, at: Whole, number: Whole) -> Whole:
    """Writes a whole number, zero or more, in decimal digits."""
    digits = 1
    rest = number // 10
    while rest:
        digits += 1
        rest //= 10
    for place in range(at + digits - 1, at - 1, -1):
        buffer[place] = ZERO + number % 10
        number //= 10
    return at + digits


@kernel
def put_path(buffer: Bytes, at: Whole, layout: Layout, ink: Ink, site: Whole, local: Whole) -> Whole:
    """Writes the path of a page, with its query."""
    if local == 0:
        buffer[at] = SLASH
        return at + 1
    form = form_of(layout, site, local)
    if form == DTD:
        return piece(buffer, at, ink, DTD_PATH)
    if local >= ordinary_end(layout, site):
        at = piece(buffer, at, ink, PRIVATE_PAGE)
        at = put_number(buffer, at, local)
        return piece(buffer, at, ink, HTML_SUFFIX)
    section = section_of(layout, site, local)
    if section:
        at = piece(buffer, at, ink, SECTION)
        at = put_number(buffer, at, section)
        if local <= layout.sites[site, SECTIONS]:
            buffer[at] = SLASH
            return at + 1
    if layout.sites[site, TRAITS] & QUERIES and form != XML and form != TEXT:
        at = piece(buffer, at, ink, ITEM)
        return put_number(buffer, at, local)
    at = piece(buffer, at, ink, PAGE)
    at = put_number(buffer, at, local)
    return piece(buffer, at, ink, XML_SUFFIX if form == XML else (TEXT_SUFFIX if form == TEXT else HTML_SUFFIX))


@kernel
def put_address(buffer: Bytes, at: Whole, layout: Layout, ink: Ink, here: Whole, page: Whole) -> Whole:
    """Writes the URL of a page as on a page of site `here`: without the host if it is the same site; complete
    if `here` is -1.
    """
    site = site_of(layout, page)
    if site != here:
        at = piece(buffer, at, ink, ORIGIN)
        at = put_number(buffer, at, site)
        at = piece(buffer, at, ink, HOST_END)
    return put_path(buffer, at, layout, ink, site, page - layout.sites[site, START])


@kernel
def write_addresses(layout: Layout, ink: Ink, first: Whole, buffer: Bytes, ends: Numbers) -> Whole:
    """Writes the URLs of the pages from `first` on, one per element of `ends`; returns how many fit into the buffer."""
    at: Whole = 0
    for number in range(len(ends)):
        if len(buffer) - at < 256:
            return number
        at = put_address(buffer, at, layout, ink, -1, first + number)
        ends[number] = at
    return len(ends)


def place_in(path: bytes, sections: int, size: int) -> int:
    """The place that a path seems to name in a site of `size` pages, or -1; write the path of the place and compare to
    be sure.
    """
    if path == b"/":
        return 0
    if path.endswith(b".dtd"):
        return size - 1
    try:
        if path.endswith(b"/"):
            place = int(path[path.rfind(b"-") + 1 : -1])
            return place if 0 < place <= sections else -1
        query = path.rfind(b"=")
        place = int(path[query + 1 :]) if query >= 0 else int(path[path.rfind(b"-") + 1 : path.rfind(b".")])
    except ValueError:
        return -1
    return place if sections < place < size else -1
