"""Takes visits to suspicious URLs as evidence of a trap or of real pages, and admits more URLs of their shape
(`trap_evidence.py`).

Evidence is taken before the links of a visit become pages, because it depends on what is new; it is used afterwards.
Only the first visit to a page that gets an answer counts: at later visits, its text is known from itself.
"""

import numpy as np

from centime.model.outcome import Outcome, PageKind
from centime.shard.joining import join_late
from centime.shard.limits.trap_evidence import NO_SAMPLE, Sample
from centime.shard.message import SHAPE, Visit
from centime.shard.state import ShardState

# host, key, sample of the content, whether a shorter URL has it, whether it leads only to new URLs of its shape
Shown = tuple[str, int, Sample, bool, bool]


def evidence_of(state: ShardState, visits: list[Visit]) -> list[Shown]:
    """The evidence of visits to suspicious URLs; to be called before their links become pages."""
    shown = []
    for visit in visits:
        if not visit.shape or visit.outcome.transient:
            continue
        host = state.hosts[state.pages.host(visit.page)].name
        if not state.limits.observes(host, visit.shape):
            continue
        before = state.pages.last(visit.page)
        if before is None or before.outcome.transient:
            is_known = _is_known(state, visit)
            shown.append((host, visit.shape, _sample(visit), is_known, not is_known and _grows(state, visit)))
    return shown


def use_evidence(state: ShardState, shown: list[Shown]) -> None:
    """Learns from visits to suspicious URLs, and admits URLs that waited for it."""
    for host, key, sample, is_known, grows in shown:
        state.limits.learn(host, key, sample, is_known=is_known, grows=grows)
        waiting = state.refusals.pending(key, state.limits.room(host, key))
        if waiting:
            urls = [one.url for _, one in waiting]
            sources = np.array([one.source for _, one in waiting], dtype=np.int64)
            join_late(state, urls, sources, dict.fromkeys(range(len(urls)), key))


def _sample(visit: Visit) -> Sample:
    """The sample of the text that a visit read, or a hash of a content that has no text; empty if it read nothing."""
    if visit.outcome is not Outcome.READ:
        return NO_SAMPLE
    if visit.sample or visit.kind in (PageKind.HTML, PageKind.XML):
        return np.frombuffer(visit.sample, dtype="<u4")
    return np.frombuffer(visit.digest[:4] * 2, dtype="<u4")


def _is_known(state: ShardState, visit: Visit) -> bool:
    """Whether a shorter form of the page's URL had the same content."""
    for number in np.frombuffer(visit.shorter, dtype=np.uint64).tolist():
        page = state.pages.table.find_one(number)
        record = state.pages.last(page) if page is not None else None
        if record is not None and record.signature and record.signature == visit.signature:
            return True
    return False


def _grows(state: ShardState, visit: Visit) -> bool:
    """Whether a page of a shape leads to new URLs of the same shape, and to nothing else that is new."""
    if not visit.shapes:
        return False
    fresh = np.frombuffer(visit.fresh, dtype=np.uint64)
    shapes = np.frombuffer(visit.shapes, dtype=SHAPE)
    alike = np.zeros(len(fresh), dtype=np.bool_)
    alike[shapes["place"][shapes["key"] == visit.shape]] = True
    new = (state.pages.table.find(fresh) < 0) & ~state.refusals.contain(fresh)
    return bool((new & alike).any()) and not (new & ~alike).any()
