"""Many simulated clusters, one after the other."""

import logging
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.cluster.laws import Broken
from bench.cluster.world import World
from bench.faults.history import in_small

TURNS = 6


@contextmanager
def room_for_worlds() -> Iterator[Path]:
    """A folder for worlds, in memory if there is a file system for it; what damaged disks are told of is not logged."""
    memory = Path("/dev/shm")
    log = logging.getLogger("centime")
    level = log.level
    with tempfile.TemporaryDirectory(prefix="cluster-", dir=memory if memory.is_dir() else None) as room, in_small():
        log.setLevel(logging.ERROR)
        try:
            yield Path(room)
        finally:
            log.setLevel(level)


@contextmanager
def folder_of(room: Path, seed: int) -> Iterator[Path]:
    """An empty folder for one world, removed after it."""
    folder = room / f"{seed}"
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def worlds(room: Path, seeds: range, *, turns: int = TURNS, partitions: int | None = None) -> Counter[str]:
    """Runs the worlds of these seeds, and counts what happened in them; Broken names the seed and the law."""
    total: Counter[str] = Counter()
    for seed in seeds:
        with folder_of(room, seed) as folder:
            world = World(seed, folder, partitions=partitions or (3 if seed % 8 == 0 else 2))
            try:
                world.run(turns)
            except Broken as broken:
                raise Broken(f"world {seed}: {broken}") from broken
            total += world.facts
        total["worlds"] += 1
    return total
