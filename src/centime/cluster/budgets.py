"""The budgets of a crawl in partitions: pages and bytes per second of all together, of which each partition has a part.

    shares      by its pages if the crawl keeps them fresh, otherwise equal for all that have pages to fetch
    idle ones   have IDLE_SHARE of the budget together: they cannot spend it, but begin at once when a page comes
    when        every SECONDS, and soon after a partition runs out of pages or gets some again

The coordinator sends a partition its share in every round until the partition confirms it (`division.py`: never more
than the total together). A new total changes all shares by the same factor.
"""

from collections.abc import Mapping, Sequence

from centime.cluster.division import Division
from centime.cluster.order import Standing

BUDGETS = ("rate", "bandwidth", "fill-rate")
SECONDS = 5.0
SOON = 1.0
LEAST_CHANGE = 0.2  # of a share, below which it stays
IDLE_SHARE = 0.01


class Budgets:
    """All totals, and the share of each partition."""

    def __init__(self, totals: Mapping[str, float | None], partitions: int) -> None:
        self._partitions = partitions
        self._divisions: dict[str, Division] = {}
        self._at = 0.0
        self._busy = [True] * partitions
        self._weights = [1 / partitions] * partitions
        self.change(totals)

    def change(self, totals: Mapping[str, float | None]) -> None:
        """Applies new totals; None lifts a limit."""
        for name in BUDGETS:
            if name not in totals:
                continue
            total, division = totals[name], self._divisions.get(name)
            if total is None:
                self._divisions.pop(name, None)
            elif division is None:
                self._divisions[name] = Division.of_equal_shares(total, self._partitions)
            else:
                division.resize(total)

    def shares(self, partition: int) -> dict[str, float]:
        """The shares of a partition when its process begins."""
        return {name: division.ordered[partition] for name, division in self._divisions.items()}

    def orders(self, partition: int, has: Mapping[str, float | None] | None) -> dict[str, float | None]:
        """The shares that differ from those that a partition has."""
        wanted: dict[str, float | None] = dict.fromkeys(BUDGETS) | self.shares(partition)
        return {name: share for name, share in wanted.items() if has is None or has[name] != share}

    def confirm(self, partition: int, has: Mapping[str, float | None]) -> None:
        """Records the shares that a partition has from now on."""
        for name, division in self._divisions.items():
            share = has[name]
            division.confirm(partition, float("inf") if share is None else share)

    def divide(self, standings: Sequence[Standing], now: float) -> None:
        """Divides all totals, by other weights if it is time; shares that others have given back meanwhile are assigned
        now."""
        busy = [not one.nothing_left for one in standings]
        refreshes = any(one.refreshes for one in standings)
        if now - self._at >= (SECONDS if refreshes or busy == self._busy else SOON):
            self._at, self._busy = now, busy
            weights = _shares([1.0 + one.known for one in standings] if refreshes else _weights(busy))
            if any(abs(new - old) > LEAST_CHANGE * old for new, old in zip(weights, self._weights, strict=True)):
                self._weights = weights
        for division in self._divisions.values():
            division.aim([division.total * weight for weight in self._weights])


def _shares(weights: Sequence[float]) -> list[float]:
    return [weight / sum(weights) for weight in weights]


def _weights(busy: Sequence[bool]) -> list[float]:
    """1 for each that has pages to fetch; the others have IDLE_SHARE of the whole together."""
    some = sum(busy)
    if some in (0, len(busy)):
        return [1.0] * len(busy)
    idle = IDLE_SHARE / (1 - IDLE_SHARE) * some / (len(busy) - some)
    return [1.0 if one else idle for one in busy]
