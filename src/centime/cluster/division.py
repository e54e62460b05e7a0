"""Divides a total among partitions, such as a budget or a number of pages, so that they never have more than it
together.

    have_i <= bound_i = max(ordered_i, confirmed_i)         sum of bound_i <= total

A partition whose share shrinks keeps its old share until it confirms the new one. Only shares that are confirmed to be
free are given to others.
"""

from collections.abc import Sequence


class Division:
    """A total, and the share of each partition."""

    def __init__(self, total: float, shares: Sequence[float]) -> None:
        self.total = total
        self.ordered = list(shares)
        self._confirmed = list(shares)

    @classmethod
    def of_equal_shares(cls, total: float, count: int) -> "Division":
        """A total in equal shares; none is confirmed yet, so no partition gets more."""
        division = cls(total, [total / count] * count)
        division._confirmed = [float("inf")] * count
        return division

    def resize(self, total: float) -> None:
        """Changes the total, and all shares by the same factor."""
        self.ordered = [share * total / self.total for share in self.ordered]
        self.total = total

    def confirm(self, number: int, share: float) -> None:
        """Records the share that a partition has confirmed, unless it was given more since."""
        self._confirmed[number] = share

    def aim(self, shares: Sequence[float]) -> None:
        """Orders these shares, as far as the free part of the total allows."""
        for number, share in enumerate(shares):
            self.ordered[number] = min(self.ordered[number], share)
        free = self.total - sum(map(max, self.ordered, self._confirmed))
        for number, share in enumerate(shares):
            bound = max(self.ordered[number], self._confirmed[number])
            more = min(max(0.0, share - bound), max(0.0, free))
            if share > self.ordered[number]:
                self.ordered[number] = min(share, bound + more)
            free -= more


def whole_shares(total: int, weights: Sequence[float]) -> list[int]:
    """Whole numbers in proportion to weights, whose sum is the total; all 0 if no weight is above 0."""
    weight = sum(weights)
    if not weight or total <= 0:
        return [0] * len(weights)
    shares, given, seen = [], 0, 0.0
    for one in weights:
        seen += one
        up_to = round(total * seen / weight)
        shares.append(up_to - given)
        given = up_to
    return shares
