"""Whether partitions spend the budget of all together: a real crawl at a rate, then at another one that is set.

A page counts when it is handed out to a fetcher, by the clock of its partition: that is what a budget allows. When it
is recorded depends on how busy the machine is.
"""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import time
from typing import Any, NamedTuple

from bench.figure import Figure
from centime.cluster.beginning import cluster_run
from centime.cluster.coordinator import Coordinator
from centime.crawl.commands.ordering import hand_over
from centime.crawl.engine.loop import Limits
from centime.lab.webbox import WebBox, serve_in_process
from centime.settings.live import read_values
from centime.shard.people.command import SetCommand, new_id

PARTITIONS = 4
FIRST_VISITS = 60  # before which nothing is measured: partitions still find their first pages
FIRST, SECOND = 12.0, 24.0  # pages per second
MEASURED_SECONDS = 20.0
SETTLED_SECONDS = 2.0  # after all partitions have their share
BOX = WebBox(
    hosts=24, pages=3000, traps=False, feeds=False, crawl_delay_seconds=0.0, delay_seconds=0.0, changes_per_day=1e-6
)
GIVEN: dict[str, Any] = {"allow-network": ["127.0.0.0/8"], "scope": "any", "delay": 0.0, "workers": 4, "rate": FIRST}


class Used(NamedTuple):
    """How many pages a partition has handed out in all, at a time."""

    time: float
    pages: int


class Person:
    """Looks at a crawl while it runs, sets another rate, and stops it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.begun: list[list[Used]] = []  # what partitions had used when each rate was in force
        self.ended: list[list[Used]] = []
        self._since = 0.0  # when the rate of now was in force
        self.set_at = self.had_at = 0.0  # the second rate

    def look(self, crawl: Coordinator, now: float) -> None:
        """Does what is due; called by the run itself."""
        rate = (FIRST, SECOND)[len(self.ended)] if len(self.ended) < 2 else 0.0
        if len(self.begun) == len(self.ended) and rate and abs(_shared(crawl) - rate) < 1e-6:
            if not self._since:
                self._since = now
            elif now > self._since + SETTLED_SECONDS:
                self.begun.append(_used(crawl))
        elif len(self.begun) > len(self.ended) and now > self._since + SETTLED_SECONDS + MEASURED_SECONDS:
            self.ended.append(_used(crawl))
            if len(self.ended) == 1:
                self._since, self.set_at = 0.0, now
                values = read_values([f"rate={SECOND}/s"])
                hand_over(self._path, [SetCommand(id=new_id(), time=time(), values=values)])
            else:
                self.had_at = self._since
                crawl.stop()


def _used(crawl: Coordinator) -> list[Used]:
    """When each partition has said last how many pages it has handed out, and how many."""
    return [Used(one.time, one.used) for member in crawl.members if (one := member.standing) is not None]


def _shared(crawl: Coordinator) -> float:
    """The rate that all partitions have together, once all have pages to fetch; 0 before."""
    standings = [member.standing for member in crawl.members if member.standing is not None]
    idle = any(one.nothing_left for one in standings)
    if len(standings) < PARTITIONS or idle or crawl.run_facts.visits < FIRST_VISITS:
        return 0.0
    return sum(one.budget["rate"] or 0.0 for one in standings)


def budgets() -> Iterator[Figure]:
    """The rate that was seen over the one that was asked for, at the start and after `centime set`."""
    with TemporaryDirectory() as room, serve_in_process(BOX) as served:
        path = Path(room) / "c"
        person = Person(path)
        cluster = f"local:{PARTITIONS}"
        with cluster_run(
            path, [served.seed_url], GIVEN, Limits(seconds=300), cluster=cluster, partitions=PARTITIONS
        ) as crawl:
            crawl.run(person.look)
    rates = zip(("--rate", "set rate="), (FIRST, SECOND), strict=True)
    for (name, rate), begin, end in zip(rates, person.begun, person.ended, strict=True):
        seen = sum((b.pages - a.pages) / (b.time - a.time) for a, b in zip(begin, end, strict=True))
        what = f"{name}, {PARTITIONS} partitions together over what was asked"
        yield Figure(f"{what} (least)", seen / rate, "", "at least", 0.98)
        yield Figure(f"{what} (most)", seen / rate, "", "at most", 1.02)
    yield Figure("from set to the new rate in all partitions", person.had_at - person.set_at, "s")
