"""A world whose pages change, for continuous crawls."""

from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import msgspec
import numpy as np

from centime.crawl.engine.writer import CrawlWriter
from centime.model.outcome import Outcome
from centime.shard.message import Lease, pack, unpack_visit
from tests.crawl.world import World

HOUR, DAY = 3600.0, 86_400.0
START = 1_000_000.0
FOREVER: dict[str, Any] = {"continuous": True, "rate": 0.01, "least_interval": 60.0, "delay": 1.0}


class ChangingWorld(World):
    """Page n changes at random every (n mod 10 + 1) · `period` seconds, page 7 on the hour; dates are right."""

    def __init__(self, pages: int = 40, period: float = HOUR, dated: bool = False, max_age: float = 0.0) -> None:
        super().__init__(pages)
        self.max_age = max_age
        chance = np.random.default_rng(5)
        self.dated = dated
        self.changes = {
            page: np.arange(0, 4000) * HOUR + START + 600.0
            if page == 7
            else START + np.cumsum(chance.exponential((page % 10 + 1) * period, 4000))
            for page in range(pages)
        }
        self.claims = b""
        self.read: list[tuple[float, int]] = []

    def visit(self, lease: Lease, now: float) -> bytes:
        """The page as it is now."""
        fetched = unpack_visit(super().visit(lease, now))
        page = int(lease.url.rsplit("p", 1)[1])
        version = int(np.searchsorted(self.changes[page], now))
        self.read.append((now, page))
        if fetched.outcome is not Outcome.READ:
            return pack(fetched)
        changed = self.changes[page][version - 1] if version else START - HOUR * (page + 1)
        date = format_datetime(datetime.fromtimestamp(changed, UTC), usegmt=True) if self.dated else ""
        claims = self.claims if page == 0 else b""
        return pack(
            msgspec.structs.replace(
                fetched, signature=1000 * (page + 1) + version, claims=claims, modified=date, fresh_for=self.max_age
            )
        )


def live(opened: CrawlWriter, world: World, until: float, *, start: float = START, step: float = 100.0) -> float:
    """Leases and records one page per step of time, until a time."""
    now = start
    while now < until:
        leases = opened.shard.lease(now, 1)
        if leases:
            opened.shard.record(now + 1.0, [world.visit(lease, now + 1.0) for lease in leases])
        now += step
    return now
