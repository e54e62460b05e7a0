"""Makes the requisites of visited pages known: each gets a number, a host, an account and a place in the frontier.

A requisite that is known already, as a page or as a requisite, stays what it is. The crawl's bounds hold
(`bounds.py`): the value of a requisite is what its page is worth, shared among all that the page needs. Traps do not,
because what a page names is limited by the page; instead a host may have `requisites-per-host`.
"""

import numpy as np

from centime.frontier.kind import REQUISITE, kinds_of
from centime.model.address import host_of
from centime.model.row_batch import Pages
from centime.shard.joining import add_pages, fingerprints_of, within_bounds
from centime.shard.message import Visit
from centime.shard.pages import origins_at
from centime.shard.state import ShardState

MOST_NESTING = 255


def join_needed(state: ShardState, visits: list[Visit]) -> None:
    """Adds the requisites whose text came with visits, and makes pages of requisites that were found to be pages."""
    requisites = state.requisites
    requisites.become_pages(np.array([visit.page for visit in visits if visit.is_page], dtype=np.int64))
    requisites.over_page += sum(visit.needs_cut for visit in visits)
    needing = [visit for visit in visits if visit.needed]
    if not needing:
        return
    lines = [visit.needed.decode().split("\n") for visit in needing]
    counts = [len(urls) for urls in lines]
    urls = [url for line in lines for url in line]
    fingerprints = fingerprints_of(urls)
    unknown = np.flatnonzero(state.pages.table.find(fingerprints) < 0)
    parents = np.repeat(np.array([visit.page for visit in needing], dtype=np.int64), counts)
    if state.bounds.is_near(state.pages.count, len(state.hosts), len(unknown)):
        values = state.ledger.importance(parents) / np.repeat(counts, counts)
        unknown = within_bounds(state, fingerprints, urls, values, unknown)
    unknown = _within_hosts(state, urls, unknown)
    if not len(unknown):
        return
    origins = origins_at(state.pages.origins_of(parents)["depth"].astype(np.int64) + 1)
    pages, places, hosts, _ = add_pages(state, fingerprints, urls, origins, unknown)
    nesting = np.minimum(requisites.nesting(parents[places]).astype(np.int64) + 1, MOST_NESTING).astype(np.uint8)
    requisites.add(pages, parents[places], nesting, hosts)
    keys = state.ledger.importance(parents[places])
    state.placement.enqueue(pages, hosts, kinds_of(np.full(len(pages), REQUISITE), np.zeros(len(pages))), keys)


def _within_hosts(state: ShardState, urls: list[str], places: Pages) -> Pages:
    """Those of the places whose host may have more requisites."""
    admitted: list[int] = []
    counted: dict[str, int] = {}
    for place in places.tolist():
        name = host_of(urls[place])
        if name not in counted:
            host = state.hosts.find(name)
            counted[name] = 0 if host is None else state.requisites.of_host(host)
        if counted[name] < state.settings.requisites_per_host:
            counted[name] += 1
            admitted.append(place)
    state.requisites.over_host += len(places) - len(admitted)
    return np.array(admitted, dtype=np.int64)
