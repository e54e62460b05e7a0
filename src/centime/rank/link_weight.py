"""Weighs the links of a graph by their kinds (`model/link_weight.py`).

The weight of a link is the product of the weights of its kinds, times its own weight if the graph has weights. A kind
that is not named has weight 1; but if sites or domains are ranked, internal links do not count unless they are named.
Names say which links are internal, external or dynamic, and links which are part of a template. Only crawls that store
it know which links are nofollow (`NamedGraph.nofollow`).
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from centime.graphs.names import NamedGraph, PageNames
from centime.model.errors import BadInput, BadSetting
from centime.model.graph import Graph
from centime.model.link_weight import LinkWeights, link_weights
from centime.model.template import templates_of

QUERY = ord("?")


def check_weights(given: str | Mapping[str, float], by: str) -> LinkWeights:
    """The weights; BadSetting if they have no meaning for this kind of ranking."""
    weights = link_weights(given)
    if by == "page" and weights.of("dynamic") != 1.0:
        raise BadSetting(
            "a page divides what it pays among its links, so one weight for all of them changes nothing: "
            "dynamic counts with --by site or --by domain"
        )
    return weights


def weighed(named: NamedGraph, weights: LinkWeights, by: str = "page") -> NamedGraph:
    """The graph of pages with its links weighed; or the graph of sites or domains, whose links are sums of them."""
    if named.names is None:
        raise BadInput("the pages of the graph have no names, so it is unknown which links are internal")
    if weights.nofollow is not None and named.nofollow is None:
        raise BadInput(
            "it is unknown which links of this graph are nofollow: that is known of a crawl that was started with "
            "--follow-nofollow --link-weight nofollow=X"
        )
    # The list of public suffixes takes long to load, and without weights pages do not need it.
    from centime.rank.site import joined, sites_of

    graph = named.graph
    site_of, sites = sites_of(named.names, "domain" if by == "domain" else "host")
    degree = graph.out_degree
    inside = np.repeat(site_of, degree) == site_of[graph.targets]
    internal = weights.of("internal", float(by == "page"))
    factor = np.where(inside, internal, weights.of("external"))
    if weights.template is not None:
        hosts = (site_of if by != "domain" else sites_of(named.names, "host")[0]).astype(np.int64)
        repeated = templates_of(hosts, degree, graph.targets).have(np.repeat(hosts, degree), graph.targets)
        factor[repeated] *= weights.template
    if weights.nofollow is not None and named.nofollow is not None:
        factor[named.nofollow] *= weights.nofollow
    if weights.of("dynamic") != 1.0:
        factor[np.repeat(_have_query(named.names), degree)] *= weights.of("dynamic")
    if graph.weights is not None:
        factor *= graph.weights
    made = Graph(graph.offsets, graph.targets, factor)
    if by == "page":
        return NamedGraph(made, named.names, named.first)
    return NamedGraph(joined(made, site_of, len(sites), float(internal > 0)), sites)


def _have_query(names: PageNames) -> npt.NDArray[np.bool_]:
    """Which names have a query: a question mark before any fragment, which canonical URLs do not have."""
    places = np.flatnonzero(names.heap == QUERY)
    found = np.zeros(len(names), dtype=np.bool_)
    found[np.searchsorted(names.offsets, places, side="right") - 1] = True
    return found
