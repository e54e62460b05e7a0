"""The graph of sites: pages joined by host or by registrable domain, links counted.

The host of `https://user@WWW.Example.co.uk:8080/path` is `www.example.co.uk`, its registrable domain `example.co.uk`: one label more than
the public suffix, by the Public Suffix List that the package `publicsuffixlist` carries; nothing is looked up in the network. A numeric
address, and a host that is itself a public suffix, is a domain of its own. A name without `//` counts as a host with perhaps a path.

The weight of the link between two sites is the sum of the weights of the links between their pages. Links within a site are weighed by
`internal`: 0 leaves them out, 1 counts them like others. Sites are numbered in the order of their first page; targets in a row are sorted.

Memory: 12 bytes per link that is kept, and the names of the sites.
"""

from ipaddress import ip_address
from math import isfinite

import numpy as np
from publicsuffixlist import PublicSuffixList

from centime.model.errors import BadInput, BadSetting
from centime.model.graph import Graph, Offsets, Targets, Weights
from centime.model.kernel import kernel
from centime.rank.names import KEY, Bytes, NamedGraph, NameTable, PageNames, Slots, number_of

SLASH, COLON, AT, QUESTION, HASH, BACKSLASH = (ord(character) for character in "/:@?#\\")
BLOCK_PAGES = 1 << 16


def site_graph(named: NamedGraph, by: str = "host", internal: float = 0.0) -> NamedGraph:
    """The graph of the sites of a graph's pages; `by` is "host" or "domain", `internal` the factor of links within a site."""
    if by not in ("host", "domain"):
        raise BadSetting(f"sites are made by host or by domain, not by {by!r}")
    if not (isfinite(internal) and internal >= 0):
        raise BadSetting(f"the factor of internal links must be a finite number, zero or more, not {internal}")
    if named.names is None:
        raise BadInput("the pages of the graph have no names, so their sites are not known")
    site_of, names = sites_of(named.names, by)
    return NamedGraph(_joined(named.graph, site_of, len(names), internal), names)


def sites_of(names: PageNames, by: str) -> tuple[Targets, PageNames]:
    """The number of the site of every page, and the names of the sites."""
    table = NameTable()
    site_of = np.empty(len(names), dtype=np.int32)
    for start in range(0, len(names), BLOCK_PAGES):
        stop = min(len(names), start + BLOCK_PAGES)
        table.make_room(stop - start, int(names.offsets[stop] - names.offsets[start]))
        table.count = _number_hosts(
            names.heap, names.offsets, start, stop, table.slots, table.heap, table.offsets, table.count, table.most, KEY, site_of
        )
    hosts = table.names()
    return (site_of, hosts) if by == "host" else _domains(site_of, hosts)


def _domains(host_of: Targets, hosts: PageNames) -> tuple[Targets, PageNames]:
    suffixes = PublicSuffixList()
    table = NameTable()
    domain_of = np.fromiter((table.add(registrable_domain(host, suffixes)) for host in hosts), dtype=np.int32, count=len(hosts))
    return domain_of[host_of], table.names()


def registrable_domain(host: str, suffixes: PublicSuffixList) -> str:
    """The domain that somebody has registered, of which the host is a part; the host itself if there is none."""
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return suffixes.privatesuffix(host) or host
    return host


def _joined(graph: Graph, site_of: Targets, sites: int, internal: float) -> Graph:
    """Adds up the links between sites: the pages of a site one after the other, with one counter per site."""
    order = np.argsort(site_of, kind="stable").astype(np.int32)
    ends = np.zeros(sites + 1, dtype=np.int64)
    np.cumsum(np.bincount(site_of, minlength=sites), out=ends[1:])
    no_weights = np.empty(0) if graph.weights is None else graph.weights
    degree = np.zeros(sites + 1, dtype=np.int64)
    mark, total = np.full(sites, -1, dtype=np.int32), np.zeros(sites)
    arguments = graph.offsets, graph.targets, no_weights, site_of, order, ends, internal, mark, total
    _join(*arguments, degree, np.empty(0, dtype=np.int32), np.empty(0))
    offsets = np.cumsum(degree)
    targets, weights = np.empty(offsets[-1], dtype=np.int32), np.empty(offsets[-1])
    mark[:] = -1
    _join(*arguments, offsets, targets, weights)
    joined = Graph(offsets, targets, weights if (weights != 1).any() else None)
    return joined.transpose().transpose()  # which sorts the rows


@kernel
def _number_hosts(
    names: Bytes,
    ends: Offsets,
    start: int,
    stop: int,
    slots: Slots,
    heap: Bytes,
    offsets: Offsets,
    count: int,
    most: int,
    key: int,
    site_of: Targets,
) -> int:
    """Numbers the hosts of the pages from `start` to `stop`; returns how many hosts there are."""
    for page in range(start, stop):
        first, last = ends[page], ends[page + 1]
        at = first
        while at < last and names[at] != SLASH and names[at] != QUESTION and names[at] != HASH:
            at += 1
        if at + 1 < last and names[at] == SLASH and names[at + 1] == SLASH and (at == first or names[at - 1] == COLON):
            first = at + 2
        at = first
        while at < last and names[at] != SLASH and names[at] != QUESTION and names[at] != HASH and names[at] != BACKSLASH:
            if names[at] == AT:
                first = at + 1
            at += 1
        last = at
        at = last
        while at > first and 48 <= names[at - 1] <= 57:
            at -= 1
        if at > first and names[at - 1] == COLON:
            last = at - 1
        host = np.empty(last - first, np.uint8)
        for place in range(last - first):
            letter = names[first + place]
            host[place] = letter + 32 if 65 <= letter <= 90 else letter
        size = len(host)
        if size > 1 and host[size - 1] == 46:
            size -= 1
        site = number_of(host, 0, size, slots, heap, offsets, count, most, key)
        count = max(count, site + 1)
        site_of[page] = site
    return count


@kernel
def _join(
    offsets: Offsets,
    targets: Targets,
    weights: Weights,
    site_of: Targets,
    order: Targets,
    ends: Offsets,
    internal: float,
    mark: Targets,
    total: Weights,
    rows: Offsets,
    row_targets: Targets,
    row_weights: Weights,
) -> None:
    """Without room for targets, counts the links of site i in `rows[i + 1]`; with it, fills the rows that start at `rows[i]`."""
    counting = len(row_targets) == 0
    for site in range(len(ends) - 1):
        found = 0
        for place in range(ends[site], ends[site + 1]):
            page = order[place]
            for link in range(offsets[page], offsets[page + 1]):
                other = site_of[targets[link]]
                if other == site and internal == 0.0:
                    continue
                if mark[other] != site:
                    mark[other] = site
                    total[other] = 0.0
                    if not counting:
                        row_targets[rows[site] + found] = other
                    found += 1
                weight = weights[link] if len(weights) > 0 else 1.0
                total[other] += weight * internal if other == site else weight
        if counting:
            rows[site + 1] = found
        else:
            for link in range(rows[site], rows[site] + found):
                row_weights[link] = total[row_targets[link]]
