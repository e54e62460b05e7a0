"""Spends what is left: when less is read than the budget allows, pages come a little before they are worth the budget.

The threshold asks for as many reads as the budget has once all pages have their ages. A young copy is not due yet, and
a host that wants to be left alone cannot be asked: then less is read. From time to time what was read is held against
what the budget allowed meanwhile:

    read < 95 % of it                                       the book is told of a budget larger by what is missing, twice at most
    otherwise, while more than the budget is asked for      it is told of one smaller by a tenth, until it is the true one

Harmless where it does not help: what waits is ordered by worth, so pages that come early only fill gaps. With a share
for discovery only the rest counts as refreshing; without one all reads count, whatever they were for.
"""

import msgspec

ENOUGH = 256.0  # reads that the budget allows, before they are counted
WORKED = 5.0  # seconds between two visits that count as work: a crawl that was stopped has spent nothing
MOST = 16.0


class Spending(msgspec.Struct, array_like=True):
    """How many times the budget the book is told of, and what was spent since that was last decided."""

    factor: float = 1.0
    last: float = 0.0
    seconds: float = 0.0
    spent: float = 0.0

    def observe(self, now: float, spent: float, budget: float, unit: float) -> bool:
        """Takes in what was spent (pages or bytes, `unit` for a read); whether the factor has changed."""
        self.seconds += min(max(now - self.last, 0.0), WORKED) if self.last else 0.0
        self.last = now
        self.spent += spent
        allowed = budget * self.seconds
        if allowed < ENOUGH * unit:
            return False
        share = self.spent / allowed
        self.seconds = self.spent = 0.0
        before = self.factor
        if share < 0.95:
            self.factor = min(MOST, before * min(2.0, 1.0 / max(share, 0.5)))
        else:
            self.factor = max(1.0, before * 0.9)
        return self.factor != before
