"""The statistics of a crawl: pages by kind, responses by status, bytes on disk and in memory, settings."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from centime.crawl.engine.state import CrawlState
from centime.crawl.report.interest import wanted_counts
from centime.crawl.report.opening import moment
from centime.crawl.report.planning.freshness import DAY
from centime.crawl.report.visits import KINDS, Columns, are_present, kinds_of, last_visits
from centime.discover.refusal import Reason
from centime.files.listing import files_below
from centime.model.ids import page_ids
from centime.model.outcome import Outcome
from centime.store.folder import CrawlFolder
from centime.store.record import Mark
from centime.store.versions.stored import bytes_of_versions

MOST_BROKEN = 20  # sitemaps that are named


def all_statistics(opened: CrawlState, now: float) -> dict[str, Any]:
    """All counts and facts of a crawl."""
    shard, folder = opened.shard, opened.folder
    found = last_visits(shard.pages, "kind", "outcome", "status", "visits", "body_bytes", "marks")
    requisites = shard.requisites.every()
    parts = (
        folder.journal,
        folder.snapshots,
        folder.state,
        folder.bodies,
        folder.imported,
        folder.versions,
        folder.index,
    )
    kinds = np.bincount(kinds_of(found["kind"], found["outcome"]), minlength=len(KINDS)).tolist()
    statuses, pages = np.unique(found["status"][found["visits"] > 0], return_counts=True)
    return {
        **opened.statistics(now),
        **refused_counts(opened, found),
        **_refresh(opened, now),
        **wanted_counts(opened, now),
        "created": moment(folder.created),
        "body_bytes": int(found["body_bytes"].sum(dtype=np.int64)),
        "late_visits": shard.late_visits,
        "kinds": {name: count for name, count in zip(KINDS, kinds, strict=True) if count},
        "statuses": {
            str(status) if status else "none": count
            for status, count in zip(statuses.tolist(), pages.tolist(), strict=True)
        },
        "sitemaps": int(np.count_nonzero(found["marks"] & Mark.SITEMAP)),
        "broken_sitemaps": _broken_sitemaps(opened, found["marks"]),
        "requisites": {
            "known": len(requisites),
            "read": int(np.count_nonzero(are_present(found["kind"][requisites]))),
            "over_limit_of_page": shard.requisites.over_page,
            "over_limit_of_host": shard.requisites.over_host,
            "became_pages": shard.requisites.became_pages,
        },
        "noarchive": int(np.count_nonzero(found["marks"] & Mark.NOARCHIVE)),
        "truncated": int(np.count_nonzero(found["marks"] & Mark.TRUNCATED)),
        "disk_bytes": {part.name: _size(part) for part in parts},
        "versions": _versions(folder),
        "rows_garbage_percent": 100 * shard.pages.rows.garbage,
        "frames_replayed": opened.folded,
        "damaged_snapshots": list(opened.damaged),
        "memory_bytes": _memory(opened),
        "settings": opened.settings.facts(),
    }


def ended_in_words(ending: str, opened: CrawlState) -> str:
    """Why a run ended, and how many pages were longer than the limit at their last visit."""
    marks = last_visits(opened.shard.pages, "marks")["marks"]
    count = int(np.count_nonzero(marks & Mark.TRUNCATED))
    if not count:
        return ending
    pages = "1 page is" if count == 1 else f"{count} pages are"
    most = opened.settings.most_page_bytes
    return f"{ending}; {pages} longer than --most-page-bytes {most}: the rest was not read"


def _broken_sitemaps(opened: CrawlState, marks: npt.NDArray[np.uint16]) -> list[dict[str, str]]:
    """The first sitemaps that are damaged, and how."""
    known = opened.shard.pages
    broken = page_ids(np.flatnonzero(marks & Mark.BROKEN)[:MOST_BROKEN])
    records = ((page, known.last(page)) for page in broken)
    return [{"url": known.texts.get(page), "detail": record.detail} for page, record in records if record]


def _versions(folder: CrawlFolder) -> dict[str, int]:
    """How many versions are kept, and the bytes of their bodies before they were packed."""
    pages, versions, size = bytes_of_versions(folder.versions)
    return {"pages": pages, "versions": versions, "bytes": size}


def refused_counts(opened: CrawlState, found: Columns) -> dict[str, Any]:
    """The refused URLs by reason, with the pages that robots.txt disallows or a later pattern excludes."""
    counts = dict(opened.shard.refusals.facts()["refused"])
    for reason, outcome in ((Reason.ROBOTS, Outcome.DISALLOWED), (Reason.EXCLUDE, Outcome.EXCLUDED)):
        pages = int(np.count_nonzero((found["outcome"] == outcome) & (found["visits"] > 0)))
        if pages:
            counts[reason.label] = counts.get(reason.label, 0) + pages
    return {"refused": counts}


def _refresh(opened: CrawlState, now: float) -> dict[str, Any]:
    """The estimated freshness of the copies, and the counts of subscriptions and publishers."""
    shard = opened.shard
    _, share = shard.refreshing.fresh(now, shard.pages.count, shard.ledger.importance, shard.pages.were_read)
    book = shard.refreshing.book.statistics()
    return {
        "fresh_percent_of_importance": 100 * share,
        "worth_needed": book["threshold"],
        "changes_per_page_and_day": book["prior_mean_rate"] * DAY,
        "rhythms": len(shard.refreshing.beats),
        "subscriptions": len(shard.requests.subscriptions),
        "notices_waiting": shard.requests.subscriptions.waiting,
        "publishers": shard.requests.publishers.facts(),
    }


def _memory(opened: CrawlState) -> dict[str, int]:
    shard = opened.shard
    parts = {
        "url_table": shard.pages.table.nbytes,
        "rows": shard.pages.rows.nbytes,
        "records": shard.pages.records.nbytes,
        "ledger": shard.ledger.nbytes,
        "refusals": shard.refusals.nbytes,
        "frontier": int(shard.placement.frontier.statistics()["bytes"]),
        "change_rates": int(shard.refreshing.book.statistics()["bytes"]),
        **({} if shard.interest is None else {"interest": shard.interest.nbytes}),
    }
    return {**parts, "all": sum(parts.values())}


def _size(folder: Path) -> int:
    """The bytes of all files in a folder; a running crawl may remove some of them meanwhile."""
    total = 0
    for path in files_below(folder):
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            continue
    return total
