"""Crawls of a web without a network, for tests of the shard."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.faults.small_world import HOSTS, SEED, World, url_of
from centime.crawl.engine.opening import open_writer
from centime.crawl.engine.writer import CrawlWriter

__all__ = ["HOSTS", "SEED", "World", "advance", "crawl", "url_of"]


@contextmanager
def crawl(path: Path, **given: Any) -> Iterator[CrawlWriter]:
    """A crawl of the world, opened."""
    with open_writer(path, [] if path.exists() else [SEED], {"scope": "any", "delay": 1.0} | given) as opened:
        yield opened


def advance(opened: CrawlWriter, world: World, steps: int, *, start: float = 1000.0, batch: int = 4) -> float:
    """Leases and records `steps` batches of pages; returns the time at the end."""
    now = start
    for _ in range(steps):
        leases = opened.shard.lease(now, batch)
        now += 0.3
        opened.shard.record(now, [world.visit(lease, now) for lease in leases])
        now += 0.3
    return now
