"""The estimated freshness of a page's copy, the page's change rate, and when another read is worth its cost."""

from typing import Any

import numpy as np

from centime.crawl.engine.state import CrawlState
from centime.crawl.report.opening import moment
from centime.model.ids import HostId, PageId
from centime.refresh.dates import reliability

DAY = 86_400.0


def refresh_facts(opened: CrawlState, page: PageId, host: HostId, now: float) -> dict[str, Any]:
    """The facts of a page in the refresh book; empty if the page is not in it."""
    shard = opened.shard
    book, beats = shard.refreshing.book, shard.refreshing.beats
    pages = np.array([page], dtype=np.int64)
    if not book.contains(pages)[0]:
        return {}
    mean, low, high = (float(rate[0]) * DAY for rate in book.rates(pages))
    shape, scale = (float(value[0]) for value in book.beliefs(pages))
    importance = shard.ledger.importance(pages)
    age = max(0.0, now - float(book.read_times(pages)[0]))
    facts: dict[str, Any] = {
        "changes_per_day": mean,
        "changes_per_day_90_percent": [low, high],
        "age_seconds": age,
        "probably_fresh": float(np.exp(-shape * np.log1p(age / scale))),
        "host_dates_right": reliability(shard.hosts[host].dates),
    }
    if shard.settings.continuous:
        facts["worth"] = float(book.worth(pages, now, importance)[0])
        facts["worth_needed"] = book.threshold
        over = float(book.read_times(pages)[0]) + shard.settings.least_times().of(shard.pages.texts.get(page))
        facts["due"] = due_moment(max(over, float(book.due_times(pages, importance)[0])))
    if page in beats:
        rhythm = beats[page].rhythm
        facts["rhythm_seconds"] = rhythm.period
        facts["rhythm_next"] = moment(shard.refreshing.next_beat(page, now))
    return facts


def due_moment(time: float) -> str:
    """A due time as text: `never` if no read will be worth its cost."""
    return (moment(time) or "now") if time < 1e11 else "never"
