"""Spends the rest of the budget: if a crawl reads less than the budget allows, pages become due a little earlier.

The threshold demands exactly the budget once all copies have their stationary ages. But young copies are not due yet,
and hosts that must not be fetched from now cannot be read; then the crawl reads less. After every ENOUGH reads that the
budget allows, the reads are compared with it:

    less than 99 % of it was read         the book's budget is raised by what is missing, at most doubled
    otherwise, while the book's budget    the book's budget is lowered by a fiftieth, down to the true one; a budget of
    is larger than the true one           bytes by what was spent too much, if that is more, and at most halved

This does no harm where it does not help: the frontier sorts pages by worth, so pages that are due early only fill gaps.
With a share for discovery only the rest counts as refreshing; without one, all reads count.

Where pages differ much in bytes, few large ones decide what was spent between two comparisons. So both directions must
be symmetric then: lowered by a fiftieth alone, the factor rose to 1.5 where 1.04 was needed, and the copy was two
points less fresh under the same budget.

Trap: a crawl that was stopped has spent nothing. The time between two visits counts only up to IDLE reads of the budget
(or WORKED seconds): a crawl that waits for a page to become due is compared correctly, and a crawl that was stopped
counts once as one that spent nothing, which at most doubles the factor for a while.
"""

import msgspec

ENOUGH = 64.0  # reads that the budget allows between two comparisons
WORKED = 5.0  # seconds between two visits that count in any case
IDLE = 64.0  # reads that the budget allows, between two visits that count
FULL = 0.99
LESS = 0.98
MOST = 16.0


class Spending(msgspec.Struct, array_like=True):
    """The factor from the true budget to the book's budget, and the amount spent since the last comparison."""

    factor: float = 1.0
    last: float = 0.0
    seconds: float = 0.0
    spent: float = 0.0

    def observe(self, now: float, spent: float, budget: float, unit: float) -> bool:
        """Adds an amount spent, in pages or bytes (`unit` is the mean cost of a read, 1 for pages); returns whether the
        factor has changed.
        """
        longest = max(WORKED, IDLE * unit / budget) if budget > 0.0 else WORKED
        self.seconds += min(max(now - self.last, 0.0), longest) if self.last else 0.0
        self.last = now
        self.spent += spent
        allowed = budget * self.seconds
        if allowed < ENOUGH * unit:
            return False
        share = self.spent / allowed
        self.seconds = self.spent = 0.0
        before = self.factor
        if share < FULL:
            self.factor = min(MOST, before * min(2.0, 1.0 / max(share, 0.5)))
        else:
            self.factor = max(1.0, before * (LESS if unit == 1.0 else min(LESS, max(0.5, 1.0 / share))))
        return self.factor != before
