"""Which links are part of a template: those that the pages of a host repeat.

    n_h     the number of pages of host h that have links
    c_ht    how many of them link to page t
    t is in the template of h if n_h >= LEAST_PAGES and c_ht >= n_h / 2

It is known from the links alone, of a crawl as of a graph file. Most candidates are left out at once, because a page
that half of a host links to has as many links in all.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from centime.model.graph import Targets

LEAST_PAGES = 16
Numbers = npt.NDArray[np.int64]


class Templates(NamedTuple):
    """The pairs of a host and a page that its template links to, as `host << 32 | page`, ascending."""

    pairs: Numbers

    def have(self, hosts: Numbers, targets: Targets) -> npt.NDArray[np.bool_]:
        """Which links, from pages of these hosts, are part of the template of their host."""
        if not len(self.pairs):
            return np.zeros(len(targets), dtype=np.bool_)
        wanted = _pairs(hosts, targets)
        places = np.minimum(np.searchsorted(self.pairs, wanted), len(self.pairs) - 1)
        found: npt.NDArray[np.bool_] = self.pairs[places] == wanted
        return found

    def without(self, hosts: Numbers) -> "Templates":
        """The templates of all other hosts."""
        return Templates(self.pairs[~np.isin(self.pairs >> 32, hosts)])

    def plus(self, others: "Templates") -> "Templates":
        """The templates of both."""
        return Templates(np.sort(np.concatenate([self.pairs, others.pairs])))


NO_TEMPLATES = Templates(np.empty(0, dtype=np.int64))


def templates_of(hosts: Numbers, lengths: Numbers, targets: Targets) -> Templates:
    """The templates of rows of links: `hosts` has the host of each row and `lengths` its links, which lie one row after
    the other in `targets`.
    """
    if not len(targets):
        return NO_TEMPLATES
    with_links = np.bincount(hosts[lengths > 0])
    rows = np.repeat(np.arange(len(hosts)), lengths)
    of_host = hosts[rows]
    least = with_links[of_host]
    linked = np.bincount(targets)[targets]
    candidates = np.flatnonzero((least >= LEAST_PAGES) & (2 * linked >= least))
    once = np.unique((rows[candidates] << 32) | targets[candidates])  # a page may link to another more than once
    pairs, counts = np.unique(_pairs(hosts[once >> 32], once & 0xFFFFFFFF), return_counts=True)
    return Templates(pairs[2 * counts >= with_links[pairs >> 32]])


def _pairs(hosts: Numbers, targets: npt.NDArray[np.integer]) -> Numbers:
    return (hosts.astype(np.int64) << 32) | targets.astype(np.int64)
