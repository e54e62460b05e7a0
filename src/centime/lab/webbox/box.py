"""A deterministic, immutable simulated web: every page, link and change follows from the settings alone.

A box stores only a few numbers per site, so a box of millions of pages is created at once and is the same in every
process. Pages are numbered; page 0 is the root of site 0, from which all others can be reached. The truth that a crawl
is compared with:

- `graph`: every page that links lead to, including dead pages (rows without links) and redirects (rows with one link).
  Pages that robots.txt disallows have no links, so the graph is the same whether a crawler obeys it or not;
- `importance`: the PageRank of that graph with mean 1, where dangling pages pay the virtual page;
- `rate`, `version`, `changes`: the Poisson process of each page.

Traps and feeds lead to URLs that are not pages of the box: without them (`traps=False, feeds=False`) a crawl that
follows every link finds exactly the graph.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from centime.lab.webbox import change_process, markup, page_links, path
from centime.lab.webbox.ink import Ink, make_ink
from centime.lab.webbox.layout import (
    LATIN,
    LATIN_UNDECLARED,
    SECTIONS,
    START,
    TRAITS,
    Layout,
    Numbers,
    form_of,
    make_layout,
)
from centime.model.document import NOFOLLOW
from centime.model.errors import BadSetting, UnknownPage
from centime.model.graph import Graph
from centime.rank.pagerank import pagerank

CHUNK = 1 << 15
FIRST_INSTANT = 1_767_225_600.0  # 2026-01-01T00:00:00Z

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Links:
    """The links of a page, as in its body: the numbers of their targets, and flags of
    `centime.model.document`.
    """

    targets: Numbers
    flags: npt.NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class WebBox:
    """A simulated web of `pages` pages on `hosts` sites."""

    hosts: int = 50
    pages: int = 10_000
    seed: int = 0
    speed: float = 1.0  # box seconds per second
    start: float = FIRST_INSTANT  # seconds since the epoch, in the box, when its server starts
    port: int = 8800
    changes_per_day: float = 0.2  # the median over pages
    delay_seconds: float = 0.1  # of a slow page, one in a hundred
    crawl_delay_seconds: float = 0.05  # in the robots.txt of one site in five
    traps: bool = True
    feeds: bool = True
    hostile: bool = False
    noise: bool = False  # parts of every HTML page differ at every read

    def __post_init__(self) -> None:
        if not 1 <= self.hosts <= 1_000_000:
            raise BadSetting(f"the number of hosts must be 1 to 1000000, not {self.hosts}")
        if not self.hosts <= self.pages <= 1_000_000_000:
            raise BadSetting(f"the number of pages must be {self.hosts} (one per host) to 1000000000, not {self.pages}")
        if not 0 <= self.seed < 2**63:
            raise BadSetting(f"the seed must be a whole number from 0 to {2**63 - 1}, not {self.seed}")
        if not 0 < self.speed <= 1e9:
            raise BadSetting(f"the speed of the clock must be above 0 and at most 1e9, not {self.speed:g}")
        if not 0 <= self.port <= 65_535:
            raise BadSetting(f"the port must be a number from 0 to 65535, not {self.port}")
        if not 0 <= self.start <= 1e11:
            raise BadSetting(f"the start must be a time in seconds since 1970, not {self.start:g}")
        if not 0 < self.changes_per_day <= change_process.HIGHEST_RATE:
            most = f"{change_process.HIGHEST_RATE:g}"
            raise BadSetting(f"changes per day must be above 0 and at most {most}, not {self.changes_per_day:g}")
        if not (0 <= self.delay_seconds < 3600 and 0 <= self.crawl_delay_seconds < 3600):
            raise BadSetting("delays must be 0 to 3600 seconds")

    @cached_property
    def layout(self) -> Layout:
        """The layout of pages and sites, for the kernels."""
        return make_layout(self.hosts, self.pages, self.seed, self.changes_per_day, self.start)

    @cached_property
    def inks(self) -> tuple[Ink, Ink, Ink]:
        """The texts of pages in UTF-8, in declared Latin-1, and in Latin-1 that is declared as UTF-8."""
        made = []
        for charset, encoding in (("utf-8", "utf-8"), ("iso-8859-1", "latin-1"), ("utf-8", "latin-1")):
            port = "" if self.port == 80 else f":{self.port}"
            made.append(
                make_ink(
                    [markup.PIECES[name].format(charset=charset, port=port) for name in sorted(markup.PIECES)], encoding
                )
            )
        return made[0], made[1], made[2]

    def ink_of(self, site: int) -> Ink:
        """The texts in the encoding of a site."""
        traits = int(self.layout.sites[site, TRAITS])
        return self.inks[1 if traits & LATIN else 2 if traits & LATIN_UNDECLARED else 0]

    def site(self, page: int) -> int:
        """The number of the site that a page belongs to."""
        self._check(page)
        return int(np.searchsorted(self.layout.sites[:, START], page, side="right")) - 1

    def origin(self, site: int) -> str:
        """Scheme, host and port of a site."""
        return f"http://site{site}.localhost" + ("" if self.port == 80 else f":{self.port}")

    def url(self, page: int) -> str:
        """The URL of a page, in canonical form."""
        self._check(page)
        return self.urls(page, page + 1)[0]

    def urls(self, first: int = 0, end: int | None = None) -> list[str]:
        """The URLs of the pages from `first` up to `end`, by default of all."""
        end = self.pages if end is None else end
        found: list[str] = []
        ends = np.empty(min(CHUNK, end - first), dtype=np.int64)
        buffer = np.empty(len(ends) * 128 + 256, dtype=np.uint8)
        while first + len(found) < end:
            room = ends[: min(CHUNK, end - first - len(found))]
            count = path.write_addresses(self.layout, self.inks[0], first + len(found), buffer, room)
            text = buffer[: room[count - 1]].tobytes().decode()
            found += [
                text[begin:stop]
                for begin, stop in zip([0, *room[: count - 1].tolist()], room[:count].tolist(), strict=True)
            ]
        return found

    def page(self, url: str) -> int | None:
        """The number of the page at a URL; None if the box has no such page."""
        scheme, _, rest = url.partition("://")
        host, slash, local_path = rest.partition("/")
        name, _, port = host.partition(":")
        if scheme != "http" or port != ("" if self.port == 80 else str(self.port)) or not name.startswith("site"):
            return None
        digits = name[4:].removesuffix(".localhost")
        if not digits.isdecimal() or name != f"site{digits}.localhost" or int(digits) >= self.hosts:
            return None
        page = self.page_at(int(digits), (slash + local_path).encode())
        return page if page is not None and self.url(page) == url else None

    def page_at(self, site: int, local_path: bytes) -> int | None:
        """The number of the page that a path of a site seems to name; compare the page's own path to be sure."""
        layout = self.layout
        first, end = int(layout.sites[site, START]), int(layout.sites[site + 1, START])
        place = path.place_in(local_path, int(layout.sites[site, SECTIONS]), end - first)
        return None if place < 0 else first + place

    def title(self, page: int) -> str:
        """The title of a page."""
        self._check(page)
        buffer = np.empty(256, dtype=np.uint8)
        return buffer[: markup.put_title(buffer, 0, self.layout, self.inks[0], page)].tobytes().decode()

    def form(self, page: int) -> int:
        """The form of a page: HTML, BARE, XML and so on, as in `centime.lab.webbox.layout`."""
        self._check(page)
        return int(self.forms(page, page + 1)[0])

    def forms(self, first: int = 0, end: int | None = None) -> npt.NDArray[np.uint8]:
        """The forms of the pages from `first` up to `end`, by default of all."""
        forms = np.empty((self.pages if end is None else end) - first, dtype=np.uint8)
        page_links.write_forms(self.layout, first, forms)
        return forms

    def links(self, page: int, version: int = 0) -> Links:
        """The links of a version of a page, including nofollow links."""
        self._check(page)
        targets, flags = (
            np.empty(page_links.MOST_LINKS, dtype=np.int64),
            np.empty(page_links.MOST_LINKS, dtype=np.uint8),
        )
        site = self.site(page)
        local = page - int(self.layout.sites[site, START])
        count, _ = page_links.write_row(
            self.layout, site, local, form_of(self.layout, site, local), version, targets, flags
        )
        return Links(targets[:count], flags[:count])

    def graph(self, time: float | None = None, *, without: int = NOFOLLOW) -> Graph:
        """All pages and links at a time, by default at the start, except links with one of the flags `without`."""
        offsets = np.zeros(self.pages + 1, dtype=np.int64)
        parts = []
        scratch = np.empty(CHUNK * page_links.MOST_LINKS, dtype=np.int32)
        for first in range(0, self.pages, CHUNK):
            end = min(first + CHUNK, self.pages)
            versions = np.zeros(end - first, dtype=np.int64) if time is None else self.versions(time, first, end)
            ends = offsets[first + 1 : end + 1]
            parts.append(scratch[: page_links.write_rows(self.layout, first, versions, without, ends, scratch)].copy())
            ends += offsets[first]
        return Graph(offsets, np.concatenate(parts))

    def importance(
        self, time: float | None = None, *, without: int = NOFOLLOW, damping: float = 0.85, error: float = 1e-10
    ) -> Vector:
        """The true importance of every page, with mean 1, at a time, by default at the start."""
        return pagerank(self.graph(time, without=without), damping=damping, error=error).scores

    def rate(self, page: int) -> float:
        """The change rate of a page, in changes per day."""
        self._check(page)
        return float(self.rates(page, page + 1)[0])

    def rates(self, first: int = 0, end: int | None = None) -> Vector:
        """The change rates of the pages from `first` up to `end`, by default of all."""
        rates = np.empty((self.pages if end is None else end) - first)
        change_process.write_rates(self.layout, first, rates)
        return rates

    def version(self, page: int, time: float) -> int:
        """The number of changes of a page from the start of the box up to a time."""
        self._check(page)
        return int(change_process.changes_until(self.layout, self.site(page), page, time))

    def versions(self, time: float, first: int = 0, end: int | None = None) -> Numbers:
        """The versions of the pages from `first` up to `end` at a time, by default of all."""
        versions = np.empty((self.pages if end is None else end) - first, dtype=np.int64)
        change_process.write_versions(self.layout, first, time, versions)
        return versions

    def changes(self, page: int, until: float) -> Vector:
        """The times of all changes of a page from the start of the box up to a time."""
        times = np.empty(self.version(page, until))
        change_process.write_history(self.layout, page, times)
        return times

    def changed(self, time: float, first: int = 0, end: int | None = None) -> Vector:
        """The times of the last changes before a time of the pages from `first` up to `end`, by default of all; a page
        without a change has one before the start of the box.
        """
        versions = self.versions(time, first, end)
        times = np.empty(len(versions))
        change_process.write_times(self.layout, first, versions, times)
        return times

    def _check(self, page: int) -> None:
        if not 0 <= page < self.pages:
            raise UnknownPage(f"the box has pages 0 to {self.pages - 1}, not {page}")
