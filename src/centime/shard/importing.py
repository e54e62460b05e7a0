"""Takes visits that other programs made (`centime import`), each at its own time, as if this crawl had made it.

A visit counts if it is later than the last one of its page. So nothing is taken twice, even if a file is imported
again; and visits older than the last known one are left out, because a history grows only at its end. The URLs are made
known as links are, within the bounds of the crawl.

    WHOLE     as a visit of a fetcher
    LINKED    the same, but its content can only be compared with that in the same kind of file (Mark.FOREIGN)
    SEEN      the same without links: the page waits to be read for them
    LINKS     links without a visit, if the page was never visited

Subscribers are not notified: these changes are old. No host was contacted, so none is delayed, and no budget is
charged.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from centime.frontier.kind import DISCOVERY
from centime.model.ids import PageId, host_ids, page_ids
from centime.model.outcome import Outcome
from centime.shard.filing import apply_by, filed_visit
from centime.shard.joining import fingerprints_of, join
from centime.shard.message import CLAIM, Imported, Knowledge, Visit, unpack_visit
from centime.shard.pages import origins_at
from centime.shard.people.commands import take_claims
from centime.shard.placement import EVERY_LEVEL
from centime.shard.queueing import requeue
from centime.shard.state import ShardState
from centime.shard.wanting import take_filed

REACH_SECONDS = 8 * 365 * 86_400.0  # visits that are older than this are no evidence of change rates


class Taken(NamedTuple):
    """The results of an import."""

    taken: int = 0
    old: int = 0  # not later than the last visit of their page
    refused: int = 0  # their URL is not known, and the bounds of the crawl do not admit it


def take_imported(state: ShardState, frame: Imported) -> Taken:
    """Applies an `Imported` frame."""
    state.imports[frame.source] = frame.position
    visits = [unpack_visit(packed) for packed in frame.visits]
    if not visits:
        return Taken()
    urls = frame.texts.decode().split("\n")
    fingerprints = fingerprints_of(urls)
    state.requisites.become_pages(state.pages.table.find(fingerprints))
    join(state, fingerprints, urls, origins_at(np.zeros(len(urls), dtype=np.int64)), DISCOVERY)
    pages = page_ids(state.pages.table.find(fingerprints))
    left = [
        (msgspec.structs.replace(visit, page=page), Knowledge(known))
        for page, visit, known in zip(pages, visits, frame.knowledge, strict=True)
        if page >= 0
    ]
    refused, taken, old = len(visits) - len(left), 0, 0
    while left:  # each time the next visit of each page
        first: dict[PageId, tuple[Visit, Knowledge]] = {}
        later = []
        for one in left:
            if first.setdefault(one[0].page, one) is not one:
                later.append(one)
        new = _later_than_known(state, list(first.values()))
        old += len(first) - len(new)
        taken += len(new)
        left = later
        if new:
            _apply(state, frame.now, new)
    return Taken(taken, old, refused)


def _later_than_known(state: ShardState, some: list[tuple[Visit, Knowledge]]) -> list[tuple[Visit, Knowledge]]:
    """Those of the visits of distinct pages that are later than the last known visit; links without a visit count for
    pages that were never visited.
    """
    last = state.pages.records.heads(np.array([visit.page for visit, _ in some], dtype=np.int64))["time"].tolist()
    return [
        (visit, known)
        for (visit, known), time in zip(some, last, strict=True)
        if (not time if known is Knowledge.LINKS else visit.asked_at > time)
    ]


def _apply(state: ShardState, now: float, new: Sequence[tuple[Visit, Knowledge]]) -> None:
    """Applies visits of distinct pages."""
    visits = [visit for visit, _ in new]
    linking = [visit for visit, known in new if known is not Knowledge.SEEN]
    made = [visit for visit, known in new if known is not Knowledge.LINKS]
    unlinked = [visit.page for visit, known in new if known is Knowledge.SEEN and visit.outcome.present]
    state.placement.withdraw(np.array([visit.page for visit in made], dtype=np.int64), EVERY_LEVEL)
    apply_by(state, now, visits, linking, lambda: _file(state, now, made, unlinked))


def _file(state: ShardState, now: float, visits: list[Visit], unlinked: list[PageId]) -> None:
    """Records the visits; pages whose links are not known keep waiting to be read."""
    if not visits:
        return
    pages = np.array([visit.page for visit in visits], dtype=np.int64)
    origins = state.pages.origins_of(pages)
    importance = state.ledger.importance(pages).tolist()
    numbers = host_ids(origins["host"])
    filed = []
    for visit, number, depth, x in zip(visits, numbers, origins["depth"].tolist(), importance, strict=True):
        host = state.hosts[number]
        host.visits += 1
        host.read += visit.outcome.present
        host.unmodified += visit.outcome is Outcome.UNCHANGED
        state.outcomes[visit.outcome] += 1
        filed.append(filed_visit(state, visit.asked_at, visit, number, depth, x))
    state.pages.records.append_many([one.record for one in filed])
    state.count_first(sum(one.before is None for one in filed))
    take_filed(state, filed)
    state.refreshing.record(now, filed, state.hosts, state.pages.records, state.value, reach=REACH_SECONDS)
    requeue(state, unlinked, now)
    for one in filed:
        if one.visit.claims:
            take_claims(state, one.record.time, one.host, np.frombuffer(one.visit.claims, dtype=CLAIM))
