"""What is not a file in the place of one: it is said, and repaired as a missing file is."""

import errno
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from centime.api.reader import Reader
from centime.crawl.check.check import check_crawl
from centime.crawl.engine.opening import open_writer
from centime.crawl.engine.reader import read_crawl
from centime.crawl.repair.repair import repair_crawl
from centime.crawl.repair.report import Repaired
from centime.crawl.report.opening import folder_of
from centime.model.errors import CentimeError, DamagedCrawl, DamagedFile, NewFormat, NoRoom
from centime.store.archives.captures import find_bodies
from centime.store.folder import FORMAT, PARTS, CrawlFolder
from tests.crawl.repair.test_repair import facts, killed
from tests.crawl.world import World, advance, crawl

__all__ = ["killed"]  # a fixture


def a_folder(path: Path) -> None:
    path.mkdir()
    (path / "precious").write_text("kept")


def a_link(path: Path) -> None:
    path.symlink_to("/nonexistent/file")


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


Missing = dict[str, tuple[tuple[object, ...], tuple[object, ...]]]
KINDS = {"a folder": a_folder, "a link that leads nowhere": a_link, "a pipe": a_pipe}


@pytest.fixture(scope="module")
def young(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl whose journal begins with its first frame, with a snapshot, as a kill leaves it."""
    path, world = tmp_path_factory.mktemp("young") / "c", World(120)
    with crawl(path) as opened:
        now = advance(opened, world, 10, start=1000.0)
        opened.close()
    with crawl(path) as opened:
        advance(opened, world, 10, start=now)
        opened.shard.journal.sync()
        shutil.copytree(path, path.with_name("killed"))
    return path.with_name("killed")


@pytest.fixture
def copied(tmp_path: Path) -> Callable[[Path], Path]:
    def copy(source: Path) -> Path:
        shutil.rmtree(tmp_path / "c", ignore_errors=True)
        shutil.copytree(source, tmp_path / "c")
        return tmp_path / "c"

    return copy


def put(kind: Callable[[Path], None], path: Path) -> None:
    path.unlink()
    kind(path)


def told(report: Repaired, folder: Path) -> tuple[object, ...]:
    """What a report says of a crawl, wherever its folder is, without what was set aside."""
    restored = [one.replace(str(folder), "") for one in report.restored if ", not a file; set aside" not in one]
    lost = [one.replace(str(folder), "") for one in report.lost]
    return restored, lost, report.frames_lost, report.visits_lost, report.bytes_lost


@pytest.fixture(scope="module")
def without(young: Path, tmp_path_factory: pytest.TempPathFactory) -> Missing:
    """For some files, what a repair says of the crawl if the file is missing, and what the crawl knows then."""
    snapshot = next(iter(sorted((young / "snapshots").iterdir()))).name
    found: Missing = {}
    for name in ("state/records.bin", f"snapshots/{snapshot}/hosts.bin", "journal/000001.log", "centime.json"):
        folder = tmp_path_factory.mktemp("without") / "c"
        shutil.copytree(young, folder)
        (folder / name).unlink()
        found[name] = told(repair_crawl(folder), folder), facts(folder)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_a_file_is_repaired_as_a_missing_file_is(
    young: Path, without: Missing, copied: Callable[[Path], Path], kind: str
) -> None:
    for name, (missing, expected) in without.items():
        folder = copied(young)
        put(KINDS[kind], folder / name)
        assert told(repair_crawl(folder, dry_run=True), folder) == missing, name
        report = repair_crawl(folder)
        assert told(report, folder) == missing, name
        assert f"{folder / name}: this is {kind}, not a file; set aside as" in report.restored[0]
        assert facts(folder) == expected, name
        assert check_crawl(folder).problems == [], name
        assert os.path.lexists(folder / "damaged" / Path(name).name)
        if kind == "a folder":
            assert (folder / "damaged" / Path(name).name / "precious").read_text() == "kept"


def test_a_folder_in_the_place_of_the_records_loses_no_visit_that_the_journal_proves(
    young: Path, copied: Callable[[Path], Path]
) -> None:
    folder = copied(young)
    put(a_folder, folder / "state" / "records.bin")
    assert repair_crawl(folder).lost == []
    assert facts(folder)[:2] == facts(young)[:2]


@pytest.mark.parametrize("kind", KINDS)
def test_all_who_open_a_crawl_name_what_is_not_a_file(killed: Path, copied: Callable[[Path], Path], kind: str) -> None:
    folder = copied(killed)
    files = sorted(path for part in ("journal", "state", "snapshots") for path in (folder / part).rglob("*.*"))
    for path in [folder / "journal.mark", *Random(1).sample(files, 5)]:
        kept = path.read_bytes()
        put(KINDS[kind], path)
        sentence = f"{path}: this is {kind}, not a file"
        for open_it in (read_crawl, folder_of, Reader, _continue):
            with pytest.raises(DamagedCrawl) as caught:
                open_it(folder)
            assert str(caught.value) == sentence
        found = check_crawl(folder).problems
        assert [(one.file, one.what) for one in found] == [(str(path), f"this is {kind}, not a file")]
        shutil.rmtree(path) if kind == "a folder" else path.unlink()
        path.write_bytes(kept)
    assert check_crawl(folder).problems == []


def _continue(folder: Path) -> None:
    with open_writer(folder, [], {}) as opened:
        opened.close()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["x.warc.gz", "x.cdxj", "x.cdxj.open"])
def test_what_is_not_a_file_of_bodies_is_a_problem_and_is_set_aside(
    killed: Path, copied: Callable[[Path], Path], kind: str, name: str
) -> None:
    folder = copied(killed)
    KINDS[kind](folder / "bodies" / name)
    found = check_crawl(folder).problems
    assert [(one.file, one.what) for one in found] == [(str(folder / "bodies" / name), f"this is {kind}, not a file")]
    read_crawl(folder).close()  # needs no bodies
    with pytest.raises(DamagedCrawl, match=f"{name}: this is {kind}, not a file"):
        _continue(folder)
    assert len(repair_crawl(folder, dry_run=True).restored) == 1
    assert len(repair_crawl(folder).restored) == 1
    assert check_crawl(folder).problems == []


def test_a_link_to_a_part_that_is_not_there_is_left_alone(killed: Path, copied: Callable[[Path], Path]) -> None:
    folder = copied(killed)
    shutil.rmtree(folder / "state")
    (folder / "state").symlink_to("/nonexistent/disk")
    for dry_run in (True, False):
        with pytest.raises(DamagedFile, match="state: this link leads to /nonexistent/disk, where nothing is"):
            repair_crawl(folder, dry_run=dry_run)
    assert (folder / "state").is_symlink()


def refuse_listing(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Lets the system refuse to list a folder; the tests may run as a user to whom it refuses nothing."""
    listed = os.scandir

    def refusing(path: Path) -> object:
        if Path(path) == folder:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return listed(path)

    monkeypatch.setattr(os, "scandir", refusing)


@pytest.mark.parametrize("part", ["journal", "snapshots", "state", "bodies"])
def test_a_part_that_may_not_be_listed_is_said_and_is_no_damage(
    killed: Path, copied: Callable[[Path], Path], monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    folder = copied(killed)
    with monkeypatch.context() as patch:
        refuse_listing(patch, folder / part)
        if part == "bodies":
            assert [(one.file, one.what) for one in check_crawl(folder).problems] == [
                (str(folder / part), "Permission denied")
            ]
        for dry_run in (True, False):
            with pytest.raises(PermissionError) as caught:
                repair_crawl(folder, dry_run=dry_run)
            assert caught.value.filename == str(folder / part)
        with pytest.raises(PermissionError) as caught:
            _continue(folder)
        assert caught.value.filename == str(folder / part)
        looking = (_captures,) if part == "bodies" else (read_crawl, folder_of, check_crawl)
        for look in looking:
            with pytest.raises(PermissionError) as caught:
                look(folder)
            assert caught.value.filename == str(folder / part)
        if part != "bodies":
            with pytest.raises(CentimeError, match=re.escape(f"{folder / part}: Permission denied")):
                Reader(folder)
    assert not repair_crawl(folder).changed


def _captures(folder: Path) -> None:
    find_bodies(folder / "bodies", "http://a.example/")


def test_a_file_that_may_not_be_read_is_said_and_is_no_damage(
    killed: Path, copied: Callable[[Path], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, opened = copied(killed), os.open
    snapshot = max((folder / "snapshots").iterdir())

    def refusing(path: Path, *given: int) -> int:
        if Path(path) == snapshot / "hosts.bin":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return opened(path, *given)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refusing)
        for dry_run in (True, False):
            with pytest.raises(PermissionError) as caught:
                repair_crawl(folder, dry_run=dry_run)
            assert caught.value.filename == str(snapshot / "hosts.bin")
    assert not repair_crawl(folder).changed


def test_a_rehearsal_names_the_folder_and_not_its_copy(killed: Path, copied: Callable[[Path], Path]) -> None:
    folder = copied(killed)
    (folder / "centime.json").unlink()
    max((folder / "journal").iterdir()).unlink()
    report = repair_crawl(folder, dry_run=True)
    assert any(str(folder / "centime.json") in sentence for sentence in report.restored)
    assert ".repair-" not in str((report.restored, report.lost))
    (folder / "centime.copy.json").write_text("{}")
    (folder / "centime.json").write_text("{}")
    shutil.rmtree(folder / "snapshots")
    with pytest.raises(DamagedFile, match=f"^{folder}: centime.json, its copy and all snapshots are damaged"):
        repair_crawl(folder, dry_run=True)


def test_a_crawl_of_a_newer_centime_is_not_repaired_and_not_upgraded(
    killed: Path, copied: Callable[[Path], Path]
) -> None:
    folder = copied(killed)
    about = CrawlFolder.open(folder, writable=False)
    put(a_folder, folder / "state" / "records.bin")
    for formats in ((FORMAT + 1, PARTS), (FORMAT, PARTS | {"journal": 9}), (FORMAT, PARTS | {"dreams": 1})):
        about.keep_settings(about.settings, formats=formats)
        for dry_run in (True, False):
            with pytest.raises(NewFormat, match="made by a newer Centime"):
                repair_crawl(folder, dry_run=dry_run)
    assert (folder / "state" / "records.bin").is_dir()
    assert not (folder / "damaged").exists()


def test_a_rehearsal_without_room_for_the_copy_says_so_and_leaves_nothing(
    killed: Path, copied: Callable[[Path], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copied(killed)

    def full(source: Path, target: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(source), None, str(target))

    monkeypatch.setattr(shutil, "copy2", full)
    with pytest.raises(NoRoom, match=f"^{folder}: the disk is full"):
        repair_crawl(folder, dry_run=True)
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]
