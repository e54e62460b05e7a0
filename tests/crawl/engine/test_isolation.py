"""Hosts that never answer do not stop the others: a transport without a network, with a clock of its own."""

from pathlib import Path

import numpy as np
import pytest

from centime.crawl.engine.loop import Engine, Limits
from centime.crawl.engine.opening import open_writer
from centime.crawl.engine.reader import read_crawl
from centime.model.address import fingerprint
from centime.model.ids import PageId
from centime.model.outcome import Outcome, PageKind
from centime.shard.message import Lease, Visit, pack
from centime.shard.state import ShardState
from tests.crawl.engine.test_transport import Clock

GOOD, BAD, SLOTS = 5, 200, 96
DRIP_SECONDS = 20.0
NAMES = {
    "of one domain": "http://h{}.bad.test/",
    "of many domains": "http://bad{}.test/",
}


class Dripping:
    """A transport in which good hosts answer at once, with a link to their next page, and bad ones not at all."""

    capacity = SLOTS

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.held: dict[int, tuple[Lease, float]] = {}
        self.most_bad = 0

    @property
    def outstanding(self) -> int:
        return len(self.held)

    def hand_out(self, leases: list[Lease], lanes: list[int]) -> None:
        self.held |= {lease.page: (lease, self.clock.now) for lease in leases}
        self.most_bad = max(self.most_bad, sum("bad" in lease.url for lease, _ in self.held.values()))

    def receive(self, timeout: float) -> tuple[list[bytes], list[PageId]]:
        self.clock.now += max(min(timeout, 0.1), 0.02)
        done = [
            self.visit(lease)
            for lease, since in self.held.values()
            if "bad" not in lease.url or self.clock.now - since >= (lease.patience or DRIP_SECONDS)
        ]
        return done, []

    def visit(self, lease: Lease) -> bytes:
        if "bad" in lease.url:
            return pack(
                Visit(
                    page=lease.page,
                    outcome=Outcome.TIMED_OUT,
                    kind=PageKind.ERROR,
                    asked_at=self.clock.now,
                    held=DRIP_SECONDS,
                )
            )
        root, _, number = lease.url.rpartition("/")
        following = f"{root}/{int(number or 0) + 1}"
        link = np.array([fingerprint(following)], dtype=np.uint64).tobytes()
        return pack(
            Visit(
                page=lease.page,
                outcome=Outcome.READ,
                kind=PageKind.HTML,
                status=200,
                asked_at=self.clock.now,
                links=link,
                fresh=link,
                texts=following.encode(),
                signature=1 + int(number or 0),
            )
        )

    def release(self, pages: list[PageId]) -> None:
        for page in pages:
            self.held.pop(page, None)

    def close(self) -> None:
        self.held.clear()


def pages_read(path: Path, bad: list[str], seconds: float = 60.0) -> tuple[int, Dripping]:
    """How many pages of the good hosts a crawl reads that knows bad hosts too."""
    clock = Clock()
    transport = Dripping(clock)
    good = [f"http://good{number}.test/" for number in range(GOOD)]
    with open_writer(path, [*bad, *good], {"scope": "any", "delay": 0.5}) as opened:
        engine = Engine(opened, Limits(seconds=seconds), transport=lambda: transport, clock=clock)
        while engine.step():
            pass
        shard = opened.shard
        shard.journal.sync()
        replayed = read_crawl(path)  # raises JournalMismatch if other leases are granted
        assert placement_of(replayed.shard) == placement_of(shard)
        replayed.close()
        engine.abandon()
        return sum(host.read for host in shard.hosts.all if "good" in host.name), transport


def placement_of(shard: ShardState) -> dict[str, bytes]:
    """All arrays of the frontier and the leases."""
    shard.placement.check(shard.hosts_of_pages)
    parts = shard.placement.state().items()
    return {f"{part} {name}": array.tobytes() for part, (_, arrays) in parts for name, array in arrays.items()}


@pytest.mark.parametrize("names", NAMES)
def test_good_hosts_keep_their_rate_beside_hosts_that_never_answer(tmp_path: Path, names: str) -> None:
    alone, _ = pages_read(tmp_path / "alone", [])
    beside, transport = pages_read(tmp_path / "beside", [NAMES[names].format(number) for number in range(BAD)])
    assert transport.most_bad <= SLOTS // 2
    if names == "of one domain":
        assert beside >= 0.95 * alone
        assert transport.most_bad <= 6
    else:  # the bad hosts are known first: nobody can know which of the new hosts will answer
        assert beside >= 0.3 * alone
