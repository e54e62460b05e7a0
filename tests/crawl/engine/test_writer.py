"""The writer of a crawl: a snapshot is written even if the child that should write it is stuck."""

from pathlib import Path
from threading import Lock

import pytest

from centime.crawl.engine.reader import read_crawl
from centime.crawl.engine.writer import CrawlWriter
from centime.processes import background
from tests.crawl.world import World, advance, crawl
from tests.shard.test_shard import same


def test_a_snapshot_is_written_here_if_the_child_is_stuck(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "STUCK_SECONDS", 0.3)
    lock, write = Lock(), CrawlWriter._write
    lock.acquire()

    def stuck_in_child(self: CrawlWriter) -> None:
        if Path("/proc/self").resolve().name != parent:
            lock.acquire()
        write(self)

    parent = Path("/proc/self").resolve().name
    monkeypatch.setattr(CrawlWriter, "_write", stuck_in_child)
    with crawl(tmp_path / "c") as opened:
        advance(opened, World(), 10)
        opened._start()
        opened._finish()
        reader = read_crawl(tmp_path / "c")
        assert reader.folded == 0
        same(opened.shard, reader.shard)
        reader.close()
