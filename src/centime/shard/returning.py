"""Revisits pages that are gone (404, 410, or given up), in a crawl that refreshes; and pages that were read and are now
denied (401, 403, 451, a forbidden address) or disallowed by robots.txt.

by a schedule      after the least interval, then after twice as long each time (`frontier/timers.py`)
by a new link      at once when a page links to it that did not at its last read, but no sooner than the least
                   interval after the last look: of a list of random links, each read is a new link
by a first read    the links of a page that is read for the first time may be old, and a menu with a dead link is on
                   every page of its site; so they count an EIGHTH of the wait, which still doubles each time
by robots.txt      once a day: no sooner is robots.txt fetched again
"""

import numpy as np

from centime.frontier.timers import MOST_FAILURES, return_time
from centime.model.ids import PageId, page_ids
from centime.model.outcome import Outcome, PageKind, Presence
from centime.model.row_batch import Pages, RowBatch
from centime.shard.state import ShardState
from centime.store.record import Record

EIGHTH = 0.125
DAY_SECONDS = 86_400.0
BATCH = 65_536  # pages


def may_return(record: Record) -> bool:
    """Whether a page that was read before cannot be read now, and is not given up yet: it is denied or disallowed."""
    outcome = record.outcome
    return record.presence is not Presence.NEVER and (outcome.denied or outcome is Outcome.DISALLOWED)


def next_look(state: ShardState, record: Record, importance: float) -> float:
    """The time of the next look for a page that is gone, was given up, or may return."""
    outcome = record.outcome
    if outcome is Outcome.DISALLOWED:
        return record.time + max(DAY_SECONDS, _least(state, record.page))
    given_up = outcome is not Outcome.GONE and record.failures >= MOST_FAILURES
    deaths = record.failures - MOST_FAILURES + 1 if given_up else record.failures
    return return_time(max(1, deaths), record.time, _least(state, record.page), importance)


def begin_looking(state: ShardState) -> None:
    """Puts pages on timers that disappeared while the crawl did not refresh."""
    for start in range(0, state.pages.count, BATCH):
        pages = np.arange(start, min(start + BATCH, state.pages.count), dtype=np.int64)
        kinds = state.pages.records.heads(pages)["kind"]
        lost = pages[(kinds == PageKind.DEAD) | (kinds == PageKind.ERROR)]
        lost = lost[state.placement.idle(lost)]
        for page, importance in zip(page_ids(lost), state.ledger.importance(lost).tolist(), strict=True):
            record = state.pages.last(page)
            if record is not None and (record.kind is PageKind.DEAD or may_return(record)):
                state.placement.retry(page, next_look(state, record, importance))


def look_sooner(state: ShardState, now: float, sources: Pages, rows: RowBatch) -> None:
    """Advances the looks for pages that are gone and have new links. `rows` are the present links of the sources; their
    old links are still stored.
    """
    retries = state.placement.retries
    if not len(retries) or not state.settings.refreshes():
        return
    for place in range(len(sources)):
        start = rows.starts[place]
        waiting = [page for page in page_ids(rows.targets[start : start + rows.lengths[place]]) if page in retries]
        if not waiting:
            continue
        source = PageId(int(sources[place]))
        before = set(page_ids(state.pages.rows.gather(sources[place : place + 1]).links()))
        share = 0.0 if state.pages.last(source) is not None else EIGHTH
        for page in waiting:
            if page not in before and page != source:
                _advance(state, now, page, share)


def _advance(state: ShardState, now: float, page: PageId, share: float) -> None:
    """Advances the look for a page to this share of its wait, but not to a time before the least interval."""
    last = state.pages.last(page)
    if last is None or last.kind != PageKind.DEAD:
        return
    wait = max(_least(state, page), share * (state.placement.retries.time(page) - last.time))
    state.placement.hasten(page, max(now, last.time + wait))


def _least(state: ShardState, page: PageId) -> float:
    """The least time between two looks for a page."""
    least = state.settings.least_times()
    return least.of(state.pages.texts.get(page)) if least.patterns else least.usual
