"""Makes the requisites of visited pages known: each gets a number, a host, an account and a place in the frontier.

A requisite that is known already, as a page or as a requisite, stays what it is. The crawl's bounds hold
(`bounds.py`): the value of a requisite is the value of its page, divided by the number of its requisites. Limits of
traps do not, because a page names a limited number of requisites; instead a host may have `requisites-per-host`.

In a partition, requisites on hosts of other partitions are sent to their owners with the next batch, and become known
there in the same way. They may be sent again after some time, which changes nothing.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from centime.frontier.kind import REQUISITE, kinds_of
from centime.model.address import host_of
from centime.model.row_batch import Pages
from centime.shard.joining import add_pages, fingerprints_of, within_bounds
from centime.shard.message import Visit
from centime.shard.pages import origins_at
from centime.shard.requisites import ELSEWHERE, Needing
from centime.shard.state import ShardState
from centime.shard.transfers.batch import Needed
from centime.shard.transfers.transfers import Transfers

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
    parents = np.array([visit.page for visit in needing], dtype=np.int64)
    depths = state.pages.origins_of(parents)["depth"].astype(np.int64) + 1
    nesting = np.minimum(requisites.nesting(parents).astype(np.int64) + 1, MOST_NESTING)
    urls = [url for line in lines for url in line]
    found = Found(
        urls,
        fingerprints_of(urls),
        *(np.repeat(each, counts) for each in (parents, depths, nesting, state.ledger.importance(parents), counts)),
    )
    everywhere = np.arange(len(urls))
    _join(state, found, everywhere if state.transfers is None else _own(state, state.transfers, found), {})


def join_needed_elsewhere(state: ShardState, needed: Sequence[Needed]) -> None:
    """Adds the requisites that pages of another partition need."""
    if needed:
        urls = [one.url for one in needed]
        found = Found(
            urls,
            fingerprints_of(urls),
            np.full(len(urls), ELSEWHERE, dtype=np.int64),
            np.array([one.depth for one in needed], dtype=np.int64),
            np.array([one.nesting for one in needed], dtype=np.int64),
            np.array([one.importance for one in needed], dtype=np.float64),
            np.array([one.among for one in needed], dtype=np.int64),
        )
        _join(
            state,
            found,
            np.arange(len(urls)),
            {place: Needing(one.parent, one.importance) for place, one in enumerate(needed)},
        )


class Found(NamedTuple):
    """URLs that pages need, and for each: the page that needs it, its depth and nesting, and that page's importance and
    number of requisites.
    """

    urls: list[str]
    fingerprints: npt.NDArray[np.uint64]
    parents: Pages
    depths: npt.NDArray[np.int64]
    nesting: npt.NDArray[np.int64]
    importance: npt.NDArray[np.float64]
    among: npt.NDArray[np.int64]


def _own(state: ShardState, transfers: Transfers, found: Found) -> Pages:
    """The places of those that this partition owns. The others are sent to their owners."""
    own = transfers.is_own(found.fingerprints)
    away = np.flatnonzero(~own)
    prints = state.pages.table.fingerprints[found.parents[away]].tolist()
    needed = [
        Needed(found.urls[place], int(depth), int(nesting), parent, float(importance), int(among))
        for place, parent, depth, nesting, importance, among in zip(
            away.tolist(), prints, *(array[away].tolist() for array in found[3:]), strict=True
        )
    ]
    transfers.need(found.fingerprints[away], needed)
    return np.flatnonzero(own)


def _join(state: ShardState, found: Found, places: Pages, elsewhere: dict[int, Needing]) -> None:
    """Adds those at these places that are not known; `elsewhere` has, by place, the pages of another partition that
    need them.
    """
    urls, fingerprints = found.urls, found.fingerprints
    unknown = places[state.pages.table.find(fingerprints[places]) < 0]
    if state.bounds.is_near(state.pages.count, len(state.hosts), len(unknown)):
        unknown = within_bounds(state, fingerprints, urls, found.importance / found.among, unknown)
    unknown = _within_hosts(state, urls, unknown)
    if not len(unknown):
        return
    pages, places, hosts, _ = add_pages(state, fingerprints, urls, origins_at(found.depths), unknown)
    by_page = {page: elsewhere[place] for page, place in zip(pages.tolist(), places.tolist(), strict=True) if elsewhere}
    state.requisites.add(pages, found.parents[places], found.nesting[places].astype(np.uint8), hosts, by_page)
    kinds = kinds_of(np.full(len(pages), REQUISITE), np.zeros(len(pages)))
    state.placement.enqueue(pages, hosts, kinds, found.importance[places])


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
