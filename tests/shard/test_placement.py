"""A page waits in exactly one place: a property of the class, of a whole shard, and of the code that moves pages."""

import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import centime
from centime.frontier.kind import DISCOVERY, PUBLISHED, kinds_of
from centime.model.errors import ScheduleBroken
from centime.model.ids import HostId, PageId
from centime.model.outcome import Outcome
from centime.shard.message import Lease, Returned
from centime.shard.people.command import PublishCommand, SetCommand, SubscribeCommand, UnsubscribeCommand, new_id
from centime.shard.people.subscriptions import Subscription
from centime.shard.placement import Placement
from tests.crawl.world import World, crawl, url_of

PAGES = 12
SHARES = np.zeros(128)


def host_of(pages: Any) -> Any:
    return np.asarray(pages) % 3


def one(page: int) -> Any:
    return np.array([page], dtype=np.int64)


class OnePlace(RuleBasedStateMachine):
    """Compares Placement with a dictionary of where each page is."""

    def __init__(self) -> None:
        super().__init__()
        self.placement = Placement(lease_seconds=10.0)
        self.placement.frontier.allow(4)
        self.places: dict[int, str] = {}
        self.now = 0.0

    def place(self, page: int) -> str:
        return self.places.get(page, "nowhere")

    @rule(page=st.integers(0, PAGES - 1), level=st.integers(1, 5))
    def enqueue(self, page: int, level: int) -> None:
        kinds = kinds_of(np.full(1, level), np.zeros(1))
        if self.place(page) == "nowhere":
            self.placement.enqueue(one(page), host_of(one(page)), kinds, np.ones(1))
            self.places[page] = f"frontier {level}"
        else:
            with pytest.raises(ScheduleBroken):
                self.placement.enqueue(one(page), host_of(one(page)), kinds, np.ones(1))

    @rule(count=st.integers(1, 5))
    def lease(self, count: int) -> None:
        for page in self.placement.lease(self.now, count, SHARES, 0.0).tolist():
            assert self.place(page).startswith("frontier")
            self.places[page] = "leased"

    @rule(page=st.integers(0, PAGES - 1))
    def end(self, page: int) -> None:
        held = bool(self.placement.end(one(page))[0])
        assert held == (self.place(page) == "leased")
        if held:
            self.placement.frontier.release(HostId(int(host_of(page))), self.now)
            self.places[page] = "nowhere"

    @rule(page=st.integers(0, PAGES - 1), seconds=st.floats(0, 20))
    def retry(self, page: PageId, seconds: float) -> None:
        if self.place(page) == "nowhere":
            self.placement.retry(page, self.now + seconds)
            self.places[page] = "timer"
        else:
            with pytest.raises(ScheduleBroken):
                self.placement.retry(page, self.now + seconds)

    @rule(pages=st.sets(st.integers(0, PAGES - 1), min_size=1), level=st.integers(1, 5))
    def withdraw(self, pages: set[int], level: int) -> None:
        given = np.array(sorted(pages), dtype=np.int64)
        for page, free in zip(given.tolist(), self.placement.withdraw(given, level).tolist(), strict=True):
            place = self.place(page)
            urgent = place.startswith("frontier") and int(place[-1]) < level
            assert free == (place != "leased" and not urgent)
            if free:
                self.places[page] = "nowhere"

    @rule(seconds=st.floats(0, 15))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        for page in self.placement.expired(self.now).tolist():
            assert self.place(page) == "leased"
            self.placement.frontier.release(HostId(int(host_of(page))), self.now)
            self.places[page] = "nowhere"
        for page in self.placement.take_due(self.now).tolist():
            assert self.place(page) == "timer"
            self.places[page] = "nowhere"

    @invariant()
    def the_law_holds(self) -> None:
        self.placement.check(host_of)
        pages = np.arange(PAGES)
        assert self.placement.idle(pages).tolist() == [self.place(page) == "nowhere" for page in range(PAGES)]

    @rule()
    def a_snapshot_is_the_same(self) -> None:
        before = self.placement.state()
        self.placement = Placement.from_state(before)
        for name, (facts, arrays) in self.placement.state().items():
            assert facts == before[name][0]
            assert all(np.array_equal(array, before[name][1][title]) for title, array in arrays.items())


class WholeShard(RuleBasedStateMachine):
    """Everything that can move a page of a shard, in any sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(pages=20)
        self.folder = Path(tempfile.mkdtemp())
        self.held: list[Lease] = []
        self.now = 1000.0

    @initialize(
        mode=st.sampled_from(
            [
                {"refresh_after": 50.0},
                {"refresh_after": 50.0, "delay": 0.0},
                {"continuous": True, "rate": 5.0, "least_interval": 1.0},
                {"continuous": True, "rate": 5.0, "least_interval": 1.0, "delay": 0.0},
                {"delay": 0.0},
            ]
        )
    )
    def begin(self, mode: dict[str, Any]) -> None:
        self.opening = crawl(self.folder / "c", **mode)
        self.shard = self.opening.__enter__().shard

    @rule(count=st.integers(1, 8))
    def lease(self, count: int) -> None:
        self.held += self.shard.lease(self.now, count)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def record(self, data: st.DataObject) -> None:
        chosen = data.draw(st.lists(st.sampled_from(self.held), min_size=1, unique_by=lambda lease: lease.page))
        outcomes = st.sampled_from([Outcome.READ] * 4 + list(Outcome))
        for lease in chosen:
            self.world.outcomes[int(lease.url.rsplit("p", 1)[1])] = data.draw(outcomes)
        self.shard.record(self.now, [self.world.visit(lease, self.now) for lease in chosen])
        self.held = [lease for lease in self.held if lease not in chosen]

    @rule(everything=st.booleans())
    def a_fetcher_dies(self, everything: bool) -> None:
        lost = self.held if everything else self.held[:1]
        self.shard.returned(Returned(self.now, [lease.page for lease in lost], all=everything))
        self.held = self.held[len(lost) :]

    @rule(seconds=st.sampled_from([0.1, 1.0, 30.0, 61.0, 700.0, 5000.0]))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds

    @rule(numbers=st.sets(st.integers(0, 25), min_size=1), publisher=st.sampled_from(["", "news"]))
    def publish(self, numbers: set[int], publisher: str) -> None:
        urls = "\n".join(map(url_of, sorted(numbers))).encode()
        self.shard.command(self.now, PublishCommand(id=new_id(), time=self.now, urls=urls, publisher=publisher))

    @rule(every=st.sampled_from([1.0, 45.0, 600.0]), pattern=st.sampled_from(["p1", "example"]))
    def subscribe(self, every: float, pattern: str) -> None:
        subscription = Subscription(f"s{pattern}", pattern, every, "file:x")
        self.shard.command(self.now, SubscribeCommand(id=new_id(), time=self.now, subscription=subscription))

    @rule()
    def unsubscribe(self) -> None:
        self.shard.command(self.now, UnsubscribeCommand(id=new_id(), time=self.now, name="sp1"))

    @rule(ban=st.booleans())
    def ban(self, ban: bool) -> None:
        name = "ban+" if ban else "ban-"
        values: dict[str, Any] = {name: ["http://h1.example"]}
        self.shard.command(self.now, SetCommand(id=new_id(), time=self.now, values=values))

    @invariant()
    def every_page_waits_in_one_place(self) -> None:
        if hasattr(self, "shard"):
            self.shard.placement.check(self.shard.hosts_of_pages)

    def teardown(self) -> None:
        if hasattr(self, "opening"):
            self.shard.placement.check(self.shard.hosts_of_pages)
            self.opening.__exit__(None, None, None)
        shutil.rmtree(self.folder)


TestOnePlace = OnePlace.TestCase
TestOnePlace.settings = settings(max_examples=60, stateful_step_count=30)
TestWholeShard = WholeShard.TestCase
TestWholeShard.settings = settings(max_examples=40, stateful_step_count=30)


def test_a_page_that_is_leased_by_its_deadline_is_not_refreshed_meanwhile(tmp_path: Path) -> None:
    """The defect for which the class was made: a leased page entered the frontier, and the crawl died."""
    world = World(pages=3)
    with crawl(tmp_path / "c", refresh_after=1000.0, delay=0.0) as opened:
        shard, now = opened.shard, 1000.0
        subscription = Subscription("s", "example", 995.0, "file:x")
        shard.command(now, SubscribeCommand(id=new_id(), time=now, subscription=subscription))
        for _ in range(3):
            shard.record(now, [world.visit(lease, now) for lease in shard.lease(now, 8)])
        by_deadline = shard.lease(now + 996.0, 8)
        assert by_deadline
        shard.lease(now + 1001.0, 8)
        shard.lease(now + 1002.0, 8)
        shard.placement.check(shard.hosts_of_pages)
        shard.record(now + 1003.0, [world.visit(lease, now + 1003.0) for lease in by_deadline])


def test_only_placement_moves_pages() -> None:
    moves = re.compile(r"\.(frontier\.(add|remove|lease)|leases\.(grant|end|expired)|retries\.(add|remove|due))\(")
    source = Path(centime.__file__).parent
    found = [
        f"{path.relative_to(source)}:{number}"
        for path in source.rglob("*.py")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if moves.search(line) and path.name != "placement.py"
    ]
    assert found == []


def test_a_promoted_page_leaves_its_timer() -> None:
    placement = Placement(lease_seconds=10.0)
    placement.retry(PageId(3), 5.0)
    assert placement.withdraw(one(3), PUBLISHED).tolist() == [True]
    placement.enqueue(one(3), one(0), kinds_of(np.full(1, DISCOVERY), np.zeros(1)), np.ones(1))
    assert placement.take_due(100.0).tolist() == []
