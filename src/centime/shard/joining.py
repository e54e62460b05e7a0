"""Makes URLs known pages: gives each a number, a host, an account in the ledger and a place in the frontier."""

import numpy as np
import numpy.typing as npt

from centime.frontier.frontier import Frontier
from centime.frontier.kind import DISCOVERY, kinds_of
from centime.model.address import fingerprint, host_of
from centime.shard.domain import domain_number
from centime.shard.host_table import Hosts
from centime.shard.message import Seeded, Visit
from centime.shard.state import ShardState

Fingerprints = npt.NDArray[np.uint64]


def fingerprints_of(urls: list[str]) -> Fingerprints:
    """The fingerprints of canonical URLs."""
    return np.array([fingerprint(url) for url in urls], dtype=np.uint64)


def take_seeded(state: ShardState, frame: Seeded) -> int:
    """Adds the URLs of a `Seeded` frame; returns how many were new."""
    urls = frame.texts.decode().split("\n") if frame.texts else []
    return join(state, fingerprints_of(urls), urls, np.full(len(urls), frame.depth, dtype=np.uint8), frame.level)


def join(
    state: ShardState, fingerprints: Fingerprints, urls: list[str], depths: npt.NDArray[np.uint8], level: int
) -> int:
    """Adds the URLs that are not known, within the limits of their hosts (`discover/traps.py`); returns how many."""
    known = state.pages
    unknown = np.flatnonzero(known.table.find(fingerprints) < 0)
    admitted = unknown[state.limits.take_many([urls[place] for place in unknown.tolist()])]
    if not len(admitted):
        return 0
    pages, new = known.table.find_or_add(fingerprints[admitted])
    joined, pages = admitted[new], pages[new]
    texts = [urls[place] for place in joined.tolist()]
    first = len(state.hosts)
    hosts = state.hosts.number_many([host_of(url) for url in texts])
    join_domains(state.hosts, state.placement.frontier, first)
    classes = _classes(state, texts)
    known.join(texts, hosts, depths[joined], classes)
    join_ledger(state, classes)
    keys = state.ledger.inflow(pages) if level == DISCOVERY else state.ledger.importance(pages)
    state.placement.enqueue(pages, hosts, kinds_of(np.full(len(pages), level), classes), keys)
    if state.settings.ban:
        _ban(state, hosts)
    return len(pages)


def join_domains(hosts: Hosts, frontier: Frontier, first: int) -> None:
    """Gives the frontier the domains of the hosts from `first` on."""
    frontier.set_domains(first, [domain_number(host.name) for host in hosts.all[first:]])


def join_links(state: ShardState, visits: list[Visit]) -> None:
    """Adds the URLs whose text came with visits."""
    with_texts = [visit for visit in visits if visit.texts]
    if with_texts:
        lines = [visit.texts.decode().split("\n") for visit in with_texts]
        deeper = [int(state.pages.origin(visit.page)["depth"]) + (not visit.same_depth) for visit in with_texts]
        depths = np.repeat(np.minimum(deeper, 255), [len(urls) for urls in lines]).astype(np.uint8)
        fingerprints = np.frombuffer(b"".join(visit.fresh for visit in with_texts), dtype=np.uint64)
        join(state, fingerprints, [url for urls in lines for url in urls], depths, DISCOVERY)


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
    for number in np.unique(hosts).tolist():
        if number not in state.requests.banned and state.hosts[number].name in state.settings.ban:
            state.requests.banned.add(number)
            state.placement.frontier.block(number)
