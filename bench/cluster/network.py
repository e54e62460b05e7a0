"""A virtual network: messages are late, lost, doubled, overtaken, and kept apart for a while."""

import heapq
from random import Random

from centime.cluster.message import Message

DELAYS = (0.02, 0.1, 0.3, 0.3, 1.0, 6.0)  # seconds


class Network:
    """Messages on their way, by the time of their arrival."""

    def __init__(self, chance: Random, lost: float, doubled: float) -> None:
        self._chance = chance
        self._lost = lost
        self._doubled = doubled
        self._on_the_way: list[tuple[float, int, Message]] = []
        self._apart: dict[frozenset[int], float] = {}  # pairs of partitions, and until when
        self._number = 0

    def heal(self) -> None:
        """Loses and doubles nothing from now on."""
        self._lost = self._doubled = 0.0
        self._apart.clear()

    def separate(self, one: int, other: int, until: float) -> None:
        """Loses everything between two partitions for a while."""
        self._apart[frozenset((one, other))] = until

    def send(self, now: float, message: Message) -> None:
        """Sends a message, which may be lost or arrive twice."""
        pair = frozenset((message.sender, message.receiver))
        if self._chance.random() < self._lost or self._apart.get(pair, 0.0) > now:
            return
        for _ in range(1 + (self._chance.random() < self._doubled)):
            self._number += 1
            arrival = now + self._chance.choice(DELAYS) * self._chance.random()
            heapq.heappush(self._on_the_way, (arrival, self._number, message))

    def arrived(self, now: float) -> list[Message]:
        """The messages that arrive until now."""
        messages = []
        while self._on_the_way and self._on_the_way[0][0] <= now:
            messages.append(heapq.heappop(self._on_the_way)[2])
        return messages

    def __len__(self) -> int:
        return len(self._on_the_way)
