"""Links weighed by what they are: the paper found links within a site, and those of dynamic pages, less useful (Section
4.3, "Other Improvements").

    internal    within a host, or within a registrable domain if domains are ranked
    external    to another one
    dynamic     from a page whose URL has a query

The weight of a link is the product of the weights of the kinds that it is, times its own weight if the graph has some.
A kind that is not named has 1; but if sites or domains are ranked, internal links do not count unless they are named. A
page divides what it pays among its links by their weights. So for pages only the ratio of internal to external counts,
and a weight of all links of a page, as `dynamic` is, counts when sites are ranked: there the links of all pages of a
site are added up.

A page whose links all have weight 0 dangles.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

import numpy as np
import numpy.typing as npt

from centime.graphs.names import NamedGraph, PageNames
from centime.model.errors import BadInput, BadSetting
from centime.model.graph import Graph

KINDS = ("internal", "external", "dynamic")
NOT_IN_GRAPHS = {
    "nofollow": "whether a link asks not to be followed is not in the graph",
    "template": "whether a link is part of a template is not in the graph",
}
QUERY = ord("?")


@dataclass(frozen=True, slots=True)
class LinkWeights:
    """The weight of each kind of link."""

    internal: float | None = None  # None: 1 for pages, 0 for sites
    external: float = 1.0
    dynamic: float = 1.0


def link_weights(given: str | Mapping[str, float]) -> LinkWeights:
    """The weights that a text such as `internal=0.3,external=1` or a mapping gives; BadSetting says what is wrong."""
    pairs: list[tuple[str, object]] = []
    if isinstance(given, str):
        for part in given.split(","):
            name, equals, text = part.partition("=")
            if not equals:
                raise BadSetting(f"a link weight is a kind and a number, as internal=0.3, not {part.strip()!r}")
            pairs.append((name.strip(), text.strip()))
    else:
        pairs = list(given.items())
    made: dict[str, float] = {}
    for kind, number in pairs:
        if kind in NOT_IN_GRAPHS:
            raise BadSetting(f"{NOT_IN_GRAPHS[kind]}: {kind} cannot be weighed; the kinds are {', '.join(KINDS)}")
        if kind not in KINDS:
            raise BadSetting(f"unknown kind of link {kind!r}; the kinds are {', '.join(KINDS)}")
        if kind in made:
            raise BadSetting(f"the weight of {kind} links is given twice")
        made[kind] = _weight(kind, number)
    return LinkWeights(**made)


def check_weights(given: str | Mapping[str, float], by: str) -> LinkWeights:
    """The weights, if they mean something for this kind of ranking."""
    weights = link_weights(given)
    if by == "page" and weights.dynamic != 1.0:
        raise BadSetting(
            "a page divides what it pays among its links, so one weight for all of them changes nothing: "
            "dynamic counts with --by site or --by domain"
        )
    return weights


def weighed(named: NamedGraph, weights: LinkWeights, by: str = "page") -> NamedGraph:
    """The graph of pages with its links weighed; or the graph of sites or domains, whose links are sums of them."""
    if named.names is None:
        raise BadInput("the pages of the graph have no names, so it is unknown which links are internal")
    # The list of public suffixes takes long to load, and without weights pages do not need it.
    from centime.rank.site import joined, sites_of

    graph = named.graph
    site_of, sites = sites_of(named.names, "domain" if by == "domain" else "host")
    degree = graph.out_degree
    inside = np.repeat(site_of, degree) == site_of[graph.targets]
    internal = weights.internal if weights.internal is not None else float(by == "page")
    factor = np.where(inside, internal, weights.external)
    if weights.dynamic != 1.0:
        factor[np.repeat(_have_query(named.names), degree)] *= weights.dynamic
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


def _weight(kind: str, number: object) -> float:
    try:
        weight = float(number)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise BadSetting(f"the weight of {kind} links must be a number, not {number!r}") from None
    if not (isfinite(weight) and weight >= 0):
        raise BadSetting(f"the weight of {kind} links must be a finite number, zero or more, not {number}")
    return weight
