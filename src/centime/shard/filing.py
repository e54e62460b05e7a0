"""Applies visits: their links become pages, the ledger pays the links, the visits are recorded, the refresh book
learns from them, and subscribers are notified of changes.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from centime.change.noise import Noise
from centime.frontier.timers import retry_time
from centime.model.ids import HostId, PageId, host_ids
from centime.model.outcome import Outcome
from centime.shard.joining import join_links, take_refused
from centime.shard.limits.suspects import evidence_of, use_evidence
from centime.shard.message import CLAIM, Visit, unpack_visit
from centime.shard.needing import join_needed
from centime.shard.pages import Comparison
from centime.shard.people.commands import take_claims
from centime.shard.people.notices import Change
from centime.shard.politeness import standing_after
from centime.shard.presence import CHANGES, visit_shows, was_present
from centime.shard.queueing import longest_wait, reorder, requeue
from centime.shard.refreshing import Filed
from centime.shard.returning import look_sooner, may_return, next_look
from centime.shard.state import ShardState
from centime.shard.visit_rows import tidy_rows
from centime.shard.wanting import sweep, take_filed, take_rows
from centime.shard.weights.weighing import decide_due_templates, take_unfollowed, weighed
from centime.store.record import Mark, Record

VISITS_PER_ADVANCE = 64  # visits after which the ledger pays debts, because each call has a fixed cost
THRESHOLD = 0.03  # debts above this many times the mean importance are paid
PAYMENTS_PER_VISIT = 16  # at most, so that the cost of a visit does not depend on the size of the crawl
VOLATILE_SECONDS = 28 * 86_400.0  # until a notice that only volatile parts of a page have differed
# transient and not the page's fault: the page waits in the frontier instead of on a timer
NO_RETRY = frozenset({Outcome.BUSY, Outcome.NO_ROBOTS, Outcome.LOST})


def take_visits(state: ShardState, now: float, packed: Sequence[bytes]) -> list[Visit]:
    """Applies visits as the fetchers packed them; returns those whose lease was still held."""
    visits = [unpack_visit(visit) for visit in packed]
    held = state.placement.end(np.array([visit.page for visit in visits], dtype=np.int64)).tolist()
    state.late_visits += len(visits) - sum(held)
    visits = [visit for visit, counts in zip(visits, held, strict=True) if counts]
    if visits:
        leased = state.placement.counted(np.array([visit.page for visit in visits], dtype=np.int64))
        apply_visits(state, now, visits, leased)
    return visits


def apply_visits(state: ShardState, now: float, visits: list[Visit], leased: npt.NDArray[np.bool_]) -> None:
    """Applies visits of pages that wait nowhere. `leased` says which of them their hosts still count as leases."""
    apply_by(state, now, visits, visits, lambda: _file(state, now, visits, leased))


def apply_by(
    state: ShardState, now: float, visits: list[Visit], linking: list[Visit], file: Callable[[], None]
) -> None:
    """Applies visits, which `file` records. Visits in `linking` show the links of their pages."""
    shown = evidence_of(state, visits)
    join_links(state, visits)
    join_needed(state, visits)
    take_refused(state, visits)
    _pay(state, now, linking)
    file()
    use_evidence(state, shown)
    decide_due_templates(state, visits)
    state.since_advance += len(visits)
    if state.since_advance >= VISITS_PER_ADVANCE:
        state.ledger.advance(THRESHOLD, state.since_advance * PAYMENTS_PER_VISIT)
        sweep(state)
        state.since_advance = 0
    reorder(state)


def _pay(state: ShardState, now: float, visits: list[Visit]) -> None:
    """Pays the links of the pages that were read, redirect to another page, or are gone."""
    reading = [visit for visit in visits if _pays(state, visit)]
    if not reading:
        return
    links = np.frombuffer(b"".join(visit.links for visit in reading), dtype=np.uint64)
    targets = state.pages.table.find(links)
    state.requisites.become_pages(targets)
    if state.transfers is not None:
        targets = state.transfers.with_proxies(links, targets)
    rows = tidy_rows(targets, np.array([len(visit.links) // 8 for visit in reading], dtype=np.int64))
    for place, visit in enumerate(reading):
        folder = _same_as_folder(state, visit)
        if folder is not None:
            rows.targets[rows.starts[place]] = folder
            rows.lengths[place] = 1
    pages = np.array([visit.page for visit in reading], dtype=np.int64)
    take_unfollowed(state, reading)
    rows = weighed(state, pages, rows)
    look_sooner(state, now, pages, rows)  # before the old rows are replaced
    take_rows(state, pages, rows)
    state.ledger.visit_many(pages, rows)
    if not state.ledger.keeps_links:
        state.pages.rows.replace(pages, rows)


def _pays(state: ShardState, visit: Visit) -> bool:
    """Whether the visit shows the present links of the page."""
    outcome = visit.outcome
    return outcome is Outcome.READ or outcome.redirect or _has_ended(visit, state.pages.last(visit.page))


def _same_as_folder(state: ShardState, visit: Visit) -> PageId | None:
    """The folder page that has the same content as this index page, or None.

    Equal content is evidence that both are one page, so the index page then links to the folder alone.
    """
    if not visit.index_of or not visit.links or visit.outcome != Outcome.READ:
        return None
    folder = state.pages.table.find_one(visit.index_of)
    record = state.pages.last(folder) if folder is not None else None
    return folder if record is not None and record.digest == visit.digest else None


def _has_ended(visit: Visit, before: Record | None) -> bool:
    """Whether the page is gone, or is given up after too many failures."""
    outcome = visit.outcome
    if outcome is Outcome.GONE:
        return True
    failures = 1 + (0 if before is None else before.failures)
    counts = outcome.denied or (outcome.transient and outcome not in NO_RETRY)
    return counts and retry_time(failures, 0.0) is None


def _file(state: ShardState, now: float, visits: list[Visit], leased: npt.NDArray[np.bool_]) -> None:
    """Records the visits, and decides when their hosts and their pages are next."""
    pages = np.array([visit.page for visit in visits], dtype=np.int64)
    origins = state.pages.origins_of(pages)
    importance = state.ledger.importance(pages).tolist()
    numbers = host_ids(origins["host"])
    next_times = state.politeness.next_times(state.hosts, visits, numbers)
    if leased.any():
        standings = np.array([standing_after(visit) for visit in visits])
        state.placement.frontier.release_all(origins["host"][leased], np.array(next_times)[leased], standings[leased])
    filed, again = [], []
    for visit, number, depth, x in zip(visits, numbers, origins["depth"].tolist(), importance, strict=True):
        state.politeness.file(state.hosts, state.placement.frontier, now, visit, number)
        state.outcomes[visit.outcome] += 1
        state.wire_bytes += visit.wire_bytes
        if visit.outcome is not Outcome.LOST:
            filed.append(filed_visit(state, now, visit, number, depth, x))
        if visit.outcome in NO_RETRY:
            again.append(visit.page)
    state.pages.records.append_many([one.record for one in filed])
    state.count_first(sum(one.before is None for one in filed))
    take_filed(state, filed)
    state.refreshing.record(now, filed, state.hosts, state.pages.records, state.value)
    requeue(state, again, now)  # after the records are written: the level of a page depends on them
    _notify(state, now, filed)
    _spend(state, now, filed)


def _spend(state: ShardState, now: float, filed: list[Filed]) -> None:
    """Charges visits to the refresh budget: all of them, or only repeated visits if discovery has its own share or the
    crawl is being filled beyond the budget.
    """
    counted = filed
    if state.settings.discovery_share() is not None or state.is_filling:
        counted = [one for one in filed if one.before is not None]
    reads = len(counted) + sum(one.visit.seen is not None and one.visit.seen.twin for one in counted)
    state.refreshing.spend(now, reads, sum(one.visit.wire_bytes for one in counted))


def filed_visit(state: ShardState, now: float, visit: Visit, number: HostId, depth: int, importance: float) -> Filed:
    """A visit with its record; puts a page on a timer that failed transiently, or that may return."""
    before = state.pages.last(visit.page)
    ended = _has_ended(visit, before)
    record = state.pages.record_of(
        visit,
        before,
        now=now,
        depth=depth,
        ended=ended,
        importance=importance,
        compared=_compared(state, now, visit, number, before),
    )
    state.read_count += was_present(record) - was_present(before)
    if visit.outcome.transient and visit.outcome not in NO_RETRY and not ended:
        when = retry_time(record.failures, now)
        if when is not None:
            state.placement.retry(visit.page, when)
    elif state.settings.refreshes() and (ended or may_return(record)):
        state.placement.retry(visit.page, next_look(state, record, importance))
    return Filed(visit, number, before, record, ended, _change(state, before, record))


def _compared(state: ShardState, now: float, visit: Visit, number: HostId, before: Record | None) -> Comparison | None:
    """The result of comparing the content of a page with the last read; None if it was not compared."""
    if visit.seen is None or visit.outcome is not Outcome.READ:
        return None
    host = state.hosts[number]
    if host.noise is None:
        host.noise = Noise()
    seconds = now - before.time if before is not None else 0.0
    last = state.pages.compared_by(before)
    verdict, following = host.noise.observe(visit.page, last, visit.seen, seconds)
    learned = bool(last) and not visit.seen.selected and host.noise.learned_since(last)
    return Comparison(verdict, following, learned)


def _notify(state: ShardState, now: float, filed: list[Filed]) -> None:
    """Judges the publishers of pages, uses the claims of sitemaps and feeds, and notifies subscribers of changes."""
    requests = state.requests
    waits = len(requests.subscriptions) > 0 or state.settings.greatest_times().shortest < float("inf")
    for one in filed:
        if not one.visit.outcome.transient:
            requests.publishers.judge(one.visit.page, one.change not in (None, Change.VOLATILE))
        if one.visit.claims:
            take_claims(state, now, one.host, np.frombuffer(one.visit.claims, dtype=CLAIM))
        if not waits:
            continue
        url = state.pages.texts.get(one.visit.page)
        longest = longest_wait(state, url)
        if longest < float("inf") and not one.ended:
            state.refreshing.deadlines.add(one.visit.page, now + longest)
        names = requests.subscriptions.match(url)
        if names:
            before = 0.0 if one.before is None else one.before.time
            requests.subscriptions.noticed(
                one.visit.page,
                url,
                now,
                one.record.importance,
                one.change,
                one.visit.watched,
                names,
                before,
                one.visit.status,
                one.visit.target if one.change is Change.MOVED else "",
                minor=bool(one.record.marks & (Mark.MARKUP | Mark.VOLATILE)),
            )


def _change(state: ShardState, before: Record | None, record: Record) -> Change | None:
    """The change of a page since its last visits, or None. The record is not appended yet."""
    _, change = visit_shows(state.pages.presence(before), record.outcome, record.kind, record.marks)
    if change:
        return CHANGES[change]
    if Mark.BECAME_VOLATILE in record.marks or (before is not None and _only_volatile_for_long(record, before)):
        return Change.VOLATILE
    return None


def _only_volatile_for_long(record: Record, before: Record) -> bool:
    """Whether a page has differed in volatile parts alone for another VOLATILE_SECONDS."""
    periods = (int((at - record.changed_time) // VOLATILE_SECONDS) for at in (before.time, record.time))
    earlier, now = periods
    return Mark.VOLATILE in record.marks and now > earlier
