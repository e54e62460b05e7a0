"""Centime keeps a part of the web ranked and fresh under a stated budget, and knows its error.

    from centime import Crawl, open_crawl, Ledger, pagerank

`docs/python.md` describes every public name; names that are neither there nor here are private and may change. Public
names are loaded when they are first used, so that `import centime` costs next to nothing.
"""

from typing import TYPE_CHECKING

__all__ = [
    "BadInput",
    "CentimeError",
    "Crawl",
    "ExactLedger",
    "FetchedPage",
    "Graph",
    "InUse",
    "Ledger",
    "OpicLedger",
    "Reader",
    "__version__",
    "as_graph",
    "graph_from_links",
    "open_crawl",
    "pagerank",
    "rank_together",
    "read_named",
    "site_graph",
    "write_graph",
]

if TYPE_CHECKING:
    from centime.api.crawl import Crawl
    from centime.api.reader import Reader, open_crawl
    from centime.crawl.worker.hook import FetchedPage
    from centime.graphs.convert import write_graph
    from centime.graphs.files import read_named
    from centime.graphs.foreign import as_graph
    from centime.ledger.exact import ExactLedger
    from centime.ledger.named import Ledger
    from centime.ledger.opic import OpicLedger
    from centime.model.errors import BadInput, CentimeError, InUse
    from centime.model.graph import Graph, graph_from_links
    from centime.rank.ranking import pagerank
    from centime.rank.site import site_graph
    from centime.rank.together import rank_together

    __version__: str
else:
    from importlib import import_module

    _HOMES = {
        "BadInput": "centime.model.errors",
        "CentimeError": "centime.model.errors",
        "Crawl": "centime.api.crawl",
        "ExactLedger": "centime.ledger.exact",
        "FetchedPage": "centime.crawl.worker.hook",
        "Graph": "centime.model.graph",
        "InUse": "centime.model.errors",
        "Ledger": "centime.ledger.named",
        "OpicLedger": "centime.ledger.opic",
        "Reader": "centime.api.reader",
        "as_graph": "centime.graphs.foreign",
        "graph_from_links": "centime.model.graph",
        "open_crawl": "centime.api.reader",
        "pagerank": "centime.rank.ranking",
        "rank_together": "centime.rank.together",
        "read_named": "centime.graphs.files",
        "site_graph": "centime.rank.site",
        "write_graph": "centime.graphs.convert",
    }

    def __getattr__(name: str) -> object:
        """A public name, loaded at its first use (PEP 562)."""
        if name == "__version__":
            return import_module("importlib.metadata").version("centime")
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_HOMES[name]), name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
