"""The engine over a transport without processes or a network, with a clock of its own: all turns are deterministic."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from centime.crawl.engine.loop import Engine, Limits
from centime.model.ids import PageId
from centime.model.outcome import Outcome
from centime.shard.message import Lease
from tests.crawl.world import World, crawl


class Clock:
    """Time that passes when the engine waits."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class InMemory:
    """A transport that answers from a world."""

    def __init__(self, world: World, clock: Clock, dies_after: int = 0) -> None:
        self.world, self.clock, self.dies_after = world, clock, dies_after
        self.held: dict[PageId, Lease] = {}
        self.handed: list[str] = []
        self.closed = False

    @property
    def capacity(self) -> int:
        return 4

    @property
    def outstanding(self) -> int:
        return len(self.held)

    def hand_out(self, leases: list[Lease], lanes: list[int]) -> None:
        assert len(leases) == len(lanes)
        self.held |= {lease.page: lease for lease in leases}
        self.handed += [lease.url for lease in leases]

    def receive(self, timeout: float) -> tuple[list[bytes], list[PageId]]:
        self.clock.now += max(timeout, 0.01)
        if self.dies_after and len(self.handed) >= self.dies_after:
            self.dies_after, lost = 0, list(self.held)
            self.held.clear()
            return [], lost
        return [self.world.visit(lease, self.clock.now) for lease in self.held.values()], []

    def release(self, pages: list[PageId]) -> None:
        for page in pages:
            self.held.pop(page, None)

    def close(self) -> None:
        self.closed = True


def test_a_crawl_runs_to_its_end_without_a_process(tmp_path: Path) -> None:
    world, clock = World(30), Clock()
    transport = InMemory(world, clock)
    with crawl(tmp_path / "c") as opened:
        engine = Engine(opened, transport=lambda: transport, clock=clock)
        assert engine.run().startswith("everything known was read; 31 URLs that pages link to were refused: 30 suffix")
        assert sorted(transport.handed) == sorted(set(transport.handed))
        assert len(transport.handed) == engine.run_facts.visits == 30
    assert transport.closed


def test_steps_can_be_taken_one_by_one_and_give_the_same_crawl(tmp_path: Path) -> None:
    ends = []
    for name, by_step in (("run", False), ("step", True)):
        clock = Clock()
        transport = InMemory(World(30), clock)
        with crawl(tmp_path / name) as opened:
            engine = Engine(opened, transport=lambda transport=transport: transport, clock=clock)  # type: ignore[misc]
            if by_step:
                while engine.step():
                    pass
                engine.finish()
            else:
                engine.run()
            ends.append((transport.handed, opened.shard.ledger.importance().tolist()))
    assert ends[0] == ends[1]


def test_leases_of_a_fetcher_that_died_are_fetched_again(tmp_path: Path) -> None:
    clock = Clock()
    transport = InMemory(World(30), clock, dies_after=10)
    with crawl(tmp_path / "c") as opened:
        engine = Engine(opened, transport=lambda: transport, clock=clock)
        engine.run()
        assert opened.shard.read_count == 30
        assert len(transport.handed) > 30
        assert np.all(opened.shard.placement.idle(np.arange(30)))


class Silent(InMemory):
    """A transport whose hosts never answer."""

    def receive(self, timeout: float) -> tuple[list[bytes], list[PageId]]:
        self.clock.now += max(timeout, 0.01)
        return [], []


def test_a_run_that_has_a_time_ends_with_it_though_hosts_do_not_answer(tmp_path: Path) -> None:
    clock = Clock()
    began = clock.now
    with crawl(tmp_path / "c") as opened:
        engine = Engine(opened, Limits(seconds=5.0), transport=lambda: Silent(World(30), clock), clock=clock)
        assert engine.run() == "the 5 seconds are over"
        assert 5 <= clock.now - began < 6.5
        assert len(opened.shard.placement.leases) == 0


def test_the_engine_stops_when_asked_from_another_thread_and_installs_no_handlers(tmp_path: Path) -> None:
    import signal

    before = signal.getsignal(signal.SIGINT)
    clock = Clock()
    transport = InMemory(World(2000), clock)
    with crawl(tmp_path / "c", delay=0.0) as opened:
        engine = Engine(opened, transport=lambda: transport, clock=clock)

        def look(engine: Engine, _: float) -> None:
            assert signal.getsignal(signal.SIGINT) is before
            stopper = threading.Thread(target=engine.stop)
            stopper.start()
            stopper.join()

        assert engine.run(look) == "stopped"


REFRESHES: list[dict[str, Any]] = [{"continuous": True, "rate": 100.0}, {"refresh-after": 600.0}]


@pytest.mark.parametrize("how", REFRESHES)
@pytest.mark.parametrize("outcome", [Outcome.GONE, Outcome.CLIENT_ERROR, Outcome.SERVER_ERROR, Outcome.DISALLOWED])
def test_a_crawl_that_refreshes_goes_on_when_no_page_is_there_any_more(
    tmp_path: Path, how: dict[str, Any], outcome: Outcome
) -> None:
    world, clock = World(3), Clock()
    with crawl(tmp_path / "c", **how, **{"least-interval": 600.0}) as opened:
        engine = Engine(opened, transport=lambda: InMemory(world, clock), clock=clock)

        def go_on(seconds: float, until: Callable[[], bool]) -> bool:
            """Goes on for as long, or until something holds; returns whether the run has not come to its end."""
            end = clock.now + seconds
            while clock.now < end and not until():
                if not engine.step():
                    return False
                clock.now += 0.0 if len(opened.shard.placement.leases) else 300.0
            return True

        assert go_on(60.0, lambda: opened.shard.read_count == 3)
        world.outcomes = dict.fromkeys(range(3), outcome)
        assert go_on(40_000.0, lambda: False), engine.run_facts.ending
        assert opened.shard.read_count == 0
        world.outcomes = {}
        assert go_on(90_000.0, lambda: opened.shard.read_count > 0), engine.run_facts.ending
        assert opened.shard.read_count > 0
        engine.finish()


@pytest.mark.parametrize("how", REFRESHES)
def test_a_crawl_that_refreshes_and_could_never_read_a_page_ends_and_says_why(
    tmp_path: Path, how: dict[str, Any]
) -> None:
    world, clock = World(3), Clock()
    world.outcomes = {0: Outcome.DISALLOWED}
    with crawl(tmp_path / "c", **how) as opened:
        engine = Engine(opened, transport=lambda: InMemory(world, clock), clock=clock)
        assert engine.run().startswith("nothing could be read: http://h0.example/p0: disallowed")


@pytest.mark.parametrize("pages", [1, 7])
def test_a_limit_of_pages_is_kept_to_the_page(tmp_path: Path, pages: int) -> None:
    clock = Clock()
    transport = InMemory(World(30), clock)
    with crawl(tmp_path / "c") as opened:
        engine = Engine(opened, Limits(pages=pages), transport=lambda: transport, clock=clock)
        assert engine.run() == f"read the {pages} pages asked for"
        assert len(transport.handed) == pages


def test_the_message_at_the_end_names_transient_failures(tmp_path: Path) -> None:
    world, clock = World(10), Clock()
    world.outcomes = {3: Outcome.TIMED_OUT}
    with crawl(tmp_path / "c") as opened:
        engine = Engine(opened, transport=lambda: InMemory(world, clock), clock=clock)
        assert "1 page failed and is due again" in engine.run()


@pytest.mark.parametrize("seconds", [20.0, pytest.param(60.0, marks=pytest.mark.long)])
def test_a_bandwidth_is_kept_and_used_up(tmp_path: Path, seconds: float) -> None:
    bandwidth, page = 20_000.0, 1000.0  # what a page of the world costs
    world, clock = World(4000), Clock()
    transport = InMemory(world, clock)
    with crawl(tmp_path / "c", delay=0.0, bandwidth=bandwidth) as opened:
        engine = Engine(opened, Limits(seconds=seconds), transport=lambda: transport, clock=clock)
        assert "seconds are over" in engine.run()
        spent = engine.run_facts.wire_bytes
    room = 10 * bandwidth
    assert 0.9 * bandwidth * seconds - room <= spent <= bandwidth * seconds + room + transport.capacity * page
    assert spent < page * world.pages, "the web is larger than the budget, so that the test can fail"
