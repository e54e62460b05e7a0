"""Which sites to keep under a budget of pages or bytes: the best first, whole sites only.

A site costs the pages that the crawl knows of it, and the bytes that these are expected to have. Sites are taken in the
order of their value; one that does not fit into what is left is passed over, and smaller ones after it may still fit.
This is not the densest packing: a library wants the best sites, not the most sites.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from centime.crawl.sites.criteria import Sites
from centime.model.errors import BadSetting
from centime.rank.scores import Vector


@dataclass(frozen=True, slots=True)
class Budget:
    """The largest cost of all sites that are kept together; None for no bound."""

    pages: int | None = None
    bytes: int | None = None

    def __post_init__(self) -> None:
        for name, most in (("pages", self.pages), ("bytes", self.bytes)):
            if most is not None and most < 1:
                raise BadSetting(f"a budget of {name} must be 1 or more, not {most}")


@dataclass(frozen=True, slots=True)
class Proposal:
    """The sites that are proposed, by their places, the best first, and those that did not fit."""

    chosen: tuple[int, ...]
    passed_over: tuple[int, ...]
    pages: int
    bytes: float


def propose(sites: Sites, value: Vector, worthy: Sequence[int], budget: Budget) -> Proposal:
    """The sites among those that are `worthy` which fit into a budget; of equal value the more important one first."""
    importance, names = sites.values["importance"], sites.names
    order = sorted(worthy, key=lambda site: (-value[site], -importance[site], names[site]))
    left_pages = inf if budget.pages is None else budget.pages
    left_bytes = inf if budget.bytes is None else budget.bytes
    chosen, passed = [], []
    pages, size = 0, 0.0
    for site in order:
        more_pages, more_bytes = int(sites.values["pages"][site]), float(sites.bytes_expected[site])
        if pages + more_pages > left_pages or size + more_bytes > left_bytes:
            passed.append(site)
            continue
        pages, size = pages + more_pages, size + more_bytes
        chosen.append(site)
    return Proposal(tuple(chosen), tuple(passed), pages, size)
