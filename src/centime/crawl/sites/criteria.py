"""Figures of each site of a crawl, by which a library decides which sites to keep.

Criteria are numbers that a model can weigh. Those whose sizes differ by powers of ten count by their logarithm. Others
are shares. A site without a ranked page, of which the crawl knows only requisites, is left out.

Languages and titles are those of the most important pages of each site that are stored (SAMPLED of them). A crawl that
keeps no bodies has none, and then there is no criterion of language.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from centime.crawl.engine.state import CrawlState
from centime.crawl.report.graph import LinkedPages
from centime.crawl.report.planning.freshness import DAY
from centime.crawl.report.top import importance_of_ranked
from centime.crawl.report.visits import PRESENT, REDIRECTS, are_present, last_found
from centime.crawl.search.newest import StoredBodies
from centime.crawl.sites.ranked import ranked_sites
from centime.model.errors import DamagedFile, FileGone
from centime.model.ids import PageId
from centime.model.outcome import PageKind
from centime.parse.document import read_document
from centime.rank.scores import Vector

SAMPLED = 3  # pages of a site whose language and title are read
LANGUAGE = "language_share"
LEAST_IMPORTANCE, LEAST_RATE = 1e-12, 1e-3  # so that there is a logarithm
DIGITS = 10  # of a value: so that equal sites do not differ by rounding
CRITERIA = MappingProxyType(  # a name that ends in `share` counts directly, others by their logarithm
    {
        "importance": "the sum of the importance of its pages",
        "site_importance": "PageRank of the links between sites",
        "linking_sites": "other sites that link to it",
        "pages": "pages known",
        "bytes": "bytes of the pages found",
        "changes_per_day": "changes of a page in a day, the mean over the pages found",
        "days_since_change": "days since the newest change of one of its pages",
        "age_days": "days since the oldest date of one of its pages",
        "html_share": "share of HTML in the pages found",
        "other_share": "share of files that are neither HTML nor XML in the pages found, such as PDF",
        "failing_share": "share of the pages visited that failed",
        LANGUAGE: "share of the language in the pages of which it is known",
    }
)

Step = Callable[[float], None]
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Sites:
    """The sites of a crawl: values of each, in one order."""

    names: tuple[str, ...]
    values: dict[str, Vector]  # by the names of CRITERIA
    found: Numbers  # pages found
    bytes_expected: Vector  # of all known pages, if those not found are like those found
    kinds: dict[str, Numbers]
    first: Vector  # the time of the first visit, 0 if there was none
    last: Vector  # of the last one
    fronts: tuple[str, ...]  # the URL of the most important page
    titles: tuple[str, ...]
    languages: tuple[tuple[str, ...], ...]  # of the sampled pages, the most frequent first
    language: str  # of the criterion; empty if there is none
    site_error: float  # certified, of the importance of sites

    def matrix(self, names: Sequence[str]) -> npt.NDArray[np.float64]:
        """Criteria as a model takes them: a row for each site, a column for each name."""
        return np.column_stack([scaled(name, self.values[name]) for name in names])


def scaled(name: str, values: Vector) -> Vector:
    """The values of a criterion as a model takes them."""
    if name.endswith("share"):
        return values
    if "importance" in name:
        return np.log(np.maximum(values, LEAST_IMPORTANCE))
    made: Vector = np.log(values + (LEAST_RATE if name == "changes_per_day" else 1.0))
    return made


def site_criteria(
    states: Sequence[CrawlState],
    linked: LinkedPages,
    *,
    by: str,
    now: float,
    language: str = "",
    step: Step = lambda done: None,
) -> Sites:
    """The criteria of all sites of a crawl, or of all its partitions; `step` receives shares of the work."""
    sites = ranked_sites(linked, states[0].settings.damping, by)
    step(0.3)
    pages = _Pages(states)
    count = len(sites.names)
    site_of = sites.site_of.astype(np.int64)

    def total(mask: npt.NDArray[np.bool_], weights: Any = None) -> Vector:
        some = None if weights is None else np.asarray(weights, dtype=np.float64)[mask]
        return np.bincount(site_of[mask], weights=some, minlength=count).astype(np.float64)

    ranked, found = pages.ranked, pages.found & pages.ranked
    known, read, visited = total(ranked), total(found), total(ranked & pages.visited)
    some = np.maximum(1.0, read)
    size = total(found, pages.body_bytes)
    per_page = np.where(read > 0, size / some, size.sum() / max(1.0, read.sum()))
    dates = np.where(pages.modified > 0, np.minimum(pages.modified, now), pages.changed)
    newest, oldest = _extremes(site_of[found], dates[found], count, now)
    values = {
        "importance": total(ranked, pages.importance),
        "site_importance": sites.importance,
        "linking_sites": sites.graph.in_degree.astype(np.float64),
        "pages": known,
        "bytes": size,
        "changes_per_day": total(found, pages.rates) * DAY / some,
        "days_since_change": np.maximum(0.0, now - newest) / DAY,
        "age_days": np.maximum(0.0, now - oldest) / DAY,
        "html_share": total(found & (pages.kind == PageKind.HTML)) / some,
        "other_share": total(found & (pages.kind == PageKind.OTHER)) / some,
        "failing_share": total(ranked & pages.failing) / np.maximum(1.0, visited),
    }
    first, last = _visits(site_of, pages, count)
    step(0.2)
    fronts, titles, languages = _sampled(states, pages, site_of, count, lambda done: step(0.5 * done))
    language = language or _commonest(languages)
    if language:
        values[LANGUAGE] = np.array([_share(spoken, language) for spoken in languages])
    kept = np.flatnonzero(known > 0)
    names = tuple(sites.names[int(site)] for site in kept)
    return Sites(
        names,
        {name: np.array([float(f"{one:.{DIGITS}g}") for one in value[kept]]) for name, value in values.items()},
        read[kept].astype(np.int64),
        (size + per_page * (known - read))[kept],
        {
            kind.name.lower(): total(found & (pages.kind == kind))[kept].astype(np.int64)
            for kind in (PageKind.HTML, PageKind.XML, PageKind.DTD, PageKind.OTHER)
        },
        first[kept],
        last[kept],
        tuple(fronts[site] for site in kept.tolist()),
        tuple(titles[site] for site in kept.tolist()),
        tuple(tuple(word for word, _ in Counter(languages[site]).most_common()) for site in kept.tolist()),
        language,
        sites.certified_error,
    )


class _Pages:
    """Columns of all pages, in the numbering of all partitions."""

    def __init__(self, states: Sequence[CrawlState]) -> None:
        names = ("visits", "kind", "outcome", "body_bytes", "modified_time", "changed_time", "first_time", "time")
        parts = [last_found(opened.shard.pages, *names) for opened in states]
        heads = {name: np.concatenate([part[name] for part in parts]) for name in names}
        self.visited = heads["visits"] > 0
        self.kind = heads["kind"]
        self.found = are_present(heads["kind"])
        self.failing = self.visited & ~PRESENT[heads["outcome"]] & ~REDIRECTS[heads["outcome"]]
        self.body_bytes, self.time = heads["body_bytes"], heads["time"]
        self.modified, self.changed, self.first = heads["modified_time"], heads["changed_time"], heads["first_time"]
        self.importance = np.concatenate([importance_of_ranked(opened) for opened in states])
        self.ranked = np.concatenate([_ranked(opened) for opened in states])
        self.rates = np.concatenate(
            [opened.shard.refreshing.book.rates(np.arange(opened.shard.pages.count))[0] for opened in states]
        )
        self.firsts = np.cumsum([0, *(opened.shard.pages.count for opened in states)])


def _ranked(opened: CrawlState) -> npt.NDArray[np.bool_]:
    ranked = np.ones(opened.shard.pages.count, dtype=np.bool_)
    ranked[opened.shard.requisites.every()] = False
    return ranked


def _extremes(sites: Numbers, times: Vector, count: int, now: float) -> tuple[Vector, Vector]:
    """The newest and the oldest time of each site; `now` for a site without one."""
    newest, oldest = np.zeros(count), np.full(count, np.inf)
    np.maximum.at(newest, sites, times)
    np.minimum.at(oldest, sites, times)
    return np.where(newest > 0, newest, now), np.where(np.isfinite(oldest) & (oldest > 0), oldest, now)


def _visits(site_of: Numbers, pages: _Pages, count: int) -> tuple[Vector, Vector]:
    """The times of the first and of the last visit of each site; 0 if there was none."""
    mine = pages.visited
    last, first = _extremes(site_of[mine], pages.time[mine], count, 0.0)[0], np.full(count, np.inf)
    np.minimum.at(first, site_of[mine], pages.first[mine])
    return np.where(np.isfinite(first), first, 0.0), last


def _sampled(
    states: Sequence[CrawlState], pages: _Pages, site_of: Numbers, count: int, step: Step
) -> tuple[list[str], list[str], list[list[str]]]:
    """The URL and the title of the most important page of each site, and the languages of the first few."""
    fronts, titles = [""] * count, [""] * count
    languages: list[list[str]] = [[] for _ in range(count)]
    order = np.lexsort((-pages.importance, ~pages.found, site_of))
    order = order[pages.ranked[order]]
    begins = np.searchsorted(site_of[order], np.arange(count))
    ends = np.searchsorted(site_of[order], np.arange(count), side="right")
    sources = [StoredBodies(opened) for opened in states]
    for site, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
        for place in order[begin : min(end, begin + SAMPLED)].tolist():
            part = int(np.searchsorted(pages.firsts, place, side="right")) - 1
            page = PageId(place - int(pages.firsts[part]))
            url = states[part].shard.pages.texts.get(page)
            fronts[site] = fronts[site] or url
            if not pages.found[place]:
                continue
            title, language = _said(sources[part], page, url)
            titles[site] = titles[site] or title
            languages[site] += [language] if language else []
        step(1 / count)
    return fronts, titles, languages


def _said(bodies: StoredBodies, page: PageId, url: str) -> tuple[str, str]:
    """The title and the language of a stored page; empty if it is not stored, or has none."""
    body = bodies.of(page, url)
    if body is None:
        return "", ""
    try:
        data, content_type = bodies.read(body)
    except (DamagedFile, FileGone, OSError):
        return "", ""
    read = read_document(data, url=url, content_type=content_type)
    return " ".join(read.title.split()), read.language.partition("-")[0].strip().lower()[:8]


def _commonest(languages: Sequence[Sequence[str]]) -> str:
    """The language of most sampled pages; the first by name of those as frequent."""
    counts = Counter(word for spoken in languages for word in spoken)
    return min(counts, key=lambda word: (-counts[word], word), default="")


def _share(spoken: Sequence[str], language: str) -> float:
    return spoken.count(language) / len(spoken) if spoken else 0.0
