"""The memory of a crawl is measured, bounded and given back; the latter in a process where nothing else allocates."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from centime.crawl.check.check import check_crawl
from centime.crawl.engine.loop import Engine
from centime.crawl.engine.memory import (
    BYTES_PER_PAGE,
    MemoryWatch,
    _control_group,
    half_of_memory,
    most_pages_of,
    tree,
    tree_memory,
    tree_memory_above,
)
from centime.crawl.engine.reader import read_crawl
from centime.discover.refusal import Reason
from tests.crawl.engine.test_transport import Clock, InMemory
from tests.crawl.world import World, advance, crawl
from tests.shard.test_shard import same

PROGRAM = """
from pathlib import Path
import numpy as np
from centime.crawl.engine.memory import give_back_large_blocks

def own():
    return int(Path("/proc/self/status").read_text().partition("RssAnon:")[2].split()[0]) * 1024

give_back_large_blocks()
begun, kept = own(), []
for _ in range(20):  # a block that stays lies behind each that goes, so that a heap could not shrink
    large = np.ones(24 << 20, dtype=np.uint8)
    kept.append(np.ones(100_000, dtype=np.uint8))
    del large
print(own() - begun)
"""


def test_large_blocks_that_are_freed_go_back_to_the_system() -> None:
    left = int(subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True).stdout)
    assert left < 8 << 20


class Meter:
    """Bytes in use, as a test says."""

    def __init__(self, most: int) -> None:
        self.most, self.share = most, 0.1

    def __call__(self, enough: int) -> int:
        return int(self.most * self.share)


def test_a_crawl_short_of_memory_admits_no_urls_then_drops_pages_and_recovers(tmp_path: Path) -> None:
    clock, meter = Clock(), Meter(1 << 30)
    with crawl(tmp_path / "c", delay=0.0, most_memory="1GiB") as opened:
        shard = opened.shard
        engine = Engine(opened, transport=lambda: InMemory(World(3000), clock), clock=clock, measure=meter)

        def turns(count: int, share: float) -> None:
            meter.share = share
            for _ in range(count):
                clock.now += 1.0
                assert engine.step()

        turns(20, 0.1)
        assert (shard.bounds.machine, shard.bounds.pressed) == ((1 << 30) // BYTES_PER_PAGE, 0)
        turns(2, 0.75)
        known, waiting = shard.pages.count, len(shard.placement.frontier)
        assert shard.bounds.pressed == known
        turns(3, 0.75)
        assert (shard.pages.count, shard.bounds.dropped) == (known, 0)
        assert shard.bounds.refused > 0
        turns(1, 0.9)
        assert 0 < shard.bounds.dropped <= waiting // 8
        assert "memory is short" in engine.statistics(clock.now)["admitted"]
        turns(10, 0.9)
        assert shard.bounds.dropped > waiting // 8
        turns(1, 0.65)
        assert shard.bounds.pressed, "what was dropped comes back only when memory is plenty"
        turns(5, 0.5)
        assert (shard.bounds.pressed, shard.bounds.dropped) == (0, 0)
        assert shard.pages.count > known
        shard.ledger.check()
        shard.journal.flush()
        again = read_crawl(tmp_path / "c")
        same(shard, again.shard)
        again.close()
        engine.finish()
    assert not check_crawl(tmp_path / "c").problems


def test_a_crawl_that_stays_above_its_memory_ends_in_good_order_and_says_why(tmp_path: Path) -> None:
    clock, meter = Clock(), Meter(1 << 30)

    def look(engine: Engine, now: float) -> None:
        meter.share = 1.2 if opened.shard.pages.count > 500 else 0.1

    with crawl(tmp_path / "c", delay=0.0, rate=1.0, most_memory="1GiB") as opened:
        engine = Engine(opened, transport=lambda: InMemory(World(3000), clock), clock=clock, measure=meter)
        ending = engine.run(look)
        assert 0 < opened.shard.bounds.dropped
    assert ending.startswith("memory is short: the processes of the crawl use 1229 MiB, and --most-memory is 1024 MiB")
    assert not check_crawl(tmp_path / "c").problems


def test_a_crawl_that_was_kept_small_says_so_at_its_end(tmp_path: Path) -> None:
    clock = Clock()
    with crawl(tmp_path / "c", delay=0.0, most_pages=20) as opened:
        ending = Engine(opened, transport=lambda: InMemory(World(60), clock), clock=clock).run()
        refused = opened.shard.refusals.counts()[Reason.MOST_PAGES]
        assert 0 < refused <= opened.shard.bounds.refused, "a URL may be offered more than once"
    assert ending.startswith("everything known was read; ")
    assert f" {refused} most-pages" in ending


def test_the_memory_of_processes_counts_what_they_share_once() -> None:
    kept = np.ones(64 << 20, dtype=np.uint8)
    alone = tree_memory(0)
    child = os.fork()
    if not child:
        time.sleep(60)
        os._exit(0)
    try:
        assert child in tree()
        together = tree_memory(0)
        assert alone is not None
        assert together is not None
        assert alone > 64 << 20
        assert together < alone + (32 << 20), "the child has copied next to nothing"
        assert tree_memory_above(alone - 1000, 0) is not None
        simple = tree_memory(1 << 50)
        assert simple is not None
        assert simple > together + (32 << 20), "the simple sum counts it twice, and is cheap"
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert kept[0] == 1


def test_the_default_is_half_of_the_machine_or_of_its_control_group(tmp_path: Path) -> None:
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 0 < half_of_memory() <= whole // 2
    assert most_pages_of(0) == 100_000
    groups, own = tmp_path / "cgroup", tmp_path / "own"
    (groups / "a" / "b").mkdir(parents=True)
    assert _control_group(groups, own) == whole
    own.write_text("0::/a/b\n")
    assert _control_group(groups, own) == whole
    (groups / "a" / "b" / "memory.max").write_text("max\n")
    (groups / "a" / "memory.max").write_text("1000000\n")
    assert _control_group(groups, own) == 1_000_000


def test_a_snapshot_under_way_neither_drops_pages_nor_ends_the_run(tmp_path: Path) -> None:
    meter = Meter(1 << 30)
    with crawl(tmp_path / "c", delay=0.0, most_memory="1GiB") as opened:
        advance(opened, World(3000), 30)
        watch, shard = MemoryWatch(opened.shard, measure=meter), opened.shard
        meter.share = 0.95
        watch.look(1.0, writing=True)
        assert (shard.bounds.pressed, shard.bounds.dropped) == (shard.pages.count, 0)
        meter.share = 1.05
        assert [watch.look(second, writing=True) for second in (2.0, 63.0, 64.0)] == ["", "", ""]
        assert shard.bounds.dropped > 0
        assert not watch.look(65.0)
        assert watch.look(126.0).startswith("memory is short")
