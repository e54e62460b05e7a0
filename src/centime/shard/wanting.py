"""Keeps the interest of a shard's pages (`interest/`) in step with its visits and settings, if the crawl wants some
pages (`--want`). Other crawls need no memory or time for it.

    joining      a page gets its group; if a pattern says so, it is wanted
    paying       its links are counted, and its interest follows from them
    filing       its last visit that did not fail transiently says whether it is wanted
    reordering   changes by visits move unread pages in the frontier: those that were paid, the siblings of pages that
                 were read, and the pages of a sweep over all, some after each visit
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from centime.model.ids import PageId, page_ids
from centime.model.outcome import PageKind
from centime.model.row_batch import Pages, RowBatch
from centime.settings.want import Want, want_of
from centime.shard.interest.interest import Interest, Shown, no_rows
from centime.shard.presence import finds
from centime.shard.queueing import reorder
from centime.shard.refreshing import Filed
from centime.shard.state import ShardState
from centime.store.record import Record

BATCH = 65_536
FINAL_SWEEPS = 40  # at the end of a run
FIRST_SWEEPS = 24  # over all pages, if a crawl that has read pages begins to want some: d^24 = 0.02


def apply_want(state: ShardState) -> None:
    """Begins to keep interest, or ends it, if the settings want other pages than before."""
    wanted = state.settings.want
    if wanted == (None if state.interest is None else state.interest.want.text):
        return
    state.interest = None if wanted is None else computed(state, want_of(wanted))
    state.all_paid = True
    reorder(state)


def computed(state: ShardState, want: Want) -> Interest:
    """The interest of all pages, from the known rows and visits."""
    interest = Interest(want, state.settings.damping)
    known = state.pages
    for pages in _batches(known.count):
        interest.join(pages, known.texts.get_many(pages))
    for pages in _batches(known.count):
        interest.relink(pages, no_rows(len(pages)), known.rows.gather(pages))
    for pages in _batches(known.count):
        visited = pages[known.records.visited(pages)]
        found = [_verdict_of_history(state, want, page) for page in page_ids(visited)]
        importance = known.records.heads(visited)["importance"].astype(np.float64)
        _observe(interest, visited, found, importance, importance)
    interest.settle(known.rows, FIRST_SWEEPS)
    return interest


def take_rows(state: ShardState, pages: Pages, rows: RowBatch) -> None:
    """Records the new rows of pages; their old rows are still stored."""
    if state.interest is not None and len(pages):
        state.interest.relink(pages, state.pages.rows.gather(pages), rows)


def take_filed(state: ShardState, filed: list[Filed]) -> None:
    """Records the results of visits."""
    interest = state.interest
    if interest is None or not filed:
        return
    urls = state.pages.texts.get_many(np.array([one.visit.page for one in filed], dtype=np.int64))
    found = [_verdict(interest.want, url, one.record) for url, one in zip(urls, filed, strict=True)]
    families = _observe(
        interest,
        np.array([one.visit.page for one in filed], dtype=np.int64),
        found,
        np.array([0.0 if one.before is None else one.before.importance for one in filed]),
        np.array([one.record.importance for one in filed]),
    )
    if len(families):
        state.paid.append(state.pages.rows.gather(families).links())


def sweep(state: ShardState) -> None:
    """Computes the interest of some pages again, in proportion to the visits since the last time."""
    if state.interest is not None:
        swept = state.interest.sweep(state.pages.rows, state.since_advance, state.visited_count)
        state.paid.append(swept.astype(np.int32))


def settle_interest(state: ShardState, error: float) -> None:
    """Computes interest until its certified error is at most `error`, with at most FINAL_SWEEPS sweeps."""
    if state.interest is not None:
        state.interest.settle(state.pages.rows, FINAL_SWEEPS, error)
        state.all_paid = True


def check_interest(state: ShardState) -> None:
    """Raises InterestBroken unless the stored interest follows from the rows and the records."""
    interest, known = state.interest, state.pages
    if interest is None:
        return
    wanted, importance = np.zeros(known.count, dtype=np.bool_), np.zeros(known.count)
    for pages in _batches(known.count):
        if interest.want.pattern is not None:
            wanted[pages] = [interest.want.matches(url) for url in known.texts.get_many(pages)]
        visited = pages[known.records.visited(pages)]
        importance[visited] = known.records.heads(visited)["importance"]
        for page in page_ids(visited):
            verdict = _verdict_of_history(state, interest.want, page)
            wanted[page] = wanted[page] if verdict is None else verdict
    interest.check(known.rows, wanted, importance)


def _observe(
    interest: Interest,
    pages: Pages,
    found: list[bool | None],
    before: npt.NDArray[np.float64],
    now: npt.NDArray[np.float64],
) -> Pages:
    counts = np.array([verdict is not None for verdict in found], dtype=np.bool_)
    wanted = np.array([bool(verdict) for verdict in found], dtype=np.bool_)
    return interest.observe(Shown(pages, wanted, before, now), counts)


def _verdict(want: Want, url: str, record: Record) -> bool | None:
    """Whether a visit shows that its page is wanted; None for a transient failure, which shows nothing."""
    if record.outcome.transient and record.kind is not PageKind.DEAD:
        return None
    return finds(record.outcome, record.kind) and want.is_wanted(url, record.kind, record.content_type)


def _verdict_of_history(state: ShardState, want: Want, page: PageId) -> bool | None:
    """The verdict of the last visit of a page that has one."""
    url = state.pages.texts.get(page)
    for record in state.pages.records.history(page):
        verdict = _verdict(want, url, record)
        if verdict is not None:
            return verdict
    return None


def _batches(count: int) -> Iterator[Pages]:
    for begin in range(0, count, BATCH):
        yield np.arange(begin, min(begin + BATCH, count), dtype=np.int64)
