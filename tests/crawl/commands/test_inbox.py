"""The inbox: commands come out by their time, whatever else is in it, and nothing is lost."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.crawl.commands import inbox as inbox_module
from centime.crawl.commands.checking import check_command
from centime.crawl.commands.inbox import CommandInbox, running
from centime.model.errors import BadSetting
from centime.shard.people.command import (
    Command,
    PublishCommand,
    SetCommand,
    SubscribeCommand,
    UnsubscribeCommand,
    new_id,
    pack_command,
)
from centime.shard.people.subscriptions import Subscription
from centime.store.folder import CrawlFolder


def command(time: float, name: str = "a") -> UnsubscribeCommand:
    return UnsubscribeCommand(id=new_id(), time=time, name=name)


def test_commands_are_taken_by_the_time_they_were_made_and_stay_until_they_are_done(tmp_path: Path) -> None:
    inbox = CommandInbox(tmp_path)
    assert inbox.take() == []
    assert not inbox.path.exists()
    commands = [command(time) for time in (1e9 + 5, 3.0, 1e9)]
    paths = {inbox.put(one): one for one in commands}
    taken = CommandInbox(tmp_path).take()
    assert [one for _, one in taken] == [commands[1], commands[2], commands[0]]
    assert all(paths[path] == one for path, one in taken)
    assert inbox.take() == taken
    inbox.done([taken[0][0], taken[0][0]])
    assert inbox.take() == taken[1:]
    assert inbox.take(most=1) == taken[1:2]


def test_putting_the_same_command_twice_is_putting_it_once(tmp_path: Path) -> None:
    inbox, one = CommandInbox(tmp_path), command(7.0)
    assert inbox.put(one) == inbox.put(one)
    assert len(inbox.waiting()) == 1


@given(
    junk=st.binary(max_size=200), name=st.text("abz019-.", min_size=1, max_size=20).filter(lambda name: name[0] != ".")
)
def test_a_file_that_is_not_a_command_is_refused_with_a_reason(
    junk: bytes, name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    inbox = CommandInbox(tmp_path_factory.mktemp("inbox"))
    good = command(5.0)
    inbox.put(good)
    (inbox.path / name).write_bytes(junk)
    assert [one for _, one in inbox.take()] == [good]
    assert (inbox.path / "refused" / name).read_bytes() == junk
    assert inbox.refusal(inbox.path / name)
    assert not (inbox.path / name).exists()


@given(cut=st.integers(0, 60), flip=st.integers(0, 60), value=st.integers(1, 255))
def test_a_damaged_command_never_crashes_the_crawl(
    cut: int, flip: int, value: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    packed = bytearray(pack_command(SetCommand(id=new_id(), time=1.0, values={"rate": 2.0, "ban": ["a"]})))
    packed[flip % len(packed)] ^= value
    inbox = CommandInbox(tmp_path_factory.mktemp("inbox"))
    inbox.path.mkdir()
    path = inbox.path / "1-x"
    path.write_bytes(packed[: len(packed) - cut])
    assert (len(inbox.take()) == 1) != bool(inbox.refusal(path))


def test_folders_links_and_pipes_are_refused_too(tmp_path: Path) -> None:
    inbox = CommandInbox(tmp_path)
    inbox.path.mkdir()
    (inbox.path / "folder").mkdir()
    (inbox.path / "link").symlink_to("/dev/zero")
    os.mkfifo(inbox.path / "pipe")
    assert inbox.take() == []
    assert inbox.waiting() == []
    assert all(inbox.refusal(inbox.path / name) for name in ("folder", "link", "pipe"))


def test_a_command_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox_module, "LARGEST", 100)
    inbox = CommandInbox(tmp_path)
    path = inbox.put(command(1.0, "n" * 200))
    assert inbox.take() == []
    assert "at most 0 MiB" in inbox.refusal(path)


def test_few_large_commands_are_taken_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inbox = CommandInbox(tmp_path)
    for time in range(4):
        inbox.put(command(float(time), "n" * 100))
    monkeypatch.setattr(inbox_module, "MOST_BYTES", 200)
    assert [one.time for _, one in inbox.take()] == [0.0, 1.0]


def test_a_publication_of_a_url_that_is_not_canonical_is_refused(tmp_path: Path) -> None:
    inbox = CommandInbox(tmp_path)
    good, bad = (
        PublishCommand(id=new_id(), time=1.0, urls=urls)
        for urls in (b"http://a.example/", b"http://a.example/\nHTTP://a.example")
    )
    inbox.put(good)
    path = inbox.put(bad)
    assert [one for _, one in inbox.take()] == [good]
    assert "canonical URLs" in inbox.refusal(path)


def test_a_file_that_is_still_being_written_is_left_alone(tmp_path: Path) -> None:
    inbox = CommandInbox(tmp_path)
    inbox.path.mkdir()
    (inbox.path / ".1-x").write_bytes(b"half")
    assert inbox.take() == []
    assert (inbox.path / ".1-x").exists()


def test_a_crawl_is_running_while_its_process_holds_the_lock_and_no_longer(tmp_path: Path) -> None:
    assert running(tmp_path) == 0
    folder = CrawlFolder.create(tmp_path / "c", 1.0, {})
    assert running(tmp_path / "c") == os.getpid()
    folder.close()
    assert running(tmp_path / "c") == 0


def test_a_crawl_that_was_killed_is_not_running(tmp_path: Path) -> None:
    code = f"""
import os, pathlib, signal
from centime.store.folder import CrawlFolder
folder = CrawlFolder.create(pathlib.Path({str(tmp_path / "c")!r}), 1.0, {{}})
os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", code], check=False)
    assert (tmp_path / "c" / "lock").read_text().strip().isdigit()
    assert running(tmp_path / "c") == 0


@pytest.mark.parametrize(
    "wrong",
    [
        SubscribeCommand(id=new_id(), time=1.0, subscription=Subscription("a", "x", 60.0, "file:/n\udcff", "")),
        SubscribeCommand(id=new_id(), time=1.0, subscription=Subscription("a", "x", 60.0, "file:/n", "//n\udcff")),
        SubscribeCommand(id=new_id(), time=1.0, subscription=Subscription("a", "x\udcff", 60.0, "file:/n", "")),
        PublishCommand(id=new_id(), time=1.0, urls=b"http://a.example/", cluster="n\udcff"),
        PublishCommand(id=new_id(), time=1.0, urls=b"http://a.example/", publisher="n\udcff"),
    ],
)
def test_a_name_that_is_not_utf_8_is_refused_in_a_sentence(wrong: Command) -> None:
    with pytest.raises(BadSetting, match=r"UTF-8 text|is not text"):
        check_command(wrong)
