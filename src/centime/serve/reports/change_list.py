"""The changes since a time, by importance or newest first, with sentences; and pages with minor differences only."""

import heapq
from itertools import islice
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from centime.cluster.report.parts import AllChanges
from centime.crawl.report.changes import Changes, newest_first, time_of
from centime.crawl.report.opening import moment
from centime.crawl.report.versions import with_sentences
from centime.model.errors import BadInput
from centime.serve.glance import Glance, PartGlance
from centime.serve.resource import Parameters, Report, Resource, packed_cursor, unpacked_cursor
from centime.store.record import Mark

MOST_SORTED = 10_000  # newest changes that are sorted by importance
MOST_MINOR = 100
MINOR = int(Mark.VOLATILE | Mark.MARKUP)


class ChangesWanted(Parameters, frozen=True, kw_only=True):
    """Which changes: `since` and `until` are times or ages, such as 2026-01-31 or 2h."""

    since: str = ""
    until: str = ""
    match: str = ""
    order: Literal["time", "importance"] = "time"
    diff: bool = False
    most: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 50
    cursor: str = ""


def change_list(glance: Glance, wanted: ChangesWanted) -> Report:
    """The changes in an order, from the cursor on."""
    since = time_of(wanted.since, glance.now) if wanted.since else 0.0
    until = time_of(wanted.until, glance.now) if wanted.until else float("inf")
    found = [_between(one, since, until) for one in glance.each]
    rows, following = (_by_importance if wanted.order == "importance" else _by_time)(glance, found, wanted)
    if wanted.diff:
        rows = [next(iter(with_sentences(glance.owner(row["url"]).reader.folder.path, [row]))) for row in rows]
    minor = _minor(glance, since, until) if not wanted.cursor else []
    return {
        "since": moment(since),
        "seen": sum(map(len, found)),
        "minor": minor,
        "rows": rows,
        "next": following,
    }


def _between(glance: PartGlance, since: float, until: float) -> Changes:
    """The changes of a time span; records are in the order of time, unless a clock was set."""
    changes = glance.changes
    if since <= 0.0 and until == float("inf"):
        return changes
    records = glance.reader.shard.pages.records
    begin, end = 0, len(changes)
    while begin < end:  # the first change that is not before `since`
        middle = (begin + end) // 2
        if float(records.head(int(changes.at[middle]))["time"]) < since:
            begin = middle + 1
        else:
            end = middle
    first, end = begin, len(changes)
    while begin < end:
        middle = (begin + end) // 2
        if float(records.head(int(changes.at[middle]))["time"]) <= until:
            begin = middle + 1
        else:
            end = middle
    return Changes(changes.at[first:begin], changes.before[first:begin], changes.kind[first:begin])


def _by_time(glance: Glance, found: list[Changes], wanted: ChangesWanted) -> tuple[list[Report], str | None]:
    """The newest changes. A cursor has the place of the last one that was listed in each part."""
    places = unpacked_cursor(wanted.cursor, list[int]) if wanted.cursor else []
    if wanted.cursor and len(places) != len(found):
        raise BadInput("the cursor does not belong to this list")
    for part, last in enumerate(places):
        end = int(np.searchsorted(found[part].at, last))
        found[part] = Changes(found[part].at[:end], found[part].before[:end], found[part].kind[:end])
    listed = [
        [(part, row) for row in newest_first(one.reader, found[part], wanted.match, wanted.most + 1)]
        for part, one in enumerate(glance.each)
    ]
    first = list(islice(heapq.merge(*listed, key=lambda one: one[1]["seen_seconds"], reverse=True), wanted.most + 1))
    rows = [row for _, row in first[: wanted.most]]
    if len(first) <= wanted.most:
        return rows, None
    shown = dict(first[: wanted.most])  # the last row of each part
    following = [
        _place(one, found[part], shown[part]) if part in shown else _behind(found[part])
        for part, one in enumerate(glance.each)
    ]
    return rows, packed_cursor(*following)


def _behind(found: Changes) -> int:
    """A place behind all changes."""
    return int(found.at[-1]) + 1 if len(found) else 0


def _place(glance: PartGlance, found: Changes, row: dict[str, Any]) -> int:
    """The place of the record of a row that was just listed."""
    records, texts = glance.reader.shard.pages.records, glance.reader.shard.pages.texts
    for at in found.at[::-1].tolist():
        head = records.head(at)
        if float(head["time"]) == row["seen_seconds"] and texts.get(head["page"]) == row["url"]:
            return int(at)
    return 0


def _by_importance(glance: Glance, found: list[Changes], wanted: ChangesWanted) -> tuple[list[Report], str | None]:
    begin = unpacked_cursor(wanted.cursor, tuple[int])[0] if wanted.cursor else 0
    newest = AllChanges(glance.parts, found).newest_first(wanted.match, MOST_SORTED)
    rows = sorted(newest, key=lambda row: (-row["importance"], row["url"]))
    end = begin + wanted.most
    return rows[begin:end], packed_cursor(end) if len(rows) > end else None


def _minor(glance: Glance, since: float, until: float) -> list[Report]:
    """Pages whose last read differed only in volatile parts or markup, the most important first."""
    rows = [row for one in glance.each for row in _minor_in(one, since, until)]
    return sorted(rows, key=lambda row: -row["importance"])[:MOST_MINOR]


def _minor_in(glance: PartGlance, since: float, until: float) -> list[Report]:
    visits = glance.visits
    some = np.flatnonzero((visits["marks"] & MINOR > 0) & (visits["time"] >= since) & (visits["time"] <= until))
    first = some[np.argsort(-glance.importance[some], kind="stable")][:MOST_MINOR]
    urls = glance.reader.shard.pages.texts.get_many(first)
    return [
        {"url": url, "seen": moment(float(visits["time"][page])), "importance": float(glance.importance[page])}
        for page, url in zip(first.tolist(), urls, strict=True)
    ]


CHANGES = Resource(
    name="changes",
    title="Changes",
    summary="Pages that are new, changed, gone or back.",
    parameters=ChangesWanted,
    report=change_list,
    columns=(
        "seen",
        "last_seen_before",
        "change",
        "importance",
        "status",
        "signature",
        "old_signature",
        "bytes",
        "old_bytes",
        "url",
        "seen_seconds",
        "last_seen_before_seconds",
        "sentences",
    ),
    optional=("sentences",),
)
