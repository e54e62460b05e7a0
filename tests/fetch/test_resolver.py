import asyncio
import socket
import struct
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from centime.fetch import resolver as module
from centime.fetch.guard import Guard
from centime.fetch.resolver import Answer, Dns, Lookup, Place, Resolver
from centime.model.outcome import Outcome
from tests.fetch.hostile import run


def _fixed(*addresses: str, seconds: float = 300.0) -> Lookup:
    async def lookup(name: str) -> Answer:
        return Answer(addresses, seconds)

    return lookup


async def _never(name: str) -> Answer:
    raise AssertionError(f"{name} was asked for")


def _find(make: Callable[[], Resolver], *names: str) -> list[Place]:
    async def work() -> list[Place]:
        resolver = make()
        places = [await resolver.find(name) for name in names]
        await resolver.close()
        return places

    return run(work())


def test_this_machine_is_never_asked_for() -> None:
    places = _find(
        lambda: Resolver(Guard(["127.0.0.0/8"]), lookup=_never),
        "localhost",
        "a.localhost",
        "a.b.localhost.",
        "127.0.0.9",
    )
    assert [place.address for place in places] == ["127.0.0.1", "127.0.0.1", "127.0.0.1", "127.0.0.9"]


def test_given_pairs_come_before_dns() -> None:
    pairs = (("shop.test", "127.0.0.2"), ("*.web.test", "127.0.0.3"), ("*.localhost", "127.0.0.4"))
    names = ("shop.test", "a.web.test", "b.c.web.test", "x.localhost")
    places = _find(lambda: Resolver(Guard(["127.0.0.0/8"]), pairs, _never), *names)
    assert [place.address[-1] for place in places] == ["2", "3", "3", "4"]


def test_a_pair_is_judged_like_any_answer() -> None:
    (place,) = _find(lambda: Resolver(Guard(), (("a.test", "10.0.0.1"),), _never), "a.test")
    assert place.outcome is Outcome.REFUSED_ADDRESS


def test_only_addresses_that_may_be_asked_are_given() -> None:
    (place,) = _find(lambda: Resolver(Guard(), lookup=_fixed("10.0.0.1", "8.8.8.8")), "mixed.example")
    assert place.address == "8.8.8.8"
    (place,) = _find(lambda: Resolver(Guard(), lookup=_fixed("10.0.0.1", "::1")), "inner.example")
    assert (place.address, place.outcome) == ("", Outcome.REFUSED_ADDRESS)


def test_a_name_without_an_address_is_remembered() -> None:
    asked = []

    async def lookup(name: str) -> Answer:
        asked.append(name)
        return Answer((), 300.0, "no such name")

    places = _find(lambda: Resolver(Guard(), lookup=lookup), "a.example", "a.example")
    assert [place.outcome for place in places] == [Outcome.NO_ADDRESS] * 2
    assert (asked, places[0].detail) == (["a.example"], "no such name")


def test_an_answer_holds_for_its_time_and_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("centime.fetch.resolver.time.monotonic", lambda: now)
    answers = iter([Answer(("8.8.8.8",), 60.0), Answer(("9.9.9.9",), 60.0)])

    async def lookup(name: str) -> Answer:
        return next(answers)

    async def work() -> list[str]:
        nonlocal now
        resolver = Resolver(Guard(), lookup=lookup)
        seen = []
        for passed in (0.0, 59.0, 2.0):
            now += passed
            seen.append((await resolver.find("a.example")).address)
        await resolver.close()
        return seen

    assert run(work()) == ["8.8.8.8", "8.8.8.8", "9.9.9.9"]


def test_many_who_ask_at_once_ask_once() -> None:
    asked = 0

    async def lookup(name: str) -> Answer:
        nonlocal asked
        asked += 1
        await asyncio.sleep(0)
        return Answer(("8.8.8.8",), 300.0)

    async def work() -> list[Place]:
        resolver = Resolver(Guard(), lookup=lookup)
        return await asyncio.gather(*(resolver.find("a.example") for _ in range(10)))

    assert {place.address for place in run(work())} == {"8.8.8.8"}
    assert asked == 1


def test_who_gives_up_waiting_does_not_stop_the_others() -> None:
    async def work() -> str:
        ready = asyncio.Event()

        async def lookup(name: str) -> Answer:
            await ready.wait()
            return Answer(("8.8.8.8",), 300.0)

        resolver = Resolver(Guard(), lookup=lookup)
        first, second = (asyncio.create_task(resolver.find("a.example")) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        ready.set()
        return (await second).address

    assert run(work()) == "8.8.8.8"


def test_an_address_that_failed_gives_way_to_the_next() -> None:
    async def work() -> list[str]:
        resolver = Resolver(Guard(), lookup=_fixed("8.8.8.8", "9.9.9.9"))
        seen = [(await resolver.find("a.example")).address]
        resolver.failed("a.example", "8.8.8.8")
        seen.append((await resolver.find("a.example")).address)
        resolver.failed("a.example", "8.8.8.8")  # not the one in use: says nothing new
        seen.append((await resolver.find("a.example")).address)
        return seen

    assert run(work()) == ["8.8.8.8", "9.9.9.9", "9.9.9.9"]


def test_the_memory_for_names_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_NAMES", 10)

    async def work() -> int:
        resolver = Resolver(Guard(), lookup=_fixed("8.8.8.8"))
        for number in range(50):
            await resolver.find(f"{number}.example")
        return len(resolver)

    assert run(work()) == 10


class _Server(asyncio.DatagramProtocol):
    """Answers for v4.example and v6.example; none.example does not exist, fail.example fails, all else is empty."""

    RECORDS: ClassVar = {
        ("v4.example", 1): (5, socket.inet_aton("93.184.216.34")),
        ("v6.example", 28): (7000, socket.inet_pton(socket.AF_INET6, "2606:4700::1")),
    }
    CODES: ClassVar = {"none.example": 3, "fail.example": 2}

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, address: tuple[str, int]) -> None:
        labels, place = [], 12
        while data[place]:
            labels.append(data[place + 1 : place + 1 + data[place]].decode())
            place += data[place] + 1
        name, kind = ".".join(labels), struct.unpack("!H", data[place + 1 : place + 3])[0]
        self.asked.append((name, kind))
        record = b""
        if (name, kind) in self.RECORDS:
            seconds, packed = self.RECORDS[name, kind]
            record = b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, seconds, len(packed)) + packed
        head = struct.pack("!HHHHH", 0x8180 | self.CODES.get(name, 0), 1, bool(record), 0, 0)
        self._transport.sendto(data[:2] + head + data[12 : place + 5] + record, address)


def test_dns_gives_addresses_for_their_time_within_bounds() -> None:
    async def work(*names: str) -> tuple[list[Answer], list[tuple[str, int]]]:
        loop = asyncio.get_running_loop()
        transport, server = await loop.create_datagram_endpoint(_Server, ("127.0.0.1", 0))
        dns = Dns((f"127.0.0.1:{transport.get_extra_info('sockname')[1]}",))
        answers = [await dns(name) for name in names]
        await dns.close()
        transport.close()
        return answers, server.asked

    answers, asked = run(
        work("v4.example", "v6.example", "none.example", "fail.example", "empty.example", "a..b", "x" * 70 + ".example")
    )
    assert [answer.addresses for answer in answers] == [("93.184.216.34",), ("2606:4700::1",), (), (), (), (), ()]
    assert [answer.seconds for answer in answers[:5]] == [60.0, 3600.0, 300.0, 30.0, 300.0]
    assert all(answer.detail for answer in answers[2:])
    assert asked[:3] == [("v4.example", 1), ("v6.example", 1), ("v6.example", 28)]


def test_dns_that_breaks_is_a_value() -> None:
    async def lookup(name: str) -> Answer:
        raise OSError("no\n\n  network\x1b" + "x" * 1000)

    (place,) = _find(lambda: Resolver(Guard(), lookup=lookup), "a.example")
    assert place.outcome is Outcome.NO_ADDRESS
    assert "no network" in place.detail
    assert place.detail.isprintable()
    assert len(place.detail) <= 300
