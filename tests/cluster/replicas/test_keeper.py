"""A keeper: a replica is the folder that it was sent, up to the last flushed frame, and belongs to one incarnation."""

import errno
import shutil
from pathlib import Path
from random import Random
from unittest.mock import patch

import pytest

from centime.cluster.replicas.keeper import Keeper, Restore, Restored, _answer
from centime.cluster.replicas.replica import Shipper
from centime.cluster.replicas.said import Has, Look, Outdated, Refused, Stored, Tail, Trouble
from centime.crawl.engine.reader import read_crawl
from centime.crawl.engine.writer import CrawlWriter
from centime.model.errors import FileGone
from centime.store.folder import read_about
from tests.crawl.world import World, advance, crawl
from tests.shard.transfers.test_transfers import crawl as visit_some
from tests.shard.transfers.test_transfers import partitions


def ship(keeper: Keeper, shipper: Shipper, opened: CrawlWriter) -> int:
    """Makes the replica the same as the folder; returns the frames that it confirms."""
    has = keeper.take(shipper.look())
    assert isinstance(has, Has)
    opened.shard.journal.flush()
    answers = [keeper.take(part) for part in shipper.differences(has, opened.shard.journal.next_index)]
    return next(one.frames for one in answers if isinstance(one, Stored))


def ship_tail(keeper: Keeper, shipper: Shipper, opened: CrawlWriter) -> int:
    opened.shard.journal.flush()
    answers = [keeper.take(part) for part in shipper.tail(opened.shard.journal)]
    return max((one.frames for one in answers if isinstance(one, Stored)), default=0)


def test_a_replica_has_every_flushed_frame_across_segments_and_snapshots(tmp_path: Path) -> None:
    keeper, world = Keeper(tmp_path / "replicas"), World()
    (tmp_path / "replicas").mkdir()
    with crawl(tmp_path / "c") as opened:
        shipper = Shipper(tmp_path / "c", 0, 1)
        assert ship(keeper, shipper, opened) == opened.shard.frame
        now = 1000.0
        for _ in range(3):
            now = advance(opened, world, 4, start=now)
            opened._start()  # a snapshot begins a segment, and drops old ones
            opened._finish()
            assert ship_tail(keeper, shipper, opened) == opened.shard.frame
        assert opened.shard.journal.first_index > 0
        now = advance(opened, world, 4, start=now)
        assert ship_tail(keeper, shipper, opened) == opened.shard.frame
        frame, chain, ledger = opened.shard.frame, opened.shard.chain, opened.shard.ledger.importance().tolist()
    copy = read_crawl(tmp_path / "replicas" / "00")
    assert (copy.shard.frame, copy.shard.chain, copy.shard.ledger.importance().tolist()) == (frame, chain, ledger)
    copy.close()


def test_a_folder_from_a_backup_is_not_copied_over_the_newer_replica(tmp_path: Path) -> None:
    (tmp_path / "replicas").mkdir()
    folder, backup = tmp_path / "c", tmp_path / "backup"

    def looks(incarnation: int, *, is_equal: bool = True) -> None:
        """A process of the partition begins; one that dies at once never makes the replica equal."""
        shipper, keeper = Shipper(folder, 0, incarnation), Keeper(tmp_path / "replicas")
        has = keeper.take(shipper.look())
        assert isinstance(has, Has)
        shipper.must_be_newest(has)
        if is_equal:
            for part in shipper.differences(has, 1):
                keeper.take(part)

    with crawl(folder):
        looks(1)
    shutil.copytree(folder, backup)
    looks(2, is_equal=False)
    looks(3)
    shutil.rmtree(folder)
    shutil.copytree(backup, folder)
    for incarnation in (4, 5):
        with pytest.raises(Outdated, match=r"older than its replica, .* delete it to continue from the replica"):
            looks(incarnation)
    shutil.rmtree(folder)
    assert Keeper(tmp_path / "replicas").take(Restore(0, 6, str(folder))) == Restored(0)
    looks(7)
    looks(8)


def test_a_replica_that_is_behind_or_ahead_becomes_the_same_with_the_next_incarnation(tmp_path: Path) -> None:
    keeper, world = Keeper(tmp_path / "replicas"), World()
    (tmp_path / "replicas").mkdir()
    with crawl(tmp_path / "c") as opened:
        ship(keeper, Shipper(tmp_path / "c", 0, 1), opened)
        advance(opened, world, 5)  # nobody tells the replica
        opened.close()
    (tmp_path / "replicas" / "00" / "journal" / "000099.log").write_bytes(b"of another past")
    with crawl(tmp_path / "c") as opened:
        assert ship(keeper, Shipper(tmp_path / "c", 0, 2), opened) == opened.shard.frame
        frame = opened.shard.frame
    copy = read_crawl(tmp_path / "replicas" / "00")
    assert copy.shard.frame == frame
    copy.close()


def test_a_replica_has_settings_that_were_changed_while_the_crawl_ran(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path / "replicas")
    (tmp_path / "replicas").mkdir()
    with crawl(tmp_path / "c") as opened:
        shipper = Shipper(tmp_path / "c", 0, 1)
        ship(keeper, shipper, opened)
        list(shipper.settings(opened.folder.settings))
        assert list(shipper.settings(opened.folder.settings)) == [], "nothing has changed"
        opened.folder.keep_settings(opened.folder.settings | {"alpha": 0.125})
        for part in shipper.settings(opened.folder.settings):
            keeper.take(part)
    assert read_about(tmp_path / "replicas" / "00").settings["alpha"] == 0.125


def test_nothing_of_an_older_incarnation_is_stored_also_by_a_keeper_that_was_started_again(tmp_path: Path) -> None:
    (tmp_path / "replicas").mkdir()
    with partitions(tmp_path) as opened:
        visit_some(opened[0], Random(1))
        keeper = Keeper(tmp_path / "replicas")
        zombie = Shipper(opened[0].folder.path, 0, 1)
        ship(keeper, zombie, opened[0])
        before = (tmp_path / "replicas" / "00" / "journal" / "000001.log").read_bytes()
        assert isinstance(keeper.take(Look(0, 2)), Has)
        for one in (keeper, Keeper(tmp_path / "replicas")):
            assert one.take(Tail(0, 1, "journal/000001.log", len(before), b"late", 9)) == Refused(0, 1)
            assert one.take(Look(0, 1)) == Refused(0, 1)
        assert (tmp_path / "replicas" / "00" / "journal" / "000001.log").read_bytes() == before


@pytest.mark.parametrize("exists", [True, False])
def test_a_lost_folder_is_made_from_its_replica_or_the_keeper_says_why_not(tmp_path: Path, exists: bool) -> None:
    keeper = Keeper(tmp_path / "replicas")
    (tmp_path / "replicas").mkdir()
    if exists:
        with crawl(tmp_path / "c") as opened:
            advance(opened, World(), 3)
            frame = ship(keeper, Shipper(tmp_path / "c", 0, 1), opened)
    answer = keeper.take(Restore(0, 2, str(tmp_path / "again")))
    assert isinstance(answer, Restored)
    assert bool(answer.trouble) is not exists
    assert (tmp_path / "again").exists() is exists
    if exists:
        copy = read_crawl(tmp_path / "again")
        assert copy.shard.frame == frame
        copy.close()
    assert keeper.take(Look(0, 1)) == Refused(0, 1)


def test_a_replica_can_be_opened_at_every_moment_at_which_its_node_may_be_lost(tmp_path: Path) -> None:
    keeper, world, replica = Keeper(tmp_path / "replicas"), World(), tmp_path / "replicas" / "00"
    (tmp_path / "replicas").mkdir()
    with crawl(tmp_path / "c") as opened:
        now = advance(opened, world, 4)
        least = ship(keeper, Shipper(tmp_path / "c", 0, 1), opened)
        for _ in range(3):  # old snapshots and segments go
            now = advance(opened, world, 4, start=now)
            opened._start()
            opened._finish()
        shipper = Shipper(tmp_path / "c", 0, 2)
        has = keeper.take(shipper.look())
        assert isinstance(has, Has)
        opened.shard.journal.flush()
        parts = list(shipper.differences(has, opened.shard.journal.next_index))
        for number, part in enumerate(parts):
            keeper.take(part)
            if number in {0, *range(3, len(parts), 9), len(parts) - 2, len(parts) - 1}:
                assert keeper.take(Restore(0, 2, str(tmp_path / "again"))) == Restored(0)
                copy = read_crawl(tmp_path / "again")
                assert copy.shard.frame >= least, f"after {number} parts"
                copy.close()
        assert not list(replica.rglob(".*.part"))
        assert copy.shard.frame == opened.shard.frame > least


@pytest.mark.parametrize("how", ["cut", "deleted", "folder"])
def test_a_replica_that_somebody_cuts_or_deletes_is_noticed_with_the_next_frame_and_made_again(
    tmp_path: Path, how: str
) -> None:
    keeper, world, replica = Keeper(tmp_path / "replicas"), World(), tmp_path / "replicas" / "00"
    (tmp_path / "replicas").mkdir()
    with crawl(tmp_path / "c") as opened:
        shipper = Shipper(tmp_path / "c", 0, 1)
        ship(keeper, shipper, opened)
        now = advance(opened, world, 4)
        ship_tail(keeper, shipper, opened)
        journal = max((replica / "journal").iterdir())
        if how == "folder":
            shutil.rmtree(replica)
            opened._start()  # begins a segment: nothing of its file is missing
            opened._finish()
        elif how == "cut":
            journal.write_bytes(journal.read_bytes()[:-10])
        else:
            journal.unlink()
        advance(opened, world, 4, start=now)
        with pytest.raises(FileGone, match="replica"):
            ship_tail(keeper, shipper, opened)
        again = Keeper(tmp_path / "replicas")  # the process was started again
        assert ship(again, shipper, opened) == opened.shard.frame
    copy = read_crawl(replica)
    assert copy.shard.chain == opened.shard.chain
    copy.close()


def test_a_keeper_without_room_says_so_and_keeps_the_replica(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path / "replicas")
    (tmp_path / "replicas").mkdir()
    full = OSError(errno.ENOSPC, "No space left on device")
    with crawl(tmp_path / "c") as opened:
        advance(opened, World(), 3)
        shipper = Shipper(tmp_path / "c", 0, 1)
        frame = ship(keeper, shipper, opened)
        advance(opened, World(), 1, start=1100.0)
        opened.shard.journal.flush()
        with patch("os.pwrite", side_effect=full):
            answers = [_answer(keeper, part) for part in shipper.tail(opened.shard.journal)]
        assert [one.error for one in answers if isinstance(one, Trouble)] == ["NoRoom"]
    with patch("shutil.copytree", side_effect=full):
        answer = keeper.take(Restore(0, 2, str(tmp_path / "again")))
    assert isinstance(answer, Restored)
    assert "the disk is full" in answer.trouble
    assert keeper.take(Restore(0, 3, str(tmp_path / "again"))) == Restored(0)
    copy = read_crawl(tmp_path / "again")
    assert copy.shard.frame == frame
    copy.close()
