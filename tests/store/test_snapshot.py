"""Snapshots: whole or not at all, every bit checked, the one before taken when the newest is damaged."""

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from centime.model.errors import DamagedFile, NoRoom
from centime.processes.background import in_background
from centime.store.snapshot import VERSION, Snapshot, facts_of_all, read_snapshot, use_newest, write_snapshot

ARRAYS: dict[str, npt.NDArray[Any]] = {
    "numbers": np.arange(1000, dtype=np.int64),
    "table": np.arange(12, dtype=np.float64).reshape(3, 4),
    "none": np.empty((0, 5), dtype=np.uint32),
    "big_endian": np.arange(5, dtype=">u4"),
    "every_second": np.arange(10, dtype=np.int32)[::2],
    "heads": np.zeros(2, dtype=[("page", "<u4"), ("time", "<f8")]),
}


def write(folder: Path, frame: int) -> str:
    return write_snapshot(folder, {"frame": frame, "deep": {"list": [1, 2.5, None, "ä"]}}, ARRAYS)


def read_newest(folder: Path, writable: bool) -> Snapshot | None:
    return use_newest(folder, lambda snapshot: snapshot, writable)[0]


def test_a_snapshot_comes_back_as_it_was_written(tmp_path: Path) -> None:
    assert read_newest(tmp_path / "none", writable=False) is None
    assert write(tmp_path / "snapshots", 7) == "000001"
    found = read_newest(tmp_path / "snapshots", writable=False)
    assert found is not None
    assert found.name == "000001"
    assert found.facts == {"frame": 7, "deep": {"list": [1, 2.5, None, "ä"]}}
    assert list(found.arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert (found.arrays[name] == array).all()
        assert found.arrays[name].shape == array.shape
        assert found.arrays[name].dtype == array.dtype.newbyteorder("<")
        assert found.arrays[name].flags.writeable


def test_two_snapshots_are_kept(tmp_path: Path) -> None:
    for frame in range(4):
        write(tmp_path, frame)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["000003", "000004"]
    assert {name: facts["frame"] for name, facts in facts_of_all(tmp_path).items()} == {"000003": 2, "000004": 3}


def test_any_damage_is_found_and_the_snapshot_before_is_taken(tmp_path: Path) -> None:
    write(tmp_path, 1)
    write(tmp_path, 2)
    files = [path for path in (tmp_path / "000002").iterdir() if path.stat().st_size]
    assert len(files) == len(ARRAYS)  # all but the empty array, and the manifest
    for path in files:
        whole = path.read_bytes()
        for wrong in (whole[:-1], whole + b"x", whole[:40] + bytes([whole[40 % len(whole)] ^ 1]) + whole[41:], b""):
            if wrong == whole + b"x" and path.suffix == ".json":
                continue
            path.write_bytes(wrong)
            found, damaged = use_newest(tmp_path, lambda snapshot: snapshot, writable=False)
            assert found is not None
            assert (found.name, found.facts["frame"]) == ("000001", 1)
            assert len(damaged) == 1
            assert path.name in damaged[0]
        path.unlink()
        with pytest.raises(DamagedFile, match=f"{path.name}: is missing"):
            read_snapshot(tmp_path / "000002")
        path.write_bytes(whole)
    assert read_newest(tmp_path, writable=False) is not None
    read_snapshot(tmp_path / "000002")


def test_a_writer_sets_a_damaged_snapshot_aside_and_numbers_go_on(tmp_path: Path) -> None:
    for frame in (1, 2):
        write(tmp_path, frame)
    (tmp_path / "000002" / "numbers.bin").write_bytes(b"")
    assert read_newest(tmp_path, writable=False)
    assert (tmp_path / "000002").exists()
    found = read_newest(tmp_path, writable=True)
    assert found is not None
    assert found.name == "000001"
    assert write(tmp_path, 3) == "000003"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["000001", "000002.damaged", "000003"]


def test_when_all_are_damaged_nothing_is_made_up(tmp_path: Path) -> None:
    write(tmp_path, 1)
    (tmp_path / "000001" / "manifest.json").write_text('{"checksum": "no", "snapshot": {}}')
    with pytest.raises(DamagedFile, match=r"no snapshot can be used: .*manifest\.json"):
        read_newest(tmp_path, writable=False)


def test_a_damaged_older_snapshot_does_no_harm(tmp_path: Path) -> None:
    for frame in (1, 2):
        write(tmp_path, frame)
    (tmp_path / "000001" / "manifest.json").write_bytes(b"")
    assert list(facts_of_all(tmp_path)) == ["000002"]
    found, damaged = use_newest(tmp_path, lambda snapshot: snapshot.name, writable=True)
    assert found == "000002"
    assert len(damaged) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["000001.damaged", "000002"]


def test_a_snapshot_that_cannot_be_used_is_like_a_damaged_one(tmp_path: Path) -> None:
    for frame in (1, 2):
        write(tmp_path, frame)

    def use(snapshot: Snapshot) -> int:
        if snapshot.facts["frame"] > least:
            raise DamagedFile("its files are gone")
        return int(snapshot.facts["frame"])

    least = 0
    with pytest.raises(DamagedFile, match="no snapshot can be used: its files are gone; its files are gone"):
        use_newest(tmp_path, use, writable=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["000001", "000002"]  # for `centime repair`
    least = 1
    assert use_newest(tmp_path, use, writable=True) == (1, ("its files are gone",))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["000001", "000002.damaged"]


def test_a_snapshot_of_a_newer_format_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("centime.store.snapshot.VERSION", VERSION + 1)
    write(tmp_path, 1)
    monkeypatch.undo()
    with pytest.raises(DamagedFile, match=f"has format {VERSION + 1} instead of {VERSION}"):
        read_snapshot(tmp_path / "000001")


def test_a_full_disk_leaves_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    write(tmp_path, 1)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(NoRoom, match="the disk is full"):
        write(tmp_path, 2)
    assert [path.name for path in tmp_path.iterdir()] == ["000001"]


def test_the_background_writes_memory_as_it_was_and_tells_how_it_went(tmp_path: Path) -> None:
    numbers = np.zeros(100_000, dtype=np.int64)
    receiver, sender = os.pipe()

    def write_late() -> None:
        os.read(receiver, 1)
        write_snapshot(tmp_path, {}, {"numbers": numbers})

    background = in_background(write_late)
    assert background.done() is None
    numbers[:] = 1
    os.write(sender, b"!")
    assert background.done(wait=True) is True
    assert (background.done(), background.trouble) == (True, "")
    found = read_newest(tmp_path, writable=False)
    assert found is not None
    assert not found.arrays["numbers"].any()
    os.close(receiver)
    os.close(sender)


def test_trouble_in_the_background_is_reported(tmp_path: Path) -> None:
    def fail() -> None:
        raise NoRoom("x: the disk is full")

    background = in_background(fail)
    assert background.done(wait=True) is False
    assert background.trouble == "NoRoom: x: the disk is full"


def test_a_killed_background_leaves_only_what_the_next_writer_removes(tmp_path: Path) -> None:
    write(tmp_path, 1)
    reached, started = os.pipe()

    def write_and_hang() -> None:
        class Hanging(dict[str, npt.NDArray[Any]]):
            def items(self) -> Any:
                yield "first", np.arange(10)
                os.write(started, b"!")
                signal.pause()

        write_snapshot(tmp_path, {}, Hanging())

    background = in_background(write_and_hang)
    os.read(reached, 1)
    os.kill(background.process, signal.SIGKILL)
    assert background.done(wait=True) is False
    assert background.trouble == "the writing process ended with -9"
    assert len(list(tmp_path.iterdir())) == 2
    found = read_newest(tmp_path, writable=True)
    assert found is not None
    assert [path.name for path in tmp_path.iterdir()] == ["000001"]
    os.close(reached)
    os.close(started)
