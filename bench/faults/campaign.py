"""A number of faults over a number of crawls, counted by kind."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from random import Random

from bench.faults.crawler import start
from bench.faults.fault import FAULTS, Patient
from bench.faults.proof import CrawlResult, differences, found, reopened

FAULTS_PER_CRAWL = 8
ENDED = "crawls brought to their end"


@dataclass(slots=True)
class Tally:
    """How one kind of fault went."""

    count: int = 0
    recovered: int = 0
    worst_seconds: float = 0.0
    failures: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Campaign:
    """Faults done to crawls of one simulated web, which is served at `seed_url`."""

    seed_url: str
    folder: Path
    chance: Random
    options: tuple[str, ...] = ()
    tallies: dict[str, Tally] = field(default_factory=dict)
    undisturbed: CrawlResult | None = None

    @property
    def arguments(self) -> list[str]:
        """How a crawl is started, and gone on with."""
        return [
            self.seed_url,
            "--allow-network",
            "127.0.0.0/8",
            "--scope",
            "any",
            "--delay",
            "0",
            "--workers",
            "2",
            *self.options,
        ]

    def run(self, kills: int, tell: Callable[[str], None] = lambda what: None) -> None:
        """Does so many faults, every kind as often as the others."""
        self.begin(tell)
        left = self._kinds(kills)
        number = 0
        while left:
            number += 1
            batch, left = left[:FAULTS_PER_CRAWL], left[FAULTS_PER_CRAWL:]
            self.disturb(self.folder / f"crawl-{number}", batch, tell)

    def begin(self, tell: Callable[[str], None] = lambda what: None) -> None:
        """Crawls once without any fault: what all others are held against."""
        self.undisturbed = self._finish(self.folder / "undisturbed", tell)

    def disturb(self, folder: Path, kinds: list[str], tell: Callable[[str], None] = lambda what: None) -> None:
        """Hurts one crawl in these ways one after the other, lets it end, and holds it against the undisturbed one."""
        patient = Patient(folder, self.arguments, self.chance)
        for kind in kinds:
            tell(kind)
            tally = self.tallies.setdefault(kind, Tally())
            tally.count += 1
            promised = FAULTS[kind](patient)
            problems, seconds = reopened(folder, promised.frames, promised.visits, promised.damaged)
            problems += [promised.trouble] if promised.trouble else []
            tally.worst_seconds = max(tally.worst_seconds, seconds)
            tally.recovered += not problems
            tally.failures += [f"{folder.name}: {problem}" for problem in problems]
        tell(ENDED)
        tally = self.tallies.setdefault(ENDED, Tally())
        tally.count += 1
        before = len(tally.failures)
        try:
            ended = self._finish(folder, tell)
            if self.undisturbed is not None:
                tally.failures += [f"{folder.name}: {problem}" for problem in differences(self.undisturbed, ended)]
        except AssertionError as trouble:
            tally.failures.append(f"{folder.name}: {trouble}")
        tally.recovered += len(tally.failures) == before
        if len(tally.failures) == before and not any(tally.failures for tally in self.tallies.values()):
            shutil.rmtree(folder)

    def _kinds(self, kills: int) -> list[str]:
        kinds = [kind for kind, _ in zip(cycle(FAULTS), range(kills), strict=False)]
        self.chance.shuffle(kinds)
        return kinds

    def _finish(self, folder: Path, tell: Callable[[str], None]) -> CrawlResult:
        tell(ENDED)
        crawler = start(folder, [*self.arguments, "--rate", "100000"])
        code, said = crawler.wait()
        assert code == 0, f"ended with {code}: {said}"
        problems, _ = reopened(folder, *crawler.flushed())
        assert not problems, "; ".join(problems)
        return found(folder)

    def failures(self) -> Iterator[str]:
        """All that went wrong, in sentences."""
        for kind, tally in self.tallies.items():
            for failure in tally.failures:
                yield f"{kind}: {failure}"
