"""Spends what is left of the budget: if a crawl reads less than the budget allows, pages become due a little earlier.

The threshold demands exactly the budget once all copies have their stationary ages. But young copies are not due yet,
and hosts that must not be fetched from now cannot be read; then the crawl reads less. From time to time the reads are
compared with what the budget allowed in the meantime:

    less than 95 % of it was read         the book's budget is raised by what is missing, at most doubled
    otherwise, while the book's budget    the book's budget is lowered by a tenth, down to the true one
    is larger than the true one

This does no harm where it does not help: the frontier sorts pages by worth, so pages that are due early only fill gaps.
With a share for discovery only the rest counts as refreshing; without one, all reads count.
"""

import msgspec

ENOUGH = 256.0  # reads that the budget allows between two comparisons
WORKED = 5.0  # seconds between two visits that count, at most: a crawl that was stopped has spent nothing
MOST = 16.0


class Spending(msgspec.Struct, array_like=True):
    """The factor from the true budget to the book's budget, and what was spent since the last comparison."""

    factor: float = 1.0
    last: float = 0.0
    seconds: float = 0.0
    spent: float = 0.0

    def observe(self, now: float, spent: float, budget: float, unit: float) -> bool:
        """Adds what was spent, in pages or bytes (`unit` is the cost of one read); returns whether the factor has
        changed.
        """
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
