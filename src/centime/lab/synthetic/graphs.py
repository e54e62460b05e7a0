"""The lab's graphs by name: synthetic models of any size, or a graph file.

A model is a function of (pages, seed) that returns the same graph for the same arguments. `poisson` and `power_law` are
the models of the papers; `weblike` has hosts, templates and unread pages. `changed` advances any of them by one step of
a changing web.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from centime.graphs.files import read_graph
from centime.lab.synthetic.changing_web import changed
from centime.lab.synthetic.plain import poisson, power_law
from centime.lab.synthetic.weblike import weblike
from centime.model.errors import BadInput
from centime.model.graph import Graph

__all__ = ["MODELS", "changed", "graph_named", "poisson", "power_law", "weblike"]

MODELS: Mapping[str, Callable[[int, int], Graph]] = MappingProxyType(
    {"poisson": poisson, "power-law": power_law, "weblike": weblike}
)


def graph_named(name: str, pages: int, seed: int) -> Graph:
    """The graph of the model `name`, or else the graph in the file `name`, which ignores `pages` and `seed`."""
    if name in MODELS:
        return MODELS[name](pages, seed)
    if not Path(name).suffix:
        raise BadInput(f"unknown graph model {name!r}; the models are {', '.join(MODELS)}, or give a graph file")
    return read_graph(name)
