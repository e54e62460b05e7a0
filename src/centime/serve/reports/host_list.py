"""The hosts of a crawl, and one of them in full: its state, its queue, and the actual gaps between its visits."""

from typing import Annotated, Literal

import msgspec
import numpy as np

from centime.crawl.report.host_report import ORDERS, host_facts
from centime.model.ids import HostId, host_ids, page_ids
from centime.serve.glance import Glance, PartGlance
from centime.serve.resource import Parameters, Report, Resource, packed_cursor, unpacked_cursor

MOST = 1000
MOST_VISITS = 5_000  # of a host, whose gaps are measured


class HostsWanted(Parameters, frozen=True, kw_only=True):
    """Which hosts, in which order."""

    by: Literal["known", "read", "failures", "bytes", "waiting"] = "known"
    match: str = ""
    most: Annotated[int, msgspec.Meta(ge=1, le=MOST)] = 100
    cursor: str = ""


def host_list(glance: Glance, wanted: HostsWanted) -> Report:
    """The hosts in an order, from the cursor on."""
    values: dict[int, int] = {}  # by the number of the host among all
    parts: dict[int, PartGlance] = {}
    for part in glance.each:
        found = _values(part, wanted)
        values |= found
        parts |= dict.fromkeys(found, part)
    numbers = sorted(values, key=lambda number: (-values[number], number))
    if wanted.cursor:
        value, last = unpacked_cursor(wanted.cursor, tuple[int, int])
        numbers = [number for number in numbers if (-values[number], number) > (-value, last)]
    shown = numbers[: wanted.most]
    rows = [_row(parts[number], HostId(number - parts[number].first_host)) for number in shown]
    following = packed_cursor(int(values[shown[-1]]), int(shown[-1])) if len(numbers) > len(shown) else None
    return {
        "hosts": sum(len(one.shard.hosts) for one in glance.parts.readers),
        "by": wanted.by,
        "rows": rows,
        "next": following,
    }


def _values(glance: PartGlance, wanted: HostsWanted) -> dict[int, int]:
    """The values by which the hosts of a part are sorted."""
    shard = glance.reader.shard
    frontier = shard.placement.frontier
    return {
        glance.first_host + number: frontier.pages_of(number)
        if wanted.by == "waiting"
        else getattr(shard.hosts[number], ORDERS[wanted.by])
        for number in host_ids(np.arange(len(shard.hosts)))
        if wanted.match in shard.hosts[number].name
    }


def _row(glance: PartGlance, host: HostId) -> Report:
    facts = host_facts(glance.reader.shard, host, glance.waiting.host_time(host), glance.now)
    return facts | {"fresh_percent": _fresh(glance, host)}


def _fresh(glance: PartGlance, host: HostId) -> float | None:
    """The estimated share of a host's copies that are fresh, in percent; None if it has none."""
    found = glance.fresh_hosts.get(host)
    return None if found is None else 100.0 * found


class HostWanted(Parameters, frozen=True, kw_only=True):
    """Which host: `https://museum.example`."""

    host: str


def one_host(glance: Glance, wanted: HostWanted) -> Report:
    """One host: its facts, and the gaps between its newest visits."""
    part, number = glance.with_host(wanted.host)
    gaps = _gaps(part, number)
    return _row(part, number) | {
        "delay_seconds": part.reader.shard.settings.delay,
        "gap_seconds": float(gaps.min()) if len(gaps) else None,
        "usual_gap_seconds": float(np.median(gaps)) if len(gaps) else None,
        "gaps": len(gaps),
    }


def _gaps(glance: PartGlance, host: HostId) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The times between the newest visits to a host, of the last visits of its pages and those before them."""
    records = glance.reader.shard.pages.records
    pages = np.flatnonzero((glance.hosts == host) & (glance.visits["visits"] > 0))
    pages = pages[np.argsort(-glance.visits["time"][pages], kind="stable")][:MOST_VISITS]
    oldest = float(glance.visits["time"][pages[-1]]) if len(pages) == MOST_VISITS else 0.0
    times: list[float] = []
    for page in page_ids(pages):
        for head in records.head_history(page):
            if float(head["time"]) < oldest or len(times) >= 2 * MOST_VISITS:
                break
            times.append(float(head["time"]))
    return np.diff(np.sort(np.array(times)))


HOSTS = Resource(
    name="hosts",
    title="Hosts",
    summary="The hosts of a crawl: state, delay, queue, errors, freshness.",
    parameters=HostsWanted,
    report=host_list,
    columns=(
        "host",
        "known",
        "waiting",
        "visits",
        "read",
        "failures",
        "refused",
        "wire_bytes",
        "ready",
        "crawl_delay_seconds",
        "latency_seconds",
        "blocked_until",
        "trouble",
        "fresh_percent",
    ),
)
HOST = Resource(
    name="host",
    title="Host",
    summary="One host, and how far apart the visits to it really were.",
    parameters=HostWanted,
    report=one_host,
)
