"""The estimated freshness of a page's copy, the page's change rate, and when another read is worth its cost."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from centime.crawl.engine.state import CrawlState
from centime.crawl.report.opening import moment
from centime.model.ids import HostId, PageId, page_ids
from centime.refresh.learning.dates import reliability
from centime.refresh.learning.regularity import Dispersion, Pattern, dispersion, pattern_of, pooled
from centime.shard.refreshing import HISTORY, reads_of

DAY = 86_400.0
HOST_SAMPLE = 200  # pages whose reads show how the pages of a host change
CRAWL_SAMPLE = 400  # the same, of all hosts
IRREGULAR = {Pattern.CHANCE: False, Pattern.UNKNOWN: None}  # True for all others


def refresh_facts(opened: CrawlState, page: PageId, host: HostId, now: float) -> dict[str, Any]:
    """The facts of a page in the refresh book; empty if the page is not in it."""
    shard = opened.shard
    book, beats = shard.refreshing.book, shard.refreshing.beats
    pages = np.array([page], dtype=np.int64)
    if not book.contains(pages)[0]:
        return {}
    low, high = (float(rate[0]) * DAY for rate in book.bounds(pages))
    value = shard.value(pages)
    shape, scale = (float(value[0]) for value in book.beliefs(pages, value))
    age = max(0.0, now - float(book.read_times(pages)[0]))
    pattern = Pattern.RHYTHM if page in beats else change_pattern(opened, page, host)
    facts: dict[str, Any] = {
        "changes_per_day": min(max(float(book.rates(pages)[0][0]) * DAY, low), high),
        "changes_per_day_90_percent": [low, high if math.isfinite(high) else None],
        "irregular": IRREGULAR.get(pattern, True),
        "change_pattern": str(pattern),
        "age_seconds": age,
        "probably_fresh": float(np.exp(-shape * np.log1p(age / scale))),
        "host_dates_right": reliability(shard.hosts[host].dates),
    }
    if shard.settings.continuous:
        facts["worth"] = float(book.worth(pages, now, value)[0])
        facts["worth_needed"] = book.threshold
        over = float(book.read_times(pages)[0]) + shard.settings.least_times().of(shard.pages.texts.get(page))
        facts["due"] = due_moment(max(over, float(book.due_times(pages, value)[0])))
    if page in beats:
        rhythm = beats[page].rhythm
        facts["rhythm_seconds"] = rhythm.period
        facts["rhythm_next"] = moment(shard.refreshing.next_beat(page, now))
    return facts


def is_early(opened: CrawlState, page: PageId) -> bool:
    """Whether a page in the refresh book is read next before that is worth its cost: for a test or a probe."""
    book, pages = opened.shard.refreshing.book, np.array([page], dtype=np.int64)
    value = opened.shard.value(pages)
    return bool(book.due_times(pages, value)[0] < book.due_times(pages, value, probed=False)[0])


def change_pattern(opened: CrawlState, page: PageId, host: HostId) -> Pattern:
    """How the changes of a page are spread over time, by its reads and by those of some other pages."""
    records = opened.shard.pages.records
    every = np.arange(opened.shard.pages.count, dtype=np.int64)
    hosts = opened.shard.hosts_of_pages(every)

    def of_some(pages: npt.NDArray[np.int64], most: int) -> Dispersion:
        pages = pages[records.visited(pages)]
        some = page_ids(pages[:: 1 + len(pages) // most])
        return pooled(dispersion(*reads_of(records, other, HISTORY)) for other in some)

    own = dispersion(*reads_of(records, page, HISTORY))
    return pattern_of(own, of_some(every[hosts == host], HOST_SAMPLE), lambda: of_some(every, CRAWL_SAMPLE))


def due_moment(time: float) -> str:
    """A due time as text: `never` if no read will be worth its cost."""
    return (moment(time) or "now") if time < 1e11 else "never"
