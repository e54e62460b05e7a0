"""Centime: page importance on-line, with a certified error.

    from centime import Ledger

The public names are loaded when they are first used, so that `import centime` costs next to nothing.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from centime.ledger.exact import ExactLedger
    from centime.ledger.names import Ledger
    from centime.ledger.opic import OpicLedger
    from centime.model.graph import Graph

    __version__: str

__all__ = ["ExactLedger", "Graph", "Ledger", "OpicLedger", "__version__"]

_HOME = {
    "ExactLedger": "centime.ledger.exact",
    "Graph": "centime.model.graph",
    "Ledger": "centime.ledger.names",
    "OpicLedger": "centime.ledger.opic",
}


def __getattr__(name: str) -> object:
    """A public name, loaded from its module at first use (PEP 562)."""
    if name == "__version__":
        return version("centime")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
