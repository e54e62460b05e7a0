"""Centime: page importance on-line, with a certified error.

    from centime import Ledger

The public names are loaded when they are first used, so that `import centime` costs next to nothing.
"""

from typing import TYPE_CHECKING

__all__ = ["ExactLedger", "Graph", "Ledger", "OpicLedger", "__version__", "pagerank"]

if TYPE_CHECKING:
    from centime.ledger.exact import ExactLedger
    from centime.ledger.named import Ledger
    from centime.ledger.opic import OpicLedger
    from centime.model.graph import Graph
    from centime.rank.ranking import pagerank

    __version__: str
else:
    from importlib import import_module

    _HOMES = {
        "ExactLedger": "centime.ledger.exact",
        "Graph": "centime.model.graph",
        "Ledger": "centime.ledger.named",
        "OpicLedger": "centime.ledger.opic",
        "pagerank": "centime.rank.ranking",
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
