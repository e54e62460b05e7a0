"""The crawl folder: one writer, many readers, nothing foreign touched."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from centime.model.errors import BadInput, DamagedFile, InUse, NewFormat
from centime.processes.background import in_background
from centime.store.folder import FORMAT, PARTS, CrawlFolder, is_crawl
from centime.store.upgrade import upgrade


def test_a_crawl_is_created_once_and_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "crawl"
    assert not is_crawl(path)
    folder = CrawlFolder.create(path, created=5.0, settings={"pages": 10})
    assert is_crawl(path)
    assert all(part.is_dir() for part in (folder.journal, folder.snapshots, folder.state, folder.bodies))
    folder.keep_settings({"pages": 20})
    folder.close()
    again = CrawlFolder.open(path, writable=True)
    assert (again.created, again.settings) == (5.0, {"pages": 20})
    again.close()
    with pytest.raises(BadInput, match="this is a crawl already"):
        CrawlFolder.create(path, created=6.0, settings={})


def test_folders_of_others_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(BadInput, match="neither empty nor a crawl"):
        CrawlFolder.create(tmp_path, created=0.0, settings={})
    with pytest.raises(BadInput, match="neither empty nor a crawl"):
        CrawlFolder.create(tmp_path / "thesis.tex", created=0.0, settings={})
    with pytest.raises(BadInput, match="this is not a crawl"):
        CrawlFolder.open(tmp_path, writable=False)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": 2}', '{"format": 2, "created": "x", "settings": {}}'])
def test_a_damaged_description_is_reported(tmp_path: Path, content: str) -> None:
    (tmp_path / "centime.json").write_text(content)
    with pytest.raises(DamagedFile, match=r"centime\.json: damaged"):
        CrawlFolder.open(tmp_path, writable=False)


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    folder = CrawlFolder(tmp_path, 0.0, {}, 1)
    folder.keep_settings({}, formats=(FORMAT + 1, {}))
    with pytest.raises(
        NewFormat, match=f"has format {FORMAT + 1}, made by a newer Centime; this version reads {FORMAT}"
    ):
        CrawlFolder.open(tmp_path, writable=False)


def test_a_newer_or_unknown_part_is_refused_as_a_newer_format_is(tmp_path: Path) -> None:
    folder = CrawlFolder(tmp_path, 0.0, {}, 1)
    for part, number in (("journal", PARTS["journal"] + 1), ("dreams", 1)):
        folder.keep_settings({}, formats=(FORMAT, PARTS | {part: number}))
        with pytest.raises(NewFormat, match=f"{part} of this crawl has format {number}, made by a newer Centime"):
            CrawlFolder.open(tmp_path, writable=False)
        with pytest.raises(NewFormat, match="made by a newer Centime"):
            upgrade(tmp_path)


def test_a_description_that_lacks_a_part_is_damaged(tmp_path: Path) -> None:
    folder = CrawlFolder(tmp_path, 0.0, {}, 1)
    folder.keep_settings({}, formats=(FORMAT, {part: number for part, number in PARTS.items() if part != "journal"}))
    with pytest.raises(DamagedFile, match="it does not say the format of every part"):
        CrawlFolder.open(tmp_path, writable=False)


HOLDER = """
import os, signal, sys
from pathlib import Path
from centime.store.folder import CrawlFolder
folder = CrawlFolder.open(Path(sys.argv[1]), writable=True)
print("held", flush=True)
signal.pause()
"""


def test_the_second_writer_learns_who_the_first_is_and_a_kill_frees_the_folder(tmp_path: Path) -> None:
    path = tmp_path / "crawl"
    CrawlFolder.create(path, created=0.0, settings={}).close()
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(InUse, match=f"a crawl is running here, as process {holder.pid};"):
        CrawlFolder.open(path, writable=True)
    CrawlFolder.open(path, writable=False)
    holder.kill()
    holder.wait()
    holder.stdout.close()
    CrawlFolder.open(path, writable=True).close()


def test_a_forked_child_does_not_keep_the_lock(tmp_path: Path) -> None:
    folder = CrawlFolder.create(tmp_path / "crawl", created=0.0, settings={})
    receiver, sender = os.pipe()
    background = in_background(lambda: os.read(receiver, 1))
    with pytest.raises(InUse):
        CrawlFolder.open(folder.path, writable=True)
    folder.close()
    CrawlFolder.open(folder.path, writable=True).close()
    os.write(sender, b"!")
    assert background.done(wait=True) is True
    os.close(receiver)
    os.close(sender)


@pytest.mark.parametrize("step", ["folder.sync_folder", "folder.sign", "folder.Journal.create", "lock.os.pwrite"])
def test_a_folder_that_cannot_be_made_can_be_tried_again_by_the_same_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def refused(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space")

    with monkeypatch.context() as patch:
        patch.setattr(f"centime.store.{step}", refused)
        with pytest.raises(OSError, match="no space"):
            CrawlFolder.create(tmp_path / "c", 1.0, {})
    CrawlFolder.create(tmp_path / "c", 1.0, {}).close()


@pytest.mark.parametrize("name", ["centime.json", "journal/000001.log", "state/texts.bin"])
def test_a_pipe_in_the_place_of_a_file_is_said(tmp_path: Path, name: str) -> None:
    CrawlFolder.create(tmp_path / "c", 1.0, {}).close()
    (tmp_path / "c" / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / "c" / name)
    with pytest.raises((DamagedFile, BadInput), match=r"this is a pipe, not a file|not a crawl"):
        CrawlFolder.open(tmp_path / "c", writable=False)
