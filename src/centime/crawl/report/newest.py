"""The newest visits of a crawl, from a place of its records on, and which of them are changes."""

from typing import Any

import numpy as np

from centime.crawl.report.opening import moment
from centime.crawl.report.visits import OUTCOMES
from centime.model.outcome import Outcome
from centime.shard.people.notices import Change
from centime.shard.presence import CHANGES, visit_shows
from centime.shard.state import ShardState
from centime.store.record import NO_PAGE, Mark, Record

Rows = list[dict[str, Any]]


def visits_since(shard: ShardState, place: int, most: int) -> tuple[Rows, Rows, int]:
    """Up to `most` visits from a place on, the changes among them, and the place behind them."""
    records = shard.pages.records
    places: list[int] = []
    while place < records.end and len(places) < most:
        places.append(place)
        place = records.behind(place)
    heads = [records.head(at) for at in places]
    pages = np.array([head["page"] for head in heads], dtype=np.int64)
    urls = shard.pages.texts.get_many(pages) if len(pages) else []
    visits, changes = [], []
    for at, head, url in zip(places, heads, urls, strict=True):
        row: dict[str, Any] = {
            "url": url,
            "time": moment(float(head["time"])),
            "outcome": OUTCOMES[Outcome(int(head["outcome"]))],
            "status": int(head["status"]) or None,
        }
        if Outcome(int(head["outcome"])).redirect:
            row["leads_to"] = _target(shard, records.read(at))
        visits.append(row)
        before = int(records.head(int(head["previous"]))["presence"]) if head["previous"] else 0
        _, change = visit_shows(before, int(head["outcome"]), int(head["kind"]), int(head["marks"]))
        kind = CHANGES.get(change, Change.VOLATILE if head["marks"] & Mark.BECAME_VOLATILE else None)
        if kind is not None:
            changes.append(row | {"change": kind.value, "seen_seconds": float(head["time"])})
    return visits, changes, place


def _target(shard: ShardState, record: Record) -> str:
    """Where a redirect leads, as far as it is known; a sentence that says it if its target is not followed."""
    if record.redirect != NO_PAGE:
        return shard.pages.texts.get(record.redirect)
    return record.detail.removeprefix("redirects to ")
