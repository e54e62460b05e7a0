"""The pages of a crawl in several orders, filtered by host, kind and a pattern of their URL.

A pattern is matched against pages in the order of the list, until enough are found or MOST_EXAMINED were examined: the
report says how many.
"""

from typing import Annotated, Literal

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
from centime.serve.glance import Glance
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
    values, chosen = _ordered(glance, wanted.by)
    chosen = chosen & _filtered(glance, wanted)
    known = int(np.count_nonzero(chosen))
    if wanted.cursor:
        value, page = unpacked_cursor(wanted.cursor, tuple[float, int])
        places = np.arange(len(values))
        chosen = chosen & ((values < value) | ((values == value) & (places > page)))
    candidates = np.flatnonzero(chosen)
    found, examined = _found(glance, candidates, values[candidates], wanted)
    pages, more = found[: wanted.most], len(found) > wanted.most
    rows = _rows(glance, pages, values, wanted.by)
    following = packed_cursor(float(values[pages[-1]]), int(pages[-1])) if more and len(pages) else None
    cut = bool(wanted.match) and examined < len(candidates) and not more
    return {
        "known": glance.reader.shard.pages.count,
        "chosen": known,
        "examined": examined if cut else None,
        "by": wanted.by,
        "rows": rows,
        "next": following,
    }


def _ordered(glance: Glance, by: Order) -> tuple[Values, Flags]:
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


def _filtered(glance: Glance, wanted: PagesWanted) -> Flags:
    chosen = np.ones(len(glance.ranked), dtype=np.bool_)
    if wanted.host:
        number = glance.reader.shard.hosts.find(wanted.host)
        if number is None:
            raise BadInput(f"no host is called {wanted.host[:200]}: a host is written as in https://museum.example")
        chosen &= glance.hosts == number
    if wanted.kind:
        if wanted.kind not in KINDS:
            raise BadInput(f"the kind of a page is one of {', '.join(KINDS)}")
        kinds = kinds_of(glance.visits["kind"], glance.visits["outcome"])
        chosen &= kinds == KINDS.index(wanted.kind)
    return chosen


def _found(glance: Glance, candidates: Pages, values: Values, wanted: PagesWanted) -> tuple[Pages, int]:
    """The first pages, one more than wanted if there are more; and how many were examined."""
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


def _rows(glance: Glance, pages: Pages, values: Values, by: Order) -> list[Report]:
    shard, visits = glance.reader.shard, glance.visits
    kinds = kinds_of(visits["kind"][pages], visits["outcome"][pages]).tolist()
    hosts = host_ids(glance.hosts[pages])
    return [
        {
            "url": url,
            "host": shard.hosts[host].name,
            "importance": float(glance.importance[page]),
            **({"worth": float(values[page])} if by == "worth" else {}),
            "kind": KINDS[kind],
            "outcome": OUTCOMES[visits["outcome"][page]] if visits["visits"][page] else None,
            "status": int(visits["status"][page]) or None,
            "visits": int(visits["visits"][page]),
            "changes": int(visits["changes"][page]),
            "last_visit": moment(float(visits["time"][page])),
        }
        for page, host, kind, url in zip(pages.tolist(), hosts, kinds, shard.pages.texts.get_many(pages), strict=True)
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
