"""What a visit does: its links become known, it pays them, it is filed, and whoever waits for a change of the page
is told.
"""

from collections.abc import Sequence

import numpy as np

from centime.frontier.timers import retry_time
from centime.model.outcome import Outcome, PageKind
from centime.shard.commands import take_claims
from centime.shard.joining import join_links
from centime.shard.message import CLAIM, Visit, unpack_visit
from centime.shard.notices import Change
from centime.shard.queueing import reorder, requeue
from centime.shard.refreshing import Filed
from centime.shard.state import ShardState
from centime.shard.visit_rows import tidy_rows
from centime.store.record import Mark, Record

VISITS_PER_ADVANCE = 64  # the ledger pays debts after so many visits: a call costs a little whatever it pays
THRESHOLD = 0.03  # it pays what is above so many times the mean importance
PAYMENTS_PER_VISIT = (
    16  # and so many payments a visit at most: what a page costs must not depend on the size of the crawl
)
NO_RETRY = frozenset(
    {Outcome.BUSY, Outcome.NO_ROBOTS, Outcome.LOST}
)  # passing, and not the page's fault: it waits in the frontier


def take_visits(state: ShardState, now: float, packed: Sequence[bytes]) -> list[Visit]:
    """Takes visits as the fetchers packed them; those that counted."""
    visits = [unpack_visit(visit) for visit in packed]
    held = state.placement.end(np.array([visit.page for visit in visits], dtype=np.int64)).tolist()
    state.late_visits += len(visits) - sum(held)
    visits = [visit for visit, counts in zip(visits, held, strict=True) if counts]
    if not visits:
        return visits
    join_links(state, visits)
    _pay(state, visits)
    _file(state, now, visits)
    state.since_advance += len(visits)
    if state.since_advance >= VISITS_PER_ADVANCE:
        state.ledger.advance(THRESHOLD, state.since_advance * PAYMENTS_PER_VISIT)
        state.since_advance = 0
    reorder(state)
    return visits


def was_present(record: Record | None) -> bool:
    """Whether a page was there when it was last visited."""
    return record is not None and PageKind.HTML <= record.kind <= PageKind.OTHER


def _pay(state: ShardState, visits: list[Visit]) -> None:
    """Reads pages in the ledger: those that were read, lead on to another, or are gone."""
    reading = [visit for visit in visits if _pays(state, visit)]
    if not reading:
        return
    targets = state.pages.table.find(np.frombuffer(b"".join(visit.links for visit in reading), dtype=np.uint64))
    rows = tidy_rows(targets, np.array([len(visit.links) // 8 for visit in reading], dtype=np.int64))
    for place, visit in enumerate(reading):
        folder = _same_as_folder(state, visit)
        if folder is not None:
            rows.targets[rows.starts[place]] = folder
            rows.lengths[place] = 1
    pages = np.array([visit.page for visit in reading], dtype=np.int64)
    state.ledger.visit_many(pages, rows)
    if not state.ledger.keeps_links:
        state.pages.rows.replace(pages, rows)


def _pays(state: ShardState, visit: Visit) -> bool:
    """Whether the visit says what the page links to now."""
    outcome = visit.outcome
    return outcome is Outcome.READ or outcome.redirect or _is_over(visit, state.pages.last(visit.page))


def _same_as_folder(state: ShardState, visit: Visit) -> int | None:
    """The folder whose content this index page has: evidence that both are one, so the index leads on to the folder."""
    if not visit.index_of or not visit.links or visit.outcome != Outcome.READ:
        return None
    folder = int(state.pages.table.find(np.array([visit.index_of], dtype=np.uint64))[0])
    record = state.pages.last(folder) if folder >= 0 else None
    return folder if record is not None and record.digest == visit.digest else None


def _is_over(visit: Visit, before: Record | None) -> bool:
    """Whether the page has ended: gone, or given up after too many failures."""
    outcome = visit.outcome
    if outcome is Outcome.GONE:
        return True
    failures = 1 + (0 if before is None else before.failures)
    return outcome.transient and outcome not in NO_RETRY and retry_time(failures, 0.0) is None


def _file(state: ShardState, now: float, visits: list[Visit]) -> None:
    """Writes the visits' records, and decides when their hosts and the pages themselves come next."""
    pages = np.array([visit.page for visit in visits], dtype=np.int64)
    origins = state.pages.origins_of(pages)
    importance = state.ledger.importance(pages).tolist()
    numbers: list[int] = origins["host"].tolist()
    state.placement.frontier.release_all(
        origins["host"], np.array(state.politeness.next_times(state.hosts, visits, numbers))
    )
    filed, again = [], []
    for visit, number, depth, x in zip(visits, numbers, origins["depth"].tolist(), importance, strict=True):
        state.politeness.file(state.hosts, state.placement.frontier, now, visit, number)
        state.outcomes[visit.outcome] += 1
        state.wire_bytes += visit.wire_bytes
        if visit.outcome is not Outcome.LOST:
            filed.append(_filed(state, now, visit, number, depth, x))
        if visit.outcome in NO_RETRY:
            again.append(visit.page)
    state.pages.records.append_many([one.record for one in filed])
    state.refreshing.record(now, filed, state.hosts, state.pages.records, state.ledger.importance)
    requeue(state, again, now)  # when the records are there: they say how far up a page belongs
    _tell(state, now, filed)
    _spend(state, now, filed)


def _spend(state: ShardState, now: float, filed: list[Filed]) -> None:
    """Counts what visits cost of the budget for reading again: all of them where worth decides what is unread, else
    the rest.
    """
    counted = filed
    if state.settings.discovery_share() is not None:
        counted = [one for one in filed if one.before is not None]
    state.refreshing.spend(now, len(counted), sum(one.visit.wire_bytes for one in counted))


def _filed(state: ShardState, now: float, visit: Visit, number: int, depth: int, importance: float) -> Filed:
    """What is kept of a visit; lets a page that failed come back."""
    before = state.pages.last(visit.page)
    over = _is_over(visit, before)
    record = state.pages.record_of(visit, before, now=now, depth=depth, over=over, importance=importance)
    state.read_count += was_present(record) - was_present(before)
    if visit.outcome.transient and visit.outcome not in NO_RETRY and not over:
        when = retry_time(record.failures, now)
        if when is not None:
            state.placement.retry(visit.page, when)
    return Filed(visit, number, before, record, over)


def _tell(state: ShardState, now: float, filed: list[Filed]) -> None:
    """Judges those who announced pages, hears what sitemaps say, and tells subscriptions what changed."""
    requests = state.requests
    for one in filed:
        change = _change(one)
        if not one.visit.outcome.transient:
            requests.publishers.judge(one.visit.page, change is not None)
        if one.visit.claims:
            take_claims(state, now, one.host, np.frombuffer(one.visit.claims, dtype=CLAIM))
        if not len(requests.subscriptions):
            continue
        url = state.pages.texts.get(one.visit.page)
        names = requests.subscriptions.match(url)
        if names:
            requests.subscriptions.noticed(
                one.visit.page, url, now, one.record.importance, change, one.visit.watched, names
            )
            if not one.over:
                state.refreshing.deadlines.add(one.visit.page, now + requests.subscriptions.deadline_seconds(url))


def _change(one: Filed) -> Change | None:
    """What happened to a page since it was last there or not."""
    now, before = was_present(one.record), one.before
    if not now:
        return Change.GONE if was_present(before) and one.over else None
    if before is None or not before.signature:
        return Change.NEW
    if before.kind == PageKind.DEAD:
        return Change.BACK
    return Change.CHANGED if Mark.CHANGED in one.record.marks else None
