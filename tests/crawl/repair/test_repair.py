"""Damage of every kind: it is said, never certified, and repaired with no more loss than what depends on it.

Over 400 lines: all cases share the ways to damage a crawl.
"""

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from centime.crawl.check.check import check_crawl
from centime.crawl.engine.opening import open_writer
from centime.crawl.engine.reader import read_crawl
from centime.crawl.repair.repair import repair_crawl
from centime.files.appended import BLOCK
from centime.files.mark import read_mark
from centime.model.errors import CentimeError, DamagedFile, NoRoom
from centime.model.ids import PageId
from centime.store.journal import HEAD_BYTES, mark_path
from tests.crawl.world import World, advance, crawl

PAGES = 120


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl with two snapshots and confirmed frames after them, as a kill leaves it."""
    path = tmp_path_factory.mktemp("crawl") / "c"
    world, now = World(PAGES), 1000.0
    for steps in (10, 10):
        with crawl(path) as opened:
            now = advance(opened, world, steps, start=now)
            opened.close()
    with crawl(path) as opened:
        advance(opened, world, 15, start=now)
        opened.shard.journal.sync()
        shutil.copytree(path, path.with_name("killed"))
    return path.with_name("killed")


@pytest.fixture
def folder(killed: Path, tmp_path: Path) -> Path:
    shutil.copytree(killed, tmp_path / "c")
    return tmp_path / "c"


def facts(path: Path) -> tuple[object, ...]:
    """What a crawl knows, for comparison."""
    reader = read_crawl(path)
    shard = reader.shard
    found = (
        list(shard.pages.texts.every()),
        [shard.pages.last(PageId(page)) for page in range(shard.pages.count)],
        shard.ledger.importance().tobytes(),
        sorted(shard.placement.leases.held().tolist()),
        shard.frame,
    )
    reader.close()
    return found


def goes_on(path: Path) -> None:
    """The crawl continues, and all laws hold."""
    with crawl(path) as opened:
        advance(opened, World(PAGES), 10, start=2000.0)
        opened.close()
    assert check_crawl(path).problems == []


def flip(path: Path, place: int, bit: int = 2) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 1 << bit
    path.write_bytes(data)


def test_a_crawl_that_is_all_right_stays_as_it_is(folder: Path) -> None:
    before = {
        path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name not in ("lock", "owner")
    }
    report = repair_crawl(folder)
    assert not report.changed
    assert {
        path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name not in ("lock", "owner")
    } == before


def test_a_flipped_bit_anywhere_is_said_and_restored_without_loss(folder: Path, killed: Path) -> None:
    chance, expected, repaired = Random(3), facts(killed), 0
    files = sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and path.name not in ("lock", "owner") and path.stat().st_size
    )
    small = [folder / "centime.json", folder / "centime.copy.json", folder / "journal.mark"]
    for path in [*chance.sample(files, 4), *small, *(folder / "state").iterdir(), max((folder / "journal").iterdir())]:
        kept = path.read_bytes()
        flip(path, chance.randrange(min(len(kept), 40_000)), chance.randrange(8))
        if check_crawl(folder).problems:
            repaired += 1
            report = repair_crawl(folder)
            assert report.changed, path
            assert report.lost == [], path
        # otherwise it was behind the end of a state file, where the replay of the journal writes again
        assert facts(folder) == expected
        assert check_crawl(folder).problems == []
        shutil.rmtree(folder)
        shutil.copytree(killed, folder)
    assert repaired >= 7


def _no_journal(folder: Path) -> None:
    for path in (folder / "journal").iterdir():
        path.unlink()


def _no_newest_segment(folder: Path) -> None:
    max((folder / "journal").iterdir()).unlink()


def _hole_in_journal(folder: Path) -> None:
    newest = max((folder / "journal").iterdir())
    data = bytearray(newest.read_bytes())
    data[HEAD_BYTES + 100 : HEAD_BYTES + 300] = bytes(200)
    newest.write_bytes(data)


def _cut_journal(folder: Path) -> None:
    newest = max((folder / "journal").iterdir())
    newest.write_bytes(newest.read_bytes()[: HEAD_BYTES + 300])


def _broken_state(name: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        (path,) = (folder / "state").glob(name)
        data = bytearray(path.read_bytes())
        data[40 : 40 + min(BLOCK, len(data) - 40)] = b"\xa5" * min(BLOCK, len(data) - 40)
        path.write_bytes(data)

    return damage


def _no_state(name: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        (path,) = (folder / "state").glob(name)
        path.unlink()

    return damage


def _both(first: Callable[[Path], None], second: Callable[[Path], None]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        first(folder)
        second(folder)

    return damage


STATE = ["texts.bin", "text_ends.bin", "origins.bin", "records.bin", "rows-*.bin"]
UNREADABLE = (_no_journal, _no_newest_segment, _hole_in_journal, _cut_journal)
DAMAGES = {
    "all segments removed": _no_journal,
    "the newest segment removed": _no_newest_segment,
    "a hole in the newest segment": _hole_in_journal,
    "the newest segment cut": _cut_journal,
    **{f"a block of {name} overwritten": _broken_state(name) for name in STATE},
    "a block of texts.bin overwritten, text_ends.bin removed": _both(
        _broken_state("texts.bin"), _no_state("text_ends.bin")
    ),
    **{f"{name} removed": _no_state(name) for name in STATE if name != "texts.bin"},
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_larger_damage_is_said_and_what_can_be_proven_is_salvaged(damage: Callable[[Path], None], folder: Path) -> None:
    confirmed = read_mark(mark_path(folder / "journal"))
    assert confirmed is not None
    damage(folder)
    assert check_crawl(folder).problems
    with pytest.raises(CentimeError), open_writer(folder, [], {}):
        pass
    planned = repair_crawl(folder, dry_run=True)
    with pytest.raises(CentimeError), open_writer(folder, [], {}):
        pass
    report = repair_crawl(folder)
    assert (report.frames_lost, report.visits_lost, report.pages_lost) == (
        planned.frames_lost,
        planned.visits_lost,
        planned.pages_lost,
    )
    assert report.lost or report.restored
    said = " ".join(report.lost)
    assert ("at least" in said) == (report.frames_unreadable > 0), "visits in frames that cannot be read are unknown"
    assert (report.frames_unreadable > 0) == (damage in UNREADABLE)
    assert check_crawl(folder).problems == []
    reader = read_crawl(folder)
    assert reader.shard.frame >= confirmed.frame
    reader.close()
    goes_on(folder)
    assert not repair_crawl(folder).changed


def test_pages_that_lost_both_url_and_host_are_counted_anew_or_the_repair_says_that_it_cannot(
    folder: Path, tmp_path: Path
) -> None:
    damage = _both(_broken_state("texts.bin"), _no_state("origins.bin"))
    for run in range(3):  # until the first frames are in no journal any more
        with crawl(tmp_path / "closed") as opened:
            advance(opened, World(PAGES), 10, start=1000.0 + 100 * run)
            opened.close()
    damage(tmp_path / "closed")
    assert repair_crawl(tmp_path / "closed").pages_lost > 20
    assert check_crawl(tmp_path / "closed").problems == []
    damage(folder)
    with pytest.raises(DamagedFile, match="both their URL and their host"):
        repair_crawl(folder)


def test_visits_behind_a_hole_are_salvaged(folder: Path) -> None:
    before = read_crawl(folder)
    read, known = before.shard.read_count, before.shard.pages.count
    before.close()
    _hole_in_journal(folder)
    report = repair_crawl(folder)
    assert report.frames_lost > 0
    assert report.visits_salvaged > 0
    after = read_crawl(folder)
    assert read > after.shard.read_count > 20
    assert known >= after.shard.pages.count > 50
    after.close()


def test_a_damaged_older_snapshot_does_not_close_a_healthy_crawl(folder: Path, killed: Path) -> None:
    (folder / "snapshots" / "000001" / "manifest.json").write_bytes(b"")
    with crawl(folder) as opened:
        assert "000001" in " ".join(opened.damaged)
    assert facts(folder)[0] == facts(killed)[0]


def test_damage_is_not_certified_by_later_runs(folder: Path) -> None:
    flip(folder / "state" / "records.bin", 124)
    for _ in range(3):
        with pytest.raises(DamagedFile, match=r"records\.bin: damaged between byte 0"), open_writer(folder, [], {}):
            pass
    assert check_crawl(folder).problems


def test_the_state_file_of_another_crawl_is_refused(folder: Path, tmp_path: Path) -> None:
    with crawl(tmp_path / "other") as opened:
        advance(opened, World(PAGES + 3), 60)
        opened.close()
    shutil.copy(tmp_path / "other" / "state" / "texts.bin", folder / "state" / "texts.bin")
    with pytest.raises(DamagedFile, match=r"texts\.bin"), open_writer(folder, [], {}):
        pass
    assert check_crawl(folder).problems


def test_both_descriptions_of_a_crawl_are_derived_again(folder: Path, killed: Path) -> None:
    expected = facts(killed)
    for name in ("centime.json", "centime.copy.json"):
        (folder / name).write_bytes(b"{")
    with pytest.raises(DamagedFile, match=r"centime\.json"), open_writer(folder, [], {}):
        pass
    assert repair_crawl(folder).lost == []
    assert facts(folder) == expected


def test_a_repair_that_is_killed_anywhere_is_finished_by_the_next(
    killed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    rename = Path.rename
    for damage in (_hole_in_journal, _broken_state("records.bin")):
        reached = 0
        for call in range(0, 200, 4):
            folder = tmp_path / f"c{call}"
            shutil.copytree(killed, folder)
            damage(folder)
            left = [call]

            def stopping(self: Path, target: Path, left: list[int] = left) -> Path:
                left[0] -= 1
                if left[0] < 0:
                    raise Killed
                return rename(self, target)

            with monkeypatch.context() as patch:
                patch.setattr(Path, "replace", stopping)
                patch.setattr(Path, "rename", stopping)
                try:
                    repair_crawl(folder)
                except Killed:
                    reached = call
            repair_crawl(folder)
            assert check_crawl(folder).problems == [], (damage, call)
            shutil.rmtree(folder)
            if left[0] >= 0:
                break
        assert reached >= 4


@pytest.mark.parametrize("damage", [_hole_in_journal, _broken_state("records.bin")], ids=["journal", "records"])
def test_a_repair_without_room_on_the_disk_says_so_and_loses_nothing_more(
    damage: Callable[[Path], None], killed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged, folder = tmp_path / "damaged", tmp_path / "c"
    shutil.copytree(killed, damaged)
    damage(damaged)
    shutil.copytree(damaged, folder)
    writes = _refused_at(monkeypatch, -1, folder)
    expected = facts(folder)
    for call in Random(4).sample(range(writes), 3):
        shutil.rmtree(folder)
        shutil.copytree(damaged, folder)
        with pytest.raises(NoRoom):
            _refused_at(monkeypatch, call, folder)
        repair_crawl(folder)
        assert check_crawl(folder).problems == [], call
        assert facts(folder) == expected, call


def _refused_at(monkeypatch: pytest.MonkeyPatch, call: int, folder: Path) -> int:
    """Repairs with one write refused, because the disk is full; returns the number of writes."""
    write, count = os.pwrite, [0]

    def pwrite(handle: int, data: bytes, at: int) -> int:
        count[0] += 1
        if count[0] - 1 == call:
            raise OSError(errno.ENOSPC, "no space")
        return write(handle, data, at)

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", pwrite)
        repair_crawl(folder)
    return count[0]


@pytest.mark.parametrize("with_mark", [True, False])
def test_an_older_journal_does_not_take_the_crawl_back(tmp_path: Path, with_mark: bool) -> None:
    folder, old = tmp_path / "c", tmp_path / "old"
    now = 1000.0
    for _ in range(2):
        with crawl(folder) as opened:
            now = advance(opened, World(PAGES), 10, start=now)
            opened.close()
        if not old.exists():
            shutil.copytree(folder, old)
    expected = facts(folder)
    shutil.rmtree(folder / "journal")
    shutil.copytree(old / "journal", folder / "journal")
    (folder / "journal.mark").unlink()
    if with_mark:
        shutil.copy(old / "journal.mark", folder)
    for _ in range(2):  # however often it is opened
        assert check_crawl(folder).problems
        with pytest.raises(DamagedFile, match="journal"), open_writer(folder, [], {}):
            pass
    report = repair_crawl(folder)
    assert "nothing proves" in " ".join(report.lost)
    assert facts(folder)[:3] == expected[:3]
    goes_on(folder)


@pytest.mark.parametrize("part", ["journal", "state", "snapshots"])
def test_a_whole_part_that_is_missing_is_said_and_repaired_as_far_as_possible(folder: Path, part: str) -> None:
    shutil.rmtree(folder / part)
    assert check_crawl(folder).problems
    if part == "journal":
        assert repair_crawl(folder).changed
        goes_on(folder)
        return
    with pytest.raises(DamagedFile, match=r"all snapshots are damaged|have lost both their URL and their host"):
        repair_crawl(folder)


def test_a_missing_segment_is_said_though_a_newer_snapshot_does_not_need_it(tmp_path: Path) -> None:
    folder, now = tmp_path / "c", 1000.0
    for _ in range(2):
        with crawl(folder) as opened:
            now = advance(opened, World(PAGES), 10, start=now)
            opened.close()
    expected = facts(folder)
    min((folder / "journal").iterdir()).unlink()
    assert ["needs the frames from" in problem.what for problem in check_crawl(folder).problems] == [True]
    assert repair_crawl(folder).restored
    assert check_crawl(folder).problems == []
    assert facts(folder) == expected


def test_descriptions_of_another_crawl_are_replaced(folder: Path, killed: Path, tmp_path: Path) -> None:
    expected = facts(killed)
    with crawl(tmp_path / "other", delay=7.0) as opened:
        opened.close()
    for name in ("centime.json", "centime.copy.json"):
        shutil.copy(tmp_path / "other" / name, folder / name)
    assert check_crawl(folder).problems
    assert "another crawl" in " ".join(repair_crawl(folder).restored)
    assert facts(folder) == expected
    goes_on(folder)


def test_a_damaged_first_snapshot_is_set_aside_if_the_journal_has_everything(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    with crawl(folder) as opened:
        now = advance(opened, World(PAGES), 10)
        opened.close()
    [array] = (folder / "snapshots").glob("*/ledger_money.bin")
    flip(array, 3)
    assert check_crawl(folder).problems
    with crawl(folder) as opened:
        advance(opened, World(PAGES), 3, start=now)
        opened.shard.journal.sync()
        assert check_crawl(folder).problems == []
