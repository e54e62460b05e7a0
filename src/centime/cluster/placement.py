"""Which node has the folder of each partition (its home), and which one a replica (its copy).

It is stored before anything depends on it: a copy counts once it has all frames that have left its partition, and a
home once the folder is there. Nodes of this machine share one disk: there the places are fixed, and nothing is stored.
"""

from collections import Counter
from collections.abc import Callable, Collection, Sequence

NOWHERE = ""


class Placement:
    """Homes and copies of all partitions; `keep` writes them."""

    def __init__(
        self, homes: Sequence[str], copies: Sequence[str], keep: Callable[[list[str], list[str]], None]
    ) -> None:
        self.homes, self.copies = list(homes), list(copies)
        self._keep = keep

    def settle_in(self, partition: int, node: str) -> None:
        """Gives a partition its first home."""
        self.homes[partition] = node
        self._keep(self.homes, self.copies)

    def copied(self, partition: int, node: str) -> str:
        """A node, or NOWHERE, has the copy that counts from now on; returns the one before."""
        before, self.copies[partition] = self.copies[partition], node
        if before != node:
            self._keep(self.homes, self.copies)
        return before

    def promoted(self, partition: int) -> str:
        """The copy has become the partition itself; returns its home before."""
        before, self.homes[partition] = self.homes[partition], self.copies[partition]
        self.copies[partition] = NOWHERE
        self._keep(self.homes, self.copies)
        return before

    def home_for_new(self, nodes: Collection[str]) -> str:
        """The node with the fewest partitions."""
        return _least(nodes, self.homes)

    def copy_for(self, partition: int, nodes: Collection[str], coming: Sequence[str]) -> str:
        """The node with the fewest copies, those that are coming among them, that is not the home of a partition;
        NOWHERE if there is none.
        """
        return _least([node for node in nodes if node != self.homes[partition]], [*self.copies, *coming])

    def next_move(self, nodes: Collection[str], leaving: Collection[str]) -> tuple[int, str] | None:
        """A partition that should move and where to, so that nodes that stay have equally many partitions and nodes
        that leave have none; None if no move is needed.
        """
        if not nodes:
            return None
        counts = Counter(dict.fromkeys(nodes, 0))
        counts.update(home for home in self.homes if home in counts)
        fewest = _least(nodes, self.homes)
        for partition, home in enumerate(self.homes):
            if home in leaving or (home in counts and counts[home] > counts[fewest] + 1):
                return partition, fewest
        return None


class FixedPlacement(Placement):
    """The places of nodes on one machine: partition p at node p mod N, its copy at the next one."""

    def __init__(self, partitions: int, nodes: int, *, replicas: int) -> None:
        copies = [str((number + 1) % nodes) if replicas else NOWHERE for number in range(partitions)]
        super().__init__([str(number % nodes) for number in range(partitions)], copies, lambda homes, copies: None)

    def promoted(self, partition: int) -> str:
        """Its folder stays in its place."""
        return NOWHERE

    def next_move(self, nodes: Collection[str], leaving: Collection[str]) -> tuple[int, str] | None:
        """Nothing moves."""
        return None


def _least(nodes: Collection[str], used: Sequence[str]) -> str:
    counts = Counter(used)
    return min(sorted(nodes), key=lambda node: counts[node], default=NOWHERE)
