"""A reader follows a crawl frame by frame, is equal to one that opens anew, and cannot change anything."""

import hashlib
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from centime.crawl.engine import reader as module
from centime.crawl.engine.reader import CrawlReader, read_crawl
from centime.model.errors import BadInput
from centime.shard.fold import fold
from centime.shard.shard import Shard
from centime.shard.state import ShardState
from tests.crawl.changing import FOREVER, HOUR, START, ChangingWorld, live
from tests.crawl.world import World, advance, crawl
from tests.shard.test_shard import same


def fingerprint_of(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_following_gives_what_opening_anew_gives(tmp_path: Path) -> None:
    world = World()
    with crawl(tmp_path / "c") as opened:
        opened.shard.journal.flush()
        reader, now = read_crawl(tmp_path / "c"), 1000.0
        for round_number in range(8):
            now = advance(opened, world, 6, start=now)
            opened.shard.journal.flush()
            if round_number % 3 == 1:  # the journal goes on in another segment, and old ones are dropped
                opened._start()
                opened._finish()
            assert reader.follow() > 0
            assert reader.follow() == 0
            same(opened.shard, reader.shard)
        assert reader.settings == opened.settings
        reader.close()


@given(stops=st.lists(st.integers(1, 4), min_size=1, max_size=6), snapshots=st.sets(st.integers(0, 5)))
@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_however_a_reader_lags_it_ends_in_the_same_state(tmp_path: Path, stops: list[int], snapshots: set[int]) -> None:
    folder, world = tmp_path / "c", ChangingWorld(20)
    shutil.rmtree(folder, ignore_errors=True)
    with crawl(folder, **FOREVER) as opened:
        opened.shard.journal.flush()
        reader, now = read_crawl(folder), START
        for number, steps in enumerate(stops):
            now = live(opened, world, now + steps * HOUR / 4, start=now)
            opened.shard.journal.flush()
            if number in snapshots:
                opened._start()
                opened._finish()
            if number % 2:
                reader.follow()
        reader.follow()
        same(opened.shard, reader.shard)
        reader.close()


def test_a_reader_starts_afresh_from_a_snapshot_rather_than_grow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_OWN_BYTES", 1000)
    world = World()
    with crawl(tmp_path / "c") as opened:
        opened.shard.journal.flush()
        reader = read_crawl(tmp_path / "c")
        now = advance(opened, world, 20)
        opened.shard.journal.flush()
        reader.follow()
        before = reader.shard
        assert before.pages.own_bytes > 1000
        assert reader.follow() == 0
        assert reader.shard is before, "there is no newer snapshot yet"
        opened._start()
        opened._finish()
        advance(opened, world, 1, start=now)
        opened.shard.journal.flush()
        assert reader.follow() > 0
        assert reader.shard is not before
        assert reader.shard.pages.own_bytes < before.pages.own_bytes
        same(opened.shard, reader.shard)


def test_a_reader_changes_no_file_and_has_no_way_to(tmp_path: Path) -> None:
    with crawl(tmp_path / "c") as opened:
        advance(opened, World(), 20)
        opened.shard.journal.sync()
        before = fingerprint_of(tmp_path / "c")
        reader = read_crawl(tmp_path / "c")
        reader.follow()
        reader.statistics(2000.0)
        reader.top(5)
        assert fingerprint_of(tmp_path / "c") == before
        assert not isinstance(reader.shard, Shard)
        assert not hasattr(reader.shard, "journal")
        reader.close()


def test_a_folder_that_vanishes_is_an_error_and_the_state_is_kept(tmp_path: Path) -> None:
    with crawl(tmp_path / "c") as opened:
        advance(opened, World(), 20)
        opened.close()
    reader = read_crawl(tmp_path / "c")
    known = reader.shard.pages.count
    (tmp_path / "c").rename(tmp_path / "elsewhere")
    with pytest.raises(BadInput, match="not a crawl"):
        reader.follow()
    assert reader.shard.pages.count == known
    (tmp_path / "elsewhere").rename(tmp_path / "c")
    assert reader.follow() == 0


def test_following_costs_a_fraction_of_opening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folded = []

    def counted(state: ShardState, kind: int, payload: bytes) -> None:
        folded.append(kind)
        fold(state, kind, payload)

    monkeypatch.setattr(module, "fold", counted)
    with crawl(tmp_path / "c") as opened:
        now = advance(opened, World(), 40)
        opened.shard.journal.flush()
        reader: CrawlReader = read_crawl(tmp_path / "c")
        assert len(folded) > 60
        folded.clear()
        advance(opened, World(), 2, start=now)
        opened.shard.journal.flush()
        reader.follow()
        assert 0 < len(folded) <= 6
