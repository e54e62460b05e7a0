"""A file is replaced whole or not at all, and a failure leaves the old file and nothing else."""

import errno
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from centime.files.replacement import replace_file, replacing_file, replacing_files
from centime.model.errors import BadInput, NoRoom

Writer = Callable[[Path, bytes], None]


def as_bytes(path: Path, data: bytes) -> None:
    replace_file(path, data)


def as_open_file(path: Path, data: bytes) -> None:
    with replacing_file(path, durable=True) as file:
        for begin in range(0, len(data), 1000):
            file.write(data[begin : begin + 1000])


def as_several(path: Path, data: bytes) -> None:
    with replacing_files(path) as files:
        files.new(path).write_bytes(data)


WRITERS = (as_bytes, as_open_file, as_several)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("data", [b"", b"new", bytes(range(256)) * 5000])
def test_the_new_content_replaces_the_old(tmp_path: Path, write: Writer, data: bytes) -> None:
    path = tmp_path / "file"
    write(path, b"first")
    write(path, data)
    assert content(tmp_path) == {"file": data}


@pytest.mark.parametrize("write", [as_open_file, as_several])
def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path: Path, write: Writer) -> None:
    (tmp_path / "other").write_bytes(b"")
    write(tmp_path / "file", b"new")
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_file_of_a_crawl_is_for_its_owner_alone_also_if_it_replaces_another(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    as_bytes(tmp_path / "file", b"new")
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600


@pytest.mark.parametrize("write", WRITERS)
def test_a_path_without_a_folder_is_in_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Writer
) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path("file"), b"new")
    assert content(tmp_path) == {"file": b"new"}


@pytest.mark.parametrize("write", [as_open_file, as_several])
def test_the_longest_names_work(tmp_path: Path, write: Writer) -> None:
    name = "é" * 127
    write(tmp_path / name, b"new")
    assert content(tmp_path) == {name: b"new"}


def fail_in_file(path: Path, failure: BaseException) -> None:
    with replacing_file(path) as file:
        file.write(b"new")
        raise failure


def fail_in_files(path: Path, failure: BaseException) -> None:
    with replacing_files(path) as files:
        files.new(path).write_bytes(b"new")
        files.new(path.with_name("second"))
        files.remove(path)
        raise failure


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), ValueError(), OSError(errno.EIO, "broken")])
@pytest.mark.parametrize("fail", [fail_in_file, fail_in_files])
def test_an_exception_while_writing_leaves_the_old_file(
    tmp_path: Path, fail: Callable[[Path, BaseException], None], failure: BaseException
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(type(failure)):
        fail(path, failure)
    assert content(tmp_path) == {"file": b"old"}


def test_nothing_is_seen_of_the_new_content_before_the_end(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with replacing_file(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
        assert [name.startswith(".") for name in sorted(content(tmp_path))] == [True, False]
    assert content(tmp_path) == {"file": b"new"}


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
@pytest.mark.parametrize("call", ["os.fsync", "os.open", "pathlib.Path.replace"])
@pytest.mark.parametrize("write", [as_bytes, as_open_file])
def test_a_full_disk_at_any_step_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Writer, call: str, number: int
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def full(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr(call, full)
        said = "too large" if number == errno.EFBIG else "the disk is full"
        with pytest.raises(NoRoom, match=f"/file: .*{said}"):
            write(path, b"new")
    assert content(tmp_path) == {"file": b"old"}
    write(path, b"new")
    assert content(tmp_path) == {"file": b"new"}


FULL = """
import resource, signal, sys
from pathlib import Path
from centime.model.errors import NoRoom
from tests.files.test_replacement import WRITERS
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
for write in WRITERS:
    try:
        write(Path(sys.argv[1]), bytes(200_000))
    except NoRoom as trouble:
        print(trouble)
"""


def test_a_file_that_grows_past_the_limit_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    root = str(Path(__file__).parents[2])
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {root!r})\n{FULL}", str(path)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == [
        f"{path}: the file is too large for `ulimit -f` or the file system (File too large)"
    ] * len(WRITERS)
    assert content(tmp_path) == {"file": b"old"}


def test_what_a_killed_process_left_is_overwritten_by_the_only_writer(tmp_path: Path) -> None:
    (tmp_path / ".file").write_bytes(b"a longer rest of a killed process")
    replace_file(tmp_path / "file", b"new")
    assert content(tmp_path) == {"file": b"new"}


def test_writers_of_one_file_do_not_disturb_each_other(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with replacing_file(path) as one, replacing_file(path) as other:
        one.write(b"one")
        other.write(b"other")
    assert content(tmp_path) == {"file": b"one"}


def test_several_files_take_their_places_together_and_old_ones_go(tmp_path: Path) -> None:
    first, second, old = tmp_path / "first", tmp_path / "second", tmp_path / "old"
    first.write_bytes(b"before")
    old.write_bytes(b"before")
    with replacing_files(first) as files:
        files.new(first).write_bytes(b"1")
        files.new(second).write_bytes(b"2")
        files.remove(old)
        files.remove(tmp_path / "never")
        assert (first.read_bytes(), second.exists(), old.exists()) == (b"before", False, True)
    assert files.paths == (first, second)
    assert content(tmp_path) == {"first": b"1", "second": b"2"}


@pytest.mark.parametrize("write", [as_bytes, as_open_file])
def test_a_durable_file_is_synced_before_the_rename_and_its_folder_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Writer
) -> None:
    path = tmp_path / "file"
    synced: list[tuple[bool, bool]] = []  # whether a folder, whether the new file was in place
    fsync = os.fsync

    def watched(handle: int) -> None:
        synced.append((stat.S_ISDIR(os.fstat(handle).st_mode), path.exists()))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", watched)
    write(path, b"new")
    assert synced == [(False, False), (True, True)]
    synced.clear()
    replace_file(path, b"newer", durable=False)
    assert not synced


@pytest.mark.parametrize("write", [as_open_file, as_several])
def test_a_symbolic_link_stays_and_the_file_that_it_leads_to_is_replaced(tmp_path: Path, write: Writer) -> None:
    (tmp_path / "elsewhere").mkdir()
    link, file = tmp_path / "link", tmp_path / "elsewhere" / "file"
    link.symlink_to(file)
    for data in (b"first", b"second"):  # a link that leads nowhere, then one that leads to a file
        write(link, data)
        assert link.readlink() == file
        assert content(file.parent) == {"file": data}


def test_a_fifo_stays_and_takes_the_bytes_when_they_are_complete(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(fifo.read_bytes()))
    reader.start()
    as_several(fifo, b"new" * 100_000)
    reader.join(20)
    assert received == [b"new" * 100_000]
    assert fifo.is_fifo()
    assert list(tmp_path.iterdir()) == [fifo]
    with pytest.raises(BadInput, match="not a regular file, and second must be written beside it"):
        fail_in_files(fifo, AssertionError())
    with pytest.raises(BadInput, match="not a regular file"):
        as_open_file(fifo, b"new")
    assert list(tmp_path.iterdir()) == [fifo]


@pytest.mark.parametrize("write", [as_open_file, as_several])
def test_a_folder_is_not_replaced(tmp_path: Path, write: Writer) -> None:
    with pytest.raises(BadInput, match="this is a directory"):
        write(tmp_path, b"new")
