"""Real crawls that are hurt again and again, counted by kind of fault.

Ending        crawls of a web that does not change. They are hurt in every way, then come to their end, and must
              have found what an undisturbed crawl found
Continuous    crawls of a web that changes, with subscriptions and bodies. They are killed, stopped in the end,
              and must have told their subscribers every change that they saw, and nothing else
"""

import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from bench.faults.crawler import start
from bench.faults.fault import AT_THE_START, CONTINUOUS, FAULTS, Patient, Promised
from bench.faults.proof import CrawlResult, changes, differences, found, reopened
from bench.faults.tally import Tallies, Tally
from centime.crawl.commands.inbox import CommandInbox
from centime.shard.people.command import SubscribeCommand, new_id
from centime.shard.people.subscriptions import Subscription

ENDED = "crawls brought to their end"
STOPPED = "continuous: crawls stopped in the end"
CRAWL = ("--allow-network", "127.0.0.0/8", "--scope", "any", "--delay", "0")
FOREVER = ("--continuous", "--rate", "100/s", "--least-interval", "0.2s", "--keep", "all", "--workers", "1")
FIRST_PAGES = 20  # of a continuous crawl, before it has subscribers
LAST_VISITS = 50


@dataclass(slots=True)
class Ending:
    """Faults done to crawls of one simulated web, which is served at `seed_url`."""

    seed_url: str
    folder: Path
    options: tuple[str, ...] = ()
    tallies: Tallies = field(default_factory=dict)
    undisturbed: CrawlResult | None = None

    @property
    def arguments(self) -> list[str]:
        """How a crawl is started, and gone on with."""
        return [self.seed_url, *CRAWL, "--workers", "2", *self.options]

    def begin(self) -> None:
        """Crawls once without any fault: what all others are held against."""
        self.undisturbed = self._finish(self.folder / "undisturbed")

    def disturb(self, folder: Path, kinds: list[str], chance: Random) -> None:
        """Hurts one crawl in these ways one after the other, lets it end, and holds it against the undisturbed one."""
        _hurt(Patient(folder, self.arguments, chance), kinds, FAULTS, self.tallies)
        problems = []
        try:
            ended = self._finish(folder)
            if self.undisturbed is not None:
                problems = differences(self.undisturbed, ended)
        except AssertionError as trouble:
            problems = [str(trouble)]
        _count(self.tallies, ENDED, folder, problems)

    def _finish(self, folder: Path) -> CrawlResult:
        crawler = start(folder, [*self.arguments, "--rate", "100000"])
        code, said = crawler.wait()
        assert code == 0, f"ended with {code}: {said}"
        problems, _ = reopened(folder, *crawler.flushed())
        assert not problems, "; ".join(problems)
        return found(folder)


@dataclass(slots=True)
class Continuous:
    """Kills of continuous crawls of a web that is served at `seed_url`."""

    seed_url: str
    tallies: Tallies = field(default_factory=dict)

    def disturb(self, folder: Path, kinds: list[str], chance: Random) -> None:
        """Kills one crawl in these ways one after the other, stops it, and reads what its subscribers were told."""
        folder.parent.mkdir(parents=True, exist_ok=True)
        code, said = start(folder, [self.seed_url, *CRAWL, "--keep", "all", "--pages", str(FIRST_PAGES)]).wait()
        assert code == 0, f"ended with {code}: {said}"
        began = time.time()
        told = _subscribe(folder)
        arguments = [*CRAWL, *FOREVER]
        _hurt(Patient(folder, arguments, chance), kinds, CONTINUOUS, self.tallies, "continuous: ")
        crawler = start(folder, arguments)
        crawler.wait_for("visits", more=LAST_VISITS)
        os.kill(crawler.process, signal.SIGTERM)
        code, said = crawler.wait()
        problems, _ = reopened(folder, *crawler.flushed())
        problems += [f"ended with {code}: {said}"] if code else []
        for name, lines in told().items():
            seen, heard = changes(folder, name, began, lines)
            wrong = [f"{url}: {seen[url]} changes, {heard[url]} told" for url in seen if seen[url] != heard[url]]
            problems += [f"subscription {name}: {len(wrong)} pages, {wrong[0]}"] if wrong else []
            problems += [] if any(seen.values()) else ["no change was seen"]
        _count(self.tallies, STOPPED, folder, problems)


def _hurt(
    patient: Patient,
    kinds: list[str],
    faults: Mapping[str, Callable[[Patient], Promised]],
    tallies: Tallies,
    prefix: str = "",
) -> None:
    """Does these faults to a crawl, and proves after each that nothing is lost."""
    damaged = ""
    for kind in kinds:
        promised = faults[kind](patient)
        left = damaged if kind == AT_THE_START else ""  # a crawl that is killed before it is open has mended nothing
        problems, seconds = reopened(patient.folder, promised.frames, promised.visits, promised.damaged, left)
        damaged = promised.damaged or left
        problems += [promised.trouble] if promised.trouble else []
        _count(tallies, prefix + kind, patient.folder, problems, seconds)


def _count(tallies: Tallies, kind: str, folder: Path, problems: list[str], seconds: float = 0.0) -> None:
    tally = tallies.setdefault(kind, Tally())
    tally.count += 1
    tally.right += not problems
    tally.reopening_seconds = max(tally.reopening_seconds, seconds)
    if problems:
        tally.wrong.append(f"{kind}: {folder.name}: {'; '.join(problems)}")


def _subscribe(folder: Path) -> Callable[[], dict[str, list[str]]]:
    """Two subscriptions to all pages, a file and a program; returns what gives the lines that each was told."""
    file, received = folder.with_name(f"{folder.name}.jsonl"), folder.with_name(f"{folder.name}.received")
    received.mkdir()
    program = f"sh -c 'to=$(mktemp -p {received}) && cat > $to && mv $to $to.json'"  # a line is there as a whole
    for name, to in (("file", f"file:{file}"), ("program", f"command:{program}")):
        subscription = Subscription(name, ".", 1.0, to)
        CommandInbox(folder).put(SubscribeCommand(id=new_id(), time=time.time(), subscription=subscription))

    def told() -> dict[str, list[str]]:
        return {
            "file": file.read_text().splitlines() if file.exists() else [],
            "program": [path.read_text() for path in sorted(received.glob("*.json"), key=_written)],
        }

    return told


def _written(path: Path) -> int:
    return path.stat().st_mtime_ns
