"""The estimated freshness of a page's copy, the page's change rate, and the time at which a read is worth its cost."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from centime.crawl.engine.state import CrawlState
from centime.crawl.report.opening import moment
from centime.model.ids import HostId, PageId
from centime.refresh.learning.dates import reliability
from centime.refresh.learning.regularity import (
    Dispersion,
    Flags,
    Pattern,
    Vector,
    allowed,
    dispersion,
    pattern_of,
    pooled,
    shows_dispersion,
)
from centime.shard.refreshing import HISTORY, reads_of, reads_of_many
from centime.store.records import Records

DAY = 86_400.0
LOOKED_AT = 20_000  # pages of a host, or of all hosts, that are searched for
HOST_SAMPLE, CRAWL_SAMPLE = 200, 1_000  # pages whose reads show how pages change
POOLED_READS = 60  # of each of them
IRREGULAR = {Pattern.CHANCE: False, Pattern.UNKNOWN: None}  # True for all others


def refresh_facts(opened: CrawlState, page: PageId, host: HostId, now: float) -> dict[str, Any]:
    """The facts of a page in the refresh book; empty if the page is not in it."""
    shard = opened.shard
    book, beats = shard.refreshing.book, shard.refreshing.beats
    pages = np.array([page], dtype=np.int64)
    if not book.contains(pages)[0]:
        return {}
    low, high = (float(rate[0]) for rate in book.bounds(pages))
    value = shard.value(pages)
    shape, scale = (float(value[0]) for value in book.beliefs(pages, value))
    age = max(0.0, now - float(book.read_times(pages)[0]))
    rate = float(book.rates(pages)[0][0])
    if page in beats:
        pattern = Pattern.RHYTHM
        rate = low = high = 1.0 / beats[page].rhythm.period
    else:
        reads = reads_of(shard.pages.records, page, HISTORY)
        pattern = change_pattern(opened, host, reads)
        if pattern is Pattern.UNKNOWN:
            low, high = allowed(low, high, *reads)
    facts: dict[str, Any] = {
        "changes_per_day": min(max(rate, low), high) * DAY,
        "changes_per_day_90_percent": [low * DAY, high * DAY if math.isfinite(high) else None],
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
    """Whether the next read of a page comes before it is worth its cost: for a test or a probe."""
    book, pages = opened.shard.refreshing.book, np.array([page], dtype=np.int64)
    value = opened.shard.value(pages)
    return bool(book.due_times(pages, value)[0] < book.due_times(pages, value, probed=False)[0])


def change_pattern(opened: CrawlState, host: HostId, reads: tuple[Vector, Flags]) -> Pattern:
    """How the changes of a page of a host are spread over time, by its reads and by those of some other pages."""
    every = np.arange(opened.shard.pages.count, dtype=np.int64)
    hosts = opened.shard.hosts_of_pages(every)
    of_host = _dispersion_of(opened.shard.pages.records, every[hosts == host], HOST_SAMPLE)
    rhythmic = opened.shard.refreshing.commonness.are_common
    return pattern_of(dispersion(*reads), of_host, lambda: dispersion_of_crawl(opened), rhythmic=rhythmic)


def dispersion_of_crawl(opened: CrawlState) -> Dispersion:
    """The dispersion of some pages of all hosts."""
    every = np.arange(opened.shard.pages.count, dtype=np.int64)
    return _dispersion_of(opened.shard.pages.records, every, CRAWL_SAMPLE)


def _dispersion_of(records: Records, pages: npt.NDArray[np.int64], most: int) -> Dispersion:
    """The dispersion of some of these pages; only pages that were read often enough count."""
    pages = pages[:: 1 + len(pages) // LOOKED_AT]
    heads = records.heads(pages)
    pages = pages[shows_dispersion(heads["visits"].astype(np.int64), heads["changes"].astype(np.int64))]
    return pooled(
        dispersion(*reads) for reads in reads_of_many(records, pages[:: 1 + len(pages) // most], POOLED_READS)
    )


def due_moment(time: float) -> str:
    """A due time as text: `never` if no read will be worth its cost."""
    return (moment(time) or "now") if time < 1e11 else "never"
