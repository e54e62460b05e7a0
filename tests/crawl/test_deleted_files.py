"""Files that somebody deletes or replaces while a crawl writes to them are noticed, named and written again."""

import shutil
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from centime.crawl.check.check import check_crawl
from centime.crawl.engine import writer
from centime.crawl.engine.loop import Engine, Limits
from centime.crawl.engine.opening import open_writer
from centime.crawl.engine.reader import read_crawl
from centime.crawl.engine.writer import CrawlWriter
from centime.model.errors import FileGone, FolderGone
from centime.store.archives.captures import find_bodies
from centime.store.snapshot import write_snapshot
from tests.cli.hostile_texts import hostile_site
from tests.crawl.test_foreign_folder import GIVEN, read_some
from tests.crawl.world import World, advance

OPEN_FILES = (
    "journal/000001.log",
    "journal.mark",
    "state/texts.bin",
    "state/text_ends.bin",
    "state/origins.bin",
    "state/rows-000001.bin",
    "state/records.bin",
)


def is_named_by_all(opened: CrawlWriter, file: Path) -> None:
    """Nobody may rely on what was written: not the engine's look, not a sync."""
    with pytest.raises(FileGone, match=f"{file.name}: this file was"):
        opened.must_be_there()
    sync = opened.shard.pages.sync if file.parent.name == "state" else opened.shard.journal.sync
    with pytest.raises(FileGone, match=f"{file.name}: this file was"):
        sync()


@pytest.mark.parametrize("name", OPEN_FILES)
def test_a_file_that_is_deleted_while_it_is_open_is_named_and_written_again(name: str, tmp_path: Path) -> None:
    file = tmp_path / "c" / name
    with ExitStack() as stack:
        opened, before = read_some(stack, tmp_path / "c")
        file.unlink()
        advance(opened, World(), 5, start=2000.0)
        read = opened.shard.read_count
        assert read > before
        is_named_by_all(opened, file)
        with pytest.raises(FileGone, match=f"{file.name}: .*the same command continues it"), stack.pop_all():
            opened.close()
    assert check_crawl(tmp_path / "c").problems == []
    assert read_crawl(tmp_path / "c").shard.read_count == read
    with open_writer(tmp_path / "c", [], {}) as again:
        assert again.shard.read_count == read
        assert again.damaged == ()


@pytest.mark.parametrize("name", OPEN_FILES)
def test_a_file_that_takes_the_place_of_an_open_one_is_put_aside(name: str, tmp_path: Path) -> None:
    file = tmp_path / "c" / name
    with ExitStack() as stack:
        opened, _ = read_some(stack, tmp_path / "c")
        (tmp_path / "mine").write_bytes(b"of somebody else")
        (tmp_path / "mine").replace(file)
        advance(opened, World(), 5, start=2000.0)
        read = opened.shard.read_count
        is_named_by_all(opened, file)
        with pytest.raises(FileGone, match=f"{file.name}: this file was replaced"), stack.pop_all():
            opened.close()
    assert file.with_name(f"{file.name}.other").read_bytes() == b"of somebody else"
    assert read_crawl(tmp_path / "c").shard.read_count == read


def test_old_and_new_segments_deleted_together_cost_nothing_once_there_are_snapshots(tmp_path: Path) -> None:
    with ExitStack() as stack:
        opened, _ = read_some(stack, tmp_path / "c")
        for start in (2000.0, 3000.0):
            opened._start()
            opened._finish()
            advance(opened, World(), 5, start=start)
        assert len(list((tmp_path / "c" / "journal").glob("*.log"))) > 1
        shutil.rmtree(tmp_path / "c" / "journal")
        advance(opened, World(), 5, start=4000.0)
        read = opened.shard.read_count
        with pytest.raises(FileGone, match="log: this file was deleted"), stack.pop_all():
            opened.close()
    assert check_crawl(tmp_path / "c").problems == []
    assert read_crawl(tmp_path / "c").shard.read_count == read


def test_a_snapshot_under_way_does_not_keep_a_deleted_file_from_being_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    def slow(*arguments: Any) -> None:
        time.sleep(0.5)
        write_snapshot(*arguments)

    with ExitStack() as stack:
        opened, _ = read_some(stack, tmp_path / "c")
        with monkeypatch.context() as patched:
            patched.setattr(writer, "write_snapshot", slow)
            opened._start()
        (tmp_path / "c" / "state" / "texts.bin").unlink()
        advance(opened, World(), 5, start=2000.0)
        read = opened.shard.read_count
        with pytest.raises(FileGone, match="the same command continues it"), stack.pop_all():
            opened.must_be_there()
    assert check_crawl(tmp_path / "c").problems == []
    reader = read_crawl(tmp_path / "c")
    assert (reader.shard.read_count, reader.folded) == (read, 0)


def test_a_crawl_whose_lock_is_deleted_writes_nothing_more(tmp_path: Path) -> None:
    with ExitStack() as stack:
        opened, read = read_some(stack, tmp_path / "c")
        (tmp_path / "c" / "lock").unlink()
        with open_writer(tmp_path / "c", [], {}) as other:
            assert other.shard.read_count == read
            with pytest.raises(FolderGone, match="lock: this file was deleted or replaced"), stack.pop_all():
                opened.must_be_there()
    assert check_crawl(tmp_path / "c").problems == []


@pytest.mark.parametrize("what", ["*", "*.warc.gz", "*.open"])
def test_bodies_deleted_while_fetchers_write_them_end_the_run_and_all_captures_are_there(
    what: str, tmp_path: Path
) -> None:
    deleted: list[Path] = []

    def delete(engine: Engine, now: float) -> None:
        if engine.run_facts.visits >= 3 and not deleted:
            deleted.extend((tmp_path / "c" / "bodies").glob(what))
            for path in deleted:
                path.unlink()

    with hostile_site() as url, ExitStack() as stack:
        given = GIVEN | {"keep": "all", "continuous": True, "rate": 20}
        engine = Engine(stack.enter_context(open_writer(tmp_path / "c", [url], given)), Limits(seconds=60))
        with pytest.raises(FileGone, match="this file was deleted while the crawl wrote to it"), stack.pop_all():
            engine.run(delete)
    assert deleted
    assert check_crawl(tmp_path / "c").problems == []
    assert len(find_bodies(tmp_path / "c" / "bodies", url)) == 1
