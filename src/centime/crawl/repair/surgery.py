"""Removes from a shard what was lost, so that every law of the state holds again.

The page itself stays known. Without its last record it counts as never visited and waits in the frontier; without its
row it has no links, and the ledger is rebuilt from all remaining rows; without its URL it is dead.
"""

from collections.abc import Sequence

import numpy as np

from centime.crawl.engine.assembly import new_ledger
from centime.crawl.report.visits import are_present, last_visits
from centime.ledger.exact import ExactLedger
from centime.model.errors import DamagedFile
from centime.model.ids import PageId, page_ids
from centime.model.outcome import Outcome, PageKind
from centime.model.row_batch import Pages
from centime.shard import queueing
from centime.shard.joining import join_ledger
from centime.shard.placement import EVERY_LEVEL
from centime.shard.presence import was_present
from centime.shard.state import ShardState
from centime.shard.wanting import computed
from centime.shard.weights.weighing import weigh_all
from centime.store.record import Record

BATCH = 65_536
MOST_PAYMENTS = 1 << 40


def rebuild_ledger(shard: ShardState, lost: Sequence[PageId], error: float) -> None:
    """Rebuilds the ledger from the remaining rows, and pays debts down to an error."""
    if shard.transfers is not None:
        raise DamagedFile("only the replica of a partition still has money that is lost here: restore it from there")
    if isinstance(shard.ledger, ExactLedger):
        was_read = shard.ledger.read().copy()
        was_read[np.asarray(lost, dtype=np.int64)] = False
        rows = shard.pages.rows
        fresh = rows.emptied()
        fresh.reach(shard.pages.count)
        shard.use_ledger(new_ledger(shard.settings, fresh))
        join_ledger(shard, shard.pages.origins.every()["focus"])
        pages: Pages = np.flatnonzero(was_read).astype(np.int64)
        for begin in range(0, len(pages), BATCH):
            some = pages[begin : begin + BATCH]
            shard.ledger.visit_many(some, rows.gather(some))
        shard.replace_rows(fresh)
        rows.file.path.unlink()
        shard.ledger.settle(error=error, payments=MOST_PAYMENTS)
    shard.all_paid = True
    queueing.reorder(shard)


def forget_visits(shard: ShardState, pages: Sequence[PageId], now: float) -> int:
    """Corrects all counters for pages whose last record is lost, and puts those that wait nowhere into the frontier;
    returns the number of visits that are no longer recorded.
    """
    numbers = np.array(sorted(pages), dtype=np.int64)
    found = last_visits(shard.pages, "visits", "kind")
    hosts = shard.hosts_of_pages(np.arange(shard.pages.count)).astype(np.int64)
    per_host: list[int] = np.bincount(hosts, found["visits"], len(shard.hosts)).astype(np.int64).tolist()
    known: list[int] = np.bincount(hosts, minlength=len(shard.hosts)).tolist()
    for host, visits, pages_of_host in zip(shard.hosts.all, per_host, known, strict=True):
        host.visits, host.known = visits, pages_of_host  # a page may be of another host: see `DamagedState`
    missing: int = sum(shard.outcomes.values()) - shard.outcomes[Outcome.LOST] - sum(per_host)
    _count_as_lost(shard, missing)
    shard.read_count = int(np.count_nonzero(are_present(found["kind"])))
    shard.refreshing.book.forget(numbers)
    queueing.requeue(shard, page_ids(numbers), now)
    return missing


def _count_as_lost(shard: ShardState, visits: int) -> None:
    """Moves this many visits from the largest counts of outcomes to those that were lost."""
    left = visits
    for outcome, count in shard.outcomes.most_common():
        if outcome is not Outcome.LOST:
            moved = min(left, count)
            shard.outcomes[outcome] -= moved
            left -= moved
    shard.outcomes[Outcome.LOST] += visits - left


def recount(shard: ShardState) -> None:
    """Recounts which pages were visited, and which were not and wait nowhere: a frame may have mistaken a page whose
    record is lost for one of these.
    """
    visited = dropped = 0
    for begin in range(0, shard.pages.count, BATCH):
        pages = np.arange(begin, min(begin + BATCH, shard.pages.count), dtype=np.int64)
        were_visited = shard.pages.records.visited(pages)
        visited += int(np.count_nonzero(were_visited))
        dropped += int(np.count_nonzero(shard.placement.idle(pages) & ~were_visited))
    shard.visited_count, shard.bounds.dropped = visited, dropped


def renew_interest(shard: ShardState) -> None:
    """Recomputes interest from the remaining rows and visits, if the crawl wants some pages."""
    if shard.interest is not None:
        shard.interest = computed(shard, shard.interest.want)
        shard.all_paid = True
        queueing.reorder(shard)


def renew_link_weights(shard: ShardState) -> None:
    """Recomputes the weights of all links, if the crawl weighs links: a page may be of another host now."""
    if shard.link_kinds is not None:
        weigh_all(shard)


def bury(shard: ShardState, page: PageId, now: float) -> None:
    """Makes a page whose URL is lost a dead page, which is never fetched."""
    before = shard.pages.last(page)
    shard.placement.withdraw(np.array([page], dtype=np.int64), EVERY_LEVEL)
    shard.read_count -= was_present(before)
    shard.pages.records.append(
        Record(
            page=page,
            time=now,
            first_time=now,
            visits=1 + (0 if before is None else before.visits),
            outcome=Outcome.GONE,
            kind=PageKind.DEAD,
            detail="the URL of this page was lost when its file was damaged",
        )
    )
    shard.outcomes[Outcome.GONE] += 1
    shard.hosts[shard.pages.host(page)].visits += 1
    shard.refreshing.book.forget(np.array([page], dtype=np.int64))
