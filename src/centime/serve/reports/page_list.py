"""The pages of a crawl in several orders, filtered by host, kind and a pattern of their URL.

A pattern is matched against pages in the order of the list, until enough are found or MOST_EXAMINED were examined: the
report says how many.
"""

from typing import Annotated, Literal, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from centime.crawl.report.opening import moment
from centime.crawl.report.sorting import first_by
from centime.crawl.report.visits import KINDS, OUTCOMES, PRESENT, REDIRECTS, kinds_of
from centime.model.errors import BadInput
from centime.model.ids import host_ids
from centime.model.pattern import check_pattern, compiled
from centime.model.row_batch import Pages
from centime.serve.glance import Glance, PartGlance
from centime.serve.resource import Parameters, Report, Resource, packed_cursor, unpacked_cursor

MOST_EXAMINED = 200_000
MOST = 1000

Order = Literal["importance", "worth", "change", "errors", "recent"]
Flags = npt.NDArray[np.bool_]
Values = npt.NDArray[np.float64]


class PagesWanted(Parameters, frozen=True, kw_only=True):
    """Which pages, in which order."""

    by: Order = "importance"
    host: str = ""
    match: str = ""
    kind: str = ""
    most: Annotated[int, msgspec.Meta(ge=1, le=MOST)] = 100
    cursor: str = ""


def page_list(glance: Glance, wanted: PagesWanted) -> Report:
    """The pages in an order, from the cursor on."""
    parts = [glance.with_host(wanted.host)[0]] if wanted.host else glance.each
    found = [_part(one, wanted) for one in parts]
    first = sorted((place for one in found for place in one.places), key=lambda place: (-place.value, place.number))
    shown, more = first[: wanted.most], len(first) > wanted.most
    cut = bool(wanted.match) and any(one.examined < one.candidates for one in found) and not more
    return {
        "known": glance.parts.known,
        "chosen": sum(one.chosen for one in found),
        "examined": sum(one.examined for one in found) if cut else None,
        "by": wanted.by,
        "rows": _rows(shown, wanted.by),
        "next": packed_cursor(shown[-1].value, shown[-1].number) if more and shown else None,
    }


class _Place(NamedTuple):
    """A page in the list: the value by which it is sorted, its number among all pages, and where it is."""

    value: float
    number: int
    part: PartGlance
    page: int


class _Found(NamedTuple):
    """The first pages of a part, one more than requested if there are more; and how many were examined."""

    places: list[_Place]
    chosen: int
    candidates: int
    examined: int


def _part(glance: PartGlance, wanted: PagesWanted) -> _Found:
    values, chosen = _ordered(glance, wanted.by)
    chosen = chosen & _filtered(glance, wanted)
    known = int(np.count_nonzero(chosen))
    if wanted.cursor:
        value, page = unpacked_cursor(wanted.cursor, tuple[float, int])
        places = np.arange(len(values))
        chosen = chosen & ((values < value) | ((values == value) & (places > page - glance.first_page)))
    candidates = np.flatnonzero(chosen)
    pages, examined = _found(glance, candidates, values[candidates], wanted)
    found = [_Place(float(values[page]), glance.first_page + page, glance, page) for page in pages.tolist()]
    return _Found(found, known, len(candidates), examined)


def _ordered(glance: PartGlance, by: Order) -> tuple[Values, Flags]:
    """The values by which pages are sorted, and the pages that belong to the order."""
    visits, ranked = glance.visits, glance.ranked
    match by:
        case "importance":
            return glance.importance, ranked
        case "worth":
            book = glance.reader.shard.refreshing.book
            pages = np.flatnonzero(book.contains(np.arange(len(ranked), dtype=np.int64)))
            values = np.zeros(len(ranked))
            if len(pages):
                values[pages] = book.worth(pages, glance.now, glance.importance[pages])
            return values, values > 0.0
        case "change":
            rate = visits["changes"] / np.maximum(1, visits["visits"])
            return rate, visits["changes"] > 0
        case "errors":
            outcome = visits["outcome"]
            return glance.importance, (visits["visits"] > 0) & ~PRESENT[outcome] & ~REDIRECTS[outcome]
        case "recent":
            return visits["time"].astype(np.float64), visits["visits"] > 0


def _filtered(glance: PartGlance, wanted: PagesWanted) -> Flags:
    chosen = np.ones(len(glance.ranked), dtype=np.bool_)
    if wanted.host:
        chosen &= glance.hosts == glance.reader.shard.hosts.find(wanted.host)
    if wanted.kind:
        if wanted.kind not in KINDS:
            raise BadInput(f"the kind of a page is one of {', '.join(KINDS)}")
        kinds = kinds_of(glance.visits["kind"], glance.visits["outcome"])
        chosen &= kinds == KINDS.index(wanted.kind)
    return chosen


def _found(glance: PartGlance, candidates: Pages, values: Values, wanted: PagesWanted) -> tuple[Pages, int]:
    """The first pages, one more than requested if there are more; and how many were examined."""
    if not wanted.match:
        return candidates[first_by(values, wanted.most + 1)], len(candidates)
    check_pattern(wanted.match)
    search = compiled(wanted.match).search
    found: list[int] = []
    examined, batch = 0, 1_000
    while examined < min(len(candidates), MOST_EXAMINED) and len(found) <= wanted.most:
        batch = min(20 * batch, MOST_EXAMINED)
        pages = candidates[first_by(values, batch)][examined:]
        urls = glance.reader.shard.pages.texts.get_many(pages)
        found += [page for page, url in zip(pages.tolist(), urls, strict=True) if search(url)]
        examined += len(pages)
    return np.array(found[: wanted.most + 1], dtype=np.int64), examined


def _rows(places: list[_Place], by: Order) -> list[Report]:
    """The rows of pages, in their order."""
    rows: dict[int, Report] = {}
    for part in {id(place.part): place.part for place in places}.values():
        mine = [place for place in places if place.part is part]
        pages = np.array([place.page for place in mine], dtype=np.int64)
        worths = [place.value for place in mine] if by == "worth" else None
        rows.update(zip([place.number for place in mine], _rows_of(part, pages, worths), strict=True))
    return [rows[place.number] for place in places]


def _rows_of(glance: PartGlance, pages: Pages, worths: list[float] | None) -> list[Report]:
    shard, visits = glance.reader.shard, glance.visits
    kinds = kinds_of(visits["kind"][pages], visits["outcome"][pages]).tolist()
    hosts = host_ids(glance.hosts[pages])
    return [
        {
            "url": url,
            "host": shard.hosts[host].name,
            "importance": float(glance.importance[page]),
            **({} if worths is None else {"worth": worths[place]}),
            "kind": KINDS[kind],
            "outcome": OUTCOMES[visits["outcome"][page]] if visits["visits"][page] else None,
            "status": int(visits["status"][page]) or None,
            "visits": int(visits["visits"][page]),
            "changes": int(visits["changes"][page]),
            "last_visit": moment(float(visits["time"][page])),
        }
        for place, (page, host, kind, url) in enumerate(
            zip(pages.tolist(), hosts, kinds, shard.pages.texts.get_many(pages), strict=True)
        )
    ]


PAGES = Resource(
    name="pages",
    title="Pages",
    summary="The pages of a crawl by importance, worth, change, errors or time of visit.",
    parameters=PagesWanted,
    report=page_list,
    columns=(
        "url",
        "host",
        "importance",
        "worth",
        "kind",
        "outcome",
        "status",
        "visits",
        "changes",
        "last_visit",
    ),
    optional=("worth",),
)
