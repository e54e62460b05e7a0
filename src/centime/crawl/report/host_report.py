"""The hosts of a crawl: their pages, visits and failures, and when each can be fetched from."""

from typing import Any

import numpy as np

from centime.crawl.engine.state import CrawlState
from centime.crawl.report.opening import moment
from centime.crawl.report.planning.waiting import Waiting
from centime.crawl.report.top import readiness
from centime.model.errors import BadSetting
from centime.model.ids import HostId, host_ids
from centime.shard.state import ShardState

ORDERS = {"known": "known", "read": "read", "failures": "failures", "bytes": "wire_bytes"}


def host_table(opened: CrawlState, count: int, by: str = "known", *, now: float = 0.0) -> dict[str, Any]:
    """The first `count` hosts by one of ORDERS, and sums over all hosts."""
    if by not in ORDERS:
        raise BadSetting(f"hosts are sorted by {', '.join(list(ORDERS)[:-1])} or {list(ORDERS)[-1]}, not by {by!r}")
    if count < 0:
        raise BadSetting(f"the number of hosts to show must be 0 or more, not {count}")
    shard = opened.shard
    column = ORDERS[by]
    numbers = host_ids(np.arange(len(shard.hosts)))
    best = sorted(numbers, key=lambda number: (-getattr(shard.hosts[number], column), number))[:count]
    waiting = Waiting(shard)
    rows = [host_facts(shard, number, waiting.host_time(number), now) for number in best]
    return {"hosts": len(shard.hosts), **shard.hosts.statistics(), "by": by, "top": rows}


def host_facts(shard: ShardState, number: HostId, ready: float, now: float) -> dict[str, Any]:
    """The facts of a host; `ready` is when the frontier allows fetching from it."""
    host = shard.hosts[number]
    return {
        "host": host.name,
        "known": host.known,
        "waiting": shard.placement.frontier.pages_of(number),
        "visits": host.visits,
        "read": host.read,
        "failures": host.failures,
        "refused": host.refused,
        "wire_bytes": host.wire_bytes,
        "ready": readiness(max(host.next_time, ready), now),
        "crawl_delay_seconds": host.politeness.crawl_delay or None,
        "latency_seconds": round(host.politeness.latency, 4) or None,
        "blocked_until": moment(host.politeness.blocked_until) if host.politeness.blocked_until > now else None,
        "trouble": host.trouble,
    }
