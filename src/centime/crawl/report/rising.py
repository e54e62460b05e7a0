"""Pages and sites whose importance rises: the derivative of importance, which the conclusion of the paper asks for.

    x'_i  =  (x_i(t) - x_i(t0)) / (t - t0)                       t: the last visit; t0: an earlier milestone

The importance of all pages at t0 is in the folder (`store/milestones.py`). A page that was not known then had 0, and is
marked as new. With E(t) the largest error of any set of pages at t (half of the certified error times their number),

    |error of x'_i|  <=  (E(t) + E(t0)) / (t - t0)               for a page, and for the sum of a site alike

and what the 32-bit numbers of a milestone round off is added. A rise is certain if it is larger than its error. It is
not certified for OPIC, nor for a crawl in partitions, whose parts are of different moments.

Trap: importance has mean 1 over the pages known, so when a crawl grows, pages that everything links to rise although
no new link led to them from the pages known before.
"""

from typing import Any

import numpy as np

from centime.crawl.engine.state import CrawlState
from centime.crawl.report.opening import moment
from centime.crawl.report.planning.freshness import DAY
from centime.crawl.report.sorting import first_by, hosts_of_all
from centime.model.errors import BadInput
from centime.model.ids import host_ids
from centime.rank.scores import Vector
from centime.store.milestones import RELATIVE_ERROR, Milestone, read_milestone

LEAST_SECONDS = 1.0  # between the two moments

Facts = dict[str, Any]
Rows = list[Facts]


def top_rising(opened: CrawlState, count: int, importance: Vector, *, site: bool, since: float) -> Facts:
    """The pages or sites that rose most in the last `since` seconds, or since the oldest milestone if all are newer;
    `importance` is the present one, 0 for requisites.
    """
    shard = opened.shard
    now = shard.pages.last_time()
    then = read_milestone(opened.folder.path, now - since, now - LEAST_SECONDS)
    if then is None:
        raise BadInput(
            f"{opened.folder.path}: there is no earlier importance to compare with; a crawl stores it when it"
            f" ends and periodically while it runs, and has to visit pages after that"
        )
    before = np.zeros(len(importance))
    known = min(len(before), len(then.importance))
    before[:known] = then.importance[:known]
    before[shard.requisites.every()] = 0.0
    days = (now - then.time) / DAY
    ledger = shard.ledger
    error = _error(ledger.largest_error(), then)
    facts = {"since": moment(then.time), "until": moment(now), "error_of_two": error, "by": "rising"}
    if site:
        hosts = hosts_of_all(opened)
        sums = [
            np.bincount(hosts, weights=each, minlength=len(shard.hosts)).astype(np.float64)
            for each in (importance, before)
        ]
        rows = _rows(sums[0], sums[1], count, days, error)
        for row in rows:
            row["host"] = shard.hosts[host_ids(np.array([row.pop("place")]))[0]].name
        return facts | {"top": rows}
    rows = _rows(importance, before, count, days, error)
    places = np.array([row.pop("place") for row in rows], dtype=np.int64)
    for row, page, url in zip(rows, places.tolist(), shard.pages.texts.get_many(places) if rows else [], strict=True):
        row |= {"new": page >= known, "url": url}
    return facts | {"top": rows}


def without_errors(facts: Facts) -> Facts:
    """The same for a partition, which certifies nothing alone."""
    rows = [row | {"error_per_day": None, "certain": None} for row in facts["top"]]
    return facts | {"error_of_two": None, "top": rows}


def _error(now: float | None, then: Milestone) -> float | None:
    """The largest error of the difference of two sums of importance; None if not certified."""
    if now is None or then.error is None:
        return None
    return now + then.error * len(then.importance) / 2


def _rows(now: Vector, before: Vector, count: int, days: float, error: float | None) -> Rows:
    rise = now - before
    best = first_by(rise, count)
    rows: Rows = []
    for rank, place in enumerate(best[rise[best] > 0].tolist(), 1):
        bound = None if error is None else error + RELATIVE_ERROR * float(before[place])
        rows.append(
            {
                "rank": rank,
                "importance": float(now[place]),
                "rise": float(rise[place]),
                "per_day": float(rise[place]) / days,
                "error_per_day": None if bound is None else bound / days,
                "certain": None if bound is None else bool(rise[place] > bound),
                "place": place,
            }
        )
    return rows
