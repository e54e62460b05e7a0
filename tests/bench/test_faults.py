"""The campaigns of bench/faults: resumable, the same with any number of processes; and the disk that they simulate."""

import os
from pathlib import Path
from random import Random

import pytest

from bench.faults.disk import Disk, Image, Room, Step
from bench.faults.parts import DIED, Kept, carry_out
from bench.faults.tally import Tallies, Tally


def part(number: int) -> Tallies:
    return {"a": Tally(count=10, right=10 - number), "b": Tally(count=1, wrong=[f"{number}"])}


def test_a_campaign_goes_on_where_it_stopped_and_gives_the_same_with_any_number_of_processes(tmp_path: Path) -> None:
    alone = Kept(tmp_path / "alone.json", {"seed": 1})
    assert carry_out(part, range(5), 1, alone.add)
    stopped = Kept(tmp_path / "many.json", {"seed": 1})

    def add_three(number: int, tallies: Tallies) -> None:
        stopped.add(number, tallies)
        if len(stopped.parts) == 3:
            raise KeyboardInterrupt

    assert not carry_out(part, range(5), 3, add_three)
    resumed = Kept(tmp_path / "many.json", {"seed": 1})
    assert len(resumed.parts) == 3
    assert carry_out(part, [number for number in range(5) if not resumed.done(number)], 3, resumed.add)
    assert resumed.total() == alone.total()
    assert Kept(tmp_path / "many.json", {"seed": 1}).total() == alone.total()
    with pytest.raises(SystemExit, match="another campaign"):
        Kept(tmp_path / "many.json", {"seed": 2})
    assert not Kept(tmp_path / "many.json", {"seed": 2}, fresh=True).parts


def test_a_process_that_dies_is_a_finding(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "kept.json", {})
    assert carry_out(lambda number: os._exit(7), [4], 2, kept.add)
    assert kept.total()[DIED].wrong == ["part 4 ended with 7"]


def test_a_power_failure_leaves_what_was_synced_and_any_part_of_the_rest() -> None:
    steps = [
        Step("create", "f", inode=1),
        Step("write", "f", inode=1, data=b"synced"),
        Step("sync", "f", inode=1),
        Step("sync_folder", "."),
        Step("write", "f", inode=1, at=6, data=b"A" * 600),
        Step("write", "f", inode=1, at=606, data=b"B"),
        Step("create", "g", inode=2),
    ]
    disk = Disk(steps)
    assert disk.image(7).files == {"f": b"synced" + b"A" * 600 + b"B", "g": b""}
    images = [disk.after_power_failure(7, Random(seed)) for seed in range(60)]
    assert all(image.files["f"].startswith(b"synced") for image in images)
    ends = {bytes(image.files["f"][6:]) for image in images}
    assert {b"", b"A" * 600, b"A" * 512 + bytes(88) + b"B", bytes(600) + b"B", b"A" * 600 + b"B"} <= ends
    assert {"g" in image.files for image in images} == {True, False}


def test_a_room_becomes_one_image_after_the_other(tmp_path: Path) -> None:
    room, chance = Room(tmp_path / "room"), Random(3)
    for _ in range(30):
        names = chance.sample(["a", "b/c", "b/d", "e/f/g", "h"], chance.randint(0, 5))
        image = Image({name: chance.randbytes(chance.choice([0, 1])) for name in names}, ["b", "i/j"])
        folder = room.show(image)
        assert {
            str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()
        } == image.files
        assert (folder / "i" / "j").is_dir()
        assert (folder / "e").is_dir() == ("e/f/g" in names)
