"""What became of the faults of one kind."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(slots=True)
class Tally:
    """Counts of one kind of fault. A fault ends in one of `right`, `said` and `wrong`."""

    count: int = 0
    right: int = 0  # opened with exactly what was confirmed
    said: int = 0  # said what is wrong
    repairs: int = 0  # tried
    repaired: int = 0  # so that all is right; the others said that nothing can be proven
    reopening_seconds: float = 0.0  # the longest
    repair_seconds: float = 0.0  # the longest
    wrong: list[str] = field(default_factory=list)

    def add(self, other: "Tally") -> None:
        """Adds another tally to this one."""
        self.count += other.count
        self.right += other.right
        self.said += other.said
        self.repairs += other.repairs
        self.repaired += other.repaired
        self.reopening_seconds = max(self.reopening_seconds, other.reopening_seconds)
        self.repair_seconds = max(self.repair_seconds, other.repair_seconds)
        self.wrong += other.wrong


Tallies = dict[str, Tally]


def summed(parts: list[Tallies]) -> Tallies:
    """All tallies by kind."""
    total: Tallies = {}
    for part in parts:
        for kind, tally in part.items():
            total.setdefault(kind, Tally()).add(tally)
    return total


def to_facts(tallies: Tallies) -> dict[str, Any]:
    """The tallies for JSON."""
    return {kind: asdict(tally) for kind, tally in tallies.items()}


def from_facts(facts: Mapping[str, Any]) -> Tallies:
    """The tallies that were written as JSON."""
    return {kind: Tally(**fields) for kind, fields in facts.items()}
