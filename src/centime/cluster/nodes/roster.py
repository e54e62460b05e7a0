"""The nodes of a cluster, as its head knows them. It is not stored: every second, nodes report that they are there,
also to a restarted head.
"""

from msgspec import structs

from centime.cluster.nodes.said import NodeInfo

AWAY_SECONDS = 10.0  # after its last word, a node is not listed any more


class Roster:
    """All nodes that have lately reported that they are there."""

    def __init__(self) -> None:
        self._nodes: dict[str, tuple[NodeInfo, float]] = {}
        self._leaving: set[str] = set()

    def join(self, node: NodeInfo, now: float) -> None:
        """A node reports that it is there."""
        self._nodes[node.address] = node, now

    def leave(self, address: str, *, leaving: bool) -> None:
        """Marks a node to be emptied, or to be used again."""
        (self._leaving.add if leaving else self._leaving.discard)(address)

    def gone(self, address: str) -> None:
        """A node has hung up."""
        self._nodes.pop(address, None)

    def nodes(self, now: float) -> list[NodeInfo]:
        """The nodes that are there, by address."""
        self._nodes = {name: (node, at) for name, (node, at) in self._nodes.items() if now - at < AWAY_SECONDS}
        found = [structs.replace(node, leaving=name in self._leaving) for name, (node, _) in self._nodes.items()]
        return sorted(found, key=lambda node: node.address)
