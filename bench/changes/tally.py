"""Counts what a method says about the reads of hosts."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from bench.changes.history import Read, Site, reads_of
from bench.changes.methods import METHODS
from bench.changes.mutations import KINDS
from centime.change.reading import Verdict


@dataclass
class Share:
    """How many of how many."""

    hits: int = 0
    all: int = 0

    def count(self, hit: bool) -> None:
        """Counts one more."""
        self.hits += hit
        self.all += 1

    @property
    def percent(self) -> float:
        """The share in percent; nan of nothing."""
        return 100 * self.hits / self.all if self.all else float("nan")


@dataclass
class Tally:
    """What one method said."""

    seen: dict[str, Share] = field(default_factory=lambda: defaultdict(Share))  # by kind of change
    seen_under: dict[str, Share] = field(default_factory=lambda: defaultdict(Share))  # by noise
    false: dict[str, Share] = field(default_factory=lambda: defaultdict(Share))  # by noise
    redesigns: Share = field(default_factory=Share)
    silent: int = 0  # SAME although the bytes differ
    reads: int = 0
    pages: int = 0
    twins: int = 0
    state_bytes: int = 0
    misses: list[tuple[str, str, str]] = field(default_factory=list)

    def add(self, other: "Tally") -> None:
        """Adds another tally of the same method."""
        for mine, theirs in (
            (self.seen, other.seen),
            (self.seen_under, other.seen_under),
            (self.false, other.false),
        ):
            for name, share in theirs.items():
                mine[name] = together([mine[name], share])
        self.redesigns = together([self.redesigns, other.redesigns])
        for name in ("silent", "reads", "pages", "twins"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.state_bytes = max(self.state_bytes, other.state_bytes)
        self.misses += other.misses


def together(shares: Iterable[Share]) -> Share:
    """The sum of shares."""
    found = Share()
    for share in shares:
        found.hits += share.hits
        found.all += share.all
    return found


def run(sites: dict[str, list[Site]], seed: int, methods: list[str]) -> dict[str, Tally]:
    """The tallies of methods over all hosts, which are given by noise."""
    tallies = {name: Tally() for name in methods}
    for noise, hosts in sites.items():
        for number, site in enumerate(hosts):
            reads = reads_of(site, hash_of(seed, noise, number))
            bodies = [read.body() for read in reads]
            for name in methods:
                _judge(tallies[name], name, noise, site, reads, bodies)
    return tallies


def hash_of(*parts: object) -> int:
    """A number that depends on the parts alone."""
    found = 0
    for byte in repr(parts).encode():
        found = (found * 1_000_003 + byte) % (1 << 61)
    return found


def _judge(tally: Tally, name: str, noise: str, site: Site, reads: list[Read], bodies: list[bytes]) -> None:
    method = METHODS[name]()
    last: dict[int, bytes] = {}
    for read, body in zip(reads, bodies, strict=True):
        twins = iter(range(1, 100))
        verdict = method.read(read.page, read.time, body, lambda: read.body(next(twins)))  # noqa: B023
        tally.reads += 1
        if verdict is Verdict.UNKNOWN:
            tally.pages += 1
            last[read.page] = body
            continue
        tally.silent += verdict is Verdict.SAME and last[read.page] != body
        last[read.page] = body
        changed = verdict is Verdict.CHANGED
        kinds = [kind for kind in read.changed if kind in KINDS]
        if kinds:
            tally.seen[kinds[0] if len(kinds) == 1 else "several"].count(changed)
            tally.seen_under[noise].count(changed)
            if not changed:
                tally.misses.append((noise, site.template, ", ".join(kinds)))
        elif read.redesigned:
            tally.redesigns.count(changed)
        else:
            tally.false[noise].count(changed)
    tally.twins += method.twins
    tally.state_bytes = max(tally.state_bytes, getattr(method, "state_bytes", 0))
