"""A clock that is set, in a run or between two, neither strands a crawl nor lets it be impolite."""

from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from centime.crawl.check.check import check_crawl
from centime.crawl.engine.assembly import shard_state
from centime.crawl.engine.loop import Engine, Limits
from centime.crawl.engine.opening import open_writer
from centime.crawl.engine.reader import read_crawl
from centime.crawl.engine.writer import CrawlWriter
from centime.model.address import host_of
from centime.model.ids import PageId
from centime.model.outcome import Outcome
from centime.processes.clock import RunClock
from centime.shard.message import Lease
from tests.crawl.engine.test_transport import Clock, InMemory
from tests.crawl.world import SEED, World

HOUR, DAY, YEAR = 3600.0, 86400.0, 365 * 86400.0
JUMPS = [HOUR, -HOUR, YEAR, -YEAR]
DELAY = 20.0


class Machine:
    """A machine whose wall clock can be set, and the true times of all requests."""

    def __init__(self) -> None:
        self.steady, self.ahead, self.boot = Clock(), 1_800_000_000.0, "first"
        self.asked: dict[str, list[float]] = defaultdict(list)

    def clock(self) -> RunClock:
        return RunClock(wall=lambda: self.steady() + self.ahead, steady=self.steady, boot=self.boot)

    def restart(self) -> None:
        """Takes half a minute."""
        self.steady.now += 30.0
        self.boot += "+"

    def run(self, path: Path, world: World, limits: Limits | None = None, jump: float = 0.0, **given: Any) -> Engine:
        """One run of the crawl; with `jump` the clock is set in the middle of it."""
        settings = {"scope": "any", "delay": DELAY} | given
        with open_writer(path, [] if path.exists() else [SEED], settings, clock=self.clock()) as opened:
            engine = Engine(opened, limits, transport=lambda: Asking(world, self, opened, jump))
            engine.run()
            return engine

    def shortest_gap(self) -> float:
        return min(later - earlier for times in self.asked.values() for earlier, later in pairwise(times))


class Asking(InMemory):
    """A transport that notes the true time of each request, and gives visits the time of the run."""

    def __init__(self, world: World, machine: Machine, opened: CrawlWriter, jump: float) -> None:
        super().__init__(world, machine.steady)
        self.machine, self.opened, self.jump = machine, opened, jump

    def hand_out(self, leases: list[Lease], lanes: list[int]) -> None:
        super().hand_out(leases, lanes)
        if len(self.handed) > 20:
            self.machine.ahead, self.jump = self.machine.ahead + self.jump, 0.0

    def receive(self, timeout: float) -> tuple[list[bytes], list[PageId]]:
        self.clock.now += max(timeout, 0.01)
        now = self.opened.clock()
        for lease in self.held.values():
            self.machine.asked[host_of(lease.url)].append(self.clock.now)
        return [self.world.visit(lease, now) for lease in self.held.values()], []


def test_a_clock_that_is_set_during_a_run_changes_nothing(tmp_path: Path) -> None:
    ends = []
    for jump in (0.0, *JUMPS):
        machine = Machine()
        engine = machine.run(tmp_path / f"{jump}", World(30), jump=jump)
        assert machine.ahead == 1_800_000_000.0 + jump
        ending = engine.run_facts.ending.partition(";")[0]  # what follows names the folder
        ends.append((ending, engine.run_facts.visits, machine.steady.now, dict(machine.asked)))
    assert ends[0][:2] == ("everything known was read", 30)
    assert all(end == ends[0] for end in ends)


@pytest.mark.parametrize(("jump", "restarted"), [*((jump, False) for jump in JUMPS), (HOUR, True), (-YEAR, True)])
def test_a_clock_that_is_set_between_runs_neither_strands_nor_breaks_politeness(
    tmp_path: Path, jump: float, restarted: bool
) -> None:
    machine, world, path = Machine(), World(90), tmp_path / "c"
    machine.run(path, world, Limits(pages=30))
    machine.ahead += jump
    if restarted:
        machine.restart()
    machine.run(path, world, Limits(pages=30))
    machine.ahead -= jump  # and back
    if restarted:
        machine.restart()
    engine = machine.run(path, world)
    assert engine.run_facts.ending.startswith("everything known was read")
    assert engine.shard.read_count == 90
    assert machine.shortest_gap() >= DELAY - 1e-6
    assert machine.steady.now < 1_000_000.0 + 90 / 5 * DELAY + 200.0, "nobody waited for the wrong time"
    assert ("the clock of this machine was set" in engine.opened.said_of_clock) == (jump > 0 or not restarted)


def test_pages_are_refreshed_after_a_year_that_never_was(tmp_path: Path) -> None:
    for name, settings in {
        "worth": {"continuous": True, "rate": 0.5, "first_rate": 1 / 50, "least_interval": 10.0},
        "age": {"refresh_after": 60.0},
    }.items():
        machine, world, path = Machine(), World(30), tmp_path / name
        machine.ahead += YEAR
        given = {key.replace("_", "-"): value for key, value in settings.items()}
        machine.run(path, world, Limits(seconds=100.0), delay=1.0, **given)
        machine.ahead -= YEAR
        machine.restart()
        engine = machine.run(path, world, Limits(seconds=300.0), delay=1.0)
        assert engine.run_facts.visits > 60, f"by {name}: each page is read again, some twice"
        assert not check_crawl(path).problems


@pytest.mark.parametrize("jump", [-DAY, DAY])
def test_moved_times_are_the_same_after_a_replay(tmp_path: Path, jump: float) -> None:
    machine, world, path = Machine(), World(30), tmp_path / "c"
    world.outcomes = {3: Outcome.TIMED_OUT, 4: Outcome.BUSY}
    machine.run(path, world, Limits(pages=20), continuous=True, rate=2.0)
    machine.ahead += jump
    with open_writer(path, [], {}, clock=machine.clock()) as opened:
        opened.shard.journal.sync()
        reader = read_crawl(path)
        assert reader.shard.frame == opened.shard.frame
        (facts, arrays), (own_facts, own_arrays) = shard_state(reader.shard), shard_state(opened.shard)
        assert facts == own_facts
        assert {name: array.tobytes() for name, array in arrays.items()} == {
            name: array.tobytes() for name, array in own_arrays.items()
        }
        opened.shard.placement.check(opened.shard.hosts_of_pages)
        assert max(host.next_time for host in opened.shard.hosts.all) <= opened.clock() + 2 * HOUR
        reader.close()


def test_a_crawl_that_is_resumed_much_later_says_so(tmp_path: Path) -> None:
    machine, path = Machine(), tmp_path / "c"
    machine.run(path, World(30), Limits(pages=5))
    machine.ahead += YEAR
    machine.restart()
    engine = machine.run(path, World(30))
    assert "the last run ended 365 days ago" in engine.opened.said_of_clock
