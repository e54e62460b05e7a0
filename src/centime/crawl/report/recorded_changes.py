"""The history of changes of a recorded crawl: the changes that its visits saw, completed by random changes where no
visit could see them.

Between two visits that found a page, the signature of its content either changed or did not. When and how often it
changed is unknown, and is drawn:

    not changed             no change in the interval
    changed, dated          the last change is at its Last-Modified, if that lies in the interval and the host's dates
                            are reliable; before it, changes are a Poisson process of the page's rate
    changed                 a Poisson process of the page's rate, conditioned on at least one change
    after the last visit    a Poisson process of the page's rate, up to the last visit of the crawl

The rate is the posterior mean in the crawl's refresh book. All random numbers follow from the seed. So a replay
compares policies on a web that changes as the visits of this crawl saw, without changes that no visit could see.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from centime.crawl.engine.state import CrawlState
from centime.model.errors import BadInput
from centime.model.kernel import Whole, kernel
from centime.model.outcome import Outcome
from centime.refresh.learning.dates import MOMENT, reliable
from centime.shard.refreshing import LEAST_COST
from centime.simulate.change_history import ChangeHistory, Flags, Numbers, Times
from centime.store.record import Mark
from centime.store.records import HEAD_TYPE, UNIT

MOST_CHANGES = 1000.0  # between two visits, on average
_TEXTS = 10  # lengths of texts after the head of a record
_HEAD = HEAD_TYPE.itemsize


@dataclass(frozen=True, slots=True)
class Visits:
    """All visits that found their page, sorted by page and time."""

    pages: Numbers
    times: Times
    dates: Times
    changed: Flags
    bytes: Times


def found_visits(opened: CrawlState) -> Visits:
    """The visits of a crawl that found their page, from one pass over the records."""
    file = opened.shard.pages.records.file
    parts = []
    for octets, begin in ((file.base, opened.shard.pages.records.first * UNIT), (file.tail, 0)):
        places = np.empty(max(0, len(octets) - begin) // _HEAD + 1, dtype=np.int64)
        places = places[: _write_places(octets, begin, places)]
        copied = np.empty((len(places), _HEAD), dtype=np.uint8)
        _copy_heads(octets, places, copied)
        parts.append(copied.view(HEAD_TYPE)[:, 0])
    heads: npt.NDArray[Any] = np.concatenate(parts)
    heads = heads[heads["outcome"] <= Outcome.UNCHANGED]
    heads = heads[np.lexsort((heads["time"], heads["page"]))]
    return Visits(
        heads["page"].astype(np.int64),
        heads["time"].astype(np.float64),
        heads["modified_time"].astype(np.float64),
        heads["marks"] & Mark.CHANGED != 0,
        np.maximum(heads["wire_bytes"].astype(np.float64), LEAST_COST),
    )


def recorded_history(opened: CrawlState, *, by_bytes: bool = False, seed: int = 0) -> ChangeHistory:
    """The history of all pages that a crawl has read; a read costs 1, or its bytes with `by_bytes`."""
    visits = found_visits(opened)
    where = opened.folder.path
    if not len(visits.pages):
        raise BadInput(f"{where}: the crawl has read no page yet, so there is no history to replay")
    again = np.flatnonzero(np.diff(visits.pages) == 0)  # the first visit of each interval
    if not len(again):
        raise BadInput(f"{where}: the crawl has read no page twice, so there are no changes to replay")
    shard = opened.shard
    pages, first = np.unique(visits.pages, return_index=True)
    last = np.append(first[1:], len(visits.pages)) - 1
    hosts = shard.pages.origins_of(pages)["host"].astype(np.int64)
    dated = np.array([reliable(host.dates) for host in shard.hosts.all])[hosts]
    rates = shard.refreshing.book.rates(pages)[0]
    place = np.searchsorted(pages, visits.pages[again])
    end = float(visits.times.max())
    rows, times = _drawn_changes(visits, again, place, rates, dated, np.random.default_rng(seed))
    chance = np.random.default_rng([seed, 1])
    since = visits.times[last]
    counts = chance.poisson(np.minimum(rates * (end - since), MOST_CHANGES))
    rows = np.concatenate([rows, np.repeat(np.arange(len(pages)), counts)])
    times = np.concatenate(
        [times, np.repeat(since, counts) + chance.random(counts.sum()) * np.repeat(end - since, counts)]
    )
    order = np.lexsort((times, rows))
    offsets = np.zeros(len(pages) + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=len(pages)), out=offsets[1:])
    importance = shard.ledger.importance(pages)
    stood = visits.times[first] - visits.dates[first]
    return ChangeHistory(
        offsets=offsets,
        times=times[order],
        hosts=hosts,
        importance=importance / importance.mean(),
        costs=visits.bytes[last] if by_bytes else np.ones(len(pages)),
        rates=rates,
        dated=dated,
        stood=np.where(dated & (visits.dates[first] > 0) & (stood > MOMENT), stood, np.nan),
        born=visits.times[first],
        end=end,
    )


def _drawn_changes(
    visits: Visits, again: Numbers, place: Numbers, rates: Times, dated: Flags, chance: np.random.Generator
) -> tuple[Numbers, Times]:
    """The changes within the intervals that have a change: the place of the page, and the time."""
    seen = visits.changed[again + 1]
    begin, end, row = visits.times[again][seen], visits.times[again + 1][seen], place[seen]
    rate, length = np.maximum(rates[row], 1e-300), end - begin
    date = visits.dates[again + 1][seen]
    has_date = dated[row] & (begin < date) & (date <= end)
    # one change is certain: the last one at its date, or the first one by the exponential law truncated at the end
    certain = begin - np.log1p(chance.random(len(row)) * np.expm1(-rate * length)) / rate
    certain = np.where(has_date, date, np.clip(certain, begin, end))
    low, high = np.where(has_date, begin, certain), np.where(has_date, certain, end)
    counts = chance.poisson(np.minimum(rate * (high - low), MOST_CHANGES))
    more = np.repeat(low, counts) + chance.random(counts.sum()) * np.repeat(high - low, counts)
    return np.concatenate([row, np.repeat(row, counts)]), np.concatenate([certain, more])


@kernel
def _write_places(octets: npt.NDArray[np.uint8], begin: Whole, places: Numbers) -> Whole:
    """Writes the places of the records from `begin` on; returns how many there are."""
    count = 0
    at = np.int64(begin)
    while at + _HEAD + 2 * _TEXTS <= len(octets):
        places[count] = at
        count += 1
        size = np.int64(_HEAD + 2 * _TEXTS)
        for text in range(_TEXTS):
            length = at + _HEAD + 2 * text
            size += np.int64(octets[length]) + 256 * np.int64(octets[length + 1])
        at += (size + UNIT - 1) // UNIT * UNIT
    return count


@kernel
def _copy_heads(octets: npt.NDArray[np.uint8], places: Numbers, heads: npt.NDArray[np.uint8]) -> None:
    for n in range(len(places)):
        for byte in range(heads.shape[1]):
            heads[n, byte] = octets[places[n] + byte]
