"""Makes URLs known pages: gives each a number, a host, an account in the ledger and a place in the frontier.

Near a bound of the crawl (`bounds.py`), links are admitted by their value, and published URLs while there is a place.
Seeds are always admitted. A URL that is refused is counted and not remembered: another link may bring it again.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from centime.frontier.frontier import Frontier
from centime.frontier.kind import DISCOVERY, PUBLISHED, kinds_of
from centime.model.address import fingerprint, host_of
from centime.model.ids import HostId, host_ids, page_ids
from centime.model.row_batch import Pages
from centime.shard.bounds import Places, Values
from centime.shard.domain import domain_number
from centime.shard.host_table import Hosts
from centime.shard.message import Role, Seeded, Visit
from centime.shard.pages import origins_at
from centime.shard.requests import MOST_SITEMAPS
from centime.shard.state import ShardState

Fingerprints = npt.NDArray[np.uint64]


def fingerprints_of(urls: list[str]) -> Fingerprints:
    """The fingerprints of canonical URLs."""
    return np.array([fingerprint(url) for url in urls], dtype=np.uint64)


def take_seeded(state: ShardState, frame: Seeded) -> int:
    """Adds the URLs of a `Seeded` frame; returns how many were new."""
    urls = frame.texts.decode().split("\n") if frame.texts else []
    fingerprints = fingerprints_of(urls)
    state.requisites.become_pages(state.pages.table.find(fingerprints))
    origins = origins_at([frame.depth] * len(urls), frame.role)
    joined = join(state, fingerprints, urls, origins, frame.level, always=True)
    if frame.role & Role.SITEMAP:
        believe(state, fingerprints)
    return joined


def believe(state: ShardState, fingerprints: Fingerprints) -> None:
    """Notes that pages are called sitemaps, whether they were known before or not."""
    pages = state.pages.table.find(fingerprints)
    pages = pages[pages >= 0].astype(np.int64)
    known_before = pages[state.pages.origins_of(pages)["role"] & Role.SITEMAP == 0]
    state.requests.sitemaps.update(page_ids(known_before[: MOST_SITEMAPS - len(state.requests.sitemaps)]))


def join(
    state: ShardState,
    fingerprints: Fingerprints,
    urls: list[str],
    origins: npt.NDArray[np.void],
    level: int,
    *,
    values: Values | None = None,
    always: bool = False,
) -> int:
    """Adds the URLs that are not known, within the limits of their hosts (`discover/traps.py`) and of the crawl;
    returns how many. `origins` have their depths and roles, `values` what each is worth; without them, they were
    published. `always`: the crawl has no limit for them.
    """
    known = state.pages
    unknown = np.flatnonzero(known.table.find(fingerprints) < 0)
    if not always and state.bounds.is_near(known.count, len(state.hosts), len(unknown)):
        unknown = within_bounds(state, fingerprints, urls, values, unknown)
    admitted = unknown[state.limits.take_many([urls[place] for place in unknown.tolist()])]
    if not len(admitted):
        return 0
    pages, _, hosts, classes = add_pages(state, fingerprints, urls, origins, admitted)
    keys = state.ledger.inflow(pages) if level == DISCOVERY else state.ledger.importance(pages)
    state.placement.enqueue(pages, hosts, kinds_of(np.full(len(pages), level), classes), keys)
    return len(pages)


class Added(NamedTuple):
    """New pages, which wait nowhere yet, and for each: its place among the URLs, its host and its focus class."""

    pages: Pages
    places: Places
    hosts: npt.NDArray[np.int32]
    classes: npt.NDArray[np.uint8]


def add_pages(
    state: ShardState, fingerprints: Fingerprints, urls: list[str], origins: npt.NDArray[np.void], admitted: Places
) -> Added:
    """Adds the URLs at the places `admitted`, at least one and all of them unknown; `origins` have their depths."""
    known = state.pages
    pages, new = known.table.find_or_add(fingerprints[admitted])
    joined, pages = admitted[new], pages[new]
    texts = [urls[place] for place in joined.tolist()]
    first = HostId(len(state.hosts))
    hosts = state.hosts.number_many([host_of(url) for url in texts])
    join_domains(state.hosts, state.placement.frontier, first)
    classes = _classes(state, texts)
    known.join(texts, hosts, origins[joined], classes)
    join_ledger(state, classes)
    if state.settings.ban:
        _ban(state, hosts)
    return Added(pages, joined, hosts, classes)


def join_domains(hosts: Hosts, frontier: Frontier, first: HostId) -> None:
    """Gives the frontier the domains of the hosts from `first` on."""
    frontier.set_domains(first, [domain_number(host.name) for host in hosts.all[first:]])


def join_links(state: ShardState, visits: list[Visit]) -> None:
    """Adds the URLs whose text came with visits."""
    with_texts = [visit for visit in visits if visit.texts]
    if with_texts:
        lines = [visit.texts.decode().split("\n") for visit in with_texts]
        came_from = state.pages.origins_of(np.array([visit.page for visit in with_texts], dtype=np.int64))
        origins = origins_at(
            came_from["depth"] + np.array([not visit.same_depth for visit in with_texts], dtype=np.int64),
            np.array([visit.role for visit in with_texts]),
            np.where([visit.outcome.redirect for visit in with_texts], came_from["hops"].astype(np.int64) + 1, 0),
        )
        counts = [len(urls) for urls in lines]
        fingerprints = np.frombuffer(b"".join(visit.fresh for visit in with_texts), dtype=np.uint64)
        values = np.repeat(_link_values(state, with_texts), counts)
        urls = [url for some in lines for url in some]
        join(state, fingerprints, urls, np.repeat(origins, counts), DISCOVERY, values=values)
    for visit in visits:
        if visit.role & Role.SITEMAP and visit.links:
            believe(state, np.frombuffer(visit.links, dtype=np.uint64))
        if visit.sitemaps:
            depth = int(state.pages.origin(visit.page)["depth"]) + 1
            _join_sitemaps(state, visit.sitemaps.decode().split("\n"), depth)


def _join_sitemaps(state: ShardState, urls: list[str], depth: int) -> None:
    """Adds the sitemaps that the robots.txt of a host names; they are fetched soon, as sitemaps that are seeds."""
    fingerprints = fingerprints_of(urls)
    join(state, fingerprints, urls, origins_at([depth] * len(urls), Role.SITEMAP), PUBLISHED)
    believe(state, fingerprints)


def _link_values(state: ShardState, visits: list[Visit]) -> Values:
    """What each page pays along each of its links: d x / k."""
    pages = np.array([visit.page for visit in visits], dtype=np.int64)
    links = np.array([max(8, len(visit.links)) // 8 for visit in visits], dtype=np.float64)
    return state.ledger.damping * state.ledger.importance(pages) / links


def within_bounds(
    state: ShardState, fingerprints: Fingerprints, urls: list[str], values: Values | None, unknown: Places
) -> Places:
    """The places of the URLs that the bounds of the crawl admit, among those of the unknown ones."""
    if not len(unknown):
        return unknown
    _, first, which = np.unique(fingerprints[unknown], return_index=True, return_inverse=True)
    order = np.argsort(first)
    places = unknown[first[order]]
    if values is not None:  # a URL that several pages link to is worth the sum
        sums: Values = np.bincount(which, weights=values[unknown]).astype(np.float64)
        values = sums[order]
    names = [host_of(urls[place]) for place in places.tolist()]
    is_known = np.array([state.hosts.find(name) is not None for name in names], dtype=np.bool_)
    return places[state.bounds.admitted(values, names, is_known, state.pages.count, len(state.hosts))]


def join_ledger(state: ShardState, classes: npt.NDArray[np.uint8]) -> None:
    """Gives new pages of these focus classes accounts in the ledger."""
    ends = [*(np.flatnonzero(np.diff(classes)) + 1).tolist(), len(classes)]
    start = 0
    for end in ends:  # pages join in runs of one class
        state.ledger.join(end - start, focus=int(classes[start]))
        start = end


def _classes(state: ShardState, urls: list[str]) -> npt.NDArray[np.uint8]:
    classes = np.zeros(len(urls), dtype=np.uint8)
    if state.focus:
        for place, url in enumerate(urls):
            found = state.focus.first(url)
            classes[place] = 0 if found is None else found + 1
    return classes


def _ban(state: ShardState, hosts: npt.NDArray[np.int32]) -> None:
    """Blocks new hosts whose name is banned."""
    for number in host_ids(np.unique(hosts)):
        if number not in state.requests.banned and state.hosts[number].name in state.settings.ban:
            state.requests.banned.add(number)
            state.placement.frontier.block(number)
