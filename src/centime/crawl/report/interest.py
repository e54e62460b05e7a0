"""Reports of a crawl that wants some pages (`--want`): how many there are, which pages lead to them, and why.

`interest` is that of `centime rank --vector interest`: its mean over all pages is 1. `leads_to` is in wanted pages
(`shard/interest/flow.py`). `value` is what decides about a page, in units of importance (`shard/interest/interest.py`).
"""

from typing import Any

import numpy as np

from centime.crawl.engine.state import CrawlState
from centime.crawl.report.sorting import first_by, hosts_of_all
from centime.crawl.report.visits import KINDS, are_present, kinds_of, last_visits
from centime.model.errors import BadInput
from centime.model.ids import PageId, host_ids
from centime.shard.interest.interest import Interest

MOST_SHOWN = 20  # links

Facts = dict[str, Any]


def interest_facts(opened: CrawlState) -> Facts:
    """The wanted pages as the settings define them, and the certified error of interest."""
    return {"want": opened.settings.want, "certified_error": _kept(opened).error(opened.shard.pages.rows)}


def top_by_interest(opened: CrawlState, count: int, *, site: bool) -> list[Facts]:
    """The pages, or sites, that lead best to wanted pages; wanted pages themselves are not in the list."""
    interest, shard = _kept(opened), opened.shard
    leads_to = np.maximum(interest.leads_to(np.arange(shard.pages.count)), 0.0)
    if site:
        sums = np.bincount(hosts_of_all(opened), weights=leads_to, minlength=len(shard.hosts))
        return [
            {"rank": rank, "leads_to": float(sums[number]), "known": host.known, "read": host.read, "host": host.name}
            for rank, number in enumerate(host_ids(first_by(sums, count)), 1)
            for host in (shard.hosts[number],)
            if sums[number] > 0
        ]
    leads_to[interest.are_wanted()] = 0.0
    best = first_by(leads_to, count)
    best = best[leads_to[best] > 0]
    heads, scores = shard.pages.records.heads(best), interest.scores()[best].tolist()
    kinds = kinds_of(heads["kind"], heads["outcome"]).tolist()
    importance = shard.ledger.importance(best).tolist()
    return [
        {"rank": rank, "interest": score, "leads_to": led, "importance": x, "kind": KINDS[kind], "url": url}
        for rank, (score, led, x, kind, url) in enumerate(
            zip(scores, leads_to[best].tolist(), importance, kinds, shard.pages.texts.get_many(best), strict=True), 1
        )
    ]


def page_interest(opened: CrawlState, page: PageId) -> Facts:
    """The interest of a page and why; empty if the crawl wants no page in particular."""
    interest, shard = opened.shard.interest, opened.shard
    if interest is None:
        return {}
    one = np.array([page], dtype=np.int64)
    wanted, _, _ = (float(found[0]) for found in interest.expected(one))
    was_read, is_wanted = bool(interest.were_counted(one)[0]), bool(interest.are_wanted(one)[0])
    targets = shard.pages.rows.gather(one).links().astype(np.int64)
    value = interest.leads_to(targets) + interest.are_wanted(targets)
    first = targets[np.lexsort((targets, -value))[:MOST_SHOWN]]
    if is_wanted:
        why = "it is wanted: its importance decides"
    elif was_read:
        leading = int(np.count_nonzero(value > 0))
        why = f"{leading} of its {len(targets)} links lead to wanted pages" if len(targets) else "it has no links"
    else:
        why = f"it was not read yet: pages like it are wanted with a probability of {wanted:.2g}"
    return {
        "wanted": is_wanted if was_read or interest.want.pattern is not None else None,
        "probably_wanted": None if was_read else wanted,
        "interest": float(interest.scores()[page]),
        "leads_to_wanted": float(interest.leads_to(one)[0]),
        "value": float(shard.value(one)[0]),
        "interest_because": why,
        "leads_to_by": [
            {"leads_to": float(led), "wanted": bool(is_one), "url": url}
            for led, is_one, url in zip(
                interest.leads_to(first), interest.are_wanted(first), shard.pages.texts.get_many(first), strict=True
            )
            if led > 0 or is_one
        ],
    }


def wanted_counts(opened: CrawlState, now: float) -> Facts:
    """How many wanted pages are known, read and fresh; empty if the crawl wants no page in particular."""
    interest, shard = opened.shard.interest, opened.shard
    if interest is None:
        return {}
    wanted = np.flatnonzero(interest.are_wanted())
    read = wanted[are_present(last_visits(shard.pages, "kind")["kind"][wanted])]
    everyone = np.arange(shard.pages.count, dtype=np.int64)
    unread = everyone[~interest.were_counted(everyone)]
    return {
        "wanted": {
            "want": opened.settings.want,
            "known": len(wanted),
            "read": len(read),
            "fresh": round(shard.refreshing.fresh_of(now, read, shard.value)),
            "expected_among_unread": round(float(interest.expected(unread)[0].sum()), 1),
            "certified_error": interest.error(shard.pages.rows),
        }
    }


def _kept(opened: CrawlState) -> Interest:
    if opened.shard.interest is None:
        raise BadInput(
            f"{opened.folder.path}: this crawl looks for no particular pages, so there is no interest; start it with "
            "--want, as in --want xml, or set it: centime set DIR want=xml"
        )
    return opened.shard.interest
