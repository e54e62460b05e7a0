"""The experiments by name, without loading one: names and descriptions are wanted by `centime lab --help`, numpy is
not.
"""

from dataclasses import dataclass
from types import MappingProxyType

from centime.model.errors import BadInput


@dataclass(frozen=True, slots=True)
class Entry:
    """What is said about an experiment, and the module that holds it."""

    about: str
    module: str
    graph: str = "power-law"


CATALOGUE = MappingProxyType(
    {
        "convergence": Entry("error after 1 to 10 crawls, all pages (Figure 2)", "convergence"),
        "convergence-top": Entry("the same for the top tenth of the pages (Figure 3)", "convergence"),
        "window-size": Entry("a changing web: how long a history to keep (Figure 4)", "windows"),
        "window-policy": Entry("a changing web: which history to keep (Figures 5 and 6)", "windows"),
        "greedy-cash": Entry("the cash of the page read tends to 2/n (Section 3.1)", "greedy_cash"),
        "growth": Entry("a growing web: error, bound, important pages found", "growth", "weblike"),
        "refresh": Entry("freshness by budget, for known and for learned rates", "refreshing", "weblike"),
        "rates": Entry("change rates by number of visits: our formulas, the paper's", "rates"),
    }
)


def names_for(name: str) -> list[str]:
    """The experiments that a name stands for: itself, or all of them for `all`."""
    if name != "all" and name not in CATALOGUE:
        raise BadInput(f"no experiment is called {name!r}; there are {', '.join(CATALOGUE)}, and all")
    return list(CATALOGUE) if name == "all" else [name]
