"""A ledger that reads a web in an order of its own, again and again.

Beside the orders that a ledger knows there is "worth", for a ledger whose importance is always settled, so that reading
is free to follow what a read is worth. What page j links to is known as it was at its last read, and what has changed
since is wrong in proportion to its importance x_j and its age a_j. With visits at intervals of T_j the mean of all that
is sum x_j T_j / 2, at a cost of sum 1/T_j visits; the best intervals are in proportion to 1/sqrt(x_j). So the next page
to read is the one with the largest

    x_j a_j^2        a_j: time since the last read, for ever for a page never read
"""

from typing import Literal

import numpy as np

from centime.lab.error import Vector
from centime.ledger.exact import ExactLedger
from centime.ledger.opic import OpicLedger
from centime.ledger.strategy import Strategy
from centime.model.graph import Graph

SETTLED_TO = 1e-3  # certified; between reads


class Reader:
    """Reads pages and says what it believes about their importance."""

    def __init__(self, ledger: ExactLedger | OpicLedger, order: Strategy | Literal["worth"], pages: int) -> None:
        self.ledger = ledger
        self.order: Strategy | Literal["worth"] = order
        self._read_at = np.full(pages, -np.inf)
        self._now = 0
        ledger.join(pages)

    def read(self, web: Graph, visits: int) -> None:
        """Reads as many pages of the web as it is now."""
        if self.order != "worth":
            self.ledger.explore(web, visits, self.order)
            return
        self._now += visits
        worth = self.ledger.importance() * (self._now - self._read_at) ** 2
        chosen = np.argpartition(-worth, visits - 1)[:visits]
        self._read_at[chosen] = self._now
        self.ledger.explore(web, visits, chosen)
        self.settle(SETTLED_TO)

    def settle(self, error: float) -> None:
        """Pays what is owed along known links, if the order is one that relies on it."""
        if self.order == "worth" and isinstance(self.ledger, ExactLedger):
            self.ledger.settle(error=error)

    def importance(self) -> Vector:
        """What is believed now; the mean is 1."""
        return self.ledger.importance()
