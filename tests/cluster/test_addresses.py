"""Leases of addresses: whoever asks when, requests of two fetchers to one address are a delay apart."""

import asyncio
from random import Random

import pytest

from centime.cluster.addresses import GAP, HORIZON, MOST, SHARED_TERM, TERM, AddressDesk, Holder
from centime.fetch.address_leases import AddressLease, AddressLeases

A, B, C = (0, 1, 1), (1, 1, 1), (2, 1, 1)


@pytest.mark.parametrize("seed", range(20))
def test_leases_of_two_fetchers_never_overlap_also_when_the_desk_forgets_all(seed: int) -> None:
    random, now, desk = Random(seed), 50.0, AddressDesk(50.0)
    delay = random.choice((0.1, 0.5, 2.0))
    granted: list[tuple[Holder, AddressLease]] = []
    later = 0
    for _ in range(300):
        now += random.choice((0.0, 0.1, 1.0, 3.0)) * random.random()
        if random.random() < 0.05:
            desk = AddressDesk(now)
        holder = random.randrange(8), 1, 1
        lease = desk.grant(holder, "10.0.0.1", delay, now)
        if lease.start == lease.end:
            later += 1
            assert now < lease.start, "it asks later, and not at once"
            continue
        assert lease.end - delay >= max(now, lease.start), "there is time for a request"
        for other, theirs in granted:
            assert other == holder or lease.start >= theirs.end + GAP or theirs.start >= lease.end + GAP
        granted.append((holder, lease))
    assert later
    assert len({holder for holder, _ in granted}) > 5, "they have turns"


def test_who_is_alone_keeps_an_address_and_who_is_not_waits_a_moment() -> None:
    desk = AddressDesk(10.0 - GAP - HORIZON)
    assert desk.grant(A, "10.0.0.1", 0.1, 9.0) == pytest.approx((10.0, 10.0 + SHARED_TERM)), (
        "leases of the run before have ended"
    )
    assert desk.grant(A, "10.0.0.1", 0.1, 10.4) == pytest.approx((10.0, 10.4 + TERM)), "it goes on"
    assert desk.grant(A, "10.0.0.1", 0.1, 11.0) == pytest.approx((10.0, 11.0 + TERM))
    assert desk.grant(B, "10.0.0.1", 0.1, 11.0).start == 11.0 + TERM + GAP
    mine = desk.grant(A, "10.0.0.1", 0.1, 11.0)
    assert mine == pytest.approx((11.0 + TERM + SHARED_TERM + 2 * GAP, 11.0 + TERM + 2 * SHARED_TERM + 2 * GAP))
    last = desk.grant(C, "10.0.0.1", 0.1, 11.0)
    again, none = desk.grant(B, "10.0.0.1", 0.1, 11.0)
    assert again == none == pytest.approx(last.end + GAP + SHARED_TERM - HORIZON), "it asks again when there is a turn"
    assert desk.grant(B, "10.0.0.1", 0.1, again + 1e-9) == pytest.approx((last.end + GAP, again + HORIZON))
    assert desk.grant(B, "10.0.0.2", 0.1, 11.0).start == 11.0, "another address"
    for number in range(MOST + 2):
        desk.grant(A, f"a{number}", 0.1, 100.0)
        if number == 0:
            assert desk.grant(B, "a0", 0.1, 100.0).start > 100.0
    assert desk.grant(C, "a0", 0.1, 100.0).start > 100.0, "what lasts is not forgotten"


def test_a_fetcher_waits_for_its_lease_asks_once_and_again_if_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("centime.fetch.address_leases.PATIENCE_SECONDS", 0.01)
    asked: list[tuple[str, float]] = []
    now = 5.0
    leases = AddressLeases(lambda: now, lambda address, delay: asked.append((address, delay)))

    async def fetch() -> None:
        nonlocal now
        waiting = [asyncio.create_task(leases.ready("a", 0.1)) for _ in range(3)]
        await asyncio.sleep(0.0)
        assert asked == [("a", 0.1)], "not once for each request"
        while len(asked) < 3:
            await asyncio.sleep(0.005)
        leases.grant({"a": AddressLease(5.02, 6.0)})
        await asyncio.sleep(0.0)
        assert not any(one.done() for one in waiting)
        now = 5.02
        await asyncio.gather(*waiting)
        leases.grant({f"other{number}": AddressLease(0.0, 1.0) for number in range(5_000)})
        leases.grant({})

    asyncio.run(fetch())
    assert leases.pause("a", 0.1, 5.9) == 0.0
    assert leases.pause("a", 0.1, 5.91) is None, "it would end too late"
    assert len(leases._leases) == 1, "what has ended is forgotten"
