"""Makes URLs known pages: gives each a number, a host, an account in the ledger and a place in the frontier.

Near a bound of the crawl (`bounds.py`), links are admitted by their value, and published URLs while there is room.
Seeds are always admitted. A URL that is refused is counted with its reason (`refusals.py`); another link may bring it
again.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from centime.discover.refusal import Reason
from centime.discover.traps import Traps
from centime.frontier.frontier import Frontier
from centime.frontier.kind import DISCOVERY, PUBLISHED, kinds_of
from centime.model.address import fingerprint, host_of
from centime.model.ids import HostId, PageId, host_ids, page_ids
from centime.model.row_batch import Pages
from centime.shard.host_table import Hosts
from centime.shard.limits.bounds import Places, Values
from centime.shard.limits.domain import domain_number
from centime.shard.message import SHAPE, TEXT_FOLLOWS, Role, Seeded, Visit
from centime.shard.pages import origins_at
from centime.shard.people.requests import MOST_SITEMAPS
from centime.shard.state import ShardState
from centime.shard.transfers.batch import Name
from centime.shard.visit_rows import tidy_rows
from centime.shard.weights.weighing import weighed
from centime.store.record import NO_PAGE

Fingerprints = npt.NDArray[np.uint64]
Sources = npt.NDArray[np.int64]
NO_SHAPES: Mapping[int, int] = {}
LATE_PROXIES = 4  # rules from which on links to other partitions that are admitted late are paid at once
_TRAPS = Traps()


def fingerprints_of(urls: list[str]) -> Fingerprints:
    """The fingerprints of canonical URLs."""
    return np.array([fingerprint(url) for url in urls], dtype=np.uint64)


def take_seeded(state: ShardState, frame: Seeded) -> int:
    """Adds the URLs of a `Seeded` frame; returns how many were new."""
    urls = frame.texts.decode().split("\n") if frame.texts else []
    if frame.sources:
        return join_late(state, urls, np.frombuffer(frame.sources, dtype=np.int64))
    fingerprints = fingerprints_of(urls)
    state.requisites.become_pages(state.pages.table.find(fingerprints))
    origins = origins_at([frame.depth] * len(urls), frame.role)
    joined = join(state, fingerprints, urls, origins, frame.level, always=True)
    if frame.role & Role.SITEMAP:
        believe(state, fingerprints)
    return joined


def believe(state: ShardState, fingerprints: Fingerprints) -> None:
    """Notes that pages are announced as sitemaps, whether they were known before or not."""
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
    sources: Sources | None = None,
    shapes: Mapping[int, int] = NO_SHAPES,
) -> int:
    """Adds the URLs that are not known, within the limits of their hosts (`trap_evidence.py`) and of the crawl; returns
    how many. `origins` have their depths and roles, `values` what each is worth; without them, they were published.
    `always`: the crawl has no limit for them. `sources` are the pages that link to them, `shapes` the keys of
    suspicious shapes, by place.
    """
    known = state.pages
    offered = unknown = _own(state, fingerprints, urls, origins, np.flatnonzero(known.table.find(fingerprints) < 0))
    if not always and state.bounds.is_near(known.count, len(state.hosts), len(unknown)):
        unknown = within_bounds(state, fingerprints, urls, values, unknown)
    places = unknown.tolist()
    suspects = {where: shapes[place] for where, place in enumerate(places) if place in shapes} if shapes else shapes
    taken, refused = state.limits.take_many([urls[place] for place in places], suspects)
    admitted = unknown[taken]
    added = add_pages(state, fingerprints, urls, origins, admitted) if len(admitted) else None
    if len(admitted) < len(offered):
        reasons = {places[where]: reason for where, reason in refused.items()}
        _refuse(state, fingerprints, urls, offered, reasons, sources, shapes)
    if added is None:
        return 0
    pages, _, hosts, classes = added
    keys = state.unread_keys(pages) if level == DISCOVERY else state.ledger.importance(pages)
    state.placement.enqueue(pages, hosts, kinds_of(np.full(len(pages), level), classes), keys)
    return len(pages)


def _own(
    state: ShardState, fingerprints: Fingerprints, urls: list[str], origins: npt.NDArray[np.void], unknown: Places
) -> Places:
    """The places of URLs that this partition owns. The others become proxies; their owners add them as pages."""
    transfers = state.transfers
    if transfers is None or not len(unknown):
        return unknown
    own = transfers.is_own(fingerprints[unknown])
    away = unknown[~own]
    where = zip(away.tolist(), origins["depth"][away].tolist(), origins["hops"][away].tolist(), strict=True)
    state.refusals.admitted(fingerprints[away])
    new = transfers.introduce(fingerprints[away], [Name(urls[place], depth, hops) for place, depth, hops in where])
    if state.link_kinds is not None:
        state.link_kinds.join_proxies(new)
    return unknown[own]


class Added(NamedTuple):
    """New pages, which wait nowhere yet, and for each: its place among the URLs, its host and its focus class."""

    pages: Pages
    places: Places
    hosts: npt.NDArray[np.int32]
    classes: npt.NDArray[np.uint8]


def add_pages(
    state: ShardState,
    fingerprints: Fingerprints,
    urls: list[str],
    origins: npt.NDArray[np.void],
    admitted: Places,
    focus: int | None = None,
) -> Added:
    """Adds the URLs at the places `admitted`, at least one and all of them unknown; `origins` have their depths. They
    get the class `focus`, or that of the first rule that matches.
    """
    known = state.pages
    pages, new = known.table.find_or_add(fingerprints[admitted])
    joined, pages = admitted[new], pages[new]
    state.refusals.admitted(fingerprints[joined])
    texts = [urls[place] for place in joined.tolist()]
    first = HostId(len(state.hosts))
    hosts = state.hosts.number_many([host_of(url) for url in texts])
    join_domains(state.hosts, state.placement.frontier, first)
    classes = _classes(state, texts) if focus is None else np.full(len(texts), focus, dtype=np.uint8)
    known.join(texts, hosts, origins[joined], classes)
    join_ledger(state, classes)
    if state.interest is not None:
        state.interest.join(pages, texts)
    if state.settings.ban:
        _ban(state, hosts)
    return Added(pages, joined, hosts, classes)


def _refuse(
    state: ShardState,
    fingerprints: Fingerprints,
    urls: list[str],
    offered: Places,
    reasons: Mapping[int, Reason],
    sources: Sources | None,
    shapes: Mapping[int, int],
) -> None:
    """Counts the offered URLs that have not become pages, with their reasons: the bound if there is no other."""
    left = offered[state.pages.table.find(fingerprints[offered]) < 0]
    found = [reasons.get(place, Reason.MOST_PAGES) for place in left.tolist()]
    state.refusals.add(fingerprints[left], np.array(found, dtype=np.uint8))
    for place, reason in zip(left.tolist(), found, strict=True):
        source = NO_PAGE if sources is None else PageId(int(sources[place]))
        key = shapes.get(place, 0) if reason is Reason.TRAP else 0
        state.refusals.enlist(int(fingerprints[place]), reason, urls[place], source, key)


def take_refused(state: ShardState, visits: list[Visit]) -> None:
    """Counts the links that fetchers refused, unless they lead to known pages."""
    for visit in visits:
        if not visit.refused:
            continue
        fingerprints = np.frombuffer(visit.refused, dtype=np.uint64)
        marked = np.frombuffer(visit.refused_for, dtype=np.uint8)
        reasons = marked & np.uint8(TEXT_FOLLOWS - 1)
        unknown = state.pages.table.find(fingerprints) < 0
        if state.transfers is not None:
            unknown &= state.transfers.table.find(fingerprints) < 0
        state.refusals.add(fingerprints[unknown], reasons[unknown])
        if visit.refused_texts:
            texts = visit.refused_texts.decode().split("\n")
            for place, text in zip(np.flatnonzero(marked & TEXT_FOLLOWS).tolist(), texts, strict=True):
                if unknown[place]:
                    state.refusals.enlist(int(fingerprints[place]), Reason(int(reasons[place])), text, visit.page)


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
        sources = np.repeat([visit.page for visit in with_texts], counts)
        urls = [url for some in lines for url in some]
        shapes = _shapes(with_texts, lines)
        origins = np.repeat(origins, counts)
        join(state, fingerprints, urls, origins, DISCOVERY, values=values, sources=sources, shapes=shapes)
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


def join_late(state: ShardState, urls: list[str], sources: Sources, shapes: Mapping[int, int] = NO_SHAPES) -> int:
    """Adds URLs that were refused before, with the links to them of the pages on which they were found; returns how
    many were new.
    """
    depths = state.pages.origins_of(np.maximum(sources, 0))["depth"].astype(np.int64)
    fingerprints = fingerprints_of(urls)
    origins = origins_at(np.where(sources == NO_PAGE, 0, depths + 1))
    count = join(state, fingerprints, urls, origins, DISCOVERY, sources=sources, shapes=shapes)
    targets = state.pages.table.find(fingerprints)
    if state.transfers is not None and state.rules >= LATE_PROXIES:
        targets = state.transfers.with_proxies(fingerprints, targets)
    _link(state, sources, targets)
    return count


def _link(state: ShardState, sources: Sources, targets: Pages) -> None:
    """Adds links to pages that were admitted late to the rows of the pages on which they were found. A ledger without
    links would pay these pages twice; there the links count from the next visit on.
    """
    sources, targets = sources[(sources != NO_PAGE) & (targets >= 0)], targets[(sources != NO_PAGE) & (targets >= 0)]
    if not state.ledger.keeps_links or not len(sources):
        return
    pages, places = np.unique(sources, return_inverse=True)
    rows = state.pages.rows.gather(pages)
    lengths = rows.lengths + np.bincount(places, minlength=len(pages))
    parts = np.split(rows.links(), np.cumsum(rows.lengths)[:-1])
    joined = [part for place, old in enumerate(parts) for part in (old, targets[places == place])]
    longer = tidy_rows(np.concatenate(joined).astype(np.int64), lengths)
    if state.interest is not None:
        state.interest.relink(pages, rows, longer)
    state.ledger.visit_many(pages, weighed(state, pages, longer))


def _shapes(visits: list[Visit], lines: list[list[str]]) -> dict[int, int]:
    """The keys of suspicious shapes among the new links of visits, by their place among all of them."""
    keys: dict[int, int] = {}
    start = 0
    for visit, urls in zip(visits, lines, strict=True):
        if visit.shapes is None:  # of an older version, which refused all others itself
            keys |= {start + place: key for place, key in suspects_among(urls).items()}
        elif visit.shapes:
            for place, key in np.frombuffer(visit.shapes, dtype=SHAPE).tolist():
                keys[start + place] = key
        start += len(urls)
    return keys


def suspects_among(urls: list[str]) -> dict[int, int]:
    """The keys of suspicious shapes among URLs, by their place."""
    suspects = ((place, _TRAPS.suspect(url)) for place, url in enumerate(urls))
    return {place: found.key for place, found in suspects if found and found.kind.by_number}


def _link_values(state: ShardState, visits: list[Visit]) -> Values:
    """The payment of each page along each of its links: d x / k, where x is its importance, or its value with
    `--want`."""
    pages = np.array([visit.page for visit in visits], dtype=np.int64)
    links = np.array([max(8, len(visit.links)) // 8 for visit in visits], dtype=np.float64)
    return state.ledger.damping * state.value(pages) / links


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
