"""The experiments by name. `centime lab --help` needs names and descriptions, so this module imports no numpy and no
experiment.
"""

from dataclasses import dataclass
from types import MappingProxyType

from centime.model.errors import BadInput


@dataclass(frozen=True, slots=True)
class Entry:
    """The description of an experiment, the module that holds it, and the graph and the size that suit it."""

    about: str
    module: str
    graph: str = "power-law"
    pages: int = 100_000


CATALOGUE = MappingProxyType(
    {
        "convergence": Entry("error after 1 to 10 crawls, all pages (Figure 2)", "convergence"),
        "convergence-top": Entry("the same for the top tenth of the pages (Figure 3)", "convergence"),
        "window-size": Entry("a changing web: how long a history to keep (Figure 4)", "windows"),
        "window-policy": Entry("a changing web: which history to keep (Figures 5 and 6)", "windows"),
        "rising": Entry("how soon a page that becomes important is seen", "rising", pages=10_000),
        "greedy-cash": Entry("the cash of the page read tends to 2/n (Section 3.1)", "greedy_cash"),
        "growth": Entry("a growing web: error, bound, important pages found", "growth", "weblike"),
        "two-worlds": Entry("how much earlier XML pages are found with --want xml", "two_worlds", "weblike", 20_000),
        "refresh": Entry("freshness by budget, for known and for learned rates", "refreshing", "weblike"),
        "rates": Entry("change rates by number of visits: our formulas, the paper's", "rates"),
    }
)


def names_for(name: str) -> list[str]:
    """The experiments that a name selects: the one of that name, or all for `all`."""
    if name != "all" and name not in CATALOGUE:
        raise BadInput(f"unknown experiment {name!r}; the experiments are {', '.join(CATALOGUE)}, or all")
    return list(CATALOGUE) if name == "all" else [name]
