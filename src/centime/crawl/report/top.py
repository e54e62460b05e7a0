"""The first pages, or sites, by importance, its rise (`rising.py`), interest (`interest.py`), worth (of a visit now),
changes or errors.

Importance has two error bounds (`ledger/exact.py`): over all pages, |x - x*|_1 / N is at most the certified error; and
no page, nor the sum of any set of pages such as a site, is wrong by more than half of that times N, because x and x*
have the same sum. A ledger that keeps no links certifies nothing: both are None.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from centime.crawl.engine.state import CrawlState
from centime.crawl.report.interest import interest_facts, top_by_interest
from centime.crawl.report.opening import moment
from centime.crawl.report.planning.freshness import DAY
from centime.crawl.report.planning.waiting import LEVELS, REASONS, Waiting
from centime.crawl.report.rising import top_rising
from centime.crawl.report.sorting import first_by, hosts_of_all
from centime.crawl.report.visits import KINDS, OUTCOMES, PRESENT, REDIRECTS, kinds_of, last_visits
from centime.frontier.kind import REFRESH
from centime.model.errors import BadSetting
from centime.model.ids import PageId, host_ids
from centime.model.outcome import Outcome

ORDERS = ("importance", "rising", "interest", "worth", "change", "errors")

Rows = list[dict[str, Any]]


def top_pages(
    opened: CrawlState,
    count: int,
    by: str = "importance",
    *,
    site: bool = False,
    now: float = 0.0,
    since: float = DAY,
) -> dict[str, Any]:
    """The first `count` pages, or sites, by one of ORDERS, and the error bounds; rising over the last `since`
    seconds.
    """
    if by not in ORDERS:
        raise BadSetting(
            f"pages are sorted by {', '.join(ORDERS[:-1])} or {ORDERS[-1]}, "
            f"sites also by site-importance, not by {by!r}"
        )
    if count < 0:
        raise BadSetting(f"the number of pages to show must be 0 or more, not {count}")
    rows: Rows
    if by == "interest":
        return {"known": opened.shard.pages.count, **interest_facts(opened), "by": by} | {
            "top": top_by_interest(opened, count, site=site)
        }
    if by == "rising":
        rising = top_rising(opened, count, importance_of_ranked(opened), site=site, since=since)
        return {"known": opened.shard.pages.count, **errors_of(opened)} | rising
    match by, site:
        case "importance", False:
            rows = _important(opened, count)
        case "importance", True:
            rows = _important_sites(opened, count)
        case "worth", False:
            rows = _next(opened, count, now)
        case "worth", True:
            rows = _next_sites(opened, count, now)
        case "change", _:
            rows = _changing(opened, count, site=site)
        case _:
            rows = _failing(opened, count, site=site)
    return {"known": opened.shard.pages.count, **errors_of(opened), "by": by, "top": rows}


def errors_of(opened: CrawlState) -> dict[str, float | None]:
    """The certified error over all pages, and the largest error of a page or site; None if not certified."""
    ledger = opened.shard.ledger
    return {"certified_error": ledger.error(), "largest_error": ledger.largest_error()}


def importance_of_all(opened: CrawlState) -> npt.NDArray[np.float64]:
    """The importance of every page."""
    return opened.shard.ledger.importance() if opened.shard.pages.count else np.empty(0)


def importance_of_ranked(opened: CrawlState) -> npt.NDArray[np.float64]:
    """The importance of every page, and 0 for requisites, which are not ranked."""
    importance = importance_of_all(opened)
    importance[opened.shard.requisites.every()] = 0.0
    return importance


def _important(opened: CrawlState, count: int) -> Rows:
    known, importance = opened.shard.pages, importance_of_ranked(opened)
    best = first_by(importance, min(count, known.count - len(opened.shard.requisites.every())))
    heads = known.records.heads(best)
    kinds = kinds_of(heads["kind"], heads["outcome"]).tolist()
    return [
        {"rank": rank, "importance": float(importance[page]), "kind": KINDS[kind], "url": url}
        for rank, (page, kind, url) in enumerate(zip(best.tolist(), kinds, known.texts.get_many(best), strict=True), 1)
    ]


def _important_sites(opened: CrawlState, count: int) -> Rows:
    hosts, shard = hosts_of_all(opened), opened.shard
    sums = np.bincount(hosts, weights=importance_of_ranked(opened), minlength=len(shard.hosts))
    return [
        {"rank": rank, "importance": float(sums[number]), "known": host.known, "read": host.read, "host": host.name}
        for rank, number in enumerate(host_ids(first_by(sums, count)), 1)
        for host in (shard.hosts[number],)
    ]


def _next(opened: CrawlState, count: int, now: float) -> Rows:
    shard = opened.shard
    best = shard.placement.frontier.best(count, shard.class_offsets())
    if not len(best):
        return []
    waiting = Waiting(shard)
    levels, importance = waiting.levels_of(best), shard.ledger.importance(best)
    worth = waiting.worth_of(best)
    hosts = host_ids(shard.pages.origins_of(best)["host"])
    return [
        {
            "rank": rank,
            "level": LEVELS[level],
            "importance": float(x),
            "worth": value if level == REFRESH else None,
            **({} if shard.interest is None else {"value": float(decides)}),
            "host_ready": readiness(waiting.host_time(host), now),
            "why": REASONS[level],
            "url": url,
        }
        for rank, (level, x, value, decides, host, url) in enumerate(
            zip(levels, importance, worth, shard.value(best), hosts, shard.pages.texts.get_many(best), strict=True), 1
        )
    ]


def _next_sites(opened: CrawlState, count: int, now: float) -> Rows:
    shard = opened.shard
    waiting = Waiting(shard)
    if not len(waiting.pages):
        return []
    sums = np.bincount(waiting.hosts, weights=shard.ledger.importance(waiting.pages), minlength=len(shard.hosts))
    pages = np.bincount(waiting.hosts, minlength=len(shard.hosts))
    best = [number for number in host_ids(first_by(sums, count)) if pages[number]]
    return [
        {
            "rank": rank,
            "waiting": int(pages[number]),
            "importance": float(sums[number]),
            "host_ready": readiness(waiting.host_time(number), now),
            "host": shard.hosts[number].name,
        }
        for rank, number in enumerate(best, 1)
    ]


def readiness(time: float, now: float) -> str:
    """When a host is ready to fetch: `now`, `blocked`, or a time."""
    if time == float("inf"):
        return "blocked"
    return "now" if time <= now else moment(time) or "now"


def _changing(opened: CrawlState, count: int, *, site: bool) -> Rows:
    shard = opened.shard
    found = last_visits(shard.pages, "visits", "changes", "changed_time")
    visits, changes = found["visits"].astype(np.int64), found["changes"].astype(np.int64)
    if site:
        hosts = hosts_of_all(opened)
        visits, changes = (
            np.bincount(hosts, weights=each, minlength=len(shard.hosts)).astype(np.int64) for each in (visits, changes)
        )
    some = np.flatnonzero(changes)
    share = changes[some] / visits[some]
    best = some[np.lexsort((some, -changes[some], -share))[:count]]
    rows = [
        {
            "rank": rank,
            "changes_per_visit": changes[place] / visits[place],
            "changes": int(changes[place]),
            "visits": int(visits[place]),
        }
        for rank, place in enumerate(best.tolist(), 1)
    ]
    if site:
        return [row | {"host": shard.hosts[host].name} for row, host in zip(rows, host_ids(best), strict=True)]
    times = found["changed_time"][best].tolist()
    texts = shard.pages.texts.get_many(best)
    rates = (shard.refreshing.book.rates(best)[0] * DAY).tolist()
    return [
        row | {"changes_per_day": rate, "last_changed": moment(time), "url": url}
        for row, rate, time, url in zip(rows, rates, times, texts, strict=True)
    ]


def _failing(opened: CrawlState, count: int, *, site: bool) -> Rows:
    """Pages whose last visit found neither the page nor a redirect, the most important first; sites by the number of
    such pages.
    """
    shard = opened.shard
    found = last_visits(shard.pages, "visits", "outcome")
    failing = np.flatnonzero((found["visits"] > 0) & ~PRESENT[found["outcome"]] & ~REDIRECTS[found["outcome"]])
    if site:
        hosts = shard.pages.origins_of(failing)["host"].astype(np.int64)
        pages = np.bincount(hosts, minlength=len(shard.hosts))
        best = [number for number in host_ids(first_by(pages, count)) if pages[number]]
        return [
            {
                "rank": rank,
                "failing": int(pages[number]),
                "known": host.known,
                "trouble": host.trouble,
                "host": host.name,
            }
            for rank, number in enumerate(best, 1)
            for host in (shard.hosts[number],)
        ]
    importance = shard.ledger.importance(failing) if len(failing) else np.empty(0)
    rows: Rows = []
    for rank, place in enumerate(first_by(importance, count).tolist(), 1):
        page = PageId(int(failing[place]))
        record = shard.pages.last(page)
        assert record is not None
        rows.append(
            {
                "rank": rank,
                "importance": float(importance[place]),
                "outcome": OUTCOMES[Outcome(record.outcome)],
                "status": record.status or None,
                "failures": record.failures,
                "last_visit": moment(record.time),
                "detail": record.detail,
                "url": shard.pages.texts.get(page),
            }
        )
    return rows
