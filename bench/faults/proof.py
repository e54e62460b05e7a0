"""What must hold of a crawl after a fault, and what it must have found in the end. Problems are sentences; none is
the good case."""

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from centime.crawl.check.check import check_crawl
from centime.crawl.engine.reader import CrawlReader, read_crawl
from centime.crawl.engine.state import rows_of
from centime.files.frame import FRAME, frame_at
from centime.files.mark import read_mark
from centime.model.address import fingerprint
from centime.model.errors import CentimeError
from centime.model.ids import PageId, page_ids
from centime.store.folder import is_crawl
from centime.store.journal import HEAD, HEAD_BYTES, mark_path
from centime.store.record import Mark

LATE = 1e12  # a time after all others
TOLD = Mark.CHANGED | Mark.BECAME_VOLATILE  # visits of which subscribers hear


@dataclass(frozen=True, slots=True)
class CrawlResult:
    """What a crawl has found, by URL: it does not matter in which order."""

    outcomes: dict[str, tuple[int, int, int]]  # outcome, status, kind
    links: dict[str, frozenset[str]]
    importance: dict[str, float]
    error: float


def reopened(folder: Path, frames: int, visits: int, damaged: str = "", left: str = "") -> tuple[list[str], float]:
    """What is wrong with a crawl that had flushed so many frames and visits; how long it took to open. A check must
    see the damage."""
    if not is_crawl(folder):
        return (["a crawl was lost"] if frames else []), 0.0
    started = time.perf_counter()
    try:
        crawl = read_crawl(folder)
    except CentimeError as trouble:
        return [f"cannot be opened: {trouble}"], 0.0
    seconds = time.perf_counter() - started
    problems = []
    shard = crawl.shard
    now = shard.frame
    if now < frames:
        problems.append(f"{frames} frames had been flushed, {now} are there")
    recorded = sum(shard.outcomes.values())
    if recorded < visits:
        problems.append(f"{visits} visits had been flushed, {recorded} are there")
    problems += _broken_laws(crawl)
    crawl.close()
    told = [
        f"centime check: {problem.part}: {problem.file}: {problem.what}" for problem in check_crawl(folder).problems
    ]
    if damaged and not any(damaged in sentence for sentence in told):
        problems.append(f"centime check does not see that {damaged} is damaged")
    known = [name for name in (damaged, left) if name]
    return problems + [sentence for sentence in told if not any(name in sentence for name in known)], seconds


def _broken_laws(crawl: CrawlReader) -> list[str]:
    """Money, order, table and texts, and that every page is somewhere, each in its own words."""
    shard, problems = crawl.shard, []
    for check in (shard.ledger.check, shard.placement.frontier.check, shard.pages.table.check):
        try:
            check()
        except (CentimeError, AssertionError) as trouble:
            problems.append(str(trouble))
    pages = np.arange(shard.pages.count)
    out = set(shard.placement.leases.held().tolist())
    queued = shard.placement.frontier.contains(pages)
    texts = shard.pages.texts.get_many(pages)
    for page in page_ids(pages):
        record = shard.pages.last(page)
        if (
            not queued[page]
            and page not in out
            and page not in shard.placement.retries
            and (record is None or record.outcome.transient)
        ):
            problems.append(f"page {page}, {texts[page]}, is nowhere: not read, not waiting, not out")
        if fingerprint(texts[page]) != shard.pages.table.fingerprints[page]:
            problems.append(f"page {page} is not found by its URL {texts[page]}")
    return problems


def whole_frames(segment: Path, size: int) -> int:
    """The index behind the last frame that is whole within the first bytes of a segment, found without the journal's
    own code."""
    data = segment.read_bytes()[:size]
    index, chain, at = *HEAD.unpack_from(data)[4:], HEAD_BYTES
    while (frame := frame_at(data, at, index, chain)) is not None:
        index, chain, at = index + 1, frame.chain, at + FRAME.size + len(frame.payload)
    return int(index)


def last_frame(segment: Path) -> int:
    """Where the last whole frame of a segment begins."""
    data = segment.read_bytes()
    index, chain, at, last = *HEAD.unpack_from(data)[4:], HEAD_BYTES, HEAD_BYTES
    while (frame := frame_at(data, at, index, chain)) is not None:
        index, chain, at, last = index + 1, frame.chain, at + FRAME.size + len(frame.payload), at
    return int(last)


def confirmed_end(segment: Path) -> int:
    """Where the first frame of a segment begins that the mark does not confirm: only damage behind it is no damage."""
    data, mark = segment.read_bytes(), read_mark(mark_path(segment.parent))
    index, chain, at = *HEAD.unpack_from(data)[4:], HEAD_BYTES
    while mark is not None and index < mark.frame and (frame := frame_at(data, at, index, chain)) is not None:
        index, chain, at = index + 1, frame.chain, at + FRAME.size + len(frame.payload)
    return int(at)


def changes(folder: Path, name: str, began: float, lines: Iterable[str]) -> tuple[dict[str, int], dict[str, int]]:
    """For each URL, the changes that a crawl has seen since its subscription `name` to all pages began, and those that
    the subscriber was told in these lines of JSON or that still wait for it. A page that is new counts as a change, and
    so does a part that becomes volatile. A notice that was delivered twice has the same id.
    """
    crawl = read_crawl(folder)
    shard = crawl.shard
    seen = {}
    for page, url in enumerate(shard.pages.texts.every()):
        history = [record for record in shard.pages.records.history(PageId(page)) if record.outcome.present]
        changed = sum(bool(record.marks & TOLD) for record in history if record.time > began)
        seen[url] = changed + any(record.visits == 1 and record.time > began for record in history)
    told = dict.fromkeys(seen, 0)
    arrived: dict[str, dict[str, Any]] = {}
    for line in lines:
        arrived |= {notice["id"]: notice for notice in json.loads(line)["changes"]}
    for notice in arrived.values():
        told[notice["url"]] += notice["changes"]
    subscriptions = shard.requests.subscriptions
    while batches := [batch for batch in subscriptions.due(LATE) if batch.name == name]:
        for late in batches[0].notices:
            told[late.url] += late.changes
        subscriptions.delivered(name, batches[0].up_to, 0.0)
    crawl.close()
    return seen, told


def found(folder: Path) -> CrawlResult:
    """What a crawl that has ended has found."""
    crawl = read_crawl(folder)
    shard = crawl.shard
    urls = list(shard.pages.texts.every())
    records = [shard.pages.last(PageId(page)) for page in range(len(urls))]
    links: dict[str, frozenset[str]] = {}
    for pages, lengths, targets in rows_of(shard):
        ends: list[npt.NDArray[np.int32]] = np.split(targets, np.cumsum(lengths)[:-1])
        links |= {
            urls[page]: frozenset(urls[target] for target in row)
            for page, row in zip(pages.tolist(), ends, strict=True)
        }
    outcomes = {
        url: (-1, 0, 0) if record is None else (int(record.outcome), record.status, int(record.kind))
        for url, record in zip(urls, records, strict=True)
    }
    importance = dict(zip(urls, shard.ledger.importance().tolist(), strict=True))
    error = shard.ledger.error() or 0.0
    crawl.close()
    return CrawlResult(outcomes, links, importance, error)


def differences(one: CrawlResult, other: CrawlResult) -> list[str]:
    """In what two crawls of the same web differ."""
    problems = []
    if one.outcomes.keys() != other.outcomes.keys():
        problems.append(f"other pages are known: {sorted(one.outcomes.keys() ^ other.outcomes.keys())[:3]}")
        return problems
    wrong = [url for url, outcome in one.outcomes.items() if other.outcomes[url] != outcome]
    if wrong:
        url = wrong[0]
        problems.append(
            f"{len(wrong)} pages ended otherwise: {url} as {other.outcomes[url]}, not as {one.outcomes[url]}"
        )
    wrong = [url for url, row in one.links.items() if other.links[url] != row]
    if wrong:
        url = wrong[0]
        problems.append(f"{len(wrong)} rows differ: {url} has {len(other.links[url])} links, not {len(one.links[url])}")
    apart = sum(abs(value - other.importance[url]) for url, value in one.importance.items()) / max(
        1, len(one.importance)
    )
    if apart > one.error + other.error:
        problems.append(f"importance is {apart:.3g} apart, certified are {one.error:.3g} and {other.error:.3g}")
    return problems
