"""A web without a network whose hosts lie on all partitions; what a page links to changes from visit to visit. Every
page needs a file of another host, the same at each visit.
"""

from itertools import count
from random import Random

import numpy as np

from centime.model.address import fingerprint, host_of, partition_of
from centime.model.outcome import Outcome, PageKind
from centime.shard.message import Lease, Visit, pack

HOSTS = 3  # of a partition
PAGES = 5  # of a host


def hosts_of(partitions: int) -> list[str]:
    """Some hosts of each partition, one after the other. Hosts of several partitions have one name, by their scheme."""
    found: list[list[str]] = [[] for _ in range(partitions)]
    for number in count():
        host = f"http{'s' if number % 2 else ''}://w{number // 2}.example"
        own = found[partition_of(f"{host}/", partitions)]
        if len(own) < HOSTS:
            own.append(host)
        if all(len(hosts) == HOSTS for hosts in found):
            return [host for hosts in zip(*found, strict=True) for host in hosts]
    raise AssertionError


class Web:
    """Pages on the hosts of all partitions."""

    def __init__(self, partitions: int) -> None:
        hosts = self._hosts = hosts_of(partitions)
        self.urls = [f"{host}/p{page}" for page in range(PAGES) for host in hosts]
        first = self.urls[: 2 * len(hosts)]
        self.seeds = [[url for url in first if partition_of(url, partitions) == p] for p in range(partitions)]

    def need_of(self, url: str) -> str | None:
        """The file that a page needs; None for a file."""
        if url not in self.urls:
            return None
        place = self.urls.index(url)
        return f"{self._hosts[(place + 1 + place // len(self._hosts)) % len(self._hosts)]}/style.css"

    def visit(self, lease: Lease, now: float, chance: Random) -> bytes:
        """The visit of a leased page, as a fetcher packs it."""
        fate = chance.random()
        outcome = Outcome.READ if fate < 0.85 else Outcome.MOVED if fate < 0.9 else Outcome.GONE
        need = self.need_of(lease.url) if outcome is Outcome.READ else None
        near = [url for url in self.urls if host_of(url) == host_of(lease.url)]
        links = {chance.choice(near if chance.random() < 0.3 else self.urls) for _ in range(chance.randrange(8))}
        if outcome is Outcome.MOVED:
            links = {chance.choice(self.urls)}
        targets = sorted(links - {lease.url}) if outcome is not Outcome.GONE and not lease.nesting else []
        if outcome is Outcome.MOVED and not targets:
            outcome = Outcome.GONE
        prints = np.array([fingerprint(url) for url in targets], dtype=np.uint64).tobytes()
        return pack(
            Visit(
                page=lease.page,
                outcome=outcome,
                kind=PageKind.HTML if outcome.present else PageKind.ERROR,
                asked_at=now,
                seconds=0.01,
                status=200,
                wire_bytes=1000,
                signature=chance.getrandbits(40) | 1,
                digest=chance.randbytes(16),
                same_depth=outcome.redirect,
                links=prints,
                fresh=prints,
                texts="\n".join(targets).encode(),
                shapes=b"",
                needed=(need or "").encode(),
            )
        )
