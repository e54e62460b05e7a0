"""A reader: a ledger that reads a web again and again by a strategy.

In addition to the ledger's own strategies there is "worth", for a ledger whose importance is always settled: it reads
the page of the largest worth. The links of page j are known as they were at its last read; the error from later changes
is proportional to its importance x_j and its age a_j. With visits at intervals of T_j the mean error is sum x_j T_j /
2, at a cost of sum 1/T_j visits; the best intervals are proportional to 1/sqrt(x_j). So the next page to read is the
one with the largest

    x_j a_j^2        a_j: time since the last read, infinite for a page that was never read
"""

from typing import Literal

import numpy as np

from centime.lab.error import Vector
from centime.ledger.exact import ExactLedger
from centime.ledger.opic import OpicLedger
from centime.ledger.strategy import Strategy
from centime.model.graph import Graph

SETTLED_TO = 1e-3  # the certified error to which debts are paid between reads


class Reader:
    """Reads pages by a strategy and estimates their importance."""

    def __init__(self, ledger: ExactLedger | OpicLedger, strategy: Strategy | Literal["worth"], pages: int) -> None:
        self.ledger = ledger
        self.strategy: Strategy | Literal["worth"] = strategy
        self._read_at = np.full(pages, -np.inf)
        self._now = 0
        ledger.join(pages)

    def read(self, web: Graph, visits: int) -> None:
        """Reads `visits` pages of the web as it is now."""
        if self.strategy != "worth":
            self.ledger.explore(web, visits, self.strategy)
            return
        self._now += visits
        worth = self.ledger.importance() * (self._now - self._read_at) ** 2
        chosen = np.argpartition(-worth, visits - 1)[:visits]
        self._read_at[chosen] = self._now
        self.ledger.explore(web, visits, chosen)
        self.settle(SETTLED_TO)

    def settle(self, error: float) -> None:
        """Pays debts along known links, if the strategy relies on it."""
        if self.strategy == "worth" and isinstance(self.ledger, ExactLedger):
            self.ledger.settle(error=error)

    def importance(self) -> Vector:
        """The estimated importance of all pages; the mean is 1."""
        return self.ledger.importance()
