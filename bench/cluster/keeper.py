"""The replica of every partition: what its folder had at the last sync, on other machines, which do not fail here.

It stores nothing of an older incarnation than it has seen: a partition that was frozen, and is answered for elsewhere,
cannot make anything durable any more. The simulation records every write, so a replica is a folder and a moment.
"""

from dataclasses import dataclass


class Fenced(Exception):
    """A younger incarnation of the partition exists: this one ends."""


@dataclass(slots=True)
class Copy:
    """The replica of one partition: what a folder had after the first `steps` of the recording."""

    incarnation: int = 0
    folder: str = ""
    steps: int = 0
    stored_at: float = 0.0


class Keeper:
    """The replicas of all partitions."""

    def __init__(self, partitions: int) -> None:
        self.copies = [Copy() for _ in range(partitions)]

    def begin(self, partition: int, incarnation: int) -> None:
        """Says that a younger incarnation answers for a partition from now on."""
        self.copies[partition].incarnation = incarnation

    def store(self, partition: int, incarnation: int, folder: str, steps: int, now: float) -> None:
        """Stores what a folder has now; Fenced if a younger incarnation exists."""
        copy = self.copies[partition]
        if self.is_old(incarnation, copy):
            raise Fenced
        copy.folder, copy.steps, copy.stored_at = folder, steps, now

    def is_old(self, incarnation: int, copy: Copy) -> bool:
        """Whether a younger incarnation exists."""
        return incarnation < copy.incarnation
