"""The graph of sites: pages are merged by host or by registrable domain, and their links are added up.

The host of `https://user@WWW.Example.co.uk:8080/path` is `www.example.co.uk`, and its registrable domain is
`example.co.uk`: one label more than the public suffix in the Public Suffix List, which is part of the package
`publicsuffixlist` and needs no network. A numeric address, or a host that is itself a public suffix, is a domain of its
own. A name without `//` is a host, optionally followed by a path.

The weight of the link between two sites is the sum of the weights of the links between their pages. `internal` is the
factor of links within a site: 0 leaves them out, 1 counts them like others. Sites are numbered in the order of their
first page; rows are sorted.

Memory: 12 bytes per link that is kept, and the names of the sites.
"""

from functools import cache
from ipaddress import ip_address
from math import isfinite

import numpy as np
from publicsuffixlist import PublicSuffixList

from centime.graphs.name_slots import Bytes
from centime.graphs.names import NamedGraph, NameTable, PageNames
from centime.model.errors import BadInput, BadSetting
from centime.model.graph import Graph, Offsets, Targets, Weights
from centime.model.kernel import kernel

SLASH, COLON, AT, QUESTION, HASH, BACKSLASH, POINT = (ord(character) for character in "/:@?#\\.")
BLOCK_PAGES = 1 << 16


def site_graph(named: NamedGraph, by: str = "host", internal: float = 0.0) -> NamedGraph:
    """The graph of the sites of the pages; `by` is "host" or "domain", `internal` the factor of links within a site."""
    if by not in ("host", "domain"):
        raise BadSetting(f"sites are formed by host or by domain, not by {by!r}")
    if not (isfinite(internal) and internal >= 0):
        raise BadSetting(f"the factor of internal links must be a finite number, zero or more, not {internal}")
    if named.names is None:
        raise BadInput("the pages of the graph have no names, so their sites are unknown")
    site_of, names = sites_of(named.names, by)
    return NamedGraph(joined(named.graph, site_of, len(names), internal), names)


def sites_of(names: PageNames, by: str) -> tuple[Targets, PageNames]:
    """The number of the site of each page, and the names of the sites."""
    table = NameTable()
    site_of = np.empty(len(names), dtype=np.int32)
    for start in range(0, len(names), BLOCK_PAGES):
        offsets = names.offsets[start : start + BLOCK_PAGES + 1]
        text = names.heap[offsets[0] : offsets[-1]].copy()
        starts, ends = np.empty((2, len(offsets) - 1), dtype=np.int64)
        _find_hosts(text, offsets - offsets[0], starts, ends)
        site_of[start : start + len(starts)] = table.number(text, starts, ends)
    hosts = table.names()
    return (site_of, hosts) if by == "host" else _domains(site_of, hosts)


def _domains(host_of: Targets, hosts: PageNames) -> tuple[Targets, PageNames]:
    table = NameTable()
    domain_of = table.add([registrable_domain(host, _suffix_list()) for host in hosts])
    return domain_of[host_of], table.names()


@cache
def _suffix_list() -> PublicSuffixList:
    """The public suffix list; reading it takes longer than ranking a small graph."""
    return PublicSuffixList()


def registrable_domain(host: str, suffixes: PublicSuffixList) -> str:
    """The registrable domain of a host; the host itself if there is none."""
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return suffixes.privatesuffix(host) or host
    return host


def joined(graph: Graph, site_of: Targets, sites: int, internal: float = 0.0) -> Graph:
    """The graph of `sites` sites, whose pages `site_of` names. Links are added up with one counter per target site, one
    source site after the other.
    """
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
def _find_hosts(text: Bytes, offsets: Offsets, starts: Offsets, ends: Offsets) -> None:
    """Finds start and end of the host in each name, and makes it lower case."""
    for page in range(len(starts)):
        first, last = offsets[page], offsets[page + 1]
        at = first
        while at < last and text[at] != SLASH and text[at] != QUESTION and text[at] != HASH:
            at += 1
        if at + 1 < last and text[at] == SLASH and text[at + 1] == SLASH and (at == first or text[at - 1] == COLON):
            first = at + 2
        at = first
        while at < last and text[at] != SLASH and text[at] != QUESTION and text[at] != HASH and text[at] != BACKSLASH:
            if text[at] == AT:
                first = at + 1
            at += 1
        last = at
        while at > first and 48 <= text[at - 1] <= 57:
            at -= 1
        if at > first and text[at - 1] == COLON:
            last = at - 1
        if last > first + 1 and text[last - 1] == POINT:
            last -= 1
        for place in range(first, last):
            if 65 <= text[place] <= 90:
                text[place] += 32
        starts[page], ends[page] = first, last


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
    """Counts the links of site i in `rows[i + 1]` if `row_targets` is empty; else fills row i from `rows[i]` on."""
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
