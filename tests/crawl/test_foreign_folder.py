"""Folders from elsewhere run nothing, folders that go away lose nothing, a killed crawl leaves no process behind."""

import errno
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from centime.cli import main
from centime.cli.ending import run
from centime.crawl.check.check import check_crawl
from centime.crawl.engine.loop import Engine, Limits
from centime.crawl.engine.opening import open_writer
from centime.crawl.engine.reader import read_crawl
from centime.crawl.engine.writer import CrawlWriter
from centime.model.errors import FolderGone, NoRoom
from tests.cli.hostile_texts import hostile_site
from tests.crawl.world import World, advance, crawl

GIVEN = {"delay": 0.0, "allow-network": ["127.0.0.0/8"], "workers": 1}


def centime(*arguments: object) -> int:
    return run(main.app, list(map(str, arguments)))


def read_some(stack: ExitStack, path: Path) -> tuple[CrawlWriter, int]:
    """An open crawl, and how many pages it has read."""
    opened = stack.enter_context(crawl(path))
    advance(opened, World(), 5)
    opened.shard.journal.sync()
    return opened, opened.shard.read_count


def test_a_crawl_from_elsewhere_runs_no_program_and_writes_no_file_until_it_is_trusted(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    ran, written = tmp_path / "ran", tmp_path / "written"
    with hostile_site() as url:
        with open_writer(own, [url], GIVEN) as opened:
            opened.close()
        assert centime("subscribe", own, "http", "--name", "program", "--to", f"command:touch {ran}") == 0
        assert centime("subscribe", own, "http", "--name", "lines", "--to", f"file:{written}") == 0
        shutil.copytree(own, other)
        capfd.readouterr()
        assert centime("crawl", other, "--pages", 1) == 0
        said = capfd.readouterr().err
        assert said.count("its subscriptions lines, program would run programs or write files here") == 1
        assert centime("subscribe", other, "--list") == 0
        assert "this crawl folder was copied or made by another user" in capfd.readouterr().out
        assert not ran.exists()
        assert not written.exists()
        assert centime("crawl", other, "--pages", 1, "--trust-folder") == 0
        assert "trust" not in capfd.readouterr().err
        assert ran.exists()
        assert written.exists()


def test_a_folder_that_cannot_be_remembered_is_trusted_for_this_run_and_says_so(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with hostile_site() as url:
        with open_writer(tmp_path / "c", [url], GIVEN) as opened:
            opened.close()
        (tmp_path / "file").touch()
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
        assert centime("crawl", tmp_path / "c", "--pages", 1, "--trust-folder") == 0
    assert "File exists; --trust-folder is needed again in the next run" in capfd.readouterr().err


def test_a_running_crawl_whose_folder_is_moved_ends_with_a_sentence_and_loses_nothing(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"

    def move(engine: Engine, now: float) -> None:
        if here.exists() and engine.run_facts.visits:
            here.rename(there)

    with hostile_site() as url, ExitStack() as stack:
        given = GIVEN | {"keep": "all", "continuous": True, "rate": 20}
        engine = Engine(stack.enter_context(open_writer(here, [url], given)), Limits(seconds=20))
        with pytest.raises(FolderGone, match="was moved or deleted while the crawl ran"), stack.pop_all():
            engine.run(move)
    assert not here.exists()
    assert check_crawl(there).problems == []
    with open_writer(there, [], {}) as again:
        assert again.shard.pages.count >= 2
        assert again.folder.foreign == ""


@pytest.mark.parametrize("gone", ["moved", "deleted"])
def test_a_folder_that_is_gone_when_the_crawl_ends_is_named(gone: str, tmp_path: Path) -> None:
    with ExitStack() as stack:
        opened, read = read_some(stack, tmp_path / "c")
        if gone == "moved":
            (tmp_path / "c").rename(tmp_path / "d")
        else:
            shutil.rmtree(tmp_path / "c")
        with pytest.raises(FolderGone, match="moved or deleted"), stack.pop_all():
            opened.close()
    assert not (tmp_path / "c").exists()
    if gone == "moved":
        assert read_crawl(tmp_path / "d").shard.read_count == read


@pytest.mark.parametrize("call", ["mkdir", "open"])
def test_a_disk_without_inodes_ends_a_crawl_with_one_sentence_and_loses_nothing(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = getattr(os, call)

    def full(path: Any, *arguments: Any, **more: Any) -> Any:
        if call == "mkdir" or (arguments and arguments[0] & os.O_CREAT):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return real(path, *arguments, **more)

    with ExitStack() as stack:
        opened, read = read_some(stack, tmp_path / "c")
        monkeypatch.setattr(os, call, full)
        with pytest.raises(NoRoom, match=r"c/.*: the disk is full \(No space left on device\)$"), stack.pop_all():
            opened.close()
    monkeypatch.undo()
    assert check_crawl(tmp_path / "c").problems == []
    with crawl(tmp_path / "c") as opened:
        assert opened.shard.read_count == read


def in_session(session: int) -> list[str]:
    """The running processes of a session."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, fields = re.fullmatch(r"\d+ \((.*)\) (.*)", path.read_text().strip(), re.DOTALL).groups()  # type: ignore[union-attr]
        except OSError:
            continue
        if int(fields.split()[3]) == session and fields[0] != "Z":
            found.append(name)
    return found


@pytest.mark.parametrize("after_seconds", [0.2, 0.6, 1.0])
def test_a_crawl_killed_right_after_its_start_leaves_no_process(after_seconds: float, tmp_path: Path) -> None:
    with hostile_site() as url:
        command = [sys.executable, "-m", "centime", "crawl", str(tmp_path / "c"), url, "--delay", "1000"]
        command += ["--workers", "2", "--continuous", "--rate", "1/s", "--allow-network", "127.0.0.0/8"]
        crawling = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL)
        time.sleep(after_seconds)
        os.kill(crawling.pid, signal.SIGKILL)
        crawling.wait()
        until = time.monotonic() + 10.0  # a child that is just being started finds out when its modules are loaded
        while in_session(crawling.pid) and time.monotonic() < until:
            time.sleep(0.01)
        assert in_session(crawling.pid) == []
