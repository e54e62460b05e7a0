"""A web without a network for recorded crawls: the links of a page follow from its number, and time is a number."""

import numpy as np

from centime.model.address import fingerprint
from centime.model.outcome import Outcome, PageKind
from centime.shard.message import Lease, Visit, pack
from centime.shard.shard import Shard

HOSTS = 4


class SmallWorld:
    """`pages` pages; page n links to the next one and to some others."""

    def __init__(self, pages: int, seed: int) -> None:
        chance = np.random.default_rng(seed)
        self._links = [sorted({(n + 1) % pages, *chance.integers(0, pages, 3).tolist()}) for n in range(pages)]
        self.seed = self.url(0)

    def url(self, number: int) -> str:
        """The URL of a page."""
        return f"http://h{number % HOSTS}.example/p{number}"

    def turn(self, shard: Shard, now: float) -> float:
        """Leases some pages and records their visits; returns the time after that."""
        leases = shard.lease(now, 3)
        if leases:
            shard.record(now + 0.1, [self._visit(lease, now) for lease in leases])
        return now + 0.7

    def _visit(self, lease: Lease, now: float) -> bytes:
        number = int(lease.url.rpartition("p")[2])
        outcome = Outcome.GONE if number % 11 == 10 else Outcome.READ
        urls = [self.url(target) for target in self._links[number]] if outcome is Outcome.READ else []
        prints = np.array([fingerprint(url) for url in urls], dtype=np.uint64).tobytes()
        return pack(
            Visit(
                page=lease.page,
                outcome=outcome,
                kind=PageKind.HTML if outcome.present else PageKind.ERROR,
                status=200 if outcome.present else 410,
                asked_at=now,
                seconds=0.05,
                wire_bytes=500 + number,
                signature=number + 1,
                digest=bytes([number % 256]) * 16,
                etag=f'"{number}"',
                links=prints,
                fresh=prints,
                texts="\n".join(urls).encode(),
            )
        )
