"""The importance of sites: PageRank of the links between them, as the conclusion of the paper proposes.

    w_st  =  the number of links from pages of site s to pages of site t            (t other than s)
    x     =  d W x + (V/N) e                                      as for pages (`rank/pagerank.py`), with mean 1

A site is a host name, as in `centime rank --by site`, or a registrable domain. Links within a site do not count: a site
cannot raise itself by more pages. This is another measure than the sum of the importance of its pages.

Each report computes it from the links in the folder of the crawl; it is not stored. The
certified error is that of the solver, for the links known now; it does not depend on what the ledger of pages owes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from centime.crawl.report.graph import LinkedPages, link_graph
from centime.crawl.report.sorting import first_by
from centime.discover.canonical import canonical
from centime.graphs.names import NameTable, PageNames
from centime.model.errors import BadSetting
from centime.model.graph import Graph, Targets
from centime.rank.pagerank import pagerank
from centime.rank.scores import Vector
from centime.rank.site import joined, sites_of

BY = "site-importance"  # the order of `centime top`
ERROR = 1e-8
SITES = {"site": "host", "domain": "domain"}  # the words of a user, and those of `rank/site.py`


@dataclass(frozen=True, slots=True, eq=False)
class RankedSites:
    """The sites of a crawl with their importance."""

    names: PageNames
    site_of: Targets  # of each page, in the numbering of all partitions
    graph: Graph
    importance: Vector
    certified_error: float

    @property
    def largest_error(self) -> float:
        """No site's importance is wrong by more than this."""
        return self.certified_error * len(self.importance) / 2


def ranked_sites(linked: LinkedPages, damping: float, by: str = "site") -> RankedSites:
    """The sites of all pages of a crawl; BadInput if it knows no page."""
    check_by(by)
    pages, _ = link_graph(linked)
    site_of, names = _sites_of_pages(linked, by)
    graph = joined(pages, site_of, len(names))
    scores = pagerank(graph, damping=damping, error=ERROR)
    return RankedSites(names, site_of, graph, scores.scores, scores.certified_error)


def _sites_of_pages(linked: LinkedPages, by: str) -> tuple[Targets, PageNames]:
    """The site of each page, and the names of the sites that have pages."""
    if linked.hosts is None:
        return sites_of(PageNames.of([url for some in linked.urls() for url in some]), SITES[by])
    hosts = linked.hosts()
    with_pages, host_of = np.unique(hosts.of_pages, return_inverse=True)
    site_of_host, names = sites_of(PageNames.of([hosts.names[host] for host in with_pages.tolist()]), SITES[by])
    return site_of_host[host_of], names


def top_sites(linked: LinkedPages, damping: float, count: int) -> dict[str, Any]:
    """The first `count` sites by importance, and its error bounds."""
    if count < 0:
        raise BadSetting(f"the number of sites to show must be 0 or more, not {count}")
    sites = ranked_sites(linked, damping)
    pages = np.bincount(sites.site_of, minlength=len(sites.names))
    linking = sites.graph.in_degree
    rows = [
        {
            "rank": rank,
            "site_importance": float(sites.importance[site]),
            "linking_sites": int(linking[site]),
            "known": int(pages[site]),
            "site": sites.names[site],
        }
        for rank, site in enumerate(first_by(sites.importance, count).tolist(), 1)
    ]
    errors = {"certified_error": sites.certified_error, "largest_error": sites.largest_error}
    return {"known": linked.count, "sites": len(sites.names), **errors, "by": BY, "top": rows}


def check_by(by: str) -> None:
    """BadSetting unless sites can be formed so."""
    if by not in SITES:
        raise BadSetting(f"sites are formed by site (host name) or by domain, not by {by!r}")


def site_names(texts: Sequence[str], by: str = "site") -> list[str]:
    """The names of the sites that host names or URLs belong to."""
    urls = [canonical(text if "://" in text else f"http://{text}") or text for text in texts]
    table = NameTable()
    numbers = table.add(urls)
    site_of, names = sites_of(table.names(), SITES[by])
    return [names[int(site)] for site in site_of[np.asarray(numbers)]]
