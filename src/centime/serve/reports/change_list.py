"""What changed since a time, by importance or newest first, with sentences; and what differed only in minor ways."""

from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from centime.crawl.report.changes import Changes, newest_first, time_of
from centime.crawl.report.opening import moment
from centime.crawl.report.versions import with_sentences
from centime.serve.glance import Glance
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
    found = _between(glance, since, until)
    rows, following = (_by_importance if wanted.order == "importance" else _by_time)(glance, found, wanted)
    if wanted.diff:
        rows = list(with_sentences(glance.reader.folder.path, rows))
    minor = _minor(glance, since, until) if not wanted.cursor else []
    return {
        "since": moment(since),
        "seen": len(found),
        "minor": minor,
        "rows": rows,
        "next": following,
    }


def _between(glance: Glance, since: float, until: float) -> Changes:
    """The changes of a time; records are in the order of time, but for clocks that were set."""
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


def _by_time(glance: Glance, found: Changes, wanted: ChangesWanted) -> tuple[list[Report], str | None]:
    if wanted.cursor:
        (last,) = unpacked_cursor(wanted.cursor, tuple[int])
        end = int(np.searchsorted(found.at, last))
        found = Changes(found.at[:end], found.before[:end], found.kind[:end])
    rows = list(newest_first(glance.reader, found, wanted.match, wanted.most + 1))
    if len(rows) <= wanted.most:
        return rows, None
    rows = rows[: wanted.most]
    return rows, packed_cursor(_place(glance, found, rows[-1]))


def _place(glance: Glance, found: Changes, row: dict[str, Any]) -> int:
    """The place of the record of a row that was just listed."""
    records, texts = glance.reader.shard.pages.records, glance.reader.shard.pages.texts
    for at in found.at[::-1].tolist():
        head = records.head(at)
        if float(head["time"]) == row["seen_seconds"] and texts.get(head["page"]) == row["url"]:
            return int(at)
    return 0


def _by_importance(glance: Glance, found: Changes, wanted: ChangesWanted) -> tuple[list[Report], str | None]:
    begin = unpacked_cursor(wanted.cursor, tuple[int])[0] if wanted.cursor else 0
    rows = sorted(
        newest_first(glance.reader, found, wanted.match, MOST_SORTED), key=lambda row: (-row["importance"], row["url"])
    )
    end = begin + wanted.most
    return rows[begin:end], packed_cursor(end) if len(rows) > end else None


def _minor(glance: Glance, since: float, until: float) -> list[Report]:
    """Pages whose last read differed only in volatile parts or markup, the most important first."""
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
