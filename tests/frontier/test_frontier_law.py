"""The frontier against plain Python, call by call; and a twin read back from its state, bit by bit."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from centime.frontier import strategy
from centime.frontier.frontier import Frontier
from centime.frontier.kind import kind_of
from centime.frontier.standing import bounds
from centime.model.ids import HostId
from tests.frontier.plain import PlainFrontier

HOSTS = st.integers(0, 4)
GROUPS = st.integers(0, 1)
PAGES = st.integers(0, 120)
KINDS = st.sampled_from([kind_of(5), kind_of(5), kind_of(5, 1), kind_of(4), kind_of(3, 2), kind_of(1, 127)])
# few different keys: ties are the rule; powers that vanish beside an offset: rounding makes ties between keys that
# differ
KEYS = st.sampled_from([0.0, 0.25, 1.0, 1.5, 2.0, 2.0**-60, -(2.0**-60), math.inf])
TIMES = st.integers(-1, 4).map(float)


class FrontierAgainstPlain(RuleBasedStateMachine):
    @initialize(leases=st.integers(1, 3), shares=st.tuples(*[st.sampled_from([0.5, 0.3, 0.9])] * 4))
    def start(self, leases: int, shares: tuple[float, float, float, float]) -> None:
        self.now = 0.0
        self.plain = PlainFrontier(leases, shares)
        self.frontier = Frontier(leases_per_host=leases, shares=shares)
        self.twin = Frontier.from_state(*self.frontier.state())

    def both(self, call: Callable[[Frontier], Any]) -> Any:
        call(self.twin)
        return call(self.frontier)

    @rule(batch=st.lists(st.tuples(PAGES, HOSTS, KINDS, KEYS), max_size=60, unique_by=lambda row: row[0]))
    def add(self, batch: list[tuple[int, int, int, float]]) -> None:
        new = [row for row in batch if row[0] not in self.plain.inside]
        self.add_all(new)

    @rule(first=PAGES, count=st.integers(20, 121), host=HOSTS, kind=KINDS, steps=st.integers(1, 7))
    def add_many_of_one_host(self, first: int, count: int, host: int, kind: int, steps: int) -> None:
        pages = [page for page in range(first, min(first + count, 121)) if page not in self.plain.inside]
        self.add_all([(page, host, kind, float(page * steps % 11)) for page in pages])

    def add_all(self, rows: list[tuple[int, int, int, float]]) -> None:
        pages, hosts, kinds, keys = (np.array([row[k] for row in rows]) for k in range(4))
        self.both(lambda frontier: frontier.add(pages, hosts, kinds, keys))
        self.plain.inside.update({page: (host, kind, float(np.float32(key))) for page, host, kind, key in rows})

    @rule(batch=st.lists(st.tuples(st.integers(-1, 200), KEYS), max_size=40), own=st.booleans())
    def update(self, batch: list[tuple[int, float]], own: bool) -> None:
        pages, keys = np.array([row[0] for row in batch]), np.array([row[1] for row in batch])
        self.both(lambda frontier: frontier.update_worth(pages, keys) if own else frontier.update(pages, keys))
        for page, key in batch:
            if page in self.plain.inside and (self.plain.inside[page][1] // 128 != 5) == own:
                self.plain.inside[page] = (*self.plain.inside[page][:2], float(np.float32(key)))

    @rule(batch=st.lists(st.integers(-1, 200), max_size=30))
    def remove(self, batch: list[int]) -> None:
        self.both(lambda frontier: frontier.remove(np.array(batch, dtype=np.int64)))
        for page in batch:
            self.plain.inside.pop(page, None)

    @rule(
        count=st.integers(0, 12),
        step=st.sampled_from([0.0, 0.0, 1.0, 3.0, -1.0]),
        offset=st.sampled_from([0.0, 1.0, 0.75]),
        discovery=st.sampled_from([0.0, 1.0, 3.0]),
    )
    def lease(self, count: int, step: float, offset: float, discovery: float) -> None:
        self.now += step
        offsets = [0.0, offset, 0.5] + [offset] * 125
        leased = self.both(lambda frontier: frontier.lease(self.now, count, np.array(offsets), discovery)).tolist()
        expected = [self.plain.lease_one(self.now, offsets, discovery) for _ in range(count)]
        assert leased == [page for page in expected if page is not None]

    @rule(count=st.integers(0, 12), step=st.sampled_from([0.0, 0.5, 1.0]), slots=st.sampled_from([1, 8, 24]))
    def lease_within_bounds(self, count: int, step: float, slots: int) -> None:
        self.now += step
        most = bounds(slots)
        leased = self.both(lambda frontier: frontier.lease(self.now, count, np.zeros(128), 0.0, slots)).tolist()
        plain, before = self.plain, dict(self.plain.next_times)
        arrays = self.frontier.state()[1]
        for page in leased:
            host, kind, key = plain.inside[page]
            assert self.may_lease_within(most, host)
            assert key == max(
                other_key
                for other, (other_host, other_kind, other_key) in plain.inside.items()
                if other in plain.ready_pages(self.now)
                and other_kind // 128 == kind // 128
                and self.may_lease_within(most, other_host)
            )
            del plain.inside[page]
            plain.outstanding[host] = plain.outstanding.get(host, 0) + 1
        times = arrays["next_times"].tolist()
        plain.next_times.update({host: time for host, time in enumerate(times) if time > -math.inf})
        put_off = [host for host, time in plain.next_times.items() if before.get(host, -math.inf) != time]
        assert self.frontier.put_off == len(put_off)
        for host in put_off:
            assert plain.next_times[host] == math.floor(self.now) + 1
            assert plain.is_full(host, most[1, plain.standings.get(host, 0)])
        if len(leased) < count:
            assert not any(self.may_lease_within(most, plain.inside[page][0]) for page in plain.ready_pages(self.now))
        plain.credits = [Fraction(int(credit), strategy.WHOLE_CREDIT) for credit in arrays["levels"][0][1:5]]

    def may_lease_within(self, most: npt.NDArray[np.int64], host: int) -> bool:
        standing = self.plain.standings.get(host, 0)
        return self.plain.leases(standing) < most[0, standing] and not self.plain.is_full(host, most[1, standing])

    @rule(first=HOSTS, domains=st.lists(st.integers(-1, 1), min_size=1, max_size=3))
    def set_domains(self, first: HostId, domains: list[int]) -> None:
        self.both(lambda frontier: frontier.set_domains(first, domains))
        self.plain.domains.update(enumerate(domains, first))

    @rule(host=HOSTS, time=TIMES, in_batch=st.booleans(), standing=st.integers(-1, 2))
    def release(self, host: HostId, time: float, in_batch: bool, standing: int) -> None:
        if self.plain.outstanding.get(host, 0):
            until = self.now + time
            if in_batch:
                self.both(
                    lambda frontier: frontier.release_all(np.array([host]), np.array([until]), np.array([standing]))
                )
            else:
                self.both(lambda frontier: frontier.release(host, until, standing))
            self.plain.outstanding[host] -= 1
            self.plain.next_times[host] = until
            if standing >= 0:
                self.plain.standings[host] = standing

    @rule(standings=st.lists(st.integers(0, 2), max_size=5))
    def set_standings(self, standings: list[int]) -> None:
        self.both(lambda frontier: frontier.set_standings(standings))
        self.plain.standings.update(enumerate(standings))

    @rule(host=HOSTS, time=TIMES)
    def delay(self, host: HostId, time: float) -> None:
        self.both(lambda frontier: frontier.delay(host, self.now + time))
        self.plain.next_times[host] = self.now + time

    @rule(host=HOSTS)
    def block(self, host: HostId) -> None:
        self.both(lambda frontier: frontier.block(host))
        self.plain.blocked.add(host)

    @rule(host=HOSTS)
    def unblock(self, host: HostId) -> None:
        self.both(lambda frontier: frontier.unblock(host))
        self.plain.blocked.discard(host)

    @rule(host=HOSTS, group=st.integers(-1, 1))
    def set_address(self, host: HostId, group: int) -> None:
        self.both(lambda frontier: frontier.set_address(host, group))
        self.plain.group_of[host] = group

    @rule(group=GROUPS, time=TIMES)
    def delay_address(self, group: int, time: float) -> None:
        self.both(lambda frontier: frontier.delay_address(group, self.now + time))
        self.plain.group_times[group] = self.now + time

    @rule(hosts=st.sets(HOSTS, min_size=1), group=GROUPS, times=st.lists(TIMES, min_size=2, max_size=4), own=TIMES)
    def hosts_of_one_address_are_delayed_and_let_go(
        self, hosts: set[HostId], group: int, times: list[float], own: float
    ) -> None:
        for host in sorted(hosts):
            self.set_address(host, group)
        self.delay(min(hosts), own)
        for time in times:
            self.delay_address(group, time)
            self.ask_when()
            self.frontier.check()
        self.lease(2, 1.0, 0.0, 0.0)

    @rule(factor=st.integers(1, 9), as_function=st.booleans())
    def rebuild(self, factor: int, as_function: bool) -> None:
        keys = (np.arange(121) * factor % 13).astype(np.float32)
        self.both(lambda frontier: frontier.rebuild((lambda pages: keys[pages]) if as_function else keys))
        for page, (host, kind, _) in self.plain.inside.items():
            if kind // 128 == 5:
                self.plain.inside[page] = (host, kind, float(keys[page]))

    @rule(shares=st.tuples(*[st.sampled_from([0.5, 0.3, 0.9])] * 4))
    def share_otherwise(self, shares: tuple[float, float, float, float]) -> None:
        self.both(lambda frontier: frontier.set_shares(shares))
        self.plain.set_shares(shares)

    @rule()
    def fork(self) -> None:
        self.twin = Frontier.from_state(*self.frontier.state())

    @precondition(lambda self: len(self.plain.inside) > 0)
    @rule(count=st.integers(0, 30), offset=st.sampled_from([0.0, 1.0]))
    def look(self, count: int, offset: float) -> None:
        offsets = [0.0, offset, 0.5] + [offset] * 125
        assert self.frontier.best(count, np.array(offsets)).tolist() == self.plain.best(count, offsets)

    @rule()
    def ask_when(self) -> None:
        assert self.both(lambda frontier: frontier.earliest(self.now)) == self.plain.earliest(self.now)

    @invariant()
    def agrees(self) -> None:
        self.frontier.check()
        assert len(self.frontier) == len(self.plain.inside)
        inside = np.flatnonzero(self.frontier.contains(np.arange(-1, 300))) - 1
        assert inside.tolist() == sorted(self.plain.inside)
        levels = self.frontier.levels(np.arange(-1, 300)).tolist()
        assert levels == [
            self.plain.inside[page][1] // 128 if page in self.plain.inside else 6 for page in range(-1, 300)
        ]
        for host in map(HostId, range(8)):
            assert self.frontier.pages_of(host) == sum(1 for row in self.plain.inside.values() if row[0] == host)

    @invariant()
    def twin_is_the_same_bit_by_bit(self) -> None:
        (facts, arrays), (other_facts, other_arrays) = self.frontier.state(), self.twin.state()
        assert facts == other_facts
        assert {name: array.tobytes() for name, array in arrays.items()} == {
            name: array.tobytes() for name, array in other_arrays.items()
        }


FrontierAgainstPlain.TestCase.settings = settings(
    max_examples=100,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestFrontierAgainstPlain = FrontierAgainstPlain.TestCase
