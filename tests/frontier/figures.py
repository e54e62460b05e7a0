"""Speed and memory of the frontier: `python -m tests.frontier.figures 1e6,1e4 1e7,1e4` for pages,hosts[,focus classes].

Times are CPU seconds of this process, because other work on the machine disturbs these least; minima of several runs.
"""

import sys
from collections.abc import Callable
from time import process_time

import numpy as np

from centime.frontier.frontier import Frontier
from centime.frontier.kind import DISCOVERY, kind_of
from centime.model.ids import HostId

BATCH = 64


def shortest(work: Callable[[], int], runs: int = 3) -> float:
    """CPU seconds per unit of the work that `work` does and counts."""
    best = np.inf
    for _ in range(runs):
        start = process_time()
        done = work()
        best = min(best, (process_time() - start) / done)
    return float(best)


def measure(pages: int, hosts: int, classes: int) -> str:
    rng = np.random.default_rng(1)
    host_of = rng.integers(0, hosts, pages).astype(np.int32)
    kinds = (kind_of(DISCOVERY) + rng.integers(0, classes, pages)).astype(np.uint16)
    keys = rng.random(pages).astype(np.float32)
    shuffled = rng.permutation(pages)
    offsets = np.zeros(classes)
    frontiers: list[Frontier] = []
    now = 0.0

    def add() -> int:
        frontiers[:] = [Frontier()]
        for first in range(0, pages, 4096):
            part = shuffled[first : first + 4096]
            frontiers[0].add(part, host_of[part], kinds[part], keys[part])
        return pages

    def update() -> int:
        more = (keys[paid] + 0.01 * rng.random(len(paid))).astype(np.float32)
        for first in range(0, len(paid), BATCH):
            frontier.update(paid[first : first + BATCH], more[first : first + BATCH])
        return len(paid)

    def lease_and_release() -> int:
        nonlocal now
        done = 0
        for _ in range(500):
            now += 1e-3
            leased = frontier.lease(now, BATCH, offsets)
            frontier.release_all(host_of[leased], np.full(len(leased), now + 1e-2))
            done += len(leased)
        return done

    def call() -> int:
        nonlocal now
        for _ in range(500):
            now += 1.0
            frontier.release(HostId(int(host_of[frontier.lease(now, 1, offsets)[0]])), now)
        return 500

    warm = Frontier()
    warm.add(shuffled[:1], host_of[:1], kinds[:1], keys[:1])
    warm.update(shuffled[:1], keys[:1])
    adding = shortest(add, 1 if pages > 2_000_000 else 3)
    frontier = frontiers[0]
    size = frontier.statistics()["bytes"] / pages
    paid = rng.integers(0, pages, 1_000_000)
    lines = [
        f"{pages:.0e} pages on {hosts:.0e} hosts, {classes} classes: {size:.2f} bytes a page",
        f"add {1e-6 / adding:.1f} M/s",
        f"update in batches of {BATCH} {1e-6 / shortest(update):.1f} M/s",
        f"lease and release in batches of {BATCH} {1e-3 / shortest(lease_and_release):.0f} k/s",
        f"one by one {1e6 * shortest(call):.1f} µs",
    ]
    return "; ".join(lines)


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        numbers = [int(float(number)) for number in argument.split(",")]
        sys.stdout.write(measure(numbers[0], numbers[1], numbers[2] if len(numbers) > 2 else 1) + "\n")
